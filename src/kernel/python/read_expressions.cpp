#include "python/read_expressions.hpp"

#include <atomic>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
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
#include "support/task.hpp"

namespace nb = nanobind;

namespace derivable {

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

bool names_only(nb::iterable rules) {
    const Nodes& n = nodes();
    std::vector<nb::handle> stack;
    for (nb::handle rule : rules) {
        stack.push_back(rule);
        while (!stack.empty()) {
            nb::handle node = stack.back();
            stack.pop_back();
            if (n.is(node, n.ref) || n.is(node, n.sequences) || n.is(node, n.members)) continue;
            if (n.is(node, n.concat) || n.is(node, n.alt) || n.is(node, n.conjunction)) {
                nb::handle items = n.items_of(node);
                if (PyTuple_GET_SIZE(items.ptr()) == 0) return false;
                each(items, [&](nb::handle item) { stack.push_back(item); });
            } else if (n.is(node, n.repeat) || n.is(node, n.look) || n.is(node, n.complement) || n.is(node, n.json_text)) {
                stack.push_back(n.part(node, n.item));
            } else {
                return false;
            }
        }
    }
    return true;
}

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
            } else if (auto fields = fields_.find(Py_TYPE(value)); fields != fields_.end()) {
                begin('a', fields->second.id);
                for (size_t i = fields->second.names.size(); i-- > 0;) stack.push_back(nodes().part(value, fields->second.names[i]));
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
    struct Fields {
        size_t id;
        std::vector<nb::object> names;
    };
    using FieldsOf = std::unordered_map<PyTypeObject*, Fields>;
    // By type of node, what makes it equal to another.
    static const FieldsOf& known_fields() {
        static std::atomic<const FieldsOf*> known{nullptr};  // as nodes()
        if (!known.load()) {
            const CallsPython within;
            const FieldsOf *made = find_fields(), *none = nullptr;
            known.compare_exchange_strong(none, made);
        }
        return *known.load();
    }
    static const FieldsOf* find_fields() {
        auto* out = new FieldsOf();
        for (nb::handle type : nodes().module.attr("Expr").attr("__args__")) {
            Fields fields{out->size(), {}};
            for (nb::handle field : nb::module_::import_("dataclasses").attr("fields")(type))
                if (nb::cast<bool>(field.attr("compare"))) fields.names.push_back(field.attr("name"));
            out->emplace(reinterpret_cast<PyTypeObject*>(type.inc_ref().ptr()), std::move(fields));
        }
        return out;
    }
    void begin(char kind, size_t number) {
        text.push_back(kind);
        for (; number >= 128; number >>= 7) text.push_back(char(number | 128));
        text.push_back(char(number));
    }
    void string(char kind, const char* data, size_t size) {
        begin(kind, size);
        text.append(data, size);
    }
    const std::unordered_map<PyTypeObject*, Fields>& fields_ = known_fields();
};

// Visits the expressions of a tree, children first, each once, without recursion.
template <typename Visit>
void each_expression(nb::handle root, Visit visit) {
    const Nodes& n = nodes();
    std::unordered_set<PyObject*> seen;
    std::vector<nb::handle> stack{root};
    while (!stack.empty()) {
        nb::handle expr = stack.back();
        const size_t before = stack.size();
        auto want = [&](nb::handle item) {
            if (!seen.count(item.ptr())) stack.push_back(item);
        };
        if (!seen.count(expr.ptr())) {
            if (n.is(expr, n.concat) || n.is(expr, n.alt)) each(n.items_of(expr), want);
            else if (n.is(expr, n.repeat) || n.is(expr, n.look)) want(n.part(expr, n.item));
        }
        if (stack.size() > before) continue;
        stack.pop_back();
        if (seen.insert(expr.ptr()).second) visit(expr);
    }
}

// Leaves that a pattern does not build itself: their automata are made first.
bool is_operand(nb::handle expr) {
    const Nodes& n = nodes();
    for (const nb::object* type : {&n.concat, &n.alt, &n.repeat, &n.look, &n.bytes, &n.chars, &n.byte_set, &n.graph})
        if (n.is(expr, *type)) return false;
    return true;
}

nb::list operands(nb::handle expr) {
    nb::list found;
    each_expression(expr, [&](nb::handle part) {
        if (is_operand(part)) found.append(part);
    });
    return found;
}

// Adds a tree to a pattern; equal subtrees become one node.
class Trees {
  public:
    using Node = Pattern::Node;
    // `automata`: those of `operands`, in that order.
    Trees(Pattern& pattern, std::vector<std::shared_ptr<Dfa>> automata) : pattern_(pattern), automata_(std::move(automata)) {}

    Node add(nb::handle root) {
        each_expression(root, [&](nb::handle expr) { known_[expr.ptr()] = once(expr); });
        return known_.at(root.ptr());
    }

