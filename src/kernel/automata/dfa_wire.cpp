// Automata as bytes and back.
#include <algorithm>
#include <utility>

#include "automata/dfa.hpp"
#include "automata/wire.hpp"
#include "support/hashing.hpp"

namespace derivable {

namespace {

template <class Automaton>
void put_table(WireWriter& w, const Automaton& a, size_t states) {
    w.word(uint32_t(states));
    w.word(a.num_classes);
    w.bytes(a.classes);
    w.words(a.table);
}

void put(WireWriter& w, const Dfa& d) {
    put_table(w, d, d.num_states());
    w.bytes(d.accepting);
    w.words(d.condition);
    w.word(uint32_t(d.looks.size()));
    for (const LookDfa& l : d.looks) {
        put_table(w, l, l.matches_at_end.size());
        w.bytes(l.matches_at_end);
        w.word(uint32_t(l.start));
    }
    w.word(uint32_t(d.conditions.size()));
    for (const Conditions& alternatives : d.conditions) {
        w.word(uint32_t(alternatives.size()));
        for (const Condition& all : alternatives) {
            w.word(uint32_t(all.size()));
            for (const Lookahead& o : all) w.words(std::array<uint32_t, 3>{o.look, o.state, o.negative});
        }
    }
    w.word(d.past ? uint32_t(d.past->variants.size()) : 0);
    if (!d.past) return;
    put_table(w, *d.past, d.past->variant.size());
    w.words(d.past->variant);
    for (const Dfa& v : d.past->variants) put(w, v);
}

Dfa get(WireReader& r, bool may_look_back) {
    Dfa d;
    uint32_t n = r.table(d, kDead);
    for (uint32_t s = 0; s < n; s++) d.accepting.push_back(r.byte() != 0);
    for (uint32_t s = 0; s < n; s++) d.condition.push_back(r.word());
    for (uint32_t looks = r.count(256); looks > 0; looks--) {
        LookDfa l;
        uint32_t states = r.table(l, kMatched);
        for (uint32_t s = 0; s < states; s++) l.matches_at_end.push_back(r.byte() != 0);
        l.start = int32_t(r.word());
        WireReader::check(l.start >= kMatched && (l.start < 0 || uint32_t(l.start) < states));
        d.looks.push_back(std::move(l));
    }
    for (uint32_t conditions = r.count(4); conditions > 0; conditions--) {
        Conditions alternatives;
        for (uint32_t alts = r.count(4); alts > 0; alts--) {
            Condition all;
            for (uint32_t obligations = r.count(12); obligations > 0; obligations--) {
                Lookahead o{r.word(), r.word(), false};
                o.negative = r.word() != 0;
                WireReader::check(o.look < d.looks.size() && o.state < d.looks[o.look].matches_at_end.size());
                // In order, and none of them said twice or denied.
                WireReader::check(all.empty() || pack(all.back().look, all.back().state) < pack(o.look, o.state));
                all.push_back(o);
            }
            WireReader::check(!all.empty());
            alternatives.push_back(std::move(all));
        }
        WireReader::check(!alternatives.empty());
        d.conditions.push_back(std::move(alternatives));
    }
    for (uint32_t s = 0; s < n; s++) WireReader::check(d.condition[s] == 0 || (d.accepting[s] && d.condition[s] <= d.conditions.size()));
    WireReader::check(d.trimmed());
    uint32_t variants = r.count(256);
    if (!variants) return d;
    WireReader::check(may_look_back);
    auto past = std::make_shared<Past>();
    uint32_t states = r.table(*past, 0);
    WireReader::check(states > 0);
    for (uint32_t s = 0; s < states; s++) {
        past->variant.push_back(r.word());
        WireReader::check(past->variant.back() < variants);
    }
    for (uint32_t v = 0; v < variants; v++) past->variants.push_back(get(r, false));
    d.past = std::move(past);
    return d;
}

}  // namespace

std::string Dfa::saved() const {
    WireWriter w;
    put(w, *this);
    return std::move(w.out);
}

Dfa Dfa::from_saved(std::string_view data) {
    WireReader r(data);
    Dfa d = get(r, true);
    WireReader::check(r.at_end());
    return d;
}

}  // namespace derivable
