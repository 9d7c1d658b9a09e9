// The nondeterministic automaton between an expression tree and a Dfa.
#pragma once

#include <cstdint>
#include <vector>

#include "automata/dfa.hpp"

namespace derivable {

struct Nfa {
    enum class Kind : uint8_t { kRanges, kSplit, kLook, kMatch };
    struct Range {
        uint8_t lo, hi;
        uint32_t to;
    };
    struct State {
        Kind kind;
        bool ahead = false, negative = false;  // kLook
        uint32_t look = 0;                     // kLook: index into looks (ahead) or behinds
        std::vector<uint32_t> out;             // kSplit: in order of preference; kLook: one
        std::vector<Range> ranges;             // kRanges
    };
    std::vector<State> states;
    uint32_t start = 0;
};

// Subset constructions over an Nfa; see automata/thompson.hpp. `looks` are the look-ahead automata, `behinds` the automata of
// "the text so far ends with a match" of each look-behind.
Dfa determinize(const Nfa& nfa, const std::vector<LookDfa>& looks, const std::vector<Dfa>& behinds, bool leftmost_first,
                uint64_t max_states);
LookDfa determinize_look(const Nfa& nfa, const std::vector<LookDfa>& looks, uint64_t max_states);

}  // namespace derivable
