// Rules of derivable.expr, read once, and what parsing/rules.hpp makes of them.
#include <cstdint>
#include <utility>
#include <vector>

#include "parsing/rules.hpp"
#include "python/bindings.hpp"
#include "python/interpreter.hpp"
#include "python/read_expressions.hpp"

namespace nb = nanobind;

namespace derivable {

namespace {

class RulesReader {
  public:
    using Key = Rules::Key;
    // `rules`: by name, or by the expression that stands in bodies for them.
    explicit RulesReader(nb::dict rules) : rules_(std::move(rules)) {}

    Key key(nb::handle of) {
        if (PyObject* known = find(keys_, of)) return Key(PyLong_AsSize_t(known));
        keys_[of] = nb::int_(objects_.size());
        objects_.push_back(of);
        return Key(objects_.size() - 1);
    }
    // What these keys stand for, and all that are met there.
    const Rules& read() {
        while (read_.rules.size() < objects_.size()) read_.rules.push_back(rule(objects_[read_.rules.size()]));
        return read_;
    }
    // The name or expression of a key. SAFETY: `keys_` keeps it alive.
    nb::handle object(Key key) const { return objects_[key]; }

  private:
    static PyObject* find(const nb::dict& in, nb::handle key) {
        PyObject* found = PyDict_GetItemWithError(in.ptr(), key.ptr());
        if (!found && PyErr_Occurred()) nb::raise_python_error();
        return found;
    }

    Rules::Rule rule(nb::handle of) {
        Rules::Rule made;
        if (nb::handle expr = find(rules_, of); expr.is_valid()) {
            made.kind = Rules::Kind::kBodies;
            if (n_.is(expr, n_.sequences)) {
                each(n_.tuple_of(expr, n_.names),
                     [&](nb::handle name) { made.bodies.push_back(name.is_none() ? Rules::kEnd : key(name)); });
                made.bodies.push_back(Rules::kEnd);
            } else if (n_.is(expr, n_.members)) {
                made.kind = Rules::Kind::kMembers;
                made.members = uint32_t(read_.members.size());
                read_.members.push_back(members(expr));
            } else {
                add_bodies(made, expr);
            }
        } else if (n_.is(of, n_.alt) || n_.is(of, n_.concat)) {
            made.kind = Rules::Kind::kBodies;
            add_bodies(made, of);
        } else if (n_.is(of, n_.repeat)) {
            made.kind = Rules::Kind::kRepeat;
            add_body(made, n_.part(of, n_.item));
            if (PyObject_IsTrue(n_.part(of, n_.min).ptr()) == 0) made.bodies.push_back(Rules::kEnd);
        }
        return made;
    }
    void add_bodies(Rules::Rule& rule, nb::handle expr) {
        if (n_.is(expr, n_.alt)) each(n_.items_of(expr), [&](nb::handle alternative) { add_body(rule, alternative); });
        else add_body(rule, expr);
    }
    void add_body(Rules::Rule& rule, nb::handle expr) {
        if (n_.is(expr, n_.concat)) each(n_.items_of(expr), [&](nb::handle item) { add_part(rule, item); });
        else add_part(rule, expr);
        rule.bodies.push_back(Rules::kEnd);
    }
    void add_part(Rules::Rule& rule, nb::handle expr) {
        const bool is_empty = n_.is(expr, n_.concat) && PyTuple_GET_SIZE(n_.items_of(expr).ptr()) == 0;
        if (!is_empty) rule.bodies.push_back(key(n_.is(expr, n_.ref) ? n_.part(expr, n_.name) : expr));
    }
    Rules::Members members(nb::handle expr) {
        std::vector<Key> marks;
        each(n_.tuple_of(expr, n_.marks), [&](nb::handle name) { marks.push_back(key(name)); });
        if (marks.size() != 5) nb::raise_type_error("an object has five marks");
        Rules::Members made{marks[0], marks[1], marks[2], marks[3], marks[4], n_.part(expr, n_.ordered).ptr() == Py_True, {}, {}};
        PyObject *listed = n_.tuple_of(expr, n_.listed).ptr(), *others = n_.tuple_of(expr, n_.others).ptr();
        auto at = [&](PyObject* tuple, Py_ssize_t i) { return key(PyTuple_GET_ITEM(tuple, i)); };
        for (Py_ssize_t i = 0; i + 2 < PyTuple_GET_SIZE(listed); i += 3)
            made.listed.push_back({at(listed, i), at(listed, i + 1), PyTuple_GET_ITEM(listed, i + 2) == Py_True});
        for (Py_ssize_t i = 0; i + 1 < PyTuple_GET_SIZE(others); i += 2) made.others.push_back({at(others, i), at(others, i + 1), false});
        return made;
    }

