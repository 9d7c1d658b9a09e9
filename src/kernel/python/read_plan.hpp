// A lowered grammar, read from Python (derivable.compile.Plan, derivable.lowering.Lowered); it may come from a file.
#pragma once

#include <nanobind/nanobind.h>

#include "matching/constraint.hpp"

namespace derivable {

// Throws BadGrammar where numbers do not fit together, and TypeError where something is not what it should be.
ConstraintSpec read_plan(nanobind::handle plan, nanobind::handle references, uint32_t vocabulary_size, Policy& policy);

}  // namespace derivable
