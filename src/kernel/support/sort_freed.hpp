// Memory that was freed is put in order by whoever frees much of it.
#pragma once

namespace derivable {

// A base of what consists of many pieces: it is destroyed behind all of its members.
//
// PERF: glibc keeps what was freed in a list, and sorts it when something is next asked for that does not fit a piece of it: the pieces of a
// constraint (100,000 and more) were 50 to 800 us of whichever masks of another constraint came first, 10,000 pieces in each. As a member that stood
// behind others it left theirs, and a third of all masks over 25 us were of that (600 schemas, ahead of time).
struct SortFreed {
    SortFreed() = default;
    SortFreed(const SortFreed&) = delete;
    SortFreed& operator=(const SortFreed&) = delete;
    ~SortFreed();
};

}  // namespace derivable
