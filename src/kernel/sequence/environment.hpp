// What a parse remembers beside lexer state and stack (the word of data-dependent parsing, Jim, Mandelbaum and Walker 2010): the
// indentation of the blocks around it or, under scannerless, which knows no such blocks, the tally of the objects and arrays that are open. Both are
// interned, so an environment is a number.
#pragma once

#include <cstdint>
#include <utility>

#include "json/tallies.hpp"
#include "lexing/indentation.hpp"
#include "parsing/stacks.hpp"

namespace derivable {

using Environment = uint32_t;  // Indentations::Id or Tallies::Id
constexpr Environment kNoEnvironment = 0;

struct Environments {
    Environments(IndentationSpec indentation, TallySpec tally) : indentations(std::move(indentation)), tallies(std::move(tally)) {}
    Indentations indentations;
    Tallies tallies;
    // How many brackets are open.
    uint32_t brackets(Environment e) const { return indentations.active() ? indentations[e].depth : 0; }
};

// What a newline lexeme gave the parser, beside the newline: an INDENT, or as many DEDENTs as it says.
using LineEnd = uint32_t;
constexpr LineEnd kNoLineEnd = 0, kLineEnd = 1, kIndent = 2,
                  kDedents = 2;  // a line of the same block, the first one of a block, kDedents + 1 and so on

// What a lexeme does to stack and environment.
struct After {
    Frontier stack;  // kNoFrontier: it is not allowed here
    Environment environment;
    Reach reach;
    int above;  // as Stacks::Shifted
    LineEnd line_end = kNoLineEnd;
};

}  // namespace derivable
