#include "python/interpreter.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "support/pool.hpp"

namespace derivable {

namespace {

// Who is in the kernel without the interpreter's lock. SAFETY: of the process, as forks and the interpreter's end are.
struct Gate {
    std::atomic<int> inside{0};
    std::atomic<bool> closed{false};
    std::mutex mutex;
    std::condition_variable changed;

    void wait() {
        std::unique_lock<std::mutex> guard(mutex);
        changed.wait(guard, [&] { return !closed.load(); });
    }
    // SAFETY: also where it is closed, by a thread that holds the interpreter's lock and has begun: who closed it looks again with that lock.
    void enter() { inside.fetch_add(1); }
    void leave() {
        inside.fetch_sub(1);
        if (!closed.load()) return;
        std::lock_guard<std::mutex> guard(mutex);
        changed.notify_all();
    }
};
Gate* gate = new Gate();  // never freed: threads may wait at it to the end
std::atomic<bool> ending{false};
// Threads but the main one that have been in the kernel and live, and those of them that are kept there to the end.
std::atomic<int> users{0}, kept{0};
std::atomic<int> in_python{0};  // of CallsPython
unsigned long main_thread = 0;
// PERF: as Task::current().
#if defined(__GNUC__)
#define AT_A_FIXED_PLACE __attribute__((tls_model("initial-exec")))
#else
#define AT_A_FIXED_PLACE
#endif
AT_A_FIXED_PLACE thread_local bool private_work = false;
AT_A_FIXED_PLACE thread_local Call* current_call = nullptr;
AT_A_FIXED_PLACE thread_local bool is_beside = false;  // in the kernel, and without the interpreter's lock
AT_A_FIXED_PLACE thread_local bool is_known = false;
AT_A_FIXED_PLACE thread_local int calls_python = 0;  // of in_python

bool is_main() { return PyThread_get_thread_ident() == main_thread; }

void know_thread() {
    is_known = true;
    // SAFETY: what a thread needs to throw is allocated when it throws first. Where that is because there is no memory the process is aborted.
    try {
        throw Interrupted();
    } catch (const Interrupted&) {}
    if (is_main()) return;
    struct User {
        User() { users++; }
        ~User() { users--; }
    };
    static thread_local User user;
    (void)user;
}

// The interpreter ends: the thread does not come back. Without the interpreter's lock.
[[noreturn]] void keep_thread() {
    in_python -= calls_python;
    kept++;
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Now and then, by a thread with a task.
void look_around() {
    using Clock = std::chrono::steady_clock;
    // PERF: it has to wait for the interpreter's lock.
    constexpr std::chrono::milliseconds kBetweenSignals{20};
    static Clock::time_point last_look;  // of the main thread
    if (ending.load(std::memory_order_relaxed) && current_call && !is_main()) throw Interrupted();
    if (private_work && is_beside && gate->closed.load(std::memory_order_relaxed)) {
        do {
            gate->leave();
            gate->wait();
            gate->enter();
        } while (gate->closed.load());
    }
    if (!is_main()) return;
    const Clock::time_point now = Clock::now();
    if (now - last_look < kBetweenSignals) return;
    last_look = now;
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool raised = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    if (raised) throw Interrupted();
}

void let_others_run() {
    if (current_call) current_call->let_others_run();
}

}  // namespace

Call::Call() {
    if (current_call) throw Reentered();
    if (!is_known) know_thread();
    if (ending.load(std::memory_order_relaxed) && !is_main()) {
        PyEval_SaveThread();
        keep_thread();
    }
    while (gate->closed.load(std::memory_order_relaxed)) {
        PyThreadState* state = PyEval_SaveThread();
        gate->wait();
        PyEval_RestoreThread(state);
    }
    current_call = this;
}

void Call::let_others_run() {
    if (state_) return;
    gate->enter();
    is_beside = true;
    state_ = PyEval_SaveThread();
}

Call::~Call() {
    current_call = nullptr;
    const bool beside = std::exchange(is_beside, false);
    if (ending.load(std::memory_order_relaxed) && !is_main()) {
        if (beside) gate->leave();
        else PyEval_SaveThread();
        keep_thread();
    }
    if (!beside) return;
    PyEval_RestoreThread(state_);
    gate->leave();  // only now: shut_down() waits for threads that are to come back
}

CallsPython::CallsPython() {
    if (ending.load(std::memory_order_relaxed) && !is_main()) {
        PyEval_SaveThread();
        keep_thread();
    }
    in_python++, calls_python++;
}

CallsPython::~CallsPython() { in_python--, calls_python--; }

PrivateWork::PrivateWork() : before_(private_work), task_(Task::kUnbounded) {
    private_work = true;
    task_.enter();
}
PrivateWork::~PrivateWork() { private_work = before_; }

void watch_interpreter() {
    PyObject* threading = PyImport_ImportModule("threading");
    PyObject* thread = threading ? PyObject_CallMethod(threading, "main_thread", nullptr) : nullptr;
    PyObject* ident = thread ? PyObject_GetAttrString(thread, "ident") : nullptr;
    if (ident && ident != Py_None) main_thread = PyLong_AsUnsignedLong(ident);
    PyErr_Clear();
    Py_XDECREF(ident);
    Py_XDECREF(thread);
    Py_XDECREF(threading);
    Task::look_around = look_around;
    Task::let_others_run = let_others_run;
}

bool shut_down() {
    using Clock = std::chrono::steady_clock;
    ending = true;
    PyGC_Disable();  // within the kernel's code it would run Python's; the interpreter collects what it ends with all the same
    PyThreadState* state = PyEval_SaveThread();
    auto wait = [](std::chrono::milliseconds most, auto done) {
        for (const auto end = Clock::now() + most; !done() && Clock::now() < end;)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    wait(std::chrono::seconds(5), [] { return gate->inside.load() == 0 && in_python.load() == 0; });
    // Others are between two calls. If they come soon they are kept, and not ended by the interpreter within a call of ours.
    wait(std::chrono::milliseconds(200), [] { return kept.load() >= users.load(); });
    PyEval_RestoreThread(state);
    return users.load() > 0;
}

void before_fork() {
    auto nobody_else = [] { return gate->inside.load() == int(is_beside); };
    bool closed = false;  // by this thread
    do {
        PyThreadState* state = PyEval_SaveThread();
        {
            std::unique_lock<std::mutex> guard(gate->mutex);
            if (!closed) gate->changed.wait(guard, [] { return !gate->closed.load(); });  // another thread forks
            closed = gate->closed = true;
            gate->changed.wait(guard, nobody_else);
        }
        PyEval_RestoreThread(state);
        // Who had the interpreter's lock meanwhile may have gone on without it.
    } while (!nobody_else());
}

void after_fork(bool in_child) {
    if (in_child) {
        // SAFETY: threads that wait at the gate are not in the child, and what they hold of it is not let go.
        gate = new Gate();
        forget_pool();
        users = kept = 0;
        in_python = calls_python;
        gate->inside = int(is_beside);
        main_thread = PyThread_get_thread_ident();
        return;
    }
    std::lock_guard<std::mutex> guard(gate->mutex);
    gate->closed = false;
    gate->changed.notify_all();
}

}  // namespace derivable
