#include "python/bindings.hpp"

#include <optional>

#include <nanobind/stl/optional.h>

#include "python/interpreter.hpp"
#include "support/task.hpp"

namespace nb = nanobind;

namespace derivable {

namespace {

// A task as a context of Python: what the thread does within counts as one.
class Budget {
  public:
    Budget(std::optional<double> seconds, uint64_t max_bytes) : task_(Task::kUnbounded, {"max_bytes", max_bytes, 0}, seconds.value_or(0)) {}
    Budget& enter() {
        task_.enter();
        return *this;
    }
    void leave() { task_.leave(); }
    uint64_t spent() const { return task_.spent(); }
    int64_t bytes() const { return task_.bytes(); }

  private:
    Task task_;
};

// Loops of Python count by this, as the kernel does by `work`.
void check(uint64_t n) { work(n); }

}  // namespace

void bind_budget(nb::module_& m) {
    watch_interpreter();
    nb::class_<Budget>(m, "Budget", "Bounds on what a thread does within this context, in seconds and in bytes of the kernel.")
        .def(nb::init<std::optional<double>, uint64_t>(), nb::arg("seconds").none(), nb::arg("max_bytes"))
        .def("__enter__", &Budget::enter, nb::rv_policy::reference)
        .def(
            "__exit__", [](Budget& b, nb::handle, nb::handle, nb::handle) { b.leave(); }, nb::arg("type").none(), nb::arg("value").none(),
            nb::arg("traceback").none())
        .def_prop_ro("work", &Budget::spent, "Units of about 10 ns, so far.")
        .def_prop_ro("bytes", &Budget::bytes, "Allocated by the kernel and not freed, so far.");
    m.def("check", &check, nb::arg("work") = 100,
          "Counts work of the innermost budget of the thread.\n\nRaises:\n    LimitError: it is used up.");
    m.def(
        "shut_down",
        [] {
            shut_down();
            nb::set_leak_warnings(false);  // who lives on in threads, or in what torch keeps to the end, is no leak
        },
        "Calls threads back from the kernel: the interpreter is about to end.");
    m.def("before_fork", &before_fork, "Waits until no thread is in the kernel, and keeps others out.");
    m.def("after_fork", &after_fork, nb::arg("in_child"), "Lets threads into the kernel again.");
}

}  // namespace derivable
