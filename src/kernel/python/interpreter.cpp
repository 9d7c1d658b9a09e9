#include "python/interpreter.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "support/pool.hpp"

namespace derivable {

namespace {

// Who is in the kernel without the interpreter's lock. SAFETY: of the process, as forks and the interpreter's end are.
struct Gate {
    std::atomic<int> inside{0};
    std::atomic<bool> closed{false};
    std::mutex mutex;
    std::condition_variable changed;

    void enter() {
        for (;;) {
            inside.fetch_add(1);
            if (!closed.load()) return;
            leave();
            std::unique_lock<std::mutex> guard(mutex);
            changed.wait(guard, [&] { return !closed.load(); });
        }
    }
    void leave() {
        if (inside.fetch_sub(1) == 1 && closed.load()) {
            std::lock_guard<std::mutex> guard(mutex);
            changed.notify_all();
        }
    }
};
Gate* gate = new Gate();  // never freed: threads may wait at it to the end
std::atomic<bool> ending{false};
// Threads but the main one that have been in the kernel and live, and those of them that are kept there to the end.
std::atomic<int> users{0}, kept{0};
unsigned long main_thread = 0;
// PERF: as Task::current().
#if defined(__GNUC__)
#define AT_A_FIXED_PLACE __attribute__((tls_model("initial-exec")))
#else
#define AT_A_FIXED_PLACE
#endif
AT_A_FIXED_PLACE thread_local bool private_work = false;
AT_A_FIXED_PLACE thread_local bool is_inside = false;
AT_A_FIXED_PLACE thread_local bool is_known = false;

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
    kept++;
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Now and then, by a thread with a task.
void look_around() {
    if (ending.load(std::memory_order_relaxed) && is_inside && !is_main()) throw Interrupted();
    if (private_work && is_inside && gate->closed.load(std::memory_order_relaxed)) gate->leave(), gate->enter();
    if (!is_main()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool raised = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    if (raised) throw Interrupted();
}

}  // namespace

Unlocked::Unlocked() {
    if (is_inside) throw Reentered();
    if (!is_known) know_thread();
    state_ = PyEval_SaveThread();
    if (ending.load() && !is_main()) keep_thread();
    gate->enter();
    is_inside = true;
}

Unlocked::~Unlocked() {
    is_inside = false;
    if (ending.load() && !is_main()) {
        gate->leave();
        keep_thread();
    }
    PyEval_RestoreThread(state_);
    gate->leave();  // only now: shut_down() waits for threads that are to come back
}

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
}

bool shut_down() {
    using Clock = std::chrono::steady_clock;
    ending = true;
    PyThreadState* state = PyEval_SaveThread();
    auto wait = [](std::chrono::milliseconds most, auto done) {
        for (const auto end = Clock::now() + most; !done() && Clock::now() < end;)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    wait(std::chrono::seconds(5), [] { return gate->inside.load() == 0; });
    // Others are between two calls. If they come soon they are kept, and not ended by the interpreter within a call of ours.
    wait(std::chrono::milliseconds(200), [] { return kept.load() >= users.load(); });
    PyEval_RestoreThread(state);
    return users.load() > 0;
}

void before_fork() {
    PyThreadState* state = PyEval_SaveThread();
    {
        std::unique_lock<std::mutex> guard(gate->mutex);
        gate->changed.wait(guard, [] { return !gate->closed.load(); });  // another thread forks
        gate->closed = true;
        gate->changed.wait(guard, [] { return gate->inside.load() == int(is_inside); });
    }
    PyEval_RestoreThread(state);
}

void after_fork(bool in_child) {
    if (in_child) {
        // SAFETY: threads that wait at the gate are not in the child, and what they hold of it is not let go.
        gate = new Gate();
        forget_pool();
        users = kept = 0;
        gate->inside = is_inside;
        main_thread = PyThread_get_thread_ident();
        return;
    }
    std::lock_guard<std::mutex> guard(gate->mutex);
    gate->closed = false;
    gate->changed.notify_all();
}

}  // namespace derivable
