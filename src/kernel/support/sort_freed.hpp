// Memory that was freed is put in order by whoever frees much of it.
#pragma once

namespace derivable {

// The first member of what consists of many pieces: destroyed last.
//
// PERF: glibc keeps what was freed in a list, and sorts all of it when something is next asked for that does not fit a piece of it: the pieces of a
// constraint (100,000 and more) were 50 to 800 us of whichever mask of another constraint came first.
struct SortFreed {
    SortFreed() = default;
    SortFreed(const SortFreed&) = delete;
    SortFreed& operator=(const SortFreed&) = delete;
    ~SortFreed();
};

}  // namespace derivable
