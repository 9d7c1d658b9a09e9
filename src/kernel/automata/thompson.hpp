// From a pattern to a Dfa: Thompson's construction, then a subset construction that keeps what Python's `re` means
// (docs/design.md, "Terminals").
//
// The subset construction runs over *threads*, an NFA state plus the obligations (look-ahead in progress) it carries:
//
// - leftmost_first: threads are kept in order of preference, and a match cuts off everything less preferred; if the match
//   still carries obligations, the less preferred threads go on under the condition that one of them fails.
//   So laziness and the order of alternatives mean what they mean to `re`. A match may end with obligations pending.
// - otherwise: order means nothing, the language is the full regular one, and look-ahead sees the end of the
//   match as the end of the text.
#pragma once

#include <cstdint>

#include "automata/dfa.hpp"
#include "automata/pattern.hpp"

namespace derivable {

Dfa compile_pattern(const Pattern& pattern, Pattern::Node root, bool leftmost_first, uint64_t max_nfa_states, uint64_t max_dfa_states);

}  // namespace derivable
