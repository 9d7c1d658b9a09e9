#include "python/bindings.hpp"

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

#include <nanobind/stl/optional.h>

#include "masks/slow_masks.hpp"

namespace nb = nanobind;

namespace derivable {

namespace {

constexpr size_t kMost = 256;  // that wait to be told; what comes then is counted in stats only

std::mutex mutex;
std::deque<SlowMask> waiting;
PyObject* callback = nullptr;  // under the interpreter's lock. Never freed: a call may be pending when the interpreter ends

// In the main thread, with the interpreter's lock, between two of its instructions.
int tell(void*) {
    for (;;) {
        SlowMask slow;
        {
            std::lock_guard<std::mutex> held(mutex);
            if (waiting.empty()) return 0;
            slow = std::move(waiting.front());
            waiting.pop_front();
        }
        if (!callback) continue;
        try {
            nb::list lexeme;
            for (uint32_t symbol : slow.lexeme) lexeme.append(symbol);
            const nb::handle call = callback;
            call(slow.constraint, slow.nanoseconds, slow.nodes, slow.by_bytes, lexeme);
        } catch (nb::python_error& error) {
            error.restore();
            return -1;
        }
    }
}

// SAFETY: the thread has not the interpreter's lock, and must not wait for it; a pending call needs none.
void listen(SlowMask slow) {
    {
        std::lock_guard<std::mutex> held(mutex);
        if (waiting.size() >= kMost) return;
        waiting.push_back(std::move(slow));
    }
    Py_AddPendingCall(tell, nullptr);
}

void watch(std::optional<double> seconds, nb::object call) {
    SlowMasks::threshold = INT64_MAX;
    callback = call.is_none() ? nullptr : call.release().ptr();
    SlowMasks::listener = listen;
    if (callback && seconds) SlowMasks::threshold = int64_t(std::min(*seconds * 1e9, 9e18));
}

}  // namespace

void bind_slow_masks(nb::module_& m) {
    m.def("watch_slow_masks", &watch, nb::arg("seconds").none(), nb::arg("call").none(),
          "From now on call(serial, nanoseconds, nodes, by_bytes, lexeme) is called for masks that take as long, by the main thread.");
}

}  // namespace derivable
