// Bytes that act alike in an automaton, for those who ask a state where all of them lead.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace derivable {

class ByteClasses {
  public:
    // By byte, the number of its class.
    explicit ByteClasses(const std::array<uint8_t, 256>& classes);
    static const ByteClasses& alone();  // each byte is its own

    // Calls it with all others of a byte's class.
    template <class Act>
    void each_other(uint8_t byte, Act&& act) const {
        for (uint8_t b = next_[byte]; b != byte; b = next_[b]) act(b);
    }
    // One of all bytes that lead to the same state and to the same place in a character, with their kinds (`byte_kind`). Of those that begin a
    // character.
    const std::vector<std::pair<uint8_t, uint64_t>>& firsts() const { return firsts_; }
    // The same of those that go on in one.
    const std::vector<uint8_t>& more() const { return more_; }

  private:
    std::array<uint8_t, 256> next_{};  // of the class; behind the last one the first
    std::vector<std::pair<uint8_t, uint64_t>> firsts_;
    std::vector<uint8_t> more_;
};

}  // namespace derivable
