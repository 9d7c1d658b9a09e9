// Values of an automaton over characters that may have only so many of them.
//
// The characters are counted beside the automaton: a table of both would have as many states as the two multiplied. A count matters where
// it is nearly full; elsewhere a text does what it does without the bound.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "automata/dfa.hpp"

namespace derivable {

// Never changes, so it is read without a lock.
class CountedValues {
  public:
    CountedValues(std::shared_ptr<const Dfa> values, uint64_t max);

    // Between two characters of a value, or within one.
    struct Place {
        uint32_t state;  // of the automaton
        uint64_t room;   // characters that may still begin
    };
    Place start() const { return {0, max_}; }
    // Some value can be completed.
    bool is_open(const Place& place) const { return least_[place.state].here <= place.room; }
    // One byte further, as it stands in a JSON string. False if no string can be completed then.
    bool step(Place& place, uint8_t byte) const;
    // No text of so many bytes, nor any that completes it, meets the bound. (In doubt it does.)
    bool is_far(const Place& place, uint64_t bytes) const {
        constexpr uint64_t kMargin = 8;  // a text may end in an escape, behind which a character of four bytes follows, or two
        const Least& least = least_[place.state];
        const uint64_t losing = bytes + kMargin - std::min<uint64_t>(bytes + kMargin, least.nothing_lost);
        return place.room >= std::min(least.here + losing * least.most_lost, bytes + least.most);
    }
    uint32_t most_least() const { return most_least_; }
    static bool begins_character(uint8_t byte) { return (byte & 0xC0) != 0x80; }

  private:
    bool step_values(Place& place, uint8_t byte) const;

    std::shared_ptr<const Dfa> values_;
    uint64_t max_;
    struct Least {
        uint32_t here = ~0u, most = 0;  // characters that must still begin: here, and at most in any state that this one leads to
        uint32_t most_lost = 0;         // by one byte, here or there: room for so many is gone that need not have been
        uint32_t nothing_lost = ~0u;    // by the next so many bytes
    };
    std::vector<Least> least_;  // by state of the automaton
    uint32_t most_least_ = 0;
};

}  // namespace derivable
