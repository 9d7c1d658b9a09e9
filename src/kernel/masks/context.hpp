// What a matcher's place is told apart by in every process alike: for counts that are saved.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sequence/history.hpp"
#include "sequence/terminals.hpp"

namespace derivable {

// Numbers of lexer and LR states depend on what was visited first. So a lexer state is known by the terminals in progress, each with the state of its
// automaton, or 0 if that has no table: its states are numbered as they are met.
std::vector<std::pair<Symbol, uint32_t>> named_lexeme(Lexer& lexer, const Terminals& terminals, LexState lex);
// The lexer states of parses, and the uppermost `hops` + 1 LR states, each known by its items.
uint64_t context(Lexer& lexer, const Terminals& terminals, Stacks& stacks, const Parses& of, int64_t hops);

}  // namespace derivable
