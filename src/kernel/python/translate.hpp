// What the kernel throws, as the errors of `derivable.errors`.
#pragma once

#include <cstdint>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "matching/matcher.hpp"
#include "python/arguments.hpp"
#include "python/interpreter.hpp"
#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

struct TokenRejected {
    int64_t token;
    std::string bytes, detail;
    int64_t row = -1;  // of a batch
};

struct BadBitmask {
    std::string problem;
};

struct BadRollback {
    int64_t wanted;
    uint64_t have, length;  // steps that can be undone, and that there were
};

// SAFETY: leaves a Python error set and nothing thrown, as an exception translator must.
inline void raise_python(const char* name, nanobind::tuple args, nanobind::dict kwargs = nanobind::dict()) {
    CallsPython within;
    nanobind::object cls = nanobind::module_::import_("derivable.errors").attr(name);
    nanobind::object error = cls(*args, **kwargs);
    PyErr_SetObject(cls.ptr(), error.ptr());
}

inline nanobind::dict row_of_batch(int64_t row) {
    nanobind::dict named;
    if (row >= 0) named["row"] = row;
    return named;
}

inline void translate(const std::exception_ptr& p, void*) {
    try {
        std::rethrow_exception(p);
    } catch (const LimitExceeded& e) {
        raise_python("LimitError", nanobind::make_tuple(e.limit, e.used, e.allowed, e.detail));
    } catch (const TimeIsUp& e) {
        raise_python("LimitError", nanobind::make_tuple("timeout", e.seconds, e.allowed, "compiling"));
    } catch (const MemoryExceeded& e) {
        raise_python("LimitError", nanobind::make_tuple(e.limit, e.used, e.allowed, "bytes of memory"));
    } catch (const std::bad_alloc&) {
        raise_python("LimitError", nanobind::make_tuple("memory of the machine", 1, 0, "an allocation was refused"));
    } catch (const std::length_error&) {
        raise_python("LimitError", nanobind::make_tuple("size of an array", 1, 0, "more elements than can be addressed"));
    } catch (const Interrupted&) {
        if (!PyErr_Occurred()) PyErr_SetNone(PyExc_SystemExit);  // not seen: the thread is kept
    } catch (const UsedTwice&) {
        raise_python(
            "MatcherError",
            nanobind::make_tuple("this matcher is in use by another thread. fork() one for each thread, or use it from one at a time."));
    } catch (const Reentered&) {
        raise_python("MatcherError", nanobind::make_tuple("the kernel is at work in this thread, and is asked something from within: by a "
                                                          "signal handler, or by a method of a Meaning. "
                                                          "A handler notes the signal, and what it means is done after the call; a Meaning "
                                                          "tells names from the state and the slot alone."));
    } catch (const Unsupported& e) {
        raise_python("UnsupportedFeatureError", nanobind::make_tuple(e.feature, std::string(e.what()) + " is not supported"));
    } catch (const BadGrammar& e) {
        nanobind::dict hint;
        hint["hint"] = e.hint;
        raise_python("GrammarError", nanobind::make_tuple(std::string(e.what())), hint);
    } catch (const BadArtifact& e) {
        raise_python("ArtifactError", nanobind::make_tuple(std::string(e.what()) + ". Save the constraint again."));
    } catch (const BadState& e) {
        raise_python("ArtifactError", nanobind::make_tuple(std::string(e.what()) +
                                                           ". Give what Matcher.to_bytes() gave, as it was, to the same constraint."));
    } catch (const TokenRejected& e) {
        nanobind::object token = e.token < 0 ? nanobind::object(nanobind::none()) : nanobind::object(nanobind::int_(e.token));
        nanobind::object bytes = e.token >= 0 && e.bytes.empty() ? nanobind::object(nanobind::none())
                                                                 : nanobind::object(nanobind::bytes(e.bytes.data(), e.bytes.size()));
        raise_python("TokenRejectedError", nanobind::make_tuple(token, bytes, e.detail), row_of_batch(e.row));
    } catch (const BadToken& e) {
        raise_python("TokenRejectedError",
                     nanobind::make_tuple(e.token, nanobind::none(), "the vocabulary has " + std::to_string(e.size) + " tokens"),
                     row_of_batch(e.row));
    } catch (const BadArgument& e) {
        raise_python("ArgumentError", nanobind::make_tuple(e.name, e.wanted, e.given));
    } catch (const BadBitmask& e) {
        raise_python("BitmaskShapeError", nanobind::make_tuple(e.problem + " Make one with allocate_bitmask(batch, vocab.size)."));
    } catch (const BadRollback& e) {
        const char* since = e.have == e.length ? " were advanced since the start." : " were advanced since the matcher was resumed.";
        raise_python("RollbackError", nanobind::make_tuple("cannot roll back " + std::to_string(e.wanted) + " tokens: only " +
                                                           std::to_string(e.have) + since + " Use reset() to go back to the start."));
    }
}

}  // namespace derivable
