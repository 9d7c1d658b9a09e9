#include "python/bindings.hpp"

#include <optional>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "automata/partition.hpp"
#include "json/listed_numbers.hpp"
#include "json/number_range.hpp"
#include "python/interpreter.hpp"

namespace nb = nanobind;

namespace derivable {

namespace {

// A writer that gives up where a text gets too long: a value whose parts are shared can be small, and its text of any length.
class Speller {
  public:
    explicit Speller(size_t most) : most_(most) {}
    // False: too long, too deep, or not made of JSON values.
    bool write(PyObject* v, uint32_t depth) {
        if (out.size() > most_ || depth > kDeepest) return false;
        if (v == Py_None || v == Py_True || v == Py_False) return out += v == Py_None ? 'n' : v == Py_True ? 't' : 'f', true;
        if (PyUnicode_CheckExact(v)) return text(v);
        if (PyLong_CheckExact(v)) return number(v);
        if (PyFloat_CheckExact(v)) {
            const double d = PyFloat_AS_DOUBLE(v);
            return raw('d', &d, sizeof d), true;
        }
        if (PyList_CheckExact(v)) {
            size('[', size_t(PyList_GET_SIZE(v)));
            for (Py_ssize_t i = 0; i < PyList_GET_SIZE(v); i++)
                if (!write(PyList_GET_ITEM(v, i), depth + 1)) return false;
            return true;
        }
        if (PyDict_CheckExact(v)) {
            size('{', size_t(PyDict_GET_SIZE(v)));
            PyObject *key, *value;
            for (Py_ssize_t at = 0; PyDict_Next(v, &at, &key, &value);)
                if (!PyUnicode_CheckExact(key) || !text(key) || !write(value, depth + 1)) return false;
            return true;
        }
        return decimal(v);
    }
    std::string out;

  private:
    static constexpr uint32_t kDeepest = 5'000;  // SAFETY: each is a step of recursion

    void raw(char kind, const void* data, size_t length) { out += kind, out.append(static_cast<const char*>(data), length); }
    void size(char kind, size_t n) { raw(kind, &n, sizeof n); }
    bool text(PyObject* v) {
        const size_t length = size_t(PyUnicode_GET_LENGTH(v)) * size_t(PyUnicode_KIND(v));
        if (length > most_) return false;
        size(char('0' + PyUnicode_KIND(v)), length);
        out.append(static_cast<const char*>(PyUnicode_DATA(v)), length);
        return true;
    }
    bool number(PyObject* v) {
        int overflow = 0;
        const long long n = PyLong_AsLongLongAndOverflow(v, &overflow);
        if (!overflow) return raw('i', &n, sizeof n), true;
        return shown('I', nb::steal(PyNumber_ToBase(v, 16)));
    }
    bool decimal(PyObject* v) {
        if (!decimal_.is_valid()) {
            const CallsPython within;
            decimal_ = nb::module_::import_("decimal").attr("Decimal");
        }
        return Py_TYPE(v) == reinterpret_cast<PyTypeObject*>(decimal_.ptr()) && shown('D', nb::steal(PyObject_Str(v)));
    }
    bool shown(char kind, const nb::object& s) {
        if (!s.is_valid()) throw nb::python_error();
        out += kind;
        return text(s.ptr());
    }

