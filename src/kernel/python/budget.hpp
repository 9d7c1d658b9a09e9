// The bounds of one compilation, and what else the kernel has to know of the interpreter.
#pragma once

#include <nanobind/nanobind.h>

namespace derivable {

void bind_budget(nanobind::module_& m);

}  // namespace derivable
