#include "python/read_expressions.hpp"

#include <atomic>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "automata/pattern.hpp"
#include "automata/thompson.hpp"
#include "python/bindings.hpp"
#include "python/interpreter.hpp"
#include "support/errors.hpp"

namespace nb = nanobind;

namespace derivable {

std::unordered_map<PyTypeObject*, Nodes::Fields> Nodes::fields_by_type() const {
    std::unordered_map<PyTypeObject*, Fields> found;
    for (nb::handle type : module.attr("Expr").attr("__args__")) {
        Fields made{found.size(), {}};
        for (nb::handle field : nb::module_::import_("dataclasses").attr("fields")(type))
            if (nb::cast<bool>(field.attr("compare"))) made.names.push_back(field.attr("name"));
        found.emplace(reinterpret_cast<PyTypeObject*>(type.inc_ref().ptr()), std::move(made));
    }
    return found;
}

const Nodes& nodes() {
    // SAFETY: not a static object with an initializer: making it runs Python, so the interpreter's lock may pass on to a thread that would wait
    // for it to be made, with that lock. Made twice it is only kept once. Never freed: the interpreter may be gone by then.
    static std::atomic<const Nodes*> known{nullptr};
    if (!known.load()) {
        const CallsPython within;
        const Nodes *made = new Nodes(), *none = nullptr;
        known.compare_exchange_strong(none, made);
    }
    return *known.load();
}

namespace {

// Trees of `derivable.expr`, and the tuples, numbers and texts in them, as bytes.
class Content {
  public:
    std::string text;

    void add(nb::handle root) {
        std::vector<nb::handle> stack{root};
        while (!stack.empty()) {
            PyObject* value = stack.back().ptr();
            stack.pop_back();
            if (PyTuple_CheckExact(value)) {
                begin('(', size_t(PyTuple_GET_SIZE(value)));
                for (Py_ssize_t i = PyTuple_GET_SIZE(value); i-- > 0;) stack.push_back(PyTuple_GET_ITEM(value, i));
            } else if (PyBytes_CheckExact(value)) {
                string('b', PyBytes_AS_STRING(value), size_t(PyBytes_GET_SIZE(value)));
            } else if (PyUnicode_CheckExact(value)) {
                begin('u', size_t(PyUnicode_KIND(value)));
                string('u', static_cast<const char*>(PyUnicode_DATA(value)),
                       size_t(PyUnicode_GET_LENGTH(value)) * size_t(PyUnicode_KIND(value)));
            } else if (auto fields = n_.fields.find(Py_TYPE(value)); fields != n_.fields.end()) {
                begin('a', fields->second.id);
                for (size_t i = fields->second.names.size(); i-- > 0;) stack.push_back(n_.part(value, fields->second.names[i]));
            } else {
                int overflow = 1;
                int64_t number = PyLong_CheckExact(value) ? PyLong_AsLongLongAndOverflow(value, &overflow) : 0;
                if (!overflow && number >= 0) {
                    begin('n', size_t(number));
                } else {  // None, booleans, what is rare
                    std::string shown = nb::repr(value).c_str();
                    string('r', shown.data(), shown.size());
                }
            }
        }
    }

  private:
    void begin(char kind, size_t number) {
        text.push_back(kind);
        for (; number >= 128; number >>= 7) text.push_back(char(number | 128));
        text.push_back(char(number));
    }
    void string(char kind, const char* data, size_t size) {
        begin(kind, size);
        text.append(data, size);
    }
    const Nodes& n_ = nodes();
};

// A regular tree as a pattern.
class PatternReader {
  public:
    using Node = Pattern::Node;
    PatternReader(Pattern& pattern, nb::callable automaton_of) : pattern_(pattern), automaton_of_(std::move(automaton_of)) {}

    // Items before what is made of them, each object once, without recursion.
    Node read(nb::handle root) {
        std::vector<nb::handle> stack{root};
        while (!stack.empty()) {
            nb::handle expr = stack.back();
            const size_t before = stack.size();
            const bool is_new = !known_.count(expr.ptr());
            if (is_new)
                each_item(expr, [&](nb::handle item) {
                    if (!known_.count(item.ptr())) stack.push_back(item);
                });
            if (stack.size() > before) continue;
            stack.pop_back();
            if (is_new) known_[expr.ptr()] = node(expr);
        }
        return known_.at(root.ptr());
    }

