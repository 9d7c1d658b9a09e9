// What the index holds, as Python sees it.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include <nanobind/nanobind.h>

#include "matching/matcher.hpp"

namespace derivable {

nanobind::dict index_view(Constraint& constraint);
// (borders, [(from, to, symbol, blocks)]): matching/lexeme_graph.hpp. Tokens are (begin, length, id).
nanobind::object lexemes(Constraint& constraint, const std::vector<uint16_t>& bytes,
                         const std::vector<std::tuple<uint32_t, uint32_t, uint32_t>>& tokens, bool is_whole);
// None if the tokens can be cut in too many ways to be listed.
nanobind::object unfolded(Matcher& matcher, uint64_t most);

}  // namespace derivable
