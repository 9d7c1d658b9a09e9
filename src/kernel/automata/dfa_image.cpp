// Automata as bytes and back.
#include <algorithm>
#include <utility>

#include "automata/dfa.hpp"
#include "support/archive.hpp"
#include "support/hashing.hpp"

namespace derivable {

namespace {

// Byte classes, then a table of rows of as many words, each at least `low` and else below the number of states, which is returned.
template <class Automaton>
uint32_t archive_table(Archive& a, Automaton& automaton, size_t num_states, int32_t low) {
    auto states = uint32_t(num_states);
    a.number(states);
    a.number(automaton.num_classes);
    a.check(automaton.num_classes >= 1 && automaton.num_classes <= automaton.classes.size());
    a.bytes(automaton.classes);
    for (uint8_t c : automaton.classes) a.check(c < automaton.num_classes);
    if (a.reading()) {
        a.in().need(uint64_t(states) * automaton.num_classes);
        automaton.table.resize(size_t(states) * automaton.num_classes);
    }
    for (auto& to : automaton.table) {
        a.number(to);
        a.check(int32_t(to) >= low && (int32_t(to) < 0 || uint32_t(to) < states));
    }
    return states;
}

void archive_flags(Archive& a, std::vector<uint8_t>& flags, uint32_t states) {
    flags.resize(states);
    a.bytes(flags);
    for (uint8_t& flag : flags) flag = flag != 0;
}

void archive(Archive& a, Dfa& d, bool may_look_back) {
    const uint32_t states = archive_table(a, d, d.num_states(), kDead);
    archive_flags(a, d.accepting, states);
    d.condition.resize(states);
    for (uint32_t& condition : d.condition) a.number(condition);
    a.each(d.looks, 64, [&](LookDfa& l) {
        const uint32_t of_look = archive_table(a, l, l.matches_at_end.size(), kMatched);
        archive_flags(a, l.matches_at_end, of_look);
        a.number(l.start);
        a.check(l.start >= kMatched && (l.start < 0 || uint32_t(l.start) < of_look));
    });
    a.each(d.conditions, 1, [&](Conditions& alternatives) {
        a.each(alternatives, 1, [&](Condition& all) {
            a.each(all, 3, [&](Lookahead& o) {
                a.number(o.look), a.number(o.state), a.number(o.negative);
                a.check(o.look < d.looks.size() && o.state < d.looks[o.look].matches_at_end.size());
            });
            a.check(!all.empty());
            // In order, and none of them said twice or denied.
            for (size_t i = 1; i < all.size(); i++) a.check(pack(all[i - 1].look, all[i - 1].state) < pack(all[i].look, all[i].state));
        });
        a.check(!alternatives.empty());
    });
    for (uint32_t s = 0; s < states; s++) a.check(d.condition[s] == 0 || (d.accepting[s] && d.condition[s] <= d.conditions.size()));
    if (a.reading()) a.check(d.trimmed());
    const uint32_t variants = a.count(d.past ? d.past->variants.size() : 0, 64);
    if (!variants) return;
    a.check(may_look_back);
    auto past = std::make_shared<Past>(d.past ? *d.past : Past());
    const uint32_t of_past = archive_table(a, *past, past->variant.size(), 0);
    a.check(of_past > 0);
    past->variant.resize(of_past);
    for (uint32_t& variant : past->variant) a.below(variant, variants);
    past->variants.resize(variants);
    for (Dfa& variant : past->variants) archive(a, variant, false);
    d.past = std::move(past);
}

}  // namespace

std::string Dfa::saved() const {
    Archive a;
    Dfa copy = *this;
    archive(a, copy, true);
    return a.out().bytes();
}

Dfa Dfa::from_saved(std::string_view data) {
    Archive a(ImageReader(data, nullptr, "an automaton in it"));
    Dfa d;
    archive(a, d, true);
    a.in().check_at_end();
    return d;
}

}  // namespace derivable