  private:
    template <typename Visit>
    void each_item(nb::handle expr, Visit visit) const {
        if (n_.is(expr, n_.concat) || n_.is(expr, n_.alt)) each(n_.items_of(expr), visit);
        else if (n_.is(expr, n_.repeat) || n_.is(expr, n_.look)) visit(n_.part(expr, n_.item));
    }
    // Of an expression whose items have theirs.
    Node node(nb::handle expr) {
        std::vector<Node> items;
        each_item(expr, [&](nb::handle item) { items.push_back(known_.at(item.ptr())); });
        if (n_.is(expr, n_.concat)) return pattern_.concat(std::move(items));
        if (n_.is(expr, n_.alt)) return pattern_.alt(std::move(items));
        if (n_.is(expr, n_.repeat)) {
            nb::handle max = n_.part(expr, n_.max);
            return pattern_.repeat(items[0], uint32_t(count(n_.part(expr, n_.min))), max.is_none() ? -1 : count(max),
                                   part<bool>(expr, n_.lazy));
        }
        if (n_.is(expr, n_.look)) return pattern_.look(items[0], part<bool>(expr, n_.ahead), part<bool>(expr, n_.negative));
        if (n_.is(expr, n_.bytes)) {
            const auto text = part<nb::bytes>(expr, n_.value);
            return pattern_.bytes(std::string(text.c_str(), text.size()));
        }
        if (n_.is(expr, n_.chars)) return pattern_.chars(part<CodePoints>(expr, n_.ranges));
        if (n_.is(expr, n_.byte_set)) return pattern_.byte_set(part<std::vector<std::pair<uint8_t, uint8_t>>>(expr, n_.ranges));
        if (n_.is(expr, n_.graph))
            return pattern_.graph(part<std::vector<std::vector<std::tuple<uint8_t, uint8_t, uint32_t>>>>(expr, n_.edges),
                                  part<std::vector<bool>>(expr, n_.accepting));
        const CallsPython within;
        return pattern_.automaton(*nb::cast<std::shared_ptr<Dfa>>(automaton_of_(expr)));
    }
    template <typename T>
    T part(nb::handle expr, const nb::object& attribute) const {
        return nb::cast<T>(n_.part(expr, attribute));
    }
    static int64_t count(nb::handle value) {
        constexpr int64_t kMost = 1 << 30;
        int overflow = 0;
        int64_t found = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
        if (overflow || found > kMost) throw LimitExceeded("max_nfa_states", kMost, kMost, "repetitions");
        return found;
    }

    const Nodes& n_ = nodes();
    Pattern& pattern_;
    const nb::callable automaton_of_;
    std::unordered_map<PyObject*, Node> known_;
};

std::shared_ptr<Dfa> compile_tree(nb::handle expr, bool leftmost_first, uint64_t max_nfa_states, uint64_t max_dfa_states,
                                  nb::callable automaton_of) {
    Pattern pattern;
    const Pattern::Node root = PatternReader(pattern, std::move(automaton_of)).read(expr);
    Unlocked unlocked;
    PrivateWork private_work;
    return std::make_shared<Dfa>(compile_pattern(pattern, root, leftmost_first, max_nfa_states, max_dfa_states));
}

}  // namespace

void bind_expressions(nb::module_& m) {
    m.def(
        "content",
        [](nb::handle expr) {
            Content content;
            content.add(expr);
            return nb::bytes(content.text.data(), content.text.size());
        },
        nb::arg("expr"), "Bytes that are equal for equal expressions only.\n\nCost: about 100 ns a node.");
    m.def("compile_tree", &compile_tree, nb::arg("expr"), nb::arg("leftmost_first"), nb::arg("max_nfa_states"), nb::arg("max_dfa_states"),
          nb::arg("automaton_of"),
          "The minimal automaton of a regular expression tree.\n\n"
          "Args:\n    automaton_of: of a part that is no concatenation, alternation, repetition, assertion, text, class or graph.");
}

}  // namespace derivable
