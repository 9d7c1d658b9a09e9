#pragma once

#include <memory>

#include <nanobind/nanobind.h>

#include "sequence/slots.hpp"

namespace derivable {

// Of an object with start(), names(state, slot), read(state, slot, text) and may_end(state), all of numbers (derivable.meaning).
std::shared_ptr<Meaning> python_meaning(nanobind::object source);

}  // namespace derivable
