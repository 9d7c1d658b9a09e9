// What a constraint knows and makes of a text, for people: no mask depends on it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "matching/constraint.hpp"

namespace derivable {

// Masks that are known in one lexer state (level 4), and how its tokens are told apart (levels 1 and 2).
struct LexerStateView {
    std::vector<std::pair<Symbol, uint32_t>> lexeme;      // (terminal, automaton state) in progress
    uint64_t stacks = 0;                                  // keys under which a mask is known
    uint64_t masks = 0;                                   // different ones among them
    uint64_t depth = 0;                                   // states of the stack that the longest key holds
    uint64_t always = 0, stack_dependent = 0, never = 0;  // tokens: in all of these masks, in some, in none
    bool is_split = false;                                // what follows is known; under scannerless the members are split one by one
    uint64_t inside = 0;                                  // tokens that may end while the lexeme goes on
    uint64_t exits = 0;                                   // ways for it to end inside a token
};

struct IndexView {
    std::vector<LexerStateView> states;
    uint64_t keys = 0;    // nodes of the trie of masks
    uint64_t splits = 0;  // of levels 1 and 2: nodes of all spanner trees, shared ones once
    uint64_t lexer_bytes = 0, split_bytes = 0, part_bytes = 0, mask_bytes = 0;
};

// A node of the spanner tree of a parse, as its parser prunes it; in preorder.
struct SpanView {
    int64_t parent;        // place of the node before it; -1 for the root
    Symbol terminal;       // that ended on the way here; kEnd for the root
    bool ignored;          // and was dropped
    uint64_t tokens = 0;   // that end here, while a lexeme is in progress, and are allowed
    uint64_t refused = 0;  // that end here and are not, because the parser cannot use the lexeme
    int64_t hops = 0;      // states below the top of the stack that it depends on
};

// What is possible on one reading of a text.
struct Explanation {
    std::vector<std::pair<Symbol, uint32_t>> lexeme;  // (terminal, automaton state) in progress
    std::vector<Symbol> accepts;                      // terminals that may follow, behind it if it may end; kEnd for the end
};

IndexView view(Constraint& constraint);
// Within an operation: of parses, and `most` nodes of their spanner trees.
std::vector<SpanView> unfold(Constraint& constraint, const Parses& parses, uint64_t most);
std::vector<Explanation> explain(Constraint& constraint, const Parses& parses);
// Within an operation: of parses; `most` of each slot.
std::vector<NamesHere> names_here(Constraint& constraint, const Parses& parses, size_t most);

}  // namespace derivable
