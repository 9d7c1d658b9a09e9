// What every rule of a large grammar passes through: names to numbers, and whether rules end. Sees Python, as python/bindings.cpp does.
#pragma once

#include <nanobind/nanobind.h>

namespace derivable {

// Adds `dead_ends` and `flatten` to the module.
void bind_flatten(nanobind::module_& m);

}  // namespace derivable
