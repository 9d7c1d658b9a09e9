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
// ([(lexer state, lexeme, [(states, items)], environment, tally, mask)], masks, {production: (head, body)}, left out): matching/index_keys.hpp
// `matcher`: of the constraint, if only the keys of its parses are wanted; or null.
nanobind::object index_keys(Constraint& constraint, uint32_t terminal, uint64_t most, uint64_t most_bytes, Matcher* matcher);
// None if the tokens can be cut in too many ways to be listed.
nanobind::object unfolded(Matcher& matcher, uint64_t most);

}  // namespace derivable
