// Which of several languages is a string in? All languages at once, as one automaton whose states say.
//
// The states are tuples, made as they are reached, so the cost is what the answers that occur take, not all that are thinkable.
#pragma once

#include <cstdint>
#include <vector>

#include "automata/dfa.hpp"

namespace derivable {

class Partition {
  public:
    // The strings of `whole`, told apart by `parts` (no conditions). Throws LimitExceeded.
    Partition(const Dfa& whole, const std::vector<const Dfa*>& parts, uint64_t max_states, uint64_t max_classes);
    // By class: for each part, whether the strings of the class are in it. In order of discovery: shorter strings first.
    const std::vector<std::vector<bool>>& answers() const { return answers_; }
    // The strings of some classes.
    Dfa strings(const std::vector<uint32_t>& classes) const;

  private:
    Dfa automaton_;
    std::vector<int32_t> class_of_;  // by state; kDead: not in `whole`
    std::vector<std::vector<bool>> answers_;
};

}  // namespace derivable
