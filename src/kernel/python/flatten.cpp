#include "python/bindings.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "python/interpreter.hpp"
#include "python/read_expressions.hpp"
#include "support/errors.hpp"
#include "support/task.hpp"

namespace nb = nanobind;

namespace derivable {

namespace {

int64_t number(nb::handle value) {
    int64_t found = PyLong_AsLongLong(value.ptr());
    if (found == -1 && PyErr_Occurred()) nb::raise_python_error();
    return found;
}

// The sequences of a rule: visit(name) for each name, and between() between them.
template <typename Visit, typename Between>
void each_name(const Nodes& n, nb::handle rule, Visit visit, Between between) {
    each(n.tuple_of(rule, n.names), [&](nb::handle name) { name.is_none() ? between() : visit(name); });
}

// The members of an object: visit(key, value, is required) for each listed one, other(key, value) for each class of others.
template <typename Visit, typename Other>
void each_member(const Nodes& n, nb::handle rule, Visit visit, Other other) {
    PyObject *others = n.tuple_of(rule, n.others).ptr(), *listed = n.tuple_of(rule, n.listed).ptr();
    for (Py_ssize_t i = 0; i + 1 < PyTuple_GET_SIZE(others); i += 2)
        other(nb::handle(PyTuple_GET_ITEM(others, i)), nb::handle(PyTuple_GET_ITEM(others, i + 1)));
    for (Py_ssize_t i = 0; i + 2 < PyTuple_GET_SIZE(listed); i += 3)
        visit(nb::handle(PyTuple_GET_ITEM(listed, i)), nb::handle(PyTuple_GET_ITEM(listed, i + 1)),
              PyTuple_GET_ITEM(listed, i + 2) == Py_True);
}

// Visits the place in `index` of a rule; a terminal has none.
template <typename Visit>
void place(nb::dict index, nb::handle name, Visit visit) {
    PyObject* at = PyDict_GetItemWithError(index.ptr(), name.ptr());
    if (at) return visit(size_t(number(at)));
    if (PyErr_Occurred()) nb::raise_python_error();
}

// What a body cannot do without: the places in `index` of the rules it names, once for each time.
template <typename Visit>
void needs(const Nodes& n, nb::handle node, nb::dict index, Visit visit) {
    if (n.is(node, n.ref)) {
        place(index, n.part(node, n.name), visit);
    } else if (n.is(node, n.concat)) {
        each(n.items_of(node), [&](nb::handle item) { needs(n, item, index, visit); });
    } else if (n.is(node, n.repeat) && number(n.part(node, n.min))) {
        needs(n, n.part(node, n.item), index, visit);
    }
}

nb::tuple dead_ends(nb::dict rules) {
    const Nodes& n = nodes();
    nb::dict index;
    for (auto [name, expr] : rules) index[name] = index.size();
    struct Body {
        size_t head, missing = 0;
    };
    std::vector<Body> bodies;
    std::vector<std::vector<size_t>> uses(rules.size());  // bodies, by a rule they need
    std::vector<char> ends(rules.size(), 0);
    std::vector<size_t> work;
    auto end = [&](size_t rule) {
        if (!ends[rule]) ends[rule] = 1, work.push_back(rule);
    };
    size_t head = 0;
    for (auto [name, expr] : rules) {
        auto begin = [&] { bodies.push_back({head}); };
        auto need = [&](size_t rule) {
            bodies.back().missing++;
            uses[rule].push_back(bodies.size() - 1);
        };
        auto finish = [&] {
            if (!bodies.back().missing) end(head);
        };
        auto add = [&](nb::handle body) {
            begin();
            needs(n, body, index, need);
            finish();
        };
        if (n.is(expr, n.sequences)) {
            begin();
            each_name(n, expr, [&](nb::handle name) { place(index, name, need); }, [&] { finish(), begin(); });
            finish();
        } else if (n.is(expr, n.members)) {
            begin();
            each_member(
                n, expr,
                [&](nb::handle, nb::handle value, bool required) {
                    if (required) place(index, value, need);
                },
                [](nb::handle, nb::handle) {});
            finish();
        } else if (n.is(expr, n.alt)) each(n.items_of(expr), add);
        else add(expr);
        head++;
    }
    while (!work.empty()) {
        size_t rule = work.back();
        work.pop_back();
        for (size_t body : uses[rule])
            if (--bodies[body].missing == 0) end(bodies[body].head);
    }
    nb::list dead, named;
    head = 0;
    for (auto [name, expr] : rules)
        if (!ends[head++]) dead.append(name);
    if (nb::len(dead) == 0) return nb::make_tuple(dead, named);
    head = 0;
    std::vector<nb::handle> stack;
    for (auto [name, expr] : rules) {
        bool names_dead = false;
        auto ask = [&](size_t rule) { names_dead |= !ends[rule]; };
        stack.assign(ends[head++], expr);
        while (!stack.empty()) {
            nb::handle node = stack.back();
            stack.pop_back();
            if (n.is(node, n.ref)) needs(n, node, index, ask);
            else if (n.is(node, n.sequences)) each_name(n, node, [&](nb::handle name) { place(index, name, ask); }, [] {});
            else if (n.is(node, n.members))
                each_member(
                    n, node, [&](nb::handle, nb::handle value, bool) { place(index, value, ask); },
                    [&](nb::handle, nb::handle value) { place(index, value, ask); });
            else if (n.is(node, n.concat) || n.is(node, n.alt)) each(n.items_of(node), [&](nb::handle item) { stack.push_back(item); });
            else if (n.is(node, n.repeat)) stack.push_back(n.part(node, n.item));
        }
        if (names_dead) named.append(name);
    }
    return nb::make_tuple(dead, named);
}

// Rules on their way to productions, of numbers: what is named on the way is written, too.
struct Flattening {
    const nb::dict rules;  // by name, or by the expression that stands in bodies for them
    const Py_ssize_t most;

