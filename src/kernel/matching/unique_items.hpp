// Arrays of distinct items: whether what was written of one can still become a value that the array does not hold yet. json/unique_values.hpp says
// what parses remember of what they have written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "matching/stepper.hpp"
#include "support/hashing.hpp"

namespace derivable {

class UniqueItems {
  public:
    // `most`: steps of a search, after which it is refused (LimitExceeded).
    UniqueItems(Access& access, Stepper& stepper, uint64_t most) : access_(access), stepper_(stepper), most_(most) {}

    // Some continuation keeps the items apart.
    bool can_go_on(const Parse& t);
    // As far as is known: one would, if one more value were among them, whichever.
    bool can_spare_one(const Parse& t);
    // For Stepper::step: `can_go_on`.
    const Stepper::Keep& keep() const { return keep_; }
    // Stack nodes are about to be freed.
    void forget_stacks() { known_ = {}, num_known_ = 0; }
    void forget_if_many() {
        if (num_known_ > kMaxRemembered) forget_stacks();
    }

  private:
    static constexpr size_t kMaxRemembered = 1u << 20;  // answers
    struct Place {
        Parse parse;
        uint64_t key;
        size_t from;
    };
    enum Answer : char { kDead, kAlive, kSpacious };  // the last: can_spare_one
    bool is_sure(const Parse& t);
    bool is_spacious(const Parse& t);
    bool search(const Parse& t, std::vector<Place>& places, bool plain);

    Access& access_;
    Stepper& stepper_;
    const uint64_t most_;
    const Stepper::Keep keep_ = [this](const Parse& t) { return can_go_on(t); };
    void note(uint64_t key, Answer answer);
    // By lexer state, frontier, environment, writing. PERF: a table that moved as a whole was a mask of 51 ms behind 646 numbers.
    FlatMap<Answer> known_;
    size_t num_known_ = 0;  // at most
};

}  // namespace derivable
