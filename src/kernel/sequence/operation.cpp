#include "sequence/operation.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace derivable {

Operation::Operation(Access& access, uint64_t allowed)
    : access_(access),
      spanner_(access.spanner_),
      lock_(access.lock_),
      spanner_lock_(spanner_.lock),
      shared_(spanner_.lexer.policy() == Policy::kScannerless),
      missing_(shared_),
      task_(allowed, {"cache_bytes", access.allowed_bytes(), access.run_bytes()}, 0) {
    lock_.lock();
    outer_ = std::exchange(access_.operation_, this);
    task_.enter();
}

Operation::~Operation() {
    settle_bytes();
    task_.leave();
    leave();
    access_.operation_ = outer_;
    lock_.unlock();
}

void Operation::take_spanner() {
    spanner_lock_.lock();
    spanner_.holder = this;
    missing_ = false;
}

void Operation::leave_spanner() {
    spanner_.publish_bytes();
    spanner_.holder = nullptr;
    missing_ = true;
    spanner_lock_.unlock();
}

// PERF: also where nobody waits yet, for what follows may be long: an LR state of 1,500 optional keys was a wait of 280 ms.
void Operation::rest() {
    if (!spanner_.is_full()) leave();
}

void Operation::settle_bytes() {
    const int64_t now = task_.bytes();
    if (now == bytes_settled_) return;
    access_.run_bytes_.fetch_add(now - bytes_settled_, std::memory_order_relaxed);
    bytes_settled_ = now;
}

void Operation::pass() {
    leave();  // SAFETY: the spanner first: who holds the constraint may wait for it.
    if (!lock_.wanted()) return;
    suspend();
    lock_.give_way();
    resume();
}

void Operation::wait() {
    constexpr std::chrono::microseconds kMoment{100};
    leave();
    suspend();
    lock_.unlock();
    Task::about_to_take_long();
    std::this_thread::sleep_for(kMoment);
    lock_.lock();
    resume();
    task_.look();
}

void Operation::suspend() {
    settle_bytes();
    access_.operation_ = outer_;
    access_.suspended_++;
}

void Operation::resume() {
    access_.suspended_--;
    outer_ = std::exchange(access_.operation_, this);
}

bool Operation::step_aside() {
    // SAFETY: nothing is freed while somebody refers to it. Who is aside does, so where much is to be freed nobody steps aside.
    if (!is_wanted() || spanner_.is_full() || access_.is_full()) return false;
    leave_spanner();
    suspend();
    lock_.unlock();
    return true;
}

void Operation::come_back() {
    lock_.lock();
    resume();
    take_spanner();
}

}  // namespace derivable
