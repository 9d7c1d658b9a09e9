// What only JSON Schema asks of the kernel. Sees Python, as python/bindings.cpp does.
#pragma once

#include <nanobind/nanobind.h>

namespace derivable {

// Adds `spelled` and `Partition` to the module.
void bind_schemas(nanobind::module_& m);

}  // namespace derivable