    const Nodes& n_ = nodes();
    const nb::dict rules_;
    nb::dict keys_;
    std::vector<nb::handle> objects_;  // by key
    Rules read_;
};

nb::list dead_ends(nb::dict rules) {
    const CallsPython within;  // expressions tell themselves whether they are equal
    RulesReader reader(rules);
    for (auto [name, expr] : rules) reader.key(name);
    const std::vector<char> ends = productive(reader.read());
    nb::list dead;
    for (Rules::Key key = 0; key < rules.size(); key++)
        if (!ends[key]) dead.append(reader.object(key));
    return dead;
}

nb::tuple flattened(nb::dict rules, nb::str start, nb::list first, uint64_t most) {
    const CallsPython within;  // as above
    RulesReader reader(rules);
    const Rules::Key start_key = reader.key(start);
    std::vector<Rules::Key> first_keys;
    for (nb::handle name : first) first_keys.push_back(reader.key(name));
    const FlatRules flat = flatten(reader.read(), start_key, first_keys, most);

    nb::list names;
    for (Rules::Key key : flat.nonterminals) {
        nb::handle of = reader.object(key);
        if (PyUnicode_CheckExact(of.ptr())) names.append(of);
        else names.append(nb::str("<") + of.type().attr("__name__").attr("lower")() + nb::str(">"));
    }
    nb::dict terminals;
    // PERF: an object for each symbol, not for each time it is said: most are too large to be among those that Python shares.
    std::vector<nb::object> numbers;
    const int64_t lowest = -int64_t(flat.nonterminals.size()), highest = int64_t(flat.terminals.size());
    for (int64_t symbol = lowest; symbol <= highest; symbol++) numbers.push_back(nb::int_(symbol));
    for (Rules::Key key : flat.terminals) terminals[reader.object(key)] = numbers[size_t(-lowest) + 1 + terminals.size()];
    nb::list productions;
    for (size_t at = 0, end; at < flat.productions.size(); at = end) {
        const int64_t length = flat.productions[at + 1];
        end = at + 2 + size_t(length);
        for (size_t i = at; i < end; i++)
            productions.append(i == at + 1 ? nb::object(nb::int_(length)) : numbers[size_t(flat.productions[i] - lowest)]);
    }
    return nb::make_tuple(flat.start, names, productions, terminals);
}

}  // namespace

void bind_rules(nb::module_& m) {
    m.def("dead_ends", &dead_ends, nb::arg("rules"),
          "The names of the rules that never end: every alternative leads back to one that does not.");
    m.def("flatten", &flattened, nb::arg("rules"), nb::arg("start"), nb::arg("first"), nb::arg("most"),
          "The productions of a rule, and of all rules it leads to.\n\n"
          "Args:\n    rules: by name, or by the expression that stands in bodies for them.\n    start: of a rule or a terminal.\n"
          "    first: terminals, numbered before all others.\n    most: numbers in the productions.\n\n"
          "Returns:\n    The symbol of `start`; the names of nonterminals: their numbers are minus their places, counted from 1; head,\n"
          "    length of the body, body of each production; the numbers of terminals, from 1, by name or expression. An\n"
          "    expression that has no rule and is not made of others counts as a terminal.\n\n"
          "Raises:\n    LimitError: there are more numbers.\n\nCost: about 100 ns a name.");
}

}  // namespace derivable
