// Many rows at once, from Python.
#pragma once

#include <nanobind/nanobind.h>

namespace derivable {

// Adds `fill_bitmasks`, `fill_draft`, `advance` and `apply_bitmask` to the module.
void bind_batches(nanobind::module_& m);

}  // namespace derivable
