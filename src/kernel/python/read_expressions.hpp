// The trees of derivable.expr, read from Python: what nodes are made of, when trees are equal, and their automata.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include <nanobind/nanobind.h>

namespace derivable {

// The node types, and how their parts are reached.
struct Nodes {
    nanobind::object module = nanobind::module_::import_("derivable.expr");
    nanobind::object ref = type("Ref"), concat = type("Concat"), alt = type("Alt"), repeat = type("Repeat"), look = type("Look");
    nanobind::object sequences = type("Sequences"), members = type("Members");
    nanobind::object bytes = type("Bytes"), chars = type("Chars"), byte_set = type("ByteSet"), graph = type("Graph");
    nanobind::object name = text("name"), names = text("names"), marks = text("marks"), listed = text("listed"), others = text("others"),
                     ordered = text("ordered"), items = text("items"), item = text("item"), min = text("min"), max = text("max"),
                     lazy = text("lazy");
    nanobind::object value = text("value"), ranges = text("ranges"), ahead = text("ahead"), negative = text("negative");
    nanobind::object edges = text("edges"), accepting = text("accepting");
    // Of each type its number, and what makes a node equal to another.
    struct Fields {
        size_t id;
        std::vector<nanobind::object> names;
    };
    std::unordered_map<PyTypeObject*, Fields> fields = fields_by_type();

    // SAFETY: nodes are immutable, so what an attribute refers to lives as long as the node does.
    nanobind::handle part(nanobind::handle node, const nanobind::object& attribute) const {
        PyObject* found = PyObject_GetAttr(node.ptr(), attribute.ptr());
        if (!found) nanobind::raise_python_error();
        Py_DECREF(found);
        return found;
    }
    nanobind::handle items_of(nanobind::handle node) const { return tuple_of(node, items); }
    nanobind::handle tuple_of(nanobind::handle node, const nanobind::object& attribute) const {
        nanobind::handle found = part(node, attribute);
        if (!PyTuple_CheckExact(found.ptr())) nanobind::raise_type_error("the parts of an expression are not a tuple");
        return found;
    }
    bool is(nanobind::handle node, const nanobind::object& type) const {
        return reinterpret_cast<PyObject*>(Py_TYPE(node.ptr())) == type.ptr();
    }

  private:
    std::unordered_map<PyTypeObject*, Fields> fields_by_type() const;
    nanobind::object type(const char* name) const { return module.attr(name); }
    static nanobind::object text(const char* name) { return nanobind::steal(PyUnicode_InternFromString(name)); }
};

const Nodes& nodes();

template <typename Visit>
void each(nanobind::handle tuple, Visit visit) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.ptr()); i++) visit(nanobind::handle(PyTuple_GET_ITEM(tuple.ptr(), i)));
}

}  // namespace derivable
