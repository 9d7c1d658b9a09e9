// Which terminals open something and which close it, as the rules alone tell.
//
// Give each terminal a weight, so that whatever a rule derives weighs the same, and a whole text nothing. What solutions this system of linear
// equations has are the brackets of the grammar: `{` and `${` weigh one and `}` minus one. Quotes that open and close are alike, so they weigh
// nothing; but modulo 2 there is a solution, for there is an even number of them. What a normal form does to the rules does not matter.
#pragma once

#include <vector>

#include "parsing/productions.hpp"
#include "support/bits.hpp"

namespace derivable {

// Each of the openers is closed by any of the closers. A terminal that is both is alone: it closes what it has opened.
struct Brackets {
    std::vector<Symbol> openers, closers;
};

// Kinds of brackets among `candidates`, no terminal in two of them. What these say may still be wrong: they count, but need not nest.
std::vector<Brackets> find_brackets(Productions& productions, const Bits& candidates);

}  // namespace derivable
