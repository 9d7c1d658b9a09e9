// What any text of a large grammar meets before long, worked out at compile time.
#pragma once

#include "masks/masks.hpp"

namespace derivable {

// Visits a few situations that between them accept nearly all terminals: the beginnings of statements, of members, of operands, what may
// stand behind an operand.
//
// PERF: the first name of a text, the first body, the first operand were its longest stalls, for most of what a new lexer state asks about
// names, keywords and operators it asks as every other does. Thirty programs, llama-3: Java 4.4 to 1.6 ms, Go 4.5 to 1.9, Python 5.9 to
// 2.4, for 10 to 17 ms at compile time.
void prewarm(Lexer& lexer, Stacks& stacks, const Terminals& terminals, const Environments& environments, Lexemes& lexemes, Runs& runs,
             Masks& masks);

}  // namespace derivable
