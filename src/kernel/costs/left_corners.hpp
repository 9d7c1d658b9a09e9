// How much more a stack may cost behind a terminal than before it.
//
// A terminal begins bodies, as `{` begins an object that must have twenty members, and what is left of them is to be paid. Which bodies a terminal begins is
// the left-corner relation (Rosenkrantz and Lewis 1970). Between a symbol that was waited for and a body that begins it lies a chain of such bodies; the
// cheapest chain is what the stack costs more, at most.
#pragma once

#include <cstdint>
#include <vector>

#include "costs/symbol_costs.hpp"

namespace derivable {

class LeftCorners {
  public:
    // Cost: for each symbol that stands behind another one, the symbols that it may begin with. Gives up after `most` of them, all in all.
    LeftCorners(const Productions& productions, const SymbolCosts& costs, uint64_t most);

    // At most; kNoCost: not known.
    Cost growth(Symbol terminal) const { return growth_[terminal]; }

  private:
    bool find_chains(Symbol from, uint64_t& left);

    const Productions& productions_;
    const SymbolCosts& costs_;
    std::vector<Cost> chains_;  // by symbol: of all that may begin with it, the cheapest chain from there, at most; kNoCost: there are none
    std::vector<Cost> growth_;  // by symbol
};

}  // namespace derivable
