// Arguments from Python, checked one by one: what is given is a value of the right kind, or a typed error says what it is and what is wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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
    int64_t row = -1;  // of a batch
};

[[noreturn]] inline void refuse(const char* name, const char* wanted, nanobind::handle given) {
    throw BadArgument{name, wanted, nanobind::borrow(given)};
}

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

// A token of the vocabulary by its id, if there is such a one.
inline std::optional<uint32_t> known_token(const Constraint& c, nanobind::handle id) {
    int overflow;
    int64_t found = PyLong_AsLongLongAndOverflow(id.ptr(), &overflow);
    if (overflow || found < 0 || uint64_t(found) >= c.vocabulary().size()) return std::nullopt;
    return uint32_t(found);
}

inline uint32_t token_of(const Constraint& c, nanobind::handle given, int64_t row = -1) {
    nanobind::object token = integer("token_id", given);
    if (std::optional<uint32_t> known = known_token(c, token)) return *known;
    throw BadToken{std::move(token), c.vocabulary().size(), row};
}

inline std::vector<nanobind::object> objects_of(const char* name, const char* wanted, nanobind::handle given) {
    PyObject* items = PyUnicode_Check(given.ptr()) || PyBytes_Check(given.ptr()) || PyByteArray_Check(given.ptr())
                          ? nullptr
                          : PyObject_GetIter(given.ptr());
    if (!items) {
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) nanobind::raise_python_error();
        PyErr_Clear();
        refuse(name, wanted, given);
    }
    std::vector<nanobind::object> found;
    nanobind::object owner = nanobind::steal(items);
    while (PyObject* item = PyIter_Next(items)) found.push_back(nanobind::steal(item));
    if (PyErr_Occurred()) nanobind::raise_python_error();
    return found;
}

inline std::vector<nanobind::object> token_objects(nanobind::handle given) { return objects_of("token_ids", "a list of token ids", given); }

// Up to the first that is no token of the vocabulary.
inline std::vector<uint32_t> known_tokens(const Constraint& c, nanobind::handle given) {
    std::vector<uint32_t> ids;
    bool known = true;
    for (const nanobind::object& item : token_objects(given)) {
        std::optional<uint32_t> id = known_token(c, integer("token_id", item));
        if ((known = known && id)) ids.push_back(*id);
    }
    return ids;
}

inline std::string_view bytes_of(const char* name, nanobind::handle given) {
    if (!PyBytes_Check(given.ptr())) refuse(name, "bytes", given);
    return {PyBytes_AS_STRING(given.ptr()), size_t(PyBytes_GET_SIZE(given.ptr()))};
}

}  // namespace derivable
