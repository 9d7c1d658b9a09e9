// Arguments from Python, checked one by one: what is given is a value of the right kind, or a typed error says what it is and what is wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "matching/matcher.hpp"

namespace derivable {

// Not of the kind that a function takes (Python: ArgumentError).
struct BadArgument {
    const char *name, *wanted;
    nanobind::object given;
};

// No token of the vocabulary, whatever its size (Python: TokenRejectedError).
struct BadToken {
    nanobind::object token;
    uint64_t size;
};

[[noreturn]] inline void refuse(const char* name, const char* wanted, nanobind::handle given) { throw BadArgument{name, wanted, nanobind::borrow(given)}; }

// What Python takes as an index: int, numpy's integers, arrays of one. Not booleans, which are integers to Python, but count nothing.
inline nanobind::object integer(const char* name, nanobind::handle given) {
    if (PyLong_CheckExact(given.ptr())) return nanobind::borrow(given);
    if (!PyBool_Check(given.ptr()) && PyIndex_Check(given.ptr())) {
        if (PyObject* found = PyNumber_Index(given.ptr())) return nanobind::steal(found);
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) nanobind::raise_python_error();
        PyErr_Clear();
    }
    refuse(name, "an integer", given);
}

// The nearest number of 64 bits: what is beyond is out of range for every use.
inline int64_t number(const char* name, nanobind::handle given) {
    int overflow;
    int64_t found = PyLong_AsLongLongAndOverflow(integer(name, given).ptr(), &overflow);
    return overflow > 0 ? INT64_MAX : overflow < 0 ? INT64_MIN : found;
}

inline uint32_t token_of(const Constraint& c, nanobind::handle given) {
    nanobind::object token = integer("token_id", given);
    int overflow;
    int64_t found = PyLong_AsLongLongAndOverflow(token.ptr(), &overflow);
    if (overflow || found < 0 || uint64_t(found) >= c.vocabulary().size()) throw BadToken{std::move(token), c.vocabulary().size()};
    return uint32_t(found);
}

inline std::vector<uint32_t> tokens_of(const Constraint& c, nanobind::handle given) {
    PyObject* items = PyUnicode_Check(given.ptr()) || PyBytes_Check(given.ptr()) || PyByteArray_Check(given.ptr()) ? nullptr : PyObject_GetIter(given.ptr());
    if (!items) {
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) nanobind::raise_python_error();
        PyErr_Clear();
        refuse("token_ids", "a list of token ids", given);
    }
    std::vector<uint32_t> ids;
    nanobind::object owner = nanobind::steal(items);
    while (PyObject* item = PyIter_Next(items)) ids.push_back(token_of(c, nanobind::steal(item)));
    if (PyErr_Occurred()) nanobind::raise_python_error();
    return ids;
}

inline std::string_view bytes_of(const char* name, nanobind::handle given) {
    if (!PyBytes_Check(given.ptr())) refuse(name, "bytes", given);
    return {PyBytes_AS_STRING(given.ptr()), size_t(PyBytes_GET_SIZE(given.ptr()))};
}

}  // namespace derivable
