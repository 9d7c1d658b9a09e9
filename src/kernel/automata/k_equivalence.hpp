// Which states no short text tells apart: k-equivalence (Moore 1956), for each k.
//
// An automaton that counts, as that of `.{1,2000}` does, has thousands of states that only long texts tell apart. Where all texts are short, the rest of a
// token, one state can stand for all of them.
//
// Refinement makes a tree of classes: a class is split off from an older one when texts of so many bytes tell the two apart. So what a state's class
// was at any length, and what the last length is at which two states shared one, is read by going up.
#pragma once

#include <cstdint>
#include <vector>

#include "automata/dfa.hpp"

namespace derivable {

class KEquivalence {
  public:
    static constexpr uint64_t kForever = 1u << 20;  // more bytes than anyone asks for
    // Cost: a few looks at each transition.
    explicit KEquivalence(const Dfa& dfa);
    // One of all states that act as this one on every text of so many bytes, the same for all of them; the state itself where that is not known.
    uint32_t first_alike(uint32_t state, uint64_t bytes) const {
        if (bytes >= known_) return state;
        uint32_t c = class_of_[state];
        while (classes_[c].bytes > bytes) c = classes_[c].older;
        return classes_[c].state;
    }
    // Two states act alike on all texts of fewer bytes; perhaps on longer ones, too.
    uint64_t alike_for(uint32_t a, uint32_t b) const;
    static bool is_worthwhile(const Dfa& dfa) { return dfa.num_states() >= kFewStates && dfa.num_states() <= kManyStates; }

    struct Class {
        uint32_t state;  // of it, at any length
        uint32_t bytes;  // of texts that tell it apart from
        uint32_t older;  // the one that it was split off from; none where that is told apart by no byte at all
    };

  private:
    static constexpr uint32_t kFewStates = 16, kManyStates = 1u << 17;
    std::vector<uint32_t> class_of_;  // by state
    std::vector<Class> classes_;
    uint64_t known_ = 0;  // texts of fewer bytes were looked at, all others may tell more apart
};

}  // namespace derivable
