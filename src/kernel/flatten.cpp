#include "flatten.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>
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
               item = nb::steal(PyUnicode_InternFromString("item")), min = nb::steal(PyUnicode_InternFromString("min"));

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

int64_t number(nb::handle value) {
    int64_t found = PyLong_AsLongLong(value.ptr());
    if (found == -1 && PyErr_Occurred()) nb::raise_python_error();
    return found;
}

// What a body cannot do without: the places in `index` of the rules it names, once for each time.
template <typename Visit>
void needs(const Nodes& n, nb::handle node, nb::dict index, Visit visit) {
    if (n.is(node, n.ref)) {
        PyObject* at = PyDict_GetItemWithError(index.ptr(), n.part(node, n.name).ptr());
        if (at) return visit(size_t(number(at)));
        if (PyErr_Occurred()) nb::raise_python_error();
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
        auto add = [&](nb::handle body) {
            bodies.push_back({head});
            needs(n, body, index, [&](size_t rule) {
                bodies.back().missing++;
                uses[rule].push_back(bodies.size() - 1);
            });
            if (!bodies.back().missing) end(head);
        };
        if (n.is(expr, n.alt))
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
        stack.assign(ends[head++], expr);
        while (!stack.empty()) {
            nb::handle node = stack.back();
            stack.pop_back();
            if (n.is(node, n.ref))
                needs(n, node, index, [&](size_t rule) { names_dead |= !ends[rule]; });
            else if (n.is(node, n.concat) || n.is(node, n.alt))
                each(n.items_of(node), [&](nb::handle item) { stack.push_back(item); });
            else if (n.is(node, n.repeat))
                stack.push_back(n.part(node, n.item));
        }
        if (names_dead) named.append(name);
    }
    return nb::make_tuple(dead, named);
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
                string('u', static_cast<const char*>(PyUnicode_DATA(value)), size_t(PyUnicode_GET_LENGTH(value)) * size_t(PyUnicode_KIND(value)));
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
    // By type of node, what makes it equal to another.
    static const std::unordered_map<PyTypeObject*, Fields>& known_fields() {
        static const auto* known = [] {
            auto* out = new std::unordered_map<PyTypeObject*, Fields>();
            for (nb::handle type : nodes().module.attr("Expr").attr("__args__")) {
                Fields fields{out->size(), {}};
                for (nb::handle field : nb::module_::import_("dataclasses").attr("fields")(type))
                    if (nb::cast<bool>(field.attr("compare"))) fields.names.push_back(field.attr("name"));
                out->emplace(reinterpret_cast<PyTypeObject*>(type.inc_ref().ptr()), std::move(fields));
            }
            return out;
        }();
        return *known;
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

bool flatten(nb::list pending, nb::dict rules, nb::dict symbols, nb::list names, nb::list productions, nb::callable other, Py_ssize_t most) {
    const Nodes& n = nodes();
    std::vector<std::pair<int64_t, nb::object>> work;  // owns the expressions: what asked for them may be gone
    std::vector<int64_t> body;
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
    m.def("content", [](nb::handle expr) {
        Content content;
        content.add(expr);
        return nb::bytes(content.text.data(), content.text.size());
    }, nb::arg("expr"), "Bytes that are equal for equal expressions only.\n\nCost: about 100 ns a node.");
    m.def("dead_ends", &dead_ends, nb::arg("rules"), "The names of the rules that never end (every alternative leads back to one that does not), and of all others that name one.");
    m.def("flatten", &flatten, nb::arg("pending"), nb::arg("rules"), nb::arg("symbols"), nb::arg("names"), nb::arg("productions"), nb::arg("other"), nb::arg("most"),
          "Writes the productions of the (symbol, expression) pairs of `pending`, and of all rules they lead to.\n\n"
          "Args:\n    pending: emptied; `other` may add to it.\n    rules: by name.\n    symbols: numbers by name; extended.\n"
          "    names: of nonterminals; a new one's number is minus its place, counted from 1.\n"
          "    productions: head, length of the body, body; extended.\n    other: the symbol of what is not the name of a rule.\n    most: numbers in `productions`.\n\n"
          "Returns:\n    False if there are more.\n\nCost: about 100 ns a name.");
}

}  // namespace derivable
