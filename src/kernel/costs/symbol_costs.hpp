// What symbols of a grammar cost: the fewest tokens that derive them, and by which production.
//
// Terminals are given. A nonterminal costs what its cheapest body does, which is Knuth's generalization of Dijkstra's algorithm to grammars (Knuth 1977, "A
// generalization of Dijkstra's algorithm"): symbols are settled from the cheapest on, so each body is looked at once all of it is settled.
//
// Tokens are counted terminal by terminal. One token may span several, so a sum is more than may be needed, never less.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "parsing/productions.hpp"

namespace derivable {

// Tokens, and between equal numbers of them bytes; kNoCost: there is no way.
using Cost = uint64_t;
constexpr Cost kNoCost = uint64_t(1) << 62;
constexpr uint32_t kBytesOfCost = 20;  // bits
constexpr Cost cost_of(uint32_t tokens, size_t bytes) {
    constexpr size_t kMost = (size_t(1) << (kBytesOfCost - 1)) - 1;
    return Cost(tokens) << kBytesOfCost | Cost(bytes < kMost ? bytes : kMost);
}
constexpr uint64_t tokens_of(Cost cost) { return cost >> kBytesOfCost; }
constexpr Cost sum(Cost a, Cost b) { return a >= kNoCost || b >= kNoCost ? kNoCost : a + b; }

class SymbolCosts {
  public:
    // `terminals`: by symbol, the end of the text among them. Cost: the size of the grammar, times the logarithm of the number of symbols.
    SymbolCosts(const Productions& productions, const std::vector<Cost>& terminals);

    Cost operator[](Symbol s) const { return costs_[s]; }
    // Of what is left of a body from a place on.
    Cost rest(uint32_t production, uint32_t dot) const;
    // The terminal with which a cheapest text of the symbol begins.
    Symbol first(Symbol s) const;
    // Of what stands behind a terminal in some body, the least.
    Cost behind(Symbol terminal) const { return behind_[terminal]; }

  private:
    const Productions& productions_;
    std::vector<Cost> costs_, behind_;
    std::vector<Symbol> first_;  // of the body by which it costs that
};

}  // namespace derivable
