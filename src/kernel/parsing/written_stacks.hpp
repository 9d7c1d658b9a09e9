// Stacks of one constraint in terms that every process knows: each node by the symbol over which its state is reached, and the nodes that it stands on.
//
// LR states and nodes are numbered as texts reach them, so their numbers mean nothing elsewhere. Symbols are numbered by the grammar. What is read
// consists of moves of the automaton, so whatever the bytes say, it is a viable prefix: a stack that some text leads to.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "parsing/stacks.hpp"
#include "support/hashing.hpp"
#include "support/packed.hpp"

namespace derivable {

// Some frontiers with all that they stand on; nodes that they share are written once. Nodes are numbered from 0, the bottom, in the order of what is written.
class StackWriter {
  public:
    explicit StackWriter(Stacks& stacks) : stacks_(stacks) { numbers_[Stacks::bottom().index()] = 1; }

    void add(Frontier f);  // before what follows
    void write(PackedWriter& out);
    void write(PackedWriter& out, Frontier f) const;
    std::optional<uint32_t> number(NodeId n) const;

  private:
    Stacks& stacks_;
    std::vector<NodeId> nodes_;  // those on which one stands first; without the bottom
    FlatMap<uint32_t> numbers_;  // and one
};

// Throws BadState. Cost: of each node a move.
class StackReader {
  public:
    StackReader(Stacks& stacks, PackedReader& in);

    Frontier frontier(PackedReader& in);
    NodeId node(uint32_t number) const { return nodes_[number]; }
    size_t size() const { return nodes_.size(); }

  private:
    Stacks& stacks_;
    std::vector<NodeId> nodes_;
};

}  // namespace derivable
