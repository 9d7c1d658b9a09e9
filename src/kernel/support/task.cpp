#include "support/task.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "support/errors.hpp"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace derivable {

thread_local Task* Task::current_ = nullptr;
void (*Task::look_around)() = nullptr;
void (*Task::let_others_run)() = nullptr;

Task::Task(uint64_t work, Memory memory, double seconds)
    : allowed_(std::min(work, kUnbounded)),
      most_bytes_(int64_t(std::min(memory.allowed, kUnbounded)) - int64_t(memory.used)),
      memory_(memory),
      deadline_(Clock::time_point::max()),
      seconds_(seconds) {}

// PERF: 20 us. Who lets go of the interpreter's lock may get it back 5 ms later, if another thread has only short calls to make.
static constexpr uint64_t kLong = 2'000;

void Task::enter() {
    outer_ = std::exchange(current_, this);
    entered_ = true;
    if (seconds_ > 0) {
        begin_ = Clock::now();
        deadline_ = begin_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds_, 1e9)));
    }
    if (outer_) {
        if (outer_->deadline_ < deadline_) deadline_ = outer_->deadline_, begin_ = outer_->begin_, seconds_ = outer_->seconds_;
        if (outer_->most_bytes_ - outer_->bytes_ < most_bytes_) {
            memory_ = outer_->memory_;
            memory_.used += uint64_t(std::max<int64_t>(0, outer_->bytes_));
            most_bytes_ = outer_->most_bytes_ - outer_->bytes_;
        }
    }
    soft_bytes_ = most_bytes_ - most_bytes_ / 8;
    next_stop_ = std::min(allowed_ + 1, kLong);
}

void Task::leave() {
    if (!std::exchange(entered_, false)) return;
    current_ = outer_;
    if (!outer_) return;
    outer_->spent_ += spent_;  // whether that is too much is asked with what it counts itself
    outer_->bytes_ += bytes_;
}

void Task::stop() {
    about_to_take_long();
    next_stop_ = spent_ + kInterval;  // what counts while the exception passes is not refused again
    if (spent_ > allowed_)
        throw LimitExceeded(
            kWork, spent_, allowed_,
            "one step of a matcher, in units of about 10 ns (the state is as it was; asking again goes on from the work done)");
    if (bytes_ > soft_bytes_) refuse_memory(0);
    look();
    next_stop_ = std::min(allowed_ + 1, next_stop_);
}

void Task::look() {
    if (deadline_ != Clock::time_point::max()) {
        const Clock::time_point now = Clock::now();
        if (now >= deadline_) throw TimeIsUp{std::chrono::duration<double>(now - begin_).count(), seconds_};
    }
    if (look_around) look_around();
}

void Task::refuse_memory(int64_t more) const {
    throw MemoryExceeded(memory_.limit, memory_.used + uint64_t(std::max<int64_t>(0, bytes_ + more)), memory_.allowed);
}

}  // namespace derivable

// The kernel's allocations. SAFETY: local to this library (CMakeLists.txt): the rest of the process keeps its own. Both end in malloc and free, so what one
// gave may be given back to the other.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
namespace {

// What malloc keeps beside it, about.
constexpr int64_t kOverhead = 16;

void* allocate(std::size_t n) {
    derivable::Task* task = derivable::Task::current();
    if (task) task->before_allocating(n);
    void* p = std::malloc(n ? n : 1);
    if (!p) throw std::bad_alloc();
    if (task) task->count_bytes(int64_t(n) + kOverhead);
    return p;
}

// PERF: nearly everything says how large it was. Asking malloc for it was 4% of the instructions of a known mask and an advance.
void give_back(void* p, std::size_t n) noexcept {
    if (derivable::Task* task = p ? derivable::Task::current() : nullptr) task->count_bytes(-int64_t(n) - kOverhead);
    std::free(p);
}

}  // namespace

void* operator new(std::size_t n) { return allocate(n); }
void* operator new[](std::size_t n) { return allocate(n); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
    try {
        return allocate(n);
    } catch (const std::bad_alloc&) { return nullptr; }
}
void operator delete(void* p) noexcept { give_back(p, p ? malloc_usable_size(p) : 0); }
void operator delete[](void* p) noexcept { give_back(p, p ? malloc_usable_size(p) : 0); }
void operator delete(void* p, std::size_t n) noexcept { give_back(p, n); }
void operator delete[](void* p, std::size_t n) noexcept { give_back(p, n); }
#endif
