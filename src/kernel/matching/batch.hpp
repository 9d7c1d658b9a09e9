// Many matchers at once.
#pragma once

#include <exception>
#include <functional>
#include <vector>

#include "matching/matcher.hpp"

namespace derivable {

// The rows of a batch, put together by constraint: the matchers of one constraint take turns at its tables anyway.
//
// The thread that calls begins. Others join it (pool.hpp) once it has worked for a millisecond, so a batch of known masks, at less than a
// microsecond each, has no other thread at all. A matcher that is there several times is one thread's.
class Batch {
  public:
    explicit Batch(std::vector<Matcher*> matchers);  // null: a row without a constraint
    size_t size() const { return matchers_.size(); }
    Matcher* operator[](size_t row) const { return matchers_[row]; }
    // `act(row)` for every row that has a matcher, in the order of rows for those of one constraint, by at most so many threads. What it
    // throws for a row is that row's failure; the others go on, unless the process asks the thread to stop.
    void run(uint32_t threads, const std::function<void(size_t)>& act);
    bool failed() const;
    // The failure of the first row that has one; but first of all what the process asked.
    void rethrow_first() const;

  private:
    std::vector<Matcher*> matchers_;
    std::vector<size_t> rows_;    // by constraint
    std::vector<size_t> groups_;  // where each constraint's begin, and the end
    std::vector<std::exception_ptr> failures_;
    std::exception_ptr interruption_;
};

// The mask of a row that may be finished: then of end-of-sequence tokens only, for a row of which nothing may be chosen has no
// probabilities.
void fill_for_choice(Matcher& matcher, uint32_t* mask);

// The masks along drafts that start where a matcher is, which stays there: `rows[0]` before any of them, `rows[1 + i]` after token i, whose
// parent is the token `parents[i]` before it (-1: none). Returns which of the tokens are acceptable; after one that is not, or comes after
// such a one, end of sequence only.
std::vector<bool> fill_draft(const Matcher& matcher, const std::vector<int64_t>& tokens, const std::vector<int64_t>& parents,
                             const std::vector<uint32_t*>& rows);

}  // namespace derivable
