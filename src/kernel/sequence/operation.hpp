// One operation on a constraint: what it may cost, and the locks that it holds.
//
// A constraint has a lock, and so has the spanner that the scannerless constraints of a vocabulary share. An operation holds the first all the
// time, and the second from where it first needs it; but between its pieces, where all tables are consistent, it lets those go first who wait
// (`pass`, `rest`). So nobody waits longer than for a piece: a split, a byte, a question about dead ends. Masks that are known need the first lock only.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "index/spanner.hpp"
#include "support/lock.hpp"
#include "support/task.hpp"

namespace derivable {

// What the operations on one constraint share: its lock, which of them is at work, and what they have allocated and not freed.
class Access {
  public:
    class Operation;
    // `cache_bytes`: what may be kept between operations. `is_full`: there is much to be freed, whatever its size.
    Access(Spanner& spanner, uint64_t cache_bytes, std::function<bool()> is_full)
        : spanner_(spanner),
          cache_bytes_(cache_bytes),
          is_full_(std::move(is_full)) {}

    // Within an operation. The lexer, to be used now:
    Lexer& lexer();
    void take();
    void rest();
    void leave();
    void pass();
    void wait();

    // Some operation has let others go first, and goes on later. Nothing that it may refer to is freed meanwhile.
    bool is_suspended() const { return suspended_ != 0; }
    bool is_full() const { return uses_too_much() || is_full_(); }
    uint64_t allowed_bytes() const { return cache_bytes_ + kWorkspace; }
    uint64_t run_bytes() const { return uint64_t(std::max<int64_t>(0, run_bytes_.load(std::memory_order_relaxed))); }
    bool uses_too_much() const { return run_bytes() > cache_bytes_ + kWorkspace / 2 && run_bytes() > 2 * left_after_giving_back_; }
    // Within an operation that has freed all that can be made again.
    void note_given_back();

  private:
    static constexpr uint64_t kWorkspace = 64u << 20;  // bytes beside the cache, for what is under way
    // SAFETY: guards the constraint, but for its vocabulary.
    AdaptiveLock lock_;
    Spanner& spanner_;
    const uint64_t cache_bytes_;
    const std::function<bool()> is_full_;
    Operation* operation_ = nullptr;  // the one under way
    uint32_t suspended_ = 0;
    std::atomic<int64_t> run_bytes_{0};
    uint64_t left_after_giving_back_ = 0;
};

class Access::Operation final : private LockHolder {
  public:
    // Begins one, with so much work allowed (units of `work`).
    Operation(Access& access, uint64_t allowed);
    ~Operation();
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    // Before the spanner or its lexer is used. SAFETY: what it says about a split, exits, or the members of a state stays valid.
    void take() {
        if (missing_) take_spanner();
    }
    // Before work that does not need it.
    void rest();
    // Before another constraint is used, which may share it. While no walk refers to it.
    void leave() {
        if (shared_ && !missing_) leave_spanner();
    }
    // Others wait for what it holds.
    bool is_wanted() const { return lock_.wanted() || (shared_ && !missing_ && spanner_lock_.wanted()); }
    // Lets them have it for a while; they collect nothing meanwhile (Access::is_suspended).
    void pass();
    // Lets go of all for a moment: another operation is at what this one wants.
    void wait();
    // As much work again may be done, because so much was asked for.
    void allow(uint64_t more) { task_.allow(more); }
    const Task& task() const { return task_; }
    // What was allocated so far is not the cache's.
    void forget_bytes() { bytes_settled_ = task_.bytes(); }
    // What `act` allocates belongs to somebody else, who frees it.
    template <class Act>
    void without_counting(Act act) {
        const int64_t before = task_.bytes();
        act();
        bytes_settled_ += task_.bytes() - before;
    }
    int64_t unsettled_bytes() const { return task_.bytes() - bytes_settled_; }  // not in Access::run_bytes yet

  private:
    void take_spanner();
    void leave_spanner();
    // In the middle of a walk, with the spanner.
    bool step_aside() override;
    void come_back() override;
    void begin_look() override { spanner_lock_.lock(); }
    void end_look() override { spanner_lock_.unlock(); }
    // With the lock: what is under way is not this, or is this again.
    void suspend();
    void resume();
    void settle_bytes();  // what was allocated so far is the constraint's
    Access& access_;
    Spanner& spanner_;
    AdaptiveLock &lock_, &spanner_lock_;
    Operation* outer_ = nullptr;
    const bool shared_;
    bool missing_;  // the lock of a shared spanner is not held
    int64_t bytes_settled_ = 0;
    Task task_;
};

using Operation = Access::Operation;

inline void Access::take() { operation_->take(); }
inline Lexer& Access::lexer() {
    operation_->take();
    return spanner_.lexer;
}
inline void Access::rest() { operation_->rest(); }
inline void Access::leave() { operation_->leave(); }
inline void Access::pass() {
    if (operation_->is_wanted()) operation_->pass();
}
inline void Access::wait() { operation_->wait(); }
inline void Access::note_given_back() {
    left_after_giving_back_ = uint64_t(std::max<int64_t>(0, run_bytes_.load(std::memory_order_relaxed) + operation_->unsettled_bytes()));
}

}  // namespace derivable
