// What parser stacks accept, and what becomes of them.
//
// What a stack can accept is remembered on its nodes: `accepts` (the terminals that can follow, exactly) and the nodes made by
// earlier reductions. One more symbol then costs one more step, however deep the stack is (a list of ten thousand
// right-recursive items included).
//
// Answers say how far below a frontier they looked (parsing/reach.hpp); the mask cache keys on just that much of the stack.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "parsing/reach.hpp"
#include "parsing/subsumption.hpp"
#include "parsing/waiting.hpp"
#include "support/hashing.hpp"
#include "support/ids.hpp"

namespace derivable {

class Stacks {
  public:
    explicit Stacks(LrAutomaton& lr) : lr_(lr), graph_(lr) {}

    static Frontier bottom() { return Frontier(0); }

    // Interned set of terminals (sorted) that may follow; kEnd among them if the text may end.
    AcceptSet accepts(Frontier f) { return StackGraph::is_one(f) ? accept_of(StackGraph::only(f)) : accepted(f).value; }
    Answer<AcceptSet> accepted(Frontier f);  // the same, and what it depends on
    const std::vector<Symbol>& terminals(AcceptSet set) const { return sets_[set.index()]; }
    bool contains(AcceptSet set, Symbol t) const {
        const auto& bits = bits_[set];
        return t / 64 < bits.size() && (bits[t / 64] >> (t % 64) & 1);
    }

    struct Shifted {
        Frontier frontier;
        Reach reach;
        int above;  // j states below the top of the result are at most j + above below that of `f` (Reach::below)
    };
    // After terminal t; kNoFrontier if it is not accepted.
    Shifted shift(Frontier f, Symbol t);
    // All possibilities at once. Only where they may be confused: the same position and lexer state.
    Frontier merge(const std::vector<Frontier>& all);
    // The same possibilities, without what adds nothing (parsing/subsumption.hpp).
    Frontier minimal(Frontier f) {
        if (subsumption_.is_plain(f)) return f;
        accepts(f);  // prunes long chains of reductions
        return subsumption_.minimal(f);
    }

    // A stack from the top down, as words that are equal only for stacks that can do the same, but for what is below: the state on top, then what waits
    // below it (parsing/waiting.hpp), `hops` levels of it, if there are so many. Of several stacks, all their states; false: too wide to be worth it.
    bool signature(Frontier f, uint32_t hops, std::vector<uint64_t>& out);
    // What a word of a signature says of a level of the stacks.
    struct Level {
        std::vector<LrState>
            states;                // the uppermost one; or of several stacks all that lie there, several times where they lie below several
        LrAutomaton::Items items;  // else those that wait there
    };
    std::vector<Level> levels_of(const std::vector<uint64_t>& signature) const;
    // The same for stacks with equal futures: where all open items of a state are of one head, what lies between is forgotten with them, and
    // the stack goes on with the state behind the head. `tells_rests`: of the head itself it only matters what is left of it. At most `most`
    // words, as many as tell of `hops` states below the top. `looked`: how far down each of them, with those before, comes from.
    // SAFETY: words have no bit above the 35th.
    bool future(Frontier f, uint32_t hops, size_t most, bool tells_rests, std::vector<uint64_t>& words, std::vector<int>& looked);
    // One word after the other, for those who need not know all. SAFETY: within one operation, while nothing is collected.
    class Future {
      public:
        Future(Stacks& stacks, Frontier f, uint32_t hops, size_t most, bool tells_rests, std::vector<uint64_t>& words,
               std::vector<int>& looked);
        bool more();                               // some are added; false: there are none
        bool is_told() const { return is_told_; }  // false: what is left is too wide to be worth it

      private:
        bool end_with(bool is_told);  // with what was added; false: nothing

