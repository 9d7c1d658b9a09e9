// Parser stacks as one shared graph (Tomita's graph-structured stack), persistent: nothing that a matcher can still see changes.
//
// A node is an LR state on top of one or more parents. A *frontier* is the set of nodes on which the parser may stand after
// the same terminals: one node for a deterministic grammar, several where parses are still undecided.
//
// What a stack can accept is remembered on its nodes: `accepts` (the terminals that can follow, exactly) and the nodes made by
// earlier reductions. One more symbol then costs one more step, however deep the stack is (a list of ten thousand
// right-recursive items included).
//
// `hops` counts how far below a frontier an answer had to look; the mask cache keys on just that much of the stack.
#pragma once

#include <functional>

#include "lr.hpp"

namespace derivable {

using NodeId = uint32_t;
using Frontier = uint32_t;  // a NodeId, or kManyBit | index of an interned set of nodes
constexpr Frontier kNoFrontier = ~0u;

class Stacks {
  public:
    explicit Stacks(LrAutomaton& lr);

    Frontier bottom() const { return 0; }

    // Interned set of terminals (sorted) that may follow; kEnd among them if the text may end.
    uint32_t accepts(Frontier f, int* hops = nullptr);
    const std::vector<Symbol>& terminals(uint32_t accept_set) const { return sets_[accept_set]; }
    bool contains(uint32_t accept_set, Symbol t) const {
        const auto& bits = bits_[accept_set];
        return t / 64 < bits.size() && (bits[t / 64] >> (t % 64) & 1);
    }

    struct Shifted {
        Frontier frontier;
        int hops;   // how far below `f` the shift looked
        int above;  // j hops below the result are at most j + above hops below `f`
    };
    // After terminal t; kNoFrontier if it is not accepted.
    Shifted shift(Frontier f, Symbol t);
    // Both possibilities at once. Only where they may be confused: the same position and lexer state.
    Frontier merge(Frontier a, Frontier b);

    // The stack below a frontier, level by level, as words that are equal only for stacks that look alike so far.
    // At most `max_hops` levels below the top; false if it is too wide to be worth it.
    bool signature(Frontier f, uint32_t hops, std::vector<uint64_t>& out);

    std::vector<NodeId> nodes(Frontier f) const { return f & kManyBit ? many_[f & ~kManyBit] : std::vector<NodeId>{f}; }
    uint32_t state(NodeId n) const { return nodes_[n].state; }
    std::vector<NodeId> parents(NodeId n) const {
        const Node& x = nodes_[n];
        if (x.parent == kNoNode) return {};
        return x.parent & kManyBit ? parent_lists_[x.parent & ~kManyBit] : std::vector<NodeId>{x.parent};
    }
    // After reducing to a nonterminal on top of `below`.
    NodeId after(NodeId below, Symbol nonterminal);
    std::vector<NodeId> pop(NodeId n, uint32_t count) const;
    uint32_t num_live() const { return uint32_t(nodes_.size() - free_.size()); }
    LrAutomaton& lr() { return lr_; }

    // Frees every node that is not below one of the frontiers that `roots` reports. Called between operations only.
    bool wants_collection() const { return num_live() > collect_at_; }
    void collect(const std::function<void(const std::function<void(Frontier)>&)>& roots);
    // Right after a collection: forgets what is known about the nodes, and the LR states that none of them has.
    void forget_states();

  private:
    // PERF: nodes alive before a collection, which takes 120 ns a node. With 65,536 it was a stall of 8 ms.
    static constexpr uint32_t kCollectAt = 1u << 14;
    static constexpr uint32_t kManyBit = 1u << 31, kNoNode = ~0u, kUnknown = ~0u;

    struct Node {
        uint32_t state;
        uint32_t parent;  // a node, kManyBit | index into parent_lists_, or kNoNode
        uint32_t accept = kUnknown;
        int32_t accept_hops = 0;
        NodeId first_child = kNoNode, next_sibling = kNoNode;  // nodes with this one as their only parent
    };
    struct Shifter {
        NodeId node;
        int32_t above;
    };

    static uint32_t place(std::vector<std::vector<NodeId>>& lists, std::vector<uint32_t>& unused, std::vector<NodeId> list);
    NodeId child(NodeId parent, uint32_t state);
    void sort(std::vector<NodeId>& nodes) const;
    template <class Visit>
    void each_below(NodeId n, uint32_t count, Visit visit) const;  // as pop()
    NodeId node(uint32_t state, std::vector<NodeId> parents);
    NodeId new_node(uint32_t state, uint32_t parent);
    uint32_t accept_of(NodeId n);
    void shifters(NodeId n, Symbol t, std::vector<Shifter>& out, int& hops);
    // The usual case of it, without lists: one parse, few reductions. Else kNoNode.
    Shifter only_shifter(NodeId n, Symbol t, int& hops);
    static constexpr uint32_t kFar = 8;  // reductions
    Shifted reduced(Shifted s);  // with the reductions that are sure
    uint32_t intern_set(std::vector<Symbol> sorted);
    uint32_t unite(uint32_t a, uint32_t b);
    Frontier frontier(std::vector<NodeId> nodes);

    LrAutomaton& lr_;
    std::vector<Node> nodes_;
    std::vector<NodeId> free_;
    std::vector<std::vector<NodeId>> parent_lists_, many_;
    std::vector<uint32_t> free_lists_, free_many_;  // indices of lists that a collection has emptied
    std::unordered_map<std::vector<uint32_t>, NodeId, WordsHash> joined_;  // (state, parents...) of nodes with several parents
    std::unordered_map<std::vector<uint32_t>, uint32_t, WordsHash> many_ids_;
    Interner sets_;
    std::vector<std::vector<uint64_t>> bits_;
    std::unordered_map<uint64_t, uint32_t, MixHash> unions_;
    std::vector<uint32_t> direct_;  // by LR state: the interned set of its direct shifts
    // Where a terminal is shifted after long chains of reductions; see shifters().
    std::unordered_map<uint64_t, std::pair<std::vector<Shifter>, int>, MixHash> far_;
    Interner levels_;  // of signature()
    uint32_t collect_at_ = kCollectAt;
};

}  // namespace derivable
