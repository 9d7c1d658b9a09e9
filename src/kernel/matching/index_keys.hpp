// Level 4 of the index as data: the keys that masks stand under, with what each of them says.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "matching/constraint.hpp"

namespace derivable {

struct KeyView {
    uint32_t lexer_state;                             // its number, of this process
    std::vector<std::pair<Symbol, uint32_t>> lexeme;  // (terminal, automaton state) in progress
    std::vector<Stacks::Level> stack;                 // from the top down, as far as the mask depends on it; states with their items
    uint64_t environment, tally;                      // as in ReachTrie::Written
    uint32_t mask;                                    // place in KeysView::masks
};

struct KeysView {
    std::vector<KeyView> keys;
    std::vector<std::vector<uint32_t>> masks;    // different ones, bit by bit
    std::map<uint32_t, Production> productions;  // of the items in keys, as the parser has them
    uint64_t left_out = 0;                       // keys for which there was no room
};

struct KeyBounds {
    uint64_t keys, bytes;  // the latter of masks
};

// Those of lexer states in which a terminal may be in progress; kEnd: of all. Sorted by lexer state and, of one, by what they say.
KeysView keys(Constraint& constraint, Symbol terminal, const KeyBounds& bounds);
// Within an operation: those of them that the masks of parses are found by now.
KeysView keys(Constraint& constraint, const Parses& parses, Symbol terminal, const KeyBounds& bounds);

}  // namespace derivable
