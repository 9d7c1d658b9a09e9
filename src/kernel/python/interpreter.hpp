// The interpreter's lock, its signals, its forks and its end, seen from the kernel's calls.
#pragma once

#include <condition_variable>
#include <mutex>

#include <Python.h>

#include "support/task.hpp"

namespace derivable {

// A signal's handler that interrupts the kernel, or Python code that it calls, asks something of it.
struct Reentered {};

// A call into the kernel. It has the interpreter's lock at first, and lets go of it where it takes long or has to wait for another thread; from there on other
// Python threads run. All waiting for a lock of the kernel happens within one.
//
// PERF: most calls take less than a microsecond, which is less than letting go and taking back: two threads that did so at each call replayed a quarter of the
// tokens that one alone does.
//
// SAFETY: a thread that comes back while the interpreter ends would be ended by it, within C++, which aborts the process. So before that their
// calls are broken off (`shut_down`), and from then on no thread but the main one comes back. And a fork waits until nobody is in the kernel, so the child finds no lock taken
// and no table half-filled; but for those whose work is only their own (`private_work`), which wait where they are.
class Call {
  public:
    Call();
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    // Other Python threads run from here on.
    void let_others_run();

  private:
    PyThreadState* state_ = nullptr;  // of the thread that has let go of the interpreter's lock
};

// A call that is long.
class Unlocked : public Call {
  public:
    Unlocked() { let_others_run(); }
};

// Code of the kernel that calls Python's, with the interpreter's lock. SAFETY: there the thread may let go of it, and who takes it back while the
// interpreter ends is ended by it: with frames of C++ below, that aborts the process. So the end waits for it, and none begins any more.
class CallsPython {
  public:
    CallsPython();
    ~CallsPython();
    CallsPython(const CallsPython&) = delete;
    CallsPython& operator=(const CallsPython&) = delete;
};

// Nothing that the thread changes meanwhile can be seen by others. A task of its own, for signals.
class PrivateWork {
  public:
    PrivateWork();
    ~PrivateWork();

  private:
    bool before_;
    Task task_;
};

// Once, with the interpreter's lock: the kernel looks at signals from now on.
void watch_interpreter();
// The interpreter is about to end. True if threads are kept in the kernel, and with them what they refer to.
bool shut_down();
void before_fork();
void after_fork(bool in_child);

}  // namespace derivable
