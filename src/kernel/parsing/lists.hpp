// Lists: what comes any number of times behind a symbol, together with that symbol.
//
// In a body `x R y`, with R any number of w, the first w stands on x and the others on R. So the stacks that texts come to within a w are twice as
// many as what may follow there. With L -> x | L w the body is `L y`, and all of them stand on L. (Of one w at least: `L w y`.) In `x (op x)*` this is
// the usual left recursion.
#pragma once

#include <cstdint>
#include <vector>

#include "parsing/productions.hpp"

namespace derivable {

// The same language. New symbols are numbered from `num_symbols` on. Linear in the size of the grammar.
void make_lists(std::vector<Production>& productions, uint32_t num_terminals, Symbol& num_symbols);

}  // namespace derivable
