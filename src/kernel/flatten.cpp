#include "flatten.hpp"

#include <cstdint>
#include <vector>

namespace nb = nanobind;

namespace derivable {

namespace {

// The node types of derivable.expr, and how their parts are reached.
struct Nodes {
    nb::object module = nb::module_::import_("derivable.expr");
    nb::object ref = module.attr("Ref"), concat = module.attr("Concat"), alt = module.attr("Alt"), conjunction = module.attr("And");
    nb::object repeat = module.attr("Repeat"), look = module.attr("Look"), complement = module.attr("Not"), json_text = module.attr("JsonText");
    nb::object name = nb::steal(PyUnicode_InternFromString("name")), items = nb::steal(PyUnicode_InternFromString("items")),
               item = nb::steal(PyUnicode_InternFromString("item"));

    // SAFETY: nodes are immutable, so what an attribute refers to lives as long as the node does.
    nb::handle part(nb::handle node, const nb::object& attribute) const {
        PyObject* value = PyObject_GetAttr(node.ptr(), attribute.ptr());
        if (!value) nb::raise_python_error();
        Py_DECREF(value);
        return value;
    }
    nb::handle items_of(nb::handle node) const {
        nb::handle value = part(node, items);
        if (!PyTuple_CheckExact(value.ptr())) nb::raise_type_error("the items of an expression are not a tuple");
        return value;
    }
    bool is(nb::handle node, const nb::object& type) const { return reinterpret_cast<PyObject*>(Py_TYPE(node.ptr())) == type.ptr(); }
};

const Nodes& nodes() {
    static const Nodes* known = new Nodes();  // never freed: the interpreter may be gone by then
    return *known;
}

template <typename Visit>
void each(nb::handle tuple, Visit visit) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.ptr()); i++) visit(nb::handle(PyTuple_GET_ITEM(tuple.ptr(), i)));
}

bool names_only(nb::iterable rules) {
    const Nodes& n = nodes();
    std::vector<nb::handle> stack;
    for (nb::handle rule : rules) {
        stack.push_back(rule);
        while (!stack.empty()) {
            nb::handle node = stack.back();
            stack.pop_back();
            if (n.is(node, n.ref)) continue;
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

void append(nb::list& list, int64_t number) {
    nb::object value = nb::steal(PyLong_FromLongLong(number));
    if (!value.is_valid() || PyList_Append(list.ptr(), value.ptr()) != 0) nb::raise_python_error();
}

bool flatten(nb::list pending, nb::dict rules, nb::dict symbols, nb::list names, nb::list productions, nb::callable other, Py_ssize_t most) {
    const Nodes& n = nodes();
    std::vector<std::pair<int64_t, nb::object>> work;  // owns the expressions: what asked for them may be gone
    std::vector<int64_t> body;
    auto number = [](nb::handle value) {
        int64_t found = PyLong_AsLongLong(value.ptr());
        if (found == -1 && PyErr_Occurred()) nb::raise_python_error();
        return found;
    };
    auto take_pending = [&] {
        for (nb::handle entry : pending) work.emplace_back(number(entry[0]), nb::borrow(entry[1]));
        pending.clear();
    };
    auto symbol = [&](nb::handle node) {
        nb::handle name;
        if (n.is(node, n.ref)) {
            name = n.part(node, n.name);
            PyObject* known = PyDict_GetItemWithError(symbols.ptr(), name.ptr());
            if (known) return number(known);
            if (PyErr_Occurred()) nb::raise_python_error();
            PyObject* rule = PyDict_GetItemWithError(rules.ptr(), name.ptr());
            if (rule) {
                names.append(name);
                int64_t made = -int64_t(names.size());
                symbols[name] = made;
                work.emplace_back(made, nb::borrow(rule));
                return made;
            }
            if (PyErr_Occurred()) nb::raise_python_error();
        }
        int64_t made = number(other(node));
        if (name.is_valid()) symbols[name] = made;
        take_pending();
        return made;
    };
    auto emit = [&](int64_t head, nb::handle alternative) {
        body.clear();
        if (n.is(alternative, n.concat)) {
            each(n.items_of(alternative), [&](nb::handle item) {
                bool empty = n.is(item, n.concat) && PyTuple_GET_SIZE(n.items_of(item).ptr()) == 0;
                if (!empty) body.push_back(symbol(item));
            });
        } else {
            body.push_back(symbol(alternative));
        }
        append(productions, head);
        append(productions, int64_t(body.size()));
        for (int64_t s : body) append(productions, s);
    };
    take_pending();
    while (!work.empty()) {
        auto [head, expr] = std::move(work.back());
        work.pop_back();
        if (n.is(expr, n.alt))
            each(n.items_of(expr), [&, h = head](nb::handle alternative) { emit(h, alternative); });
        else
            emit(head, expr);
        if (PyList_GET_SIZE(productions.ptr()) > most) return false;
    }
    return true;
}

}  // namespace

void bind_flatten(nb::module_& m) {
    m.def("names_only", &names_only, nb::arg("expressions"), "The leaves of all expressions are names, and there is nothing empty in them.");
    m.def("flatten", &flatten, nb::arg("pending"), nb::arg("rules"), nb::arg("symbols"), nb::arg("names"), nb::arg("productions"), nb::arg("other"), nb::arg("most"),
          "Writes the productions of the (symbol, expression) pairs of `pending`, and of all rules they lead to.\n\n"
          "Args:\n    pending: emptied; `other` may add to it.\n    rules: by name.\n    symbols: numbers by name; extended.\n"
          "    names: of nonterminals; a new one's number is minus its place, counted from 1.\n"
          "    productions: head, length of the body, body; extended.\n    other: the symbol of what is not the name of a rule.\n    most: numbers in `productions`.\n\n"
          "Returns:\n    False if there are more.\n\nCost: about 50 ns a name.");
}

}  // namespace derivable
