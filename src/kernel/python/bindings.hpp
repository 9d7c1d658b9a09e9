// What Python calls, by topic. Nothing but this folder sees Python.
#pragma once

#include <nanobind/nanobind.h>

namespace derivable {

// Each adds classes and functions to the module.
void bind_automata(nanobind::module_& m);
void bind_expressions(nanobind::module_& m);  // derivable.expr: trees, their equality, their automata
void bind_rules(nanobind::module_& m);        // names of rules to numbers, and whether rules end
void bind_schemas(nanobind::module_& m);      // what only JSON Schema asks for
void bind_vocabularies(nanobind::module_& m);
void bind_constraints(nanobind::module_& m);
void bind_matchers(nanobind::module_& m);
void bind_catalogues(nanobind::module_& m);  // names in files
void bind_batches(nanobind::module_& m);     // many rows at once
void bind_explorers(nanobind::module_& m);
void bind_budget(nanobind::module_& m);  // the bounds of one compilation, and the interpreter's forks and end
void bind_slow_masks(nanobind::module_& m);
void bind_names(nanobind::module_& m);  // what may stand in slots

}  // namespace derivable
