// Situations visited before texts come to them, from Python.
#pragma once

#include <nanobind/nanobind.h>

namespace derivable {

// Adds `Explorer` and `replay` to the module.
void bind_explorers(nanobind::module_& m);

}  // namespace derivable
