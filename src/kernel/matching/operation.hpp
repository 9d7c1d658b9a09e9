// One operation on a constraint: what it may cost, and the locks that it holds.
//
// A constraint has a lock, and so has the spanner that the scannerless constraints of a vocabulary share. An operation holds the first all the
// time, and the second from where it first needs it; but between its pieces, where all tables are consistent, it lets those go first who wait
// (`pass`, `rest`). So nobody waits longer than for a piece: a split, a byte, a question about dead ends. Masks that are known need the first lock only.
#pragma once

#include <cstdint>

#include "support/lock.hpp"
#include "support/task.hpp"

namespace derivable {

class Constraint;
class Spanner;

// What an operation under way has noted of the thread that it is about (Constraint::suspend).
struct Noted {
    uint8_t looked_at_environment = 0;
    uint32_t tally_depth = 0;
    bool forcing = false;
};

class Operation final : private LockHolder {
  public:
    // Begins one, with so much work allowed (units of `work`).
    Operation(Constraint& constraint, uint64_t allowed);
    ~Operation();
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    // Before the spanner or its lexer is used. SAFETY: what it says about a split, exits, or the members of a state stays valid.
    void take() {
        if (missing_) take_spanner();
    }
    // Before work that does not need it.
    void rest();
    // Others wait for what it holds.
    bool is_wanted() const { return lock_.wanted() || (shared_ && !missing_ && spanner_lock_.wanted()); }
    // Lets them have it for a while; they collect nothing meanwhile (Constraint::suspend).
    void pass();
    // As much work again may be done, because so much was asked for.
    void allow(uint64_t more) { task_.allow(more); }
    const Task& task() const { return task_; }
    // What was allocated so far is not the cache's.
    void forget_bytes() { bytes_settled_ = task_.bytes(); }
    int64_t unsettled_bytes() const { return task_.bytes() - bytes_settled_; }  // not in Constraint::run_bytes yet

  private:
    void take_spanner();
    void leave_spanner();
    // In the middle of a walk, with the spanner.
    bool step_aside() override;
    void come_back() override;
    void begin_look() override { spanner_lock_.lock(); }
    void end_look() override { spanner_lock_.unlock(); }
    void let_go();
    void take_again();
    void settle_bytes();  // what was allocated so far is the constraint's
    Constraint& constraint_;
    Spanner& spanner_;
    FairLock &lock_, &spanner_lock_;
    Operation* outer_ = nullptr;
    const bool shared_;
    bool missing_;  // the lock of a shared spanner is not held
    Noted noted_;   // while others go first
    int64_t bytes_settled_ = 0;
    Task task_;
};

}  // namespace derivable
