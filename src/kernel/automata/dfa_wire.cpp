// Automata as bytes and back. What is read is checked, so that a file made by somebody else can be refused and not crash.
#include <algorithm>
#include <utility>

#include "automata/dfa.hpp"
#include "support/errors.hpp"
#include "support/hashing.hpp"

namespace derivable {

namespace {

class Writer {
  public:
    std::string out;
    void word(uint32_t w) {
        for (int i = 0; i < 4; i++) out.push_back(char(w >> (8 * i)));
    }
    template <class Items>
    void bytes(const Items& items) {
        for (auto b : items) out.push_back(char(b));
    }
    template <class Items>
    void words(const Items& items) {
        for (auto w : items) word(uint32_t(w));
    }
};

class Reader {
  public:
    explicit Reader(std::string_view data) : data_(data) {}
    uint32_t word() {
        need(4);
        uint32_t w = 0;
        for (int i = 0; i < 4; i++) w |= uint32_t(uint8_t(data_[at_ + size_t(i)])) << (8 * i);
        at_ += 4;
        return w;
    }
    uint8_t byte() {
        need(1);
        return uint8_t(data_[at_++]);
    }
    // A count of things that take at least `size` bytes each.
    uint32_t count(uint64_t size) {
        uint32_t n = word();
        need(n * size);
        return n;
    }
    void need(uint64_t n) const { check(n <= data_.size() - at_); }
    static void check(bool holds) {
        if (!holds) throw BadArtifact("an automaton in it is malformed");
    }
    bool at_end() const { return at_ == data_.size(); }

    // Byte classes, then a table of rows of `classes` words, each at most `low` below zero or a state.
    template <class Automaton>
    uint32_t table(Automaton& a, int32_t low) {
        uint32_t states = word();
        a.num_classes = word();
        check(a.num_classes >= 1 && a.num_classes <= 256);
        for (uint8_t& c : a.classes) check((c = byte()) < a.num_classes);
        need(uint64_t(states) * a.num_classes * 4);
        a.table.resize(size_t(states) * a.num_classes);
        for (auto& t : a.table) {
            int32_t to = int32_t(word());
            check(to >= low && (to < 0 || uint32_t(to) < states));
            t = static_cast<std::decay_t<decltype(t)>>(to);
        }
        return states;
    }

  private:
    std::string_view data_;
    size_t at_ = 0;
};

template <class Automaton>
void put_table(Writer& w, const Automaton& a, size_t states) {
    w.word(uint32_t(states));
    w.word(a.num_classes);
    w.bytes(a.classes);
    w.words(a.table);
}

void put(Writer& w, const Dfa& d) {
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

Dfa get(Reader& r, bool may_look_back) {
    Dfa d;
    uint32_t n = r.table(d, kDead);
    for (uint32_t s = 0; s < n; s++) d.accepting.push_back(r.byte() != 0);
    for (uint32_t s = 0; s < n; s++) d.condition.push_back(r.word());
    for (uint32_t looks = r.count(256); looks > 0; looks--) {
        LookDfa l;
        uint32_t states = r.table(l, kMatched);
        for (uint32_t s = 0; s < states; s++) l.matches_at_end.push_back(r.byte() != 0);
        l.start = int32_t(r.word());
        Reader::check(l.start >= kMatched && (l.start < 0 || uint32_t(l.start) < states));
        d.looks.push_back(std::move(l));
    }
    for (uint32_t conditions = r.count(4); conditions > 0; conditions--) {
        Conditions alternatives;
        for (uint32_t alts = r.count(4); alts > 0; alts--) {
            Condition all;
            for (uint32_t obligations = r.count(12); obligations > 0; obligations--) {
                Lookahead o{r.word(), r.word(), false};
                o.negative = r.word() != 0;
                Reader::check(o.look < d.looks.size() && o.state < d.looks[o.look].matches_at_end.size());
                // In order, and none of them said twice or denied.
                Reader::check(all.empty() || pack(all.back().look, all.back().state) < pack(o.look, o.state));
                all.push_back(o);
            }
            Reader::check(!all.empty());
            alternatives.push_back(std::move(all));
        }
        Reader::check(!alternatives.empty());
        d.conditions.push_back(std::move(alternatives));
    }
    for (uint32_t s = 0; s < n; s++) Reader::check(d.condition[s] == 0 || (d.accepting[s] && d.condition[s] <= d.conditions.size()));
    Reader::check(d.trimmed());
    uint32_t variants = r.count(256);
    if (!variants) return d;
    Reader::check(may_look_back);
    auto past = std::make_shared<Past>();
    uint32_t states = r.table(*past, 0);
    Reader::check(states > 0);
    for (uint32_t s = 0; s < states; s++) {
        past->variant.push_back(r.word());
        Reader::check(past->variant.back() < variants);
    }
    for (uint32_t v = 0; v < variants; v++) past->variants.push_back(get(r, false));
    d.past = std::move(past);
    return d;
}

}  // namespace

std::string Dfa::saved() const {
    Writer w;
    put(w, *this);
    return std::move(w.out);
}

Dfa Dfa::from_saved(std::string_view data) {
    Reader r(data);
    Dfa d = get(r, true);
    Reader::check(r.at_end());
    return d;
}

}  // namespace derivable
