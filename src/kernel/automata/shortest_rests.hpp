// A shortest text from each state of an automaton to acceptance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "automata/dfa.hpp"
#include "support/byte_set.hpp"

namespace derivable {

class ShortestRests {
  public:
    static constexpr uint32_t kNone = ~0u;
    // By some bytes only, where they suffice. Cost: the size of the table.
    ShortestRests(const Dfa& dfa, const ByteSet& bytes);
    // In bytes; kNone: these bytes do not lead to acceptance.
    uint32_t length(uint32_t state) const { return lengths_[state]; }
    // Of bytes that lead on equally well those are taken that people write first.
    std::string text(const Dfa& dfa, uint32_t state) const;
    // All bytes in that order.
    static const std::vector<uint8_t>& order();

  private:
    std::vector<uint32_t> lengths_;
    std::vector<uint8_t> byte_of_class_;  // the first in order
    std::vector<char> has_byte_;          // by class
};

}  // namespace derivable
