// Which states no short text tells apart: k-equivalence (Moore 1956), for a few k.
//
// An automaton that counts, as that of `.{1,2000}` does, has thousands of states that only long texts tell apart. Where all texts are short, the rest of a
// token, one state can stand for all of them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "automata/dfa.hpp"

namespace derivable {

class KEquivalence {
  public:
    // Cost: a few looks at each transition.
    explicit KEquivalence(const Dfa& dfa);
    // The first of all states that act as this one on every text of so many bytes; the state itself where that is not known.
    uint32_t first_alike(uint32_t state, uint64_t bytes) const {
        for (size_t level = 0; level < kBytes.size(); level++)
            if (bytes <= kBytes[level]) return first_[level][state];
        return state;
    }
    static bool is_worthwhile(const Dfa& dfa) { return dfa.num_states() >= kFewStates && dfa.num_states() <= kManyStates; }

  private:
    static constexpr std::array<uint64_t, 3> kBytes{12, 24, 48};
    static constexpr uint32_t kFewStates = 64, kManyStates = 1u << 17;
    std::array<std::vector<uint32_t>, kBytes.size()> first_;  // by k and state
};

}  // namespace derivable
