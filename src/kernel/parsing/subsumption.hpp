// Stacks that add nothing to others.
//
// A frontier stands for the union of what its nodes can still derive. In ambiguous grammars most of that is said many times: after n
// letters of `s: s s | "a"` there are n stacks, and whatever one of them can do, the lowest can. So what adds nothing is left out:
//
//   x's open items    A -> u . v  is a term (v, c): first v, then what follows A where it began, the stack c. What a node derives is the
//                     union of its terms, and of the nodes that its reductions lead to.
//   x <= y            x derives only what y does. It is, if for each term (v, c) of x there is a term (v, d) of y with c <= d: a
//   simulation.
//                     Terms derive at least one symbol before they get to their stack, so pairs that rest on each other in a circle hold
//                     (induction on the length of the text).
//
// A node whose own terms add nothing to where its reductions lead is replaced by those (so is one that has none), a node that adds nothing
// to the others is dropped, and what is left has one node for each LR state. With it, right recursion and all repetition of what can be
// repeated anyway (`s s`, `s*` in `s`, infix operators without precedence) keep a stack as high as its brackets are deep. Where reductions
// lead to many nodes, those that add nothing are skipped, too (`prune`).
//
// Cost: a few loads where nothing can be reduced; else at most kPatience nodes and terms are looked at, once for a frontier or a node.
// Giving up is no error: then there only are more nodes.
//
// What rests on skipped nodes depends on all that was looked at to skip them. On a single way down that is said by the states so far: which
// nodes are the same follows from their heights. Where ways meet it is not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "parsing/stack_graph.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

class Subsumption {
  public:
    explicit Subsumption(StackGraph& graph) : graph_(graph) {}

    // Derives the same as `f`. Nodes that many others are reached from should have been pruned.
    Frontier minimal(Frontier f);
    // One way down, and nothing to reduce.
    bool is_plain(Frontier f) const {
        if (!StackGraph::is_one(f)) return false;
        const NodeId n = StackGraph::only(f);
        return graph_.has_one_parent(n) && !has_reductions(n);
    }
    // Some of the nodes that n's reductions lead to, perhaps in several steps, such that they and n's open items derive what n does.
    // Calls visit(node, states popped less one for each step).
    template <class Visit>
    void each_lower(NodeId n, Visit visit) {
        if (graph_[n].lower == StackGraph::kUnknown) return graph_.each_reduced(n, visit);
        for (const Lower& l : lists_[graph_[n].lower].nodes) visit(l.node, l.popped);
    }
    bool is_pruned(NodeId n) const { return graph_[n].lower != StackGraph::kUnknown; }
    // How far below n was looked to prune it; `deep` if that is not known.
    int hops(NodeId n, int deep) const {
        const int32_t lowest = is_pruned(n) ? lists_[graph_[n].lower].lowest : graph_[n].height;
        return lowest == kAnywhere ? deep : graph_[n].height - lowest;
    }
    // Makes what each_lower(n) leads to less if it is much. To be called once a node, lower nodes first. `lower`: what each_lower(n)
    // visits.
    struct Lower {
        NodeId node;
        int32_t popped;
    };
    void prune(NodeId n, std::vector<Lower> lower);
    // Before nodes are freed: visits those that stand on live ones and of which something is known.
    void each_near(const std::function<bool(NodeId)>& is_live, const std::function<void(NodeId)>& visit) const;
    // Nodes were freed; LR states are about to be numbered anew.
    void forget();
    void forget_states();

  private:
    static constexpr uint32_t kPatience = 1u << 12;
    static constexpr uint32_t kMuch = 8;                                  // nodes reached
    static constexpr uint32_t kMaxPairs = 1u << 16, kMaxPairsOfNode = 8;  // remembered

    // An item A -> u . v of an LR state with v not empty.
    struct Item {
        uint32_t rest;  // v, interned
        Symbol head;
        uint32_t before;  // symbols in u
    };
    using Nodes = std::vector<NodeId>;
    static constexpr int32_t kAnywhere = INT32_MIN;
    struct List {
        std::vector<Lower> nodes;
        int32_t lowest;  // height of what was looked at for it
    };

    const std::vector<Item>& open_items(LrState state);
    bool has_reductions(NodeId n) const { return !graph_.lr().reductions(graph_[n].state).empty(); }
    Frontier compute(const Nodes& nodes);
    // Replaces nodes whose own terms add nothing to the rest, and to those of n, by what they lead to.
    void skip(NodeId n, std::vector<Lower>& lower);
    // Adds all that nodes lead to.
    void close(Nodes& nodes);
    // The stacks behind a term; none behind the end of the text.
    Nodes behind(NodeId n, const Item& item);
    // The node's own terms are among those of others, up to <=.
    bool is_covered(NodeId n, const Nodes& others);
    // All that `nodes` derive, `others` derive.
    bool are_covered(Nodes nodes, Nodes others);
    bool simulates(NodeId y, NodeId x);
    // As each_lower, noting what is looked at.
    template <class Visit>
    void each_noted(NodeId n, Visit visit) {
        each_lower(n, [&](NodeId y, int32_t popped) {
            if (!is_pruned(n)) note(n, popped + 1, graph_[y].height - 1);
            visit(y, popped);
        });
        if (is_pruned(n)) lowest_ = std::min(lowest_, lists_[graph_[n].lower].lowest);
    }
    // A node of this height was reached from n by going down so many states.
    void note(NodeId n, int32_t count, int32_t height) {
        lowest_ = std::min(lowest_, graph_[n].height - count == height ? height : kAnywhere);
    }
    // False when patience is at its end; then nothing more is known.
    bool look(size_t cost) {
        work(20);
        return patience_ > cost ? patience_ -= uint32_t(cost), true : (patience_ = 0, false);
    }
    void begin(int32_t lowest);

    StackGraph& graph_;
    std::deque<std::vector<Item>> items_;  // by LR state. Grows while references into it are held
    std::vector<char> known_items_;
    Interner rests_;
    std::deque<List> lists_;  // so does this
    std::vector<uint32_t> free_lists_;
    FlatMap<Frontier> minimal_;
    static constexpr int32_t kRefuted = INT32_MAX;
    FlatMap<int32_t> pairs_;  // x <= y: height of what was looked at for it, or kRefuted
    uint32_t num_pairs_ = 0;
    uint32_t patience_ = 0;
    int32_t lowest_ = 0;             // height of what was looked at
    std::vector<uint64_t> assumed_;  // pairs, while one is looked at
};

}  // namespace derivable
