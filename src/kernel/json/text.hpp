// From an automaton over characters to the automaton of the JSON string literals that spell them.
#pragma once

#include <cstdint>

#include "automata/dfa.hpp"

namespace derivable {

// `decoded`: an unconditional automaton over UTF-8, in which a lone surrogate may stand as its three bytes would be (ED A0 80 to
// ED BF BF). The result: all JSON string literals (RFC 8259, quotes included, in every spelling: raw or any escape) of its strings.
// A pair of escapes is one character, so a high surrogate before a low one never counts as two lone ones. O(states of the
// result); throws LimitExceeded.
Dfa json_text(const Dfa& decoded, uint64_t max_states);

}  // namespace derivable
