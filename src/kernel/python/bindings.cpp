#include "python/bindings.hpp"

#include "python/translate.hpp"

namespace nb = nanobind;
using namespace derivable;

NB_MODULE(_kernel, m) {
    m.doc() = "The kernel of Derivable: automata, the LR automaton, the index and the matcher.";
    nb::register_exception_translator(translate);
    bind_automata(m);
    bind_expressions(m);
    bind_rules(m);
    bind_schemas(m);
    bind_vocabularies(m);
    bind_constraints(m);
    bind_matchers(m);
    bind_budget(m);
    bind_slow_masks(m);
    bind_names(m);
    bind_catalogues(m);
    bind_batches(m);
    bind_explorers(m);
}