    nb::list names = {}, productions = {};
    nb::dict terminals = {};

    // PERF: numbers stay the objects they are in `symbols_`: most are too small to be among those that Python shares.
    nb::dict symbols_ = {};
    std::vector<std::pair<nb::object, nb::object>> work_ = {};
    std::vector<nb::object> body_ = {};
    const Nodes& n = nodes();

    void run() {
        while (!work_.empty()) {
            auto [head, expr] = std::move(work_.back());
            work_.pop_back();
            if (n.is(expr, n.sequences)) {
                each_name(n, expr, [&](nb::handle name) { body_.push_back(named(name)); }, [&, &h = head] { write(h); });
                write(head);
            } else if (n.is(expr, n.members)) members(head, expr);
            else if (n.is(expr, n.alt)) each(n.items_of(expr), [&, &h = head](nb::handle alternative) { emit(h, alternative); });
            else emit(head, expr);
            if (too_many())
                throw LimitExceeded("max_symbols", uint64_t(PyList_GET_SIZE(productions.ptr())), uint64_t(most), "the size of the grammar");
        }
    }

    bool too_many() const { return PyList_GET_SIZE(productions.ptr()) > most; }
    // The symbol of a rule or, if there is none, of a terminal.
    nb::object named(nb::handle key) {
        return numbered(key, [&] {
            PyObject* rule = PyDict_GetItemWithError(rules.ptr(), key.ptr());
            if (!rule && PyErr_Occurred()) nb::raise_python_error();
            return rule ? nonterminal(key, rule) : terminal(key);
        });
    }
    // The symbol of what stands alone in a body.
    nb::object symbol(nb::handle node) {
        if (n.is(node, n.ref)) return named(n.part(node, n.name));
        if (!n.is(node, n.alt) && !n.is(node, n.concat)) return named(node);
        return numbered(node, [&] { return nonterminal(node, node); });
    }
    template <typename Make>
    nb::object numbered(nb::handle key, Make make) {
        PyObject* known = PyDict_GetItemWithError(symbols_.ptr(), key.ptr());
        if (known) return nb::borrow(known);
        if (PyErr_Occurred()) nb::raise_python_error();
        nb::object made = make();
        symbols_[key] = made;
        return made;
    }
    nb::object nonterminal(nb::handle key, nb::handle rule) {
        nb::object made = fresh(PyUnicode_CheckExact(key.ptr()) ? nb::borrow(key) : generated_name(key));
        work_.emplace_back(made, nb::borrow(rule));
        return made;
    }
    nb::object terminal(nb::handle key) {
        nb::object made = nb::int_(1 + terminals.size());
        terminals[key] = made;
        if (n.is(key, n.repeat)) symbol(n.part(key, n.item));  // what it needs rules for besides itself is met, too
        return made;
    }
    static nb::object generated_name(nb::handle node) {
        return nb::str("<") + nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(node.ptr()))).attr("__name__").attr("lower")() + nb::str(">");
    }
    nb::object fresh(nb::handle name) {
        names.append(name);
        return nb::int_(-int64_t(names.size()));
    }
    void write(nb::handle head) {
        work(10 + 5 * body_.size());
        productions.append(head);
        productions.append(nb::int_(body_.size()));
        for (const nb::object& s : body_) productions.append(s);
        body_.clear();
    }
    void emit(nb::handle head, nb::handle alternative) {
        if (n.is(alternative, n.concat)) {
            each(n.items_of(alternative), [&](nb::handle item) {
                bool empty = n.is(item, n.concat) && PyTuple_GET_SIZE(n.items_of(item).ptr()) == 0;
                if (!empty) body_.push_back(symbol(item));
            });
        } else {
            body_.push_back(symbol(alternative));
        }
        write(head);
    }

