#include "interpreter.hpp"

#include <atomic>
#include <chrono>
#include <new>

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
Gate gate;
std::atomic<bool> ending{false};
unsigned long main_thread = 0;
// PERF: as Task::current().
#if defined(__GNUC__)
#define AT_A_FIXED_PLACE __attribute__((tls_model("initial-exec")))
#else
#define AT_A_FIXED_PLACE
#endif
AT_A_FIXED_PLACE thread_local bool private_work = false;
AT_A_FIXED_PLACE thread_local bool is_inside = false;

// Now and then, by a thread with a task.
void look_around() {
    if (ending.load(std::memory_order_relaxed) && is_inside && PyThread_get_thread_ident() != main_thread) throw Interrupted();
    if (private_work && is_inside && gate.closed.load(std::memory_order_relaxed)) gate.leave(), gate.enter();
    if (PyThread_get_thread_ident() != main_thread) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool raised = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    if (raised) throw Interrupted();
}

}  // namespace

Unlocked::Unlocked() : state_(nullptr) {
    if (is_inside) throw Reentered();
    if (ending.load()) return;
    state_ = PyEval_SaveThread();
    gate.enter();
    is_inside = true;
}

Unlocked::~Unlocked() {
    if (!state_) return;
    is_inside = false;
    PyEval_RestoreThread(state_);
    gate.leave();  // only now: shut_down() waits for threads that are to come back
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

void shut_down() {
    ending = true;
    PyThreadState* state = PyEval_SaveThread();
    {
        std::unique_lock<std::mutex> guard(gate.mutex);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        while (gate.inside.load() > 0 && std::chrono::steady_clock::now() < end) gate.changed.wait_for(guard, std::chrono::milliseconds(1));
    }
    PyEval_RestoreThread(state);
}

void before_fork() {
    PyThreadState* state = PyEval_SaveThread();
    {
        std::unique_lock<std::mutex> guard(gate.mutex);
        gate.changed.wait(guard, [] { return !gate.closed.load(); });  // another thread forks
        gate.closed = true;
        gate.changed.wait(guard, [] { return gate.inside.load() == int(is_inside); });
    }
    PyEval_RestoreThread(state);
}

void after_fork(bool in_child) {
    if (in_child) {
        // SAFETY: threads that wait at the gate are not in the child, and whatever they hold of it is not, either.
        new (&gate) Gate();
        gate.inside = is_inside;
        main_thread = PyThread_get_thread_ident();
        return;
    }
    std::lock_guard<std::mutex> guard(gate.mutex);
    gate.closed = false;
    gate.changed.notify_all();
}

}  // namespace derivable
