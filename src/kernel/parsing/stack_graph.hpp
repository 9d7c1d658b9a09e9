// Parser stacks as one shared graph (Tomita's graph-structured stack), persistent: nothing that a matcher can still see changes.
//
// A node is an LR state on top of one or more parents. A *frontier* is the set of nodes on which the parser may stand after
// the same terminals: one node for a deterministic grammar, several where parses are still undecided, one for an LR state.
// Equal nodes are one, so what was found out about a stack holds wherever it comes up again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "parsing/lr.hpp"
#include "support/hashing.hpp"

namespace derivable {

using NodeId = uint32_t;
using Frontier = uint32_t;  // a NodeId, or kManyBit | index of an interned set of nodes
constexpr Frontier kNoFrontier = ~0u;

class StackGraph {
  public:
    explicit StackGraph(LrAutomaton& lr) : lr_(lr) { new_node(LrAutomaton::kStart, kNoNode); }

    static constexpr uint32_t kManyBit = 1u << 31, kNoNode = ~0u, kUnknown = ~0u;
    struct Node {
        uint32_t state;
        uint32_t parent;  // a node, kManyBit | index into parent_lists_, or kNoNode
        int32_t height;   // states below, on the longest way
        // Remembered by Stacks: the terminals that can follow, and how far that looks.
        uint32_t accept = kUnknown;
        int32_t accept_hops = 0;
        // Remembered by Subsumption: the list of what reductions lead to, if that is not all; how many nodes they lead to in the end, and
        // how many there were when it was last tried to make them fewer.
        uint32_t lower = kUnknown;
        uint16_t reached = 0, tried = 0;
        NodeId first_child = kNoNode, next_sibling = kNoNode;  // nodes with this one as their only parent, but for further_children_
    };

    Node& operator[](NodeId n) { return nodes_[n]; }
    const Node& operator[](NodeId n) const { return nodes_[n]; }
    uint32_t size() const { return uint32_t(nodes_.size()); }
    uint32_t num_live() const { return uint32_t(nodes_.size() - free_.size()); }
    LrAutomaton& lr() const { return lr_; }
    bool has_one_parent(NodeId n) const { return nodes_[n].parent == kNoNode || !(nodes_[n].parent & kManyBit); }
    // None, one, or a list of the graph's. SAFETY: valid until a collection.
    class Nodes {
      public:
        Nodes() = default;
        explicit Nodes(NodeId only) : only_(only), size_(1) {}
        explicit Nodes(const std::vector<NodeId>& list) : list_(list.data()), size_(uint32_t(list.size())) {}
        const NodeId* begin() const { return list_ ? list_ : &only_; }
        const NodeId* end() const { return begin() + size_; }
        uint32_t size() const { return size_; }
        std::vector<NodeId> copy() const { return {begin(), end()}; }

      private:
        const NodeId* list_ = nullptr;
        NodeId only_ = kNoNode;
        uint32_t size_ = 0;
    };
    Nodes parents(NodeId n) const {
        const uint32_t p = nodes_[n].parent;
        if (p == kNoNode) return {};
        return p & kManyBit ? Nodes(parent_lists_[p & ~kManyBit]) : Nodes(p);
    }
    Nodes nodes(Frontier f) const { return f & kManyBit ? Nodes(many_[f & ~kManyBit]) : Nodes(f); }

    // The state on top of this parent alone; find_child: if there is such a node.
    NodeId child(NodeId parent, uint32_t state);
    NodeId find_child(NodeId parent, uint32_t state) const;
    NodeId node(uint32_t state, std::vector<NodeId> parents);
    // After reducing to a nonterminal on top of `below`.
    NodeId after(NodeId below, Symbol nonterminal) { return child(below, lr_.move(nodes_[below].state, nonterminal)); }
    // Nodes `count` below, each once.
    std::vector<NodeId> pop(NodeId n, uint32_t count) const;
    // The same for visiting; without a list where there is one way down.
    template <class Visit>
    void each_below(NodeId n, uint32_t count, Visit visit) const {
        for (; count > 0; count--) {
            const uint32_t p = nodes_[n].parent;
            if (p == kNoNode) return;
            if (p & kManyBit) {
                for (NodeId x : pop(n, count)) visit(x);
                return;
            }
            n = p;
        }
        visit(n);
    }
    // Calls visit(node, states popped less one) for what each reduction leads to.
    template <class Visit>
    void each_reduced(NodeId n, Visit visit) {
        const uint32_t state = nodes_[n].state;
        for (size_t i = 0; i < lr_.reductions(state).size(); i++) {  // SAFETY: moves may add states
            const LrAutomaton::Reduction r = lr_.reductions(state)[i];
            each_below(n, r.length, [&](NodeId below) { visit(after(below, r.head), int32_t(r.length) - 1); });
        }
    }
    // By state first: so equal stacks have equal signatures whatever the numbers of their nodes.
    void sort(std::vector<NodeId>& nodes) const;
    // Makes nodes of one LR state one node with all their parents, and sorts.
    void join(std::vector<NodeId>& nodes);
    // Of joined nodes.
    Frontier frontier(std::vector<NodeId> nodes);

    // Frees every node that is not reached from the frontiers that `roots` reports. `each_kept` visits what a node needs beside its parents.
    void collect(const std::function<void(const std::function<void(Frontier)>&)>& roots,
                 const std::function<void(NodeId, const std::function<void(NodeId)>&)>& each_kept);
    // Right after a collection: forgets what is known about the nodes, and the LR states that none of them has.
    void forget_states();

  private:
    static uint32_t place(std::vector<std::vector<NodeId>>& lists, std::vector<uint32_t>& unused, std::vector<NodeId> list);
    NodeId new_node(uint32_t state, uint32_t parent);
    void add_child(NodeId parent, NodeId child);

    LrAutomaton& lr_;
    std::vector<Node> nodes_;
    std::vector<NodeId> free_;
    // PERF: nearly all nodes have one or two children. Behind `x? x? x? ...` they have thousands: looking for one in a list was 73% of a mask.
    static constexpr uint32_t kListed = 8;
    std::unordered_map<uint64_t, NodeId, MixHash> further_children_;  // by parent and state, of those that have more
    std::vector<std::vector<NodeId>> parent_lists_, many_;
    std::vector<uint32_t> free_lists_, free_many_;                         // indices of lists that a collection has emptied
    std::unordered_map<std::vector<uint32_t>, NodeId, WordsHash> joined_;  // (state, parents...) of nodes with several parents
    std::unordered_map<std::vector<uint32_t>, uint32_t, WordsHash> many_ids_;
};

}  // namespace derivable
