// Which symbols may stand next to each other, whatever the rest of the text: first, last and follow sets of the grammar without empty
// and unit productions. Computed when first asked for; about a millisecond for a programming language.
#pragma once

#include "lr.hpp"

namespace derivable {

// A set of small numbers.
class Bits {
  public:
    Bits() = default;
    explicit Bits(size_t size) : words_((size + 63) / 64, 0) {}
    bool has(uint32_t i) const { return words_[i / 64] >> (i % 64) & 1; }
    void add(uint32_t i) { words_[i / 64] |= 1ULL << (i % 64); }
    void remove(uint32_t i) { words_[i / 64] &= ~(1ULL << (i % 64)); }
    bool add_all(const Bits& o) {  // true if it grew
        uint64_t grown = 0;
        for (size_t i = 0; i < words_.size(); i++) grown |= o.words_[i] & ~words_[i], words_[i] |= o.words_[i];
        return grown != 0;
    }
    void keep(const Bits& o) {
        for (size_t i = 0; i < words_.size(); i++) words_[i] &= o.words_[i];
    }
    bool meets(const Bits& o) const {
        for (size_t i = 0; i < words_.size(); i++)
            if (words_[i] & o.words_[i]) return true;
        return false;
    }
    bool includes(const Bits& o) const {
        for (size_t i = 0; i < words_.size(); i++)
            if (o.words_[i] & ~words_[i]) return false;
        return true;
    }
    bool operator==(const Bits& o) const { return words_ == o.words_; }
    const std::vector<uint64_t>& words() const { return words_; }

  private:
    std::vector<uint64_t> words_;
};

class Adjacency {
  public:
    explicit Adjacency(LrAutomaton& lr) : lr_(lr) {}

    // Terminals that may follow a symbol in some sentential form, kEnd among them if it may be the last; and those that may begin a text.
    const Bits& follow(Symbol s) { return computed().follow_[s]; }
    const Bits& initial() { return computed().initial_; }
    // Terminals that are acceptable wherever `t` is: those that every LR state can shift that can shift `t`.
    // Null if the automaton has more states than are worth visiting.
    const Bits* company(Symbol t);
    // LR states are about to be forgotten: those that there will be are not all.
    void forget_states() { explored_ = -1; }
    // No stack is ever undecided about its parse: at most one of the shift and the reductions of a state goes with any terminal
    // (SLR(1)). Conservative: false also where it has not been decided.
    bool deterministic();

  private:
    Adjacency& computed();
    bool explore();  // all LR states; false if there are too many

    LrAutomaton& lr_;
    std::vector<Bits> follow_;
    Bits initial_;
    std::vector<Bits> company_;
    int explored_ = -1, deterministic_ = -1;
};

}  // namespace derivable