    nb::object mark(nb::handle marks, size_t i) { return named(marks[i]); }
    void members(nb::handle head, nb::handle node) {
        const nb::handle marks = n.tuple_of(node, n.marks);
        const nb::object comma = mark(marks, 3), colon = mark(marks, 4), name = names[size_t(-number(head)) - 1];
        if (n.part(node, n.ordered).ptr() == Py_True) members_in_order(head, node, marks, comma, colon, name);
        else members_in_any_order(head, node, marks, name);
    }
    // Members in any order; which may come is for the tally to say (json/tallies.hpp).
    void members_in_any_order(nb::handle head, nb::handle node, nb::handle marks, nb::handle name) {
        const nb::object opening = mark(marks, 0), colon = mark(marks, 4);
        nb::object member;
        bool empty = true;
        auto add = [&](nb::handle key, nb::handle value) {
            if (too_many()) return;
            body_ = {named(key), colon, named(value)};
            if (!member.is_valid()) member = fresh(name);
            write(member);
        };
        each_member(n, node, [&](nb::handle key, nb::handle value, bool required) { add(key, value), empty &= !required; }, add);
        if (empty) {
            body_ = {opening, mark(marks, 2)};
            write(head);
        }
        if (!member.is_valid()) return;
        const nb::object members = fresh(name);
        body_ = {member};
        write(members);
        body_ = {members, mark(marks, 3), member};
        write(members);
        body_ = {opening, members, mark(marks, 1)};
        write(head);
    }
    // The rules that `json_schema/emit/objects.py` tells of: A(i + 1) is `taken`, Q(i) is `decided`.
    void members_in_order(nb::handle head, nb::handle node, nb::handle marks, const nb::object& comma, const nb::object& colon,
                          nb::handle name) {
        // PERF: what stands within a member is the same wherever it stands, to the parser, too, and masks are kept by LR states: of an open object
        // of 40 keys texts came to 475 of them with members written out in each place, to 311 now.
        nb::object other;
        nb::object decided;  // none while there can be no member
        bool empty = true;   // there need be none
        auto write_member = [&](nb::handle member, nb::handle key, nb::handle value) {
            nb::object k = named(key), v = named(value);
            body_ = {std::move(k), colon, std::move(v)};
            write(member);
        };
        auto add = [&](nb::handle to, nb::handle before, const nb::object& member) {
            if (before.is_valid()) body_.push_back(nb::borrow(before)), body_.push_back(comma);
            body_.push_back(member);
            write(to);
        };
        auto is_too = [&](nb::handle to, const nb::object& symbol) { add(to, {}, symbol); };
        auto another = [&](nb::handle key, nb::handle value) {
            if (!other.is_valid()) {
                decided = fresh(name), other = fresh(name);
                add(decided, {}, other);
                add(decided, decided, other);
            }
            write_member(other, key, value);
        };
        auto listed = [&](nb::handle key, nb::handle value, bool required) {
            if (too_many()) return;
            const nb::object member = fresh(name), taken = fresh(name);
            write_member(member, key, value);
            if (empty) add(taken, {}, member);
            if (decided.is_valid()) add(taken, decided, member);
            if (other.is_valid()) add(taken, taken, other);
            if (required || !decided.is_valid()) {
                decided = taken;
            } else if (!other.is_valid()) {  // nothing comes between
                is_too(taken, decided);
                decided = taken;
            } else {
                const nb::object both = fresh(name);
                is_too(both, taken);
                is_too(both, decided);
                decided = both;
            }
            empty &= !required;
        };
        each_member(n, node, listed, another);
        const nb::object opening = mark(marks, 0);
        if (empty) {
            body_ = {opening, mark(marks, 2)};
            write(head);
        }
        if (decided.is_valid()) {
            body_ = {opening, decided, mark(marks, 1)};
            write(head);
        }
    }
};

