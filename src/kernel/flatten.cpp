#include "flatten.hpp"

#include <cstdint>
#include <vector>

#include "expressions.hpp"

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
    nb::handle names = n.part(rule, n.names);
    if (!PyTuple_CheckExact(names.ptr())) nb::raise_type_error("the names of sequences are not a tuple");
    each(names, [&](nb::handle name) { name.is_none() ? between() : visit(name); });
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
        } else if (n.is(expr, n.alt))
            each(n.items_of(expr), add);
        else
            add(expr);
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
            if (n.is(node, n.ref))
                needs(n, node, index, ask);
            else if (n.is(node, n.sequences))
                each_name(n, node, [&](nb::handle name) { place(index, name, ask); }, [] {});
            else if (n.is(node, n.concat) || n.is(node, n.alt))
                each(n.items_of(node), [&](nb::handle item) { stack.push_back(item); });
            else if (n.is(node, n.repeat))
                stack.push_back(n.part(node, n.item));
        }
        if (names_dead) named.append(name);
    }
    return nb::make_tuple(dead, named);
}

bool flatten(nb::list pending, nb::dict rules, nb::dict symbols, nb::list names, nb::list productions, nb::callable other, Py_ssize_t most) {
    const Nodes& n = nodes();
    // PERF: numbers stay the objects they are in `symbols`: most are too small to be among those that Python shares.
    std::vector<std::pair<nb::object, nb::object>> work;  // owns the expressions: what asked for them may be gone
    std::vector<nb::object> body;
    auto take_pending = [&] {
        for (nb::handle entry : pending) work.emplace_back(entry[0], entry[1]);
        pending.clear();
    };
    auto named = [&](nb::handle name, nb::handle node = {}) {
        PyObject* known = PyDict_GetItemWithError(symbols.ptr(), name.ptr());
        if (known) return nb::borrow(known);
        if (PyErr_Occurred()) nb::raise_python_error();
        PyObject* rule = PyDict_GetItemWithError(rules.ptr(), name.ptr());
        nb::object made;
        if (rule) {
            names.append(name);
            made = nb::int_(-int64_t(names.size()));
            work.emplace_back(made, nb::borrow(rule));
        } else {
            if (PyErr_Occurred()) nb::raise_python_error();
            made = node.is_valid() ? other(node) : other(n.ref(name));
            take_pending();
        }
        symbols[name] = made;
        return made;
    };
    auto symbol = [&](nb::handle node) {
        if (n.is(node, n.ref)) return named(n.part(node, n.name), node);
        nb::object made = other(node);
        take_pending();
        return made;
    };
    auto write = [&](nb::handle head) {
        productions.append(head);
        productions.append(nb::int_(body.size()));
        for (const nb::object& s : body) productions.append(s);
        body.clear();
    };
    auto emit = [&](nb::handle head, nb::handle alternative) {
        if (n.is(alternative, n.concat)) {
            each(n.items_of(alternative), [&](nb::handle item) {
                bool empty = n.is(item, n.concat) && PyTuple_GET_SIZE(n.items_of(item).ptr()) == 0;
                if (!empty) body.push_back(symbol(item));
            });
        } else {
            body.push_back(symbol(alternative));
        }
        write(head);
    };
    take_pending();
    while (!work.empty()) {
        auto [head, expr] = std::move(work.back());
        work.pop_back();
        if (n.is(expr, n.sequences)) {
            each_name(n, expr, [&](nb::handle name) { body.push_back(named(name)); }, [&, &h = head] { write(h); });
            write(head);
        } else if (n.is(expr, n.alt))
            each(n.items_of(expr), [&, &h = head](nb::handle alternative) { emit(h, alternative); });
        else
            emit(head, expr);
        if (PyList_GET_SIZE(productions.ptr()) > most) return false;
    }
    return true;
}

}  // namespace

void bind_flatten(nb::module_& m) {
    m.def("dead_ends", &dead_ends, nb::arg("rules"), "The names of the rules that never end (every alternative leads back to one that does not), and of all others that name one.");
    m.def("flatten", &flatten, nb::arg("pending"), nb::arg("rules"), nb::arg("symbols"), nb::arg("names"), nb::arg("productions"), nb::arg("other"), nb::arg("most"),
          "Writes the productions of the (symbol, expression) pairs of `pending`, and of all rules they lead to.\n\n"
          "Args:\n    pending: emptied; `other` may add to it.\n    rules: by name.\n    symbols: numbers by name; extended.\n"
          "    names: of nonterminals; a new one's number is minus its place, counted from 1.\n"
          "    productions: head, length of the body, body; extended.\n    other: the symbol of what is not the name of a rule.\n    most: numbers in `productions`.\n\n"
          "Returns:\n    False if there are more.\n\nCost: about 100 ns a name.");
}

}  // namespace derivable
