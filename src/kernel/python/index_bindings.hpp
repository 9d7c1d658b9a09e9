// What the index holds, as Python sees it.
#pragma once

#include <nanobind/nanobind.h>

#include "matching/matcher.hpp"

namespace derivable {

nanobind::dict index_view(Constraint& constraint);
// None if the tokens can be cut in too many ways to be listed.
nanobind::object unfolded(Matcher& matcher, uint64_t most);

}  // namespace derivable
