// What completing a stack costs, and the terminal to do so with.
//
// A node is completed by one of its items: what is left of its body, and then the node that the head leads to. That one stands lower; or, where the item has
// one symbol before its dot, on the same parent. So nodes are settled from the lowest on, and those that stand on one parent together, from the cheapest on: in
// `list -> list · "," item` a list leads to itself. What was found out stands by the node, so one more symbol costs one more step, however deep the stack is.
#pragma once

#include <cstdint>
#include <vector>

#include "costs/symbol_costs.hpp"
#include "parsing/stacks.hpp"
#include "support/hashing.hpp"

namespace derivable {

class StackCosts {
  public:
    StackCosts(Stacks& stacks, const SymbolCosts& symbols) : stacks_(stacks), symbols_(symbols) {}

    // The least of a frontier's stacks; kNoCost if none can be completed.
    Cost of(Frontier f);
    // The first terminal of what completes it so; kEnd where nothing is left to do.
    Symbol next(Frontier f);
    // Whichever of its items a text goes on with, and whichever of those that wait below, later: what then completes it with the least, at most.
    Cost most(Frontier f);

  private:
    struct Known {
        Cost cost = kNoCost;
        Symbol first = kEnd;     // of what is left of the item's body; kEnd: nothing, and it goes on with
        NodeId below = kNoNode;  // this one, or not at all
    };
    struct Way {
        Cost rest;  // of an item's body
        Symbol first;
        NodeId after;
    };
    Known known(NodeId n);
    std::vector<Way> ways(NodeId n);
    bool settle(NodeId n, std::vector<NodeId>& todo);
    int32_t height(NodeId n) const { return stacks_.height(StackGraph::one(n)); }

    Stacks& stacks_;
    const SymbolCosts& symbols_;
    FlatMap<Known> known_;
    FlatMap<Cost> most_;
    const Renumbering::Told nodes_{stacks_.nodes(), [this] { known_ = {}, most_ = {}; }};
};

}  // namespace derivable