        Stacks& stacks_;
        std::vector<uint64_t>& words_;
        std::vector<int>& looked_;
        const size_t most_;
        const int hops_;
        const bool tells_rests_;
        enum : uint8_t { kOne, kSeveralOnTop, kSeveralBelow, kEnded } next_ = kOne;
        bool is_behind_ = false, is_told_ = true;  // the node of the next word is behind a head
        int looks_ = 0;                            // so far down the next word comes from, with those before
        int level_ = 0;                            // states below the top of the node are so much further below that of the frontier
        Frontier frontier_;
        NodeId node_ = kNoNode;
    };

    StackGraph::Nodes nodes(Frontier f) const { return graph_.nodes(f); }
    std::optional<uint32_t> depth_of(NodeId ground, Frontier f) const { return graph_.depth_of(ground, f); }
    // Calls visit(nodes) for the upper levels of a frontier's stacks, from the top down: hops + 1 of them, if there are so many.
    template <class Visit>
    void each_level(Frontier f, int64_t hops, Visit visit) const {
        std::vector<NodeId> level = nodes(f).copy(), below;
        for (int64_t depth = 0; depth <= hops && !level.empty(); depth++) {
            visit(level);
            below.clear();
            for (NodeId n : level)
                for (NodeId p : parents(n)) below.push_back(p);
            std::sort(below.begin(), below.end());
            below.erase(std::unique(below.begin(), below.end()), below.end());
            level.swap(below);
        }
    }
    // States below the lowest of its stacks, on the longest way.
    int32_t height(Frontier f) const {
        int32_t least = INT32_MAX;
        for (NodeId n : nodes(f)) least = std::min(least, graph_[n].height);
        return least;
    }
    LrState state(NodeId n) const { return graph_[n].state; }
    StackGraph::Nodes parents(NodeId n) const { return graph_.parents(n); }
    // After reducing to a nonterminal on top of `below`.
    NodeId after(NodeId below, Symbol nonterminal) { return graph_.after(below, nonterminal); }
    std::vector<NodeId> pop(NodeId n, uint32_t count) const { return graph_.pop(n, count); }
    // Stacks put together anew: a state on top of others, by a move from each of them; and several of such.
    NodeId on(LrState state, std::vector<NodeId> below) { return graph_.node(state, std::move(below)); }
    Frontier frontier(std::vector<NodeId> nodes) {
        graph_.join(nodes);
        return graph_.frontier(std::move(nodes));
    }
    uint32_t num_live() const { return graph_.num_live(); }
    LrAutomaton& lr() { return lr_; }

    // Before nodes are freed, and before LR states and sets of terminals are numbered anew; the latter only right after the former.
    Renumbering& nodes() { return node_numbers_; }
    Renumbering& states() { return lr_.numbers(); }
    // Frees every node that is not below one of the frontiers that `roots` reports. Called between operations only.
    bool wants_collection() const { return graph_.num_live() > collect_at_; }
    void collect(const std::function<void(const std::function<void(Frontier)>&)>& roots);
    // PERF: where much is known by the numbers of stacks, which a collection takes away. Then it may take 60 ms (120 ns a node).
    void collect_rarely() { least_collected_ = collect_at_ = 1u << 19; }
    // Right after a collection: forgets what is known about the nodes, the LR states that none of them has, and what words of signatures say.
    void forget_states();
    // What words of signatures say, read where nothing was asked for.
    void archive(Archive& a) { waiting_.archive(a); }

  private:
    // PERF: nodes alive before a collection, which takes 120 ns a node. With 65,536 it was a stall of 8 ms.
    static constexpr uint32_t kCollectAt = 1u << 14;

    struct Shifter {
        NodeId node;
        int32_t above;
    };

