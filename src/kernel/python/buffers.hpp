// Bytes of Python's that are kept and not copied.
#pragma once

#include <memory>
#include <string_view>

#include <nanobind/nanobind.h>

namespace derivable {

inline std::shared_ptr<const Py_buffer> kept_buffer(nanobind::handle bytes) {
    auto buffer = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(bytes.ptr(), buffer.get(), PyBUF_SIMPLE) != 0) nanobind::raise_python_error();
    return {buffer.release(), [](Py_buffer* b) {
                if (!nanobind::is_alive()) return;  // the process ends, and the buffer with it
                const nanobind::gil_scoped_acquire gil;
                PyBuffer_Release(b);
                delete b;
            }};
}

inline std::string_view bytes_of(const Py_buffer& buffer) { return {static_cast<const char*>(buffer.buf), size_t(buffer.len)}; }

}  // namespace derivable
