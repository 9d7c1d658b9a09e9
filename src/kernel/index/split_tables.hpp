// What walks of splits keep from one to the next. Those of one walk at a time.
#pragma once

#include <cstddef>

#include "index/characters_ahead.hpp"
#include "index/split_lists.hpp"
#include "index/walk_states.hpp"
#include "support/lock.hpp"

namespace derivable {

struct SplitTables {
    const SplitParts parts;
    WalkStates states;
    CharactersAhead ahead;
    SplitLists lists;

    SplitTables(const SplitParts& of, bool single) : parts(of), states(parts, single), ahead(parts, states), lists(parts) {}
    // SAFETY: they refer to one another.
    SplitTables(const SplitTables&) = delete;
    SplitTables& operator=(const SplitTables&) = delete;

    // Before a walk: what is kept is forgotten if it has grown.
    void begin(Beside& beside) {
        constexpr size_t kMaxBytes = 16u << 20;
        if (states.is_full() || states.bytes() + lists.bytes() > kMaxBytes) clear();
        states.begin(beside);
    }
    void clear() { states.clear(), ahead.clear(), lists.clear(); }  // between walks
};

}  // namespace derivable
