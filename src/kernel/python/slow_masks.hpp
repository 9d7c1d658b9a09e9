// Slow masks become calls of Python.
#pragma once

#include <nanobind/nanobind.h>

namespace derivable {

void bind_slow_masks(nanobind::module_& m);

}  // namespace derivable
