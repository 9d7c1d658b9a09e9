// The nondeterministic automaton between an expression tree and a Dfa.
#pragma once

#include <cstdint>
#include <map>
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

// What look-behind has seen of a text: of each automaton its state, or kDead.
using Seen = std::vector<int32_t>;

// A look-ahead. Where look-behind stands in it, where its automaton begins depends on the text before.
struct LookAhead {
    LookDfa automaton;              // its own start is for the beginning of the text
    std::vector<uint32_t> behinds;  // the look-behinds that it depends on; empty: the same for all texts
    std::map<Seen, int32_t> starts;
};

// The automata of look-around: of look-ahead, and of "the text so far ends with a match" of each look-behind. Where look-ahead stands in a
// look-behind, that one's matches are under conditions. What stands in another one comes before it.
struct Looks {
    std::vector<LookAhead> aheads;
    std::vector<Dfa> behinds;
};

// Subset constructions over an Nfa; see automata/thompson.hpp.
Dfa determinize(const Nfa& nfa, const Looks& looks, bool leftmost_first, uint64_t max_states);
LookAhead determinize_ahead(const Nfa& nfa, const Looks& looks, uint64_t max_states);
Dfa determinize_behind(const Nfa& nfa, const Looks& looks, uint64_t max_states);

}  // namespace derivable