  private:
    // The node of an expression whose children have theirs.
    Node once(nb::handle expr) {
        work(50);
        std::vector<Node> items;
        std::string key;
        auto number = [&](int64_t x) { key += std::to_string(x) + ' '; };
        if (n_.is(expr, n_.concat) || n_.is(expr, n_.alt)) {
            key = n_.is(expr, n_.concat) ? "concat " : "alt ";
            each(n_.items_of(expr), [&](nb::handle item) { items.push_back(known_.at(item.ptr())), number(items.back()); });
            return find(key, [&] { return n_.is(expr, n_.concat) ? pattern_.concat(items) : pattern_.alt(items); });
        }
        if (n_.is(expr, n_.repeat)) {
            nb::handle max = n_.part(expr, n_.max);
            const int64_t low = count(n_.part(expr, n_.min)), high = max.is_none() ? -1 : count(max);
            const bool lazy = nb::cast<bool>(n_.part(expr, n_.lazy));
            const Node item = known_.at(n_.part(expr, n_.item).ptr());
            key = "repeat ";
            for (int64_t x : {int64_t(item), low, high, int64_t(lazy)}) number(x);
            return find(key, [&] { return pattern_.repeat(item, uint32_t(low), high, lazy); });
        }
        if (n_.is(expr, n_.look)) {
            // "Any character" in an assertion means "not the end of the text", whatever the bytes.
            nb::handle item = n_.part(expr, n_.item);
            const bool ahead = nb::cast<bool>(n_.part(expr, n_.ahead)), negative = nb::cast<bool>(n_.part(expr, n_.negative));
            const bool any = n_.is(item, n_.chars) && content(item) == any_character();
            const Node inner = any ? find("any", [&] { return pattern_.any(); }) : known_.at(item.ptr());
            key = "look ";
            for (int64_t x : {int64_t(inner), int64_t(ahead), int64_t(negative)}) number(x);
            return find(key, [&] { return pattern_.look(inner, ahead, negative); });
        }
        if (n_.is(expr, n_.bytes))
            return find(content(expr), [&] {
                nb::bytes text = nb::borrow<nb::bytes>(n_.part(expr, n_.value));
                return pattern_.bytes(std::string(text.c_str(), text.size()));
            });
        if (n_.is(expr, n_.chars))
            return find(content(expr),
                        [&] { return pattern_.chars(nb::cast<std::vector<std::pair<uint32_t, uint32_t>>>(n_.part(expr, n_.ranges))); });
        if (n_.is(expr, n_.byte_set))
            return find(content(expr),
                        [&] { return pattern_.byte_set(nb::cast<std::vector<std::pair<uint8_t, uint8_t>>>(n_.part(expr, n_.ranges))); });
        if (n_.is(expr, n_.graph))
            return pattern_.graph(nb::cast<std::vector<std::vector<std::tuple<uint8_t, uint8_t, uint32_t>>>>(n_.part(expr, n_.edges)),
                                  nb::cast<std::vector<bool>>(n_.part(expr, n_.accepting)));
        if (next_ == automata_.size()) nb::raise_type_error("fewer automata than operands");
        return pattern_.automaton(*automata_[next_++]);
    }
    template <typename Make>
    Node find(const std::string& key, Make make) {
        auto found = equal_.find(key);
        return found != equal_.end() ? found->second : equal_[key] = make();
    }
    static std::string content(nb::handle expr) {
        Content c;
        c.add(expr);
        return std::move(c.text);
    }
    static const std::string& any_character() {
        static std::atomic<const std::string*> known{nullptr};  // as nodes()
        if (!known.load()) {
            const CallsPython within;
            const std::string *made = new std::string(content(nodes().module.attr("ANY_CHAR"))), *none = nullptr;
            known.compare_exchange_strong(none, made);
        }
        return *known.load();
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
    std::vector<std::shared_ptr<Dfa>> automata_;
    size_t next_ = 0;  // of them
    std::unordered_map<PyObject*, Node> known_;
    std::unordered_map<std::string, Node> equal_;
};

std::shared_ptr<Dfa> compile_tree(nb::handle expr, bool leftmost_first, uint64_t max_nfa_states, uint64_t max_dfa_states,
                                  std::vector<std::shared_ptr<Dfa>> automata) {
    Pattern pattern;
    const Pattern::Node root = Trees(pattern, std::move(automata)).add(expr);
    Unlocked unlocked;
    PrivateWork private_work;
    return std::make_shared<Dfa>(compile_pattern(pattern, root, leftmost_first, max_nfa_states, max_dfa_states));
}

}  // namespace

void bind_expressions(nb::module_& m) {
    m.def("names_only", &names_only, nb::arg("expressions"),
          "The leaves of all expressions are names, and there is nothing empty in them.");
    m.def(
        "content",
        [](nb::handle expr) {
            Content content;
            content.add(expr);
            return nb::bytes(content.text.data(), content.text.size());
        },
        nb::arg("expr"), "Bytes that are equal for equal expressions only.\n\nCost: about 100 ns a node.");
    m.def("compile_tree", &compile_tree, nb::arg("expr"), nb::arg("leftmost_first"), nb::arg("max_nfa_states"), nb::arg("max_dfa_states"),
          nb::arg("automata"),
          "The minimal automaton of a regular expression tree.\n\nArgs:\n    automata: of its `operands`, in that order.");
    m.def("operands", &operands, nb::arg("expr"),
          "The parts of a tree that are no concatenation, alternation, repetition, assertion, text, class or graph.");
}

}  // namespace derivable