    AcceptSet accept_of(NodeId n);
    // Calls visit(node) for the nodes of a frontier that accept a terminal.
    template <class Visit>
    void each_accepting(Frontier f, Symbol t, Visit visit);
    // The nodes of a wide frontier by the terminals that they accept.
    struct Accepting {
        Frontier of = kNoFrontier;
        uint32_t asked = 0;
        bool is_sorted = false;
        std::vector<std::pair<Symbol, NodeId>> nodes;
    };
    const Accepting* accepting(Frontier f);
    // The nodes from which t is shifted, into shifters_. How far these look is never further than accepts() does.
    void find_shifters(Frontier f, Symbol t);
    struct Seen {  // by find_shifters()
        NodeId node;
        uint32_t depth, begin = 0, end = 0;  // reductions on the way there; where its own lead
        int32_t above = -1;
        bool is_expanded = false, is_finished = false;
    };
    uint32_t see(NodeId n, uint32_t depth, std::vector<Seen>& seen);
    // The usual case of it, without lists: one parse, few reductions. Else kNoNode.
    Shifter only_shifter(NodeId n, Symbol t);
    static constexpr uint32_t kFar = 8;  // reductions
    Shifted reduced(Shifted s);          // with the reductions that are sure
    AcceptSet intern_set(std::vector<Symbol> sorted);
    AcceptSet unite(AcceptSet a, AcceptSet b);
    // Of many, by their numbers, which it sorts. PERF: one after the other the sets of 1,000 alternatives with a terminal each were a mask of 2.2 s.
    AcceptSet unite(std::vector<uint32_t>& sets);

    Renumbering node_numbers_;
    LrAutomaton& lr_;
    StackGraph graph_;
    WaitingItems waiting_{lr_};
    Subsumption subsumption_{graph_};
    Interner sets_;
    IdVector<AcceptSet, std::vector<uint64_t>> bits_;
    FlatMap<AcceptSet> unions_;
    std::unordered_map<std::vector<uint32_t>, AcceptSet, WordsHash> unions_of_many_;
    std::vector<uint32_t> united_;           // what is to be united
    FlatMap<Answer<AcceptSet>> accepted_;    // of frontiers of several nodes
    std::array<Accepting, 8> accepting_;     // of frontiers that were asked for last
    size_t next_accepting_ = 0;              // to be replaced
    IdVector<LrState, AcceptSet> direct_;    // the set of its direct shifts
    std::vector<Subsumption::Lower> lower_;  // of the node whose set is made
    // Where a terminal is shifted after long chains of reductions; see find_shifters().
    std::unordered_map<uint64_t, Shifter, MixHash> far_;
    struct Search {  // of find_shifters()
        std::vector<Seen> seen;
        std::vector<std::pair<uint32_t, int32_t>> edges;  // to one of `seen`; states popped
        std::vector<uint32_t> todo, finished;             // of `seen`
    };
    // PERF: what a shift needs for a while; made anew each time, 1.4 times as many instructions.
    Search search_;
    std::vector<Shifter> shifters_;
    std::vector<NodeId> shifting_;
    std::vector<std::pair<LrState, NodeId>> targets_;
    struct Mark {
        uint32_t visit = 0, index = 0;
    };
    IdVector<NodeId, Mark> marks_;  // the last find_shifters() that saw it
    uint32_t visit_ = 0;
    // Words of what stands below a node that has several parents, or from level_ on; up to `most` in `out`, with those that are there.
    bool levels_below(NodeId n, uint32_t hops, size_t most, std::vector<uint64_t>& out);
    bool levels(uint32_t hops, size_t most, std::vector<uint64_t>& out);
    Interner levels_;
    std::vector<NodeId> level_, next_level_;
    std::vector<uint32_t> words_;
    uint32_t least_collected_ = kCollectAt, collect_at_ = kCollectAt;
    struct Continuation {
        NodeId node = kNoNode;  // kNoNode: there are several, or no such head; then the rest is of the parents
        int above = 0;          // as in Shifted
        int looked = 0;         // so far down it comes from
        uint32_t rest = 0;      // as in LrAutomaton::Open
        bool is_known = false;
    };
    Continuation continuation(NodeId n);
    Continuation find_continuation(NodeId n);
    Pages<Continuation> continuations_;  // by node. PERF: as a hash table they were a tenth of the first mask on a stack that is new
};

}  // namespace derivable