nb::tuple flatten(nb::dict rules, nb::str start, nb::list first, Py_ssize_t most) {
    const CallsPython within;  // its nodes tell themselves whether they are equal
    Flattening made{rules, most};
    const nb::object symbol = made.named(start);
    for (nb::handle name : first) made.named(name);
    made.run();
    return nb::make_tuple(symbol, made.names, made.productions, made.terminals);
}

// In bodies.
nb::list with_symbols(nb::list productions, nb::dict instead) {
    nb::list made;
    for (size_t at = 0; at + 1 < productions.size();) {
        const size_t end = at + 2 + size_t(number(productions[at + 1]));
        for (size_t i = 0; i < 2; i++) made.append(productions[at++]);
        for (; at < end; at++) {
            PyObject* other = PyDict_GetItemWithError(instead.ptr(), PyList_GET_ITEM(productions.ptr(), Py_ssize_t(at)));
            if (!other && PyErr_Occurred()) nb::raise_python_error();
            made.append(other ? nb::handle(other) : nb::handle(productions[at]));
        }
    }
    return made;
}

}  // namespace

void bind_flatten(nb::module_& m) {
    m.def("dead_ends", &dead_ends, nb::arg("rules"),
          "The names of the rules that never end (every alternative leads back to one that does not), and of all others that name one.");
    m.def("with_symbols", &with_symbols, nb::arg("productions"), nb::arg("instead"),
          "Productions, as `flatten` lays them out, with other symbols in their bodies.");
    m.def("flatten", &flatten, nb::arg("rules"), nb::arg("start"), nb::arg("first"), nb::arg("most"),
          "The productions of a rule, and of all rules it leads to.\n\n"
          "Args:\n    rules: by name, or by the expression that stands in bodies for them.\n    start: of a rule or a terminal.\n"
          "    first: terminals, numbered before all others.\n    most: numbers in the productions.\n\n"
          "Returns:\n    The symbol of `start`; the names of nonterminals: their numbers are minus their places, counted from 1; head,\n"
          "    length of the body, body of each production; the numbers of terminals, from 1, by name or expression. An\n"
          "    expression that has no rule and is not made of others counts as a terminal.\n\n"
          "Raises:\n    LimitError: there are more numbers.\n\nCost: about 100 ns a name.");
}

}  // namespace derivable