    size_t most_;
    nb::object decimal_;
};

// As the arguments of `derivable.expr.Graph`.
nb::tuple graph(const Dfa& d) {
    nb::list edges, accepting;
    for (uint32_t s = 0; s < d.num_states(); s++) {
        nb::list out;
        for (int low = 0, b = 0; b < 256; b++) {
            const int32_t to = d.step(s, uint8_t(b));
            if (b < 255 && d.step(s, uint8_t(b + 1)) == to) continue;
            if (to != kDead) out.append(nb::make_tuple(low, b, to));
            low = b + 1;
        }
        edges.append(nb::tuple(out));
        accepting.append(bool(d.accepting[s]));
    }
    return nb::make_tuple(nb::tuple(edges), nb::tuple(accepting));
}

nb::tuple graph(const TextGraph& g) {
    nb::list edges, accepting;
    for (size_t s = 0; s < g.edges.size(); s++) {
        nb::list out;
        for (const TextGraph::Edge& e : g.edges[s]) out.append(nb::make_tuple(e.byte, e.byte, e.to));
        edges.append(nb::tuple(out));
        accepting.append(bool(g.accepting[s]));
    }
    return nb::make_tuple(nb::tuple(edges), nb::tuple(accepting));
}

void bind_number_range(nb::module_& m) {
    using Bound = std::pair<std::string, bool>;  // and whether it is outside itself
    nb::class_<NumberRange>(m, "NumberRange", "The literals that `derivable.expr.Numbers` describes.")
        .def(
            "__init__",
            [](NumberRange* self, std::optional<Bound> low, std::optional<Bound> high, std::optional<bool> integral,
               std::optional<bool> digits, std::optional<uint32_t> most_decimals, bool scientific, bool written, uint64_t longest) {
                NumberRange range;
                range.integral = integral, range.digits = digits, range.most_decimals = most_decimals, range.scientific = scientific;
                range.written = written;
                if (low) range.low = {Decimal::read(low->first, longest), low->second};
                if (high) range.high = {Decimal::read(high->first, longest), high->second};
                new (self) NumberRange(std::move(range));
            },
            nb::arg("low").none(), nb::arg("high").none(), nb::arg("integral").none(), nb::arg("digits").none(),
            nb::arg("most_decimals").none(), nb::arg("scientific"), nb::arg("written"), nb::arg("longest"),
            "Raises:\n    LimitError: a bound has more than `longest` digits when it is written out.")
        .def_prop_ro("is_small", &NumberRange::is_small, "It has so few digits that its table can be made at any time.")
        .def_prop_ro(
            "is_empty", [](const NumberRange& r) { return !r.has_numbers(); }, "No number is within.")
        .def(
            "to_dfa", [](const NumberRange& r, uint64_t max) { return std::make_shared<Dfa>(number_range(r, max)); }, nb::arg("max_states"),
            "As a table.\n\nCost: about 0.5 us for each of its states.");
}

}  // namespace

void bind_schemas(nb::module_& m) {
    m.def(
        "spelled",
        [](nb::handle value, size_t most) -> std::optional<nb::bytes> {
            Speller speller(most);
            if (!speller.write(value.ptr(), 0)) return std::nullopt;
            return nb::bytes(speller.out.data(), speller.out.size());
        },
        nb::arg("value").none(), nb::arg("most"),
        "Bytes that are equal only for equal JSON values (the order of members, and numbers of different types, count).\n\n"
        "Returns:\n    `None` if they are more than about `most`, or the value is nested too deep or not made of JSON values.\n\nCost: "
        "about 20 ns a value.");
    m.def(
        "listed_numbers",
        [](const std::vector<std::string>& literals, size_t most, uint64_t longest) {
            std::vector<TextGraph> made;
            {
                const Unlocked others;
                const PrivateWork private_work;
                made = listed_numbers(literals, most, longest);
            }
            nb::list graphs;
            for (const TextGraph& g : made) graphs.append(graph(g));
            return graphs;
        },
        nb::arg("literals"), nb::arg("most"), nb::arg("longest"),
        "Every plain and normalised scientific literal of exactly these numbers, in automata of about `most` characters of numbers each, "
        "as the arguments of "
        "`Graph`.\n\nRaises:\n    LimitError: a number has more than `longest` digits when it is written out.\n\nCost: about 1 us a "
        "number.");
    bind_number_range(m);
    nb::class_<Partition>(m, "Partition", "The strings of an automaton, in classes by the other automata that accept them.")
        .def(
            "__init__",
            [](Partition* self, const Dfa& whole, const std::vector<const Dfa*>& parts, uint64_t max_states, uint64_t max_classes) {
                new (self) Partition(whole, parts, max_states, max_classes);
            },
            nb::arg("whole"), nb::arg("parts"), nb::arg("max_states"), nb::arg("max_classes"))
        .def_prop_ro("answers", &Partition::answers, "By class: which automata accept its strings.")
        .def(
            "strings", [](const Partition& p, const std::vector<uint32_t>& classes) { return graph(p.strings(classes)); },
            nb::arg("classes"), "The strings of some classes, as the arguments of `Graph`.");
}

}  // namespace derivable
