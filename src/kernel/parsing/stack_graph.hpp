// Parser stacks as one shared graph (Tomita's graph-structured stack), persistent: nothing that a matcher can still see changes.
//
// A node is an LR state on top of one or more parents. A *frontier* is the set of nodes on which the parser may stand after
// the same terminals: one node for a deterministic grammar, several where parses are still undecided, one for an LR state.
// Equal nodes are one, so what was found out about a stack holds wherever it comes up again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "parsing/lr.hpp"
#include "support/discard.hpp"
#include "support/hashing.hpp"

namespace derivable {

using NodeId = Id<struct StackNodeTag>;
using Frontier = Id<struct FrontierTag>;    // that of a node, or kManyBit | index of an interned set of nodes
using AcceptSet = Id<struct AcceptSetTag>;  // terminals that can follow (Stacks)
constexpr NodeId kNoNode{};
constexpr Frontier kNoFrontier{};

class StackGraph {
  public:
    explicit StackGraph(LrAutomaton& lr) : lr_(lr) { new_node(LrAutomaton::kStart, kNoParent); }

    static constexpr uint32_t kManyBit = 1u << 31, kNoParent = ~0u, kUnknown = ~0u;
    static Frontier one(NodeId n) { return Frontier(n.index()); }
    static bool is_one(Frontier f) { return !(f.index() & kManyBit); }
    static NodeId only(Frontier f) { return NodeId(f.index()); }  // of one
    struct Node {
        LrState state;
        uint32_t parent;  // a node's index, kManyBit | index into parent_lists_, or kNoParent
        int32_t height;   // states below, on the longest way
        // Remembered by Stacks: the terminals that can follow, and how far that looks.
        AcceptSet accept{};
        int32_t accept_hops = 0;
        // Remembered by Subsumption: the list of what reductions lead to, if that is not all; how many nodes they lead to in the end, and
        // how many there were when it was last tried to make them fewer.
        uint32_t lower = kUnknown;
        uint16_t reached = 0, tried = 0;
        NodeId first_child{}, next_sibling{};  // nodes with this one as their only parent, but for further_children_
    };

    Node& operator[](NodeId n) { return nodes_[n]; }
    const Node& operator[](NodeId n) const { return nodes_[n]; }
    uint32_t size() const { return uint32_t(nodes_.size()); }
    auto ids() const { return nodes_.ids(); }
    uint32_t num_live() const { return uint32_t(nodes_.size() - free_.size()); }
    LrAutomaton& lr() const { return lr_; }
    bool has_one_parent(NodeId n) const { return nodes_[n].parent == kNoParent || !(nodes_[n].parent & kManyBit); }
    // kNoNode if there are several, or none.
    NodeId only_parent(NodeId n) const { return nodes_[n].parent & kManyBit ? kNoNode : NodeId(nodes_[n].parent); }
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
        if (p == kNoParent) return {};
        return p & kManyBit ? Nodes(parent_lists_[p & ~kManyBit]) : Nodes(NodeId(p));
    }
    Nodes nodes(Frontier f) const { return is_one(f) ? Nodes(only(f)) : Nodes(many_[place_of(f)]); }

    // The state on top of this parent alone; find_child: if there is such a node.
    NodeId child(NodeId parent, LrState state);
    NodeId find_child(NodeId parent, LrState state) const;
    NodeId node(LrState state, std::vector<NodeId> parents);
    // After reducing to a nonterminal on top of `below`.
    NodeId after(NodeId below, Symbol nonterminal) { return child(below, lr_.move(nodes_[below].state, nonterminal)); }
    // Nodes `count` below, each once.
    std::vector<NodeId> pop(NodeId n, uint32_t count) const;
    // The same for visiting; without a list where there is one way down.
    template <class Visit>
    void each_below(NodeId n, uint32_t count, Visit visit) const {
        for (; count > 0; count--) {
            const uint32_t p = nodes_[n].parent;
            if (p == kNoParent) return;
            if (p & kManyBit) {
                for (NodeId x : pop(n, count)) visit(x);
                return;
            }
            n = NodeId(p);
        }
        visit(n);
    }
    // Calls visit(node, states popped less one) for what each reduction leads to.
    template <class Visit>
    void each_reduced(NodeId n, Visit visit) {
        const LrState state = nodes_[n].state;
        for (size_t i = 0; i < lr_.reductions(state).size(); i++) {  // SAFETY: moves may add states
            const LrAutomaton::Reduction r = lr_.reductions(state)[i];
            each_below(n, r.length, [&](NodeId below) { visit(after(below, r.head), int32_t(r.length) - 1); });
        }
    }
    // So far below the top, at most, stands a node on which all stacks of a frontier stand; none if they do not, or it is too deep or too wide to be told.
    std::optional<uint32_t> depth_of(NodeId ground, Frontier f) const;
    // By state first: so equal stacks have equal signatures whatever the numbers of their nodes.
    void sort(std::vector<NodeId>& nodes) const;
    // Makes nodes of one LR state one node with all their parents, and sorts.
    void join(std::vector<NodeId>& nodes);
    // Of joined nodes.
    Frontier frontier(std::vector<NodeId> nodes);

    const std::vector<NodeId>& unused() const { return free_; }  // numbers of nodes that were freed

    // Frees every node that is not reached from the frontiers that `roots` reports. `each_kept` visits what a node needs beside its
    // parents; `beside`, given these two functions, marks nodes that are kept beside all those.
    using Mark = std::function<void(NodeId)>;
    void collect(const std::function<void(const std::function<void(Frontier)>&)>& roots,
                 const std::function<void(NodeId, const Mark&)>& each_kept,
                 const std::function<void(const std::function<bool(NodeId)>& is_live, const Mark&)>& beside);
    // Right after a collection: forgets what is known about the nodes, and the LR states that none of them has.
    void forget_states();

  private:
    static uint32_t place(std::vector<std::vector<NodeId>>& lists, std::vector<uint32_t>& unused, std::vector<NodeId> list);
    static uint32_t place_of(Frontier f) { return f.index() & ~kManyBit; }
    NodeId new_node(LrState state, uint32_t parent);
    void add_child(NodeId parent, NodeId child);
    void drop_repeated(std::vector<NodeId>& nodes) const;

    LrAutomaton& lr_;
    IdVector<NodeId, Node> nodes_;
    std::vector<NodeId> free_;
    // PERF: nearly all nodes have one or two children. Behind `x? x? x? ...` they have thousands: looking for one in a list was 73% of a
    // mask.
    static constexpr uint32_t kListed = 8;
    FlatMap<NodeId> further_children_;  // by parent and state, of those that have more
    std::vector<std::vector<NodeId>> parent_lists_, many_;
    std::vector<uint32_t> free_lists_, free_many_;                         // indices of lists that a collection has emptied
    std::unordered_map<std::vector<uint32_t>, NodeId, WordsHash> joined_;  // (state, parents...) of nodes with several parents
    std::unordered_map<std::vector<NodeId>, uint32_t, WordsHash> many_ids_;
    // What collections have found dead, and how much of it goes with each new node or frontier. PERF: five rules `[a-z]+ n` in a circle left 62,000
    // frontiers behind 16,000 nodes: freeing them at once was 15 ms of a step.
    Discard discarded_;
    static constexpr size_t kDiscarded = 4;
    mutable std::vector<uint32_t> met_;  // by node: the last call of drop_repeated() that met it
    mutable uint32_t calls_ = 0;
};

}  // namespace derivable
