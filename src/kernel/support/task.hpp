// What a call may cost, and what it has cost so far: work, memory and time.
//
// Everything that takes time counts what it does, by `work(n)`: one unit is about 10 ns of an ordinary machine (a node of a trie walked, an item
// of an LR state looked at). What is counted is the same on every machine and in every run, so a bound on it is, too. A computation that
// reaches its bound is left by an exception. What it has found out by then stays in the tables that it was filling, so asking again goes on from there.
// SAFETY: so `work` stands where every table is consistent: before an entry is made, or after it is complete.
//
// Memory is what the kernel's `operator new` gave to the thread meanwhile, less what was given back. Past the bound the next `work` refuses; a
// large allocation is refused at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>

#include "support/errors.hpp"

namespace derivable {

// A deadline has passed (Python: LimitError).
struct TimeIsUp {
    double seconds, allowed;
};

// A bound of memory was reached (Python: LimitError).
struct MemoryExceeded : std::bad_alloc {
    const char* limit;
    uint64_t used, allowed;
    MemoryExceeded(const char* limit_name, uint64_t used_, uint64_t allowed_) : limit(limit_name), used(used_), allowed(allowed_) {}
    const char* what() const noexcept override { return limit; }
};

// Thrown by Task::look_around: the call is broken off for a reason that lies outside of it (a signal's handler has raised, or the process ends).
struct Interrupted {};

// One call, or several that have their bounds together. Tasks nest: an inner one keeps the outer ones' bounds of memory and time, too. What work it
// has done counts as theirs once it is left; until then only its own bound is kept, so it is best given no more than the outer one has left (done_within).
class Task {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr uint64_t kUnbounded = uint64_t(1) << 62;
    static constexpr const char* kWork = "max_step_work";  // the limit of work, in LimitExceeded
    struct Memory {
        const char* limit = "max_bytes";
        uint64_t allowed = kUnbounded;
        uint64_t used = 0;  // before the task
    };
    explicit Task(uint64_t work) : Task(work, Memory{}, 0) {}
    Task(uint64_t work, Memory memory, double seconds);  // 0: as long as it takes
    ~Task() { leave(); }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    // The last task of the thread that was entered and not left, or null. SAFETY: the kernel's one piece of ambient state, for an allocation
    // cannot be handed a parameter. It says what to count where, nothing else depends on it.
    static Task* current() { return current_; }
    void enter();
    void leave();

    void count(uint64_t n) {
        if ((spent_ += n) >= next_stop_) stop();
    }
    // SAFETY: small allocations are always given: exceptions are made of them.
    void before_allocating(size_t n) const {
        constexpr size_t kLarge = size_t(1) << 24;
        if (n >= kLarge && int64_t(n < kUnbounded ? n : kUnbounded) > most_bytes_ - bytes_)
            refuse_memory(int64_t(n < kUnbounded ? n : kUnbounded));
    }
    void count_bytes(int64_t n) {
        if ((bytes_ += n) > soft_bytes_) next_stop_ = next_stop_ < spent_ ? next_stop_ : spent_;
    }
    // Looks at the clock and at what the process asks of its threads.
    void look();
    uint64_t spent() const { return spent_; }
    uint64_t left() const { return allowed_ > spent_ ? allowed_ - spent_ : 0; }  // work
    // So much more work than at first.
    void allow(uint64_t more) { allowed_ += more; }
    int64_t bytes() const { return bytes_; }  // allocated and not freed, since it was entered

    // Called now and then by the threads that have a task; may throw. Set once, by the bindings.
    static void (*look_around)();
    // To be called before a thread waits for another, and by a task that has done some work: a few microseconds more do not matter from here on.
    static void about_to_take_long() {
        if (let_others_run) let_others_run();
    }
    // What that does. Throws nothing. Set once, by the bindings.
    static void (*let_others_run)();

  private:
    static constexpr uint64_t kInterval = 50'000;
    void stop();
    [[noreturn]] void refuse_memory(int64_t more) const;
#if defined(__GNUC__)
    // PERF: one load from a fixed place of the thread's own memory; else it would be a call, at every count.
    __attribute__((tls_model("initial-exec")))
#endif
    static thread_local Task* current_;

    Task* outer_ = nullptr;
    bool entered_ = false;
    uint64_t spent_ = 0, next_stop_ = 0, allowed_;
    int64_t bytes_ = 0, most_bytes_;  // so many more than at its start
    int64_t soft_bytes_ = 0;          // past these the next count refuses
    Memory memory_;
    Clock::time_point begin_, deadline_;
    double seconds_;
};

// Counts; throws LimitExceeded, MemoryExceeded or TimeIsUp if that is too much.
inline void work(uint64_t n = 1) {
    if (Task* t = Task::current()) t->count(n);
}

// Whether `act` is done within so much work, and so much as the current task has left. Where it is that which is not enough, it throws on.
template <class Act>
bool done_within(uint64_t most, Act act) {
    const uint64_t left = Task::current() ? Task::current()->left() : Task::kUnbounded;
    Task task(std::min(most, left));
    task.enter();
    try {
        act();
        return true;
    } catch (const LimitExceeded& e) {
        if (left <= most || e.limit != Task::kWork) throw;
        return false;
    }
}

}  // namespace derivable
