// What a constraint frees between its operations.
#include <algorithm>
#include <functional>

#include "matching/constraint.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {
constexpr size_t kMaxRemembered = 1u << 20;  // answers about distinct items
}  // namespace

void Constraint::collect_if_needed() {
    places.clear_left(moments);
    if (can_be_distinct_.size() > kMaxRemembered) can_be_distinct_.clear();
    if (suspended_) return;  // they refer to stack nodes
    if (uses_too_much()) give_back();
    if (stacks.wants_collection() || tallies_.wants_collection()) collect();
}

void Constraint::collect() {
    // Not a part of it can be done alone.
    Task whole(Task::kUnbounded);
    whole.enter();
    can_be_distinct_.clear();
    liveness_.forget_stacks();
    newline_alive_ = {};
    newline_questions_ = {};
    const bool tallies = tallies_.wants_collection();
    if (tallies) {  // SAFETY: what is kept by numbers that may be used again goes
        drop_rows();
        starts_by_tally_ = {};
        tallies_.begin_collection();
        for (const Partial& p : partials_) tallies_.mark(p.thread.environment);
    }
    num_collections_++;
    stacks.collect([&](const std::function<void(Frontier)>& mark) {
        for (const Thread& t : initial_) mark(t.stack);
        for (const Partial& p : partials_) mark(p.thread.stack);
        places.each([&](const Moment* now) {
            for (const Moment* h = now; h && h->collection != num_collections_; h = h->before) {
                h->collection = num_collections_;
                for (const Thread& t : h->threads) {
                    mark(t.stack);
                    if (tallies) tallies_.mark(t.environment);
                }
            }
        });
    });
    if (tallies) tallies_.finish_collection();
}

// All that is not a place of a matcher: masks, splits, what is known about stacks, and the LR states that no stack has any more. The states that are
// left are numbered anew, in their order; then everything is found again where it is asked for.
void Constraint::give_back() {
    if (suspended_) return;
    drop_rows();
    partials_.clear();
    tallies_.want_collection();
    collect();
    liveness_.forget_states();
    stacks.forget_states();
    starts_.clear();  // by sets of terminals
    starts_by_tally_ = {};
    asks_tally_.clear();
    if (!scannerless_) spanner_->forget();
    left_after_giving_back_ = uint64_t(std::max<int64_t>(0, run_bytes.load(std::memory_order_relaxed) + operation->unsettled_bytes()));
}

}  // namespace derivable
