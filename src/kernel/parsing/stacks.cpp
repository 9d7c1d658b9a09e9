#include "parsing/stacks.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {
constexpr AcceptSet kNotAsked{};
}

AcceptSet Stacks::intern_set(std::vector<Symbol> sorted) {
    work(sorted.size() / 2);
    const AcceptSet id(sets_.intern(sorted));
    if (!bits_.has(id)) {
        std::vector<uint64_t> bits;
        for (Symbol s : sorted) {
            if (bits.size() <= s / 64) bits.resize(s / 64 + 1);
            bits[s / 64] |= 1ULL << (s % 64);
        }
        bits_.add(std::move(bits));
    }
    return id;
}

AcceptSet Stacks::unite(AcceptSet a, AcceptSet b) {
    if (a == b) return a;
    if (a > b) std::swap(a, b);
    if (const AcceptSet* known = unions_.find(pack(a, b))) return *known;
    std::vector<Symbol> both;
    const std::vector<Symbol>&x = terminals(a), &y = terminals(b);
    std::set_union(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
    const AcceptSet id = intern_set(std::move(both));
    return unions_[pack(a, b)] = id;
}

AcceptSet Stacks::unite(std::vector<uint32_t>& sets) {
    constexpr size_t kFew = 4;
    if (sets.size() > kFew) {
        std::sort(sets.begin(), sets.end());
        sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
    }
    if (sets.size() <= kFew) {
        AcceptSet all(sets[0]);
        for (uint32_t set : sets) all = unite(all, AcceptSet(set));
        return all;
    }
    work(10 + 3 * sets.size());
    if (const auto known = unions_of_many_.find(sets); known != unions_of_many_.end()) return known->second;
    std::vector<uint64_t> bits;
    for (uint32_t set : sets) {
        const std::vector<uint64_t>& more = bits_[AcceptSet(set)];
        work(5 + more.size() / 8);
        if (bits.size() < more.size()) bits.resize(more.size());
        for (size_t i = 0; i < more.size(); i++) bits[i] |= more[i];
    }
    std::vector<Symbol> all;
    for (size_t i = 0; i < bits.size(); i++)
        for (uint64_t rest = bits[i]; rest; rest &= rest - 1) all.push_back(Symbol(64 * i + size_t(__builtin_ctzll(rest))));
    const AcceptSet id = intern_set(std::move(all));
    unions_of_many_.emplace(sets, id);
    return id;
}

AcceptSet Stacks::accept_of(NodeId n) {
    if (graph_[n].accept != kNotAsked) return graph_[n].accept;
    // Depth first with an explicit stack: chains of reductions may be as long as the parser stack. Every reduction leads to a
    // lower node (all right-hand sides have two symbols or more), so this ends.
    std::vector<NodeId> work{n};
    while (!work.empty()) {
        derivable::work(10);
        const NodeId x = work.back();
        if (graph_[x].accept != kNotAsked) {
            work.pop_back();
            continue;
        }
        const LrState state = graph_[x].state;
        direct_.reach(state, lr_.num_states());
        if (direct_[state] == kNotAsked) direct_[state] = intern_set(lr_.shifts(state));
        const size_t before = work.size();
        lower_.clear();
        subsumption_.each_lower(x, [&](NodeId y, int32_t popped) {
            lower_.push_back({y, popped});
            if (graph_[y].accept == kNotAsked) work.push_back(y);
        });
        if (work.size() > before) continue;
        const bool was_pruned = subsumption_.is_pruned(x);
        if (!was_pruned) subsumption_.prune(x, lower_);
        if (!was_pruned && subsumption_.is_pruned(x)) continue;
        united_.assign(1, direct_[state].index());
        int32_t hops = subsumption_.hops(x, Reach::kDeep);
        const int32_t reads = subsumption_.is_pruned(x) || lr_.reads_below(state);  // states below what a reduction takes
        for (auto [y, popped] : lower_) {
            united_.push_back(graph_[y].accept.index());
            hops = std::min(Reach::kDeep, std::max({hops, popped + reads, popped + graph_[y].accept_hops}));
        }
        graph_[x].accept = unite(united_);
        graph_[x].accept_hops = hops;
        work.pop_back();
    }
    return graph_[n].accept;
}

Answer<AcceptSet> Stacks::accepted(Frontier f) {
    if (StackGraph::is_one(f)) {
        const NodeId n = StackGraph::only(f);
        const AcceptSet set = accept_of(n);
        return {set, {graph_[n].accept_hops}};
    }
    if (const Answer<AcceptSet>* known = accepted_.find(f)) return *known;
    Answer<AcceptSet> all{kNotAsked, {}};
    work(3 * nodes(f).size());
    for (NodeId n : nodes(f)) {
        accept_of(n);
        all.reach |= {graph_[n].accept_hops};
    }
    united_.clear();
    for (NodeId n : nodes(f)) united_.push_back(graph_[n].accept.index());
    all.value = unite(united_);
    return accepted_[f] = all;
}

uint32_t Stacks::see(NodeId n, uint32_t depth, std::vector<Seen>& seen) {
    marks_.reach(n, graph_.size());
    Mark& mark = marks_[n];
    if (mark.visit != visit_) {
        mark = {visit_, uint32_t(seen.size())};
        seen.push_back({n, depth});
    }
    return mark.index;
}

// PERF: walks ask the same frontier for each terminal that may have ended. Looking through 1,000 nodes (`anyOf` of as many objects) each time, a walk
// of 12 ms counted four times what it may, and the mask was made byte by byte instead, in twelve calls of 60 ms.
const Stacks::Accepting* Stacks::accepting(Frontier f) {
    constexpr uint32_t kWide = 32, kOften = 4;
    const size_t wide = nodes(f).size();
    if (wide < kWide) return nullptr;
    auto known = std::find_if(accepting_.begin(), accepting_.end(), [&](const Accepting& a) { return a.of == f; });
    if (known == accepting_.end()) {
        known = accepting_.begin() + next_accepting_++ % accepting_.size();
        *known = {f};
    }
    if (known->asked++ == kOften) {
        size_t size = 0;
        for (NodeId n : nodes(f)) size += terminals(accept_of(n)).size();
        if (size <= 8 * wide) {
            work(size * 5);
            for (NodeId n : nodes(f))
                for (Symbol s : terminals(accept_of(n))) known->nodes.emplace_back(s, n);
            std::stable_sort(known->nodes.begin(), known->nodes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
            known->is_sorted = true;
        }
    }
    return known->is_sorted ? &*known : nullptr;
}

template <class Visit>
void Stacks::each_accepting(Frontier f, Symbol t, Visit visit) {
    if (const Accepting* known = accepting(f)) {
        auto at = std::lower_bound(known->nodes.begin(), known->nodes.end(), t, [](const auto& a, Symbol s) { return a.first < s; });
        for (; at != known->nodes.end() && at->first == t; ++at) visit(at->second);
        return;
    }
    work(nodes(f).size());
    for (NodeId n : nodes(f))
        if (contains(accept_of(n), t)) visit(n);
}

void Stacks::find_shifters(Frontier f, Symbol t) {
    // Depth first over the reductions that lead to nodes accepting t; a node is finished behind all that it leads to.
    auto& [seen, edges, work, finished] = search_;
    seen.clear(), edges.clear(), work.clear(), finished.clear();
    visit_++;
    each_accepting(f, t, [&](NodeId n) { work.push_back(see(n, 0, seen)), seen[work.back()].above = 0; });
    bool single_file = work.size() == 1;
    while (!work.empty()) {
        derivable::work(10);
        const uint32_t i = work.back();
        if (seen[i].is_expanded) {
            work.pop_back();
            if (!seen[i].is_finished) seen[i].is_finished = true, finished.push_back(i);
            continue;
        }
        const NodeId n = seen[i].node;
        seen[i].is_expanded = true;
        seen[i].begin = seen[i].end = uint32_t(edges.size());
        if (seen[i].depth >= kFar && far_.find(pack(n, t)) != far_.end()) continue;
        const LrState state = graph_[n].state;
        subsumption_.each_lower(n, [&](NodeId y, int32_t less) {
            derivable::work(5);
            if (contains(accept_of(y), t)) edges.emplace_back(see(y, seen[i].depth + 1, seen), less);
        });
        seen[i].end = uint32_t(edges.size());
        single_file &= seen[i].end - seen[i].begin + contains(direct_[state], t) == 1;
        for (uint32_t e = seen[i].begin; e < seen[i].end; e++)
            if (!seen[edges[e].first].is_expanded) work.push_back(edges[e].first);
    }
    std::vector<Shifter>& out = shifters_;
    out.clear();
    for (size_t k = finished.size(); k-- > 0;) {
        const Seen& x = seen[finished[k]];
        for (uint32_t e = x.begin; e < x.end; e++)
            seen[edges[e].first].above = std::max(seen[edges[e].first].above, x.above + edges[e].second);
        if (contains(direct_[graph_[x.node].state], t)) out.push_back({x.node, x.above});
        else if (x.begin == x.end)
            if (auto it = far_.find(pack(x.node, t)); it != far_.end()) out.push_back({it->second.node, it->second.above + x.above});
    }
    // PERF: along a single file every node shifts where its last one does; remembering that keeps a closing
    // bracket after n right-recursive items at O(1) amortised instead of O(n) per question.
    if (single_file && out.size() == 1)
        for (const Seen& x : seen)
            if (x.depth >= kFar && x.node != out[0].node) far_[pack(x.node, t)] = {out[0].node, out[0].above - x.above};
}

Stacks::Shifter Stacks::only_shifter(NodeId n, Symbol t) {
    int32_t above = 0;
    for (uint32_t depth = 0; depth < kFar; depth++) {
        const LrState state = graph_[n].state;
        bool shifts = contains(direct_[state], t), several = false;
        NodeId next = kNoNode;
        int32_t popped = 0;
        subsumption_.each_lower(n, [&](NodeId y, int32_t less) {
            if (!contains(accept_of(y), t)) return;
            several |= next != kNoNode;
            next = y, popped = less;
        });
        if (several || (shifts && next != kNoNode)) break;
        if (shifts) return {n, above};
        n = next;
        above += popped;
    }
    return {kNoNode, 0};
}

// PERF: where nothing but one reduction is possible it is made at once, so what follows is asked of fewer different stacks: `f(x)`, `f.x`
// and `f[x]` become one. First passes walk 9% (Python) to 14% (Java) fewer nodes. Only a few at a time: masks ask again and again.
Stacks::Shifted Stacks::reduced(Shifted s) {
    for (uint32_t i = 0; i < kFar; i++) {
        NodeId below = StackGraph::only(s.frontier);
        if (!lr_.is_complete(graph_[below].state)) break;
        const LrAutomaton::Reduction r = lr_.reductions(graph_[below].state)[0];
        for (uint32_t k = 0; k < r.length; k++)
            if ((below = graph_.only_parent(below)) == kNoNode) return s;
        s.above += int(r.length) - 1;
        s.reach |= {s.above + lr_.reads_below(graph_[StackGraph::only(s.frontier)].state)};
        s.frontier = StackGraph::one(after(below, r.head));
    }
    return s;
}

Stacks::Shifted Stacks::shift(Frontier f, Symbol t) {
    const auto [set, reach] = accepted(f);
    if (!contains(set, t)) return {kNoFrontier, reach, 0};
    if (StackGraph::is_one(f))
        if (const Shifter s = only_shifter(StackGraph::only(f), t); s.node != kNoNode)
            return reduced({StackGraph::one(graph_.child(s.node, lr_.move(graph_[s.node].state, t))), reach, s.above - 1});
    // PERF: of a few stacks each usually has one way. With a search of all each time, shifts took 1.6 times as many instructions where repeats are counted.
    constexpr size_t kFew = 8;
    shifters_.clear();
    bool each_has_one = !StackGraph::is_one(f) && nodes(f).size() <= kFew;
    if (each_has_one)
        each_accepting(f, t, [&](NodeId n) {
            shifters_.push_back(only_shifter(n, t));
            each_has_one &= shifters_.back().node != kNoNode;
        });
    if (!each_has_one) find_shifters(f, t);
    int above = -1;
    shifting_.clear();
    for (Shifter s : shifters_) above = std::max(above, s.above - 1), shifting_.push_back(s.node);
    graph_.join(shifting_);
    targets_.clear();
    for (NodeId n : shifting_) targets_.emplace_back(lr_.move(graph_[n].state, t), n);
    std::sort(targets_.begin(), targets_.end());
    std::vector<NodeId> result;
    result.reserve(targets_.size());
    for (size_t i = 0, j; i < targets_.size(); i = j) {
        const auto [state, first] = targets_[i];
        for (j = i + 1; j < targets_.size() && targets_[j].first == state;) j++;
        if (j == i + 1) {
            result.push_back(graph_.child(first, state));
            continue;
        }
        std::vector<NodeId> parents;
        for (size_t k = i; k < j; k++) parents.push_back(targets_[k].second);
        result.push_back(graph_.node(state, std::move(parents)));
    }
    graph_.sort(result);
    return {graph_.frontier(std::move(result)), reach, above};
}

Frontier Stacks::merge(const std::vector<Frontier>& frontiers) {
    std::vector<NodeId> all;
    for (Frontier f : frontiers)
        for (NodeId n : nodes(f)) all.push_back(n);
    work(10 * all.size());
    graph_.join(all);
    return graph_.frontier(std::move(all));
}

bool Stacks::signature(Frontier f, uint32_t hops, std::vector<uint64_t>& out) {
    out.clear();
    words_.clear();
    if (!StackGraph::is_one(f)) {
        const StackGraph::Nodes on_top = nodes(f);
        level_.assign(on_top.begin(), on_top.end());
        return levels(hops, ~size_t(0), out);
    }
    NodeId n = StackGraph::only(f);
    out.push_back(graph_[n].state.index());
    WaitingItems::Expected expected = waiting_.below_top(graph_[n].state);
    while (out.size() <= hops) {
        const NodeId below = graph_.only_parent(n);
        if (below == kNoNode) return graph_.has_one_parent(n) || levels_below(n, hops - uint32_t(out.size()), ~size_t(0), out);
        n = below;
        if (--expected.gap) {
            out.push_back(WaitingItems::kNone);
            continue;
        }
        const WaitingItems::Here here = waiting_.in(graph_[n].state, expected.heads);
        out.push_back(here.items);
        expected = here.below;
    }
    return true;
}

bool Stacks::levels_below(NodeId n, uint32_t hops, size_t most, std::vector<uint64_t>& out) {
    const StackGraph::Nodes below = parents(n);
    level_.assign(below.begin(), below.end());
    words_.assign(1, uint32_t(level_.size()));
    return levels(hops, most, out);
}

// Of several stacks, from level_ on: the tree of parents, level by level, as interned lists: how many parents each node above has, then the states.
// A shorter signature must be a prefix of a longer one, so a level does not say how many parents it has itself.
bool Stacks::levels(uint32_t hops, size_t most, std::vector<uint64_t>& out) {
    constexpr size_t kMaxWidth = 64;
    for (uint32_t depth = 0;; depth++) {
        for (NodeId n : level_) words_.push_back(graph_[n].state.index());
        out.push_back((1ULL << 32) | levels_.intern(words_));
        if (depth == hops || out.size() == most) return true;
        words_.clear();
        next_level_.clear();
        for (NodeId n : level_) {
            const StackGraph::Nodes below = parents(n);
            words_.push_back(below.size());
            next_level_.insert(next_level_.end(), below.begin(), below.end());
        }
        if (next_level_.empty()) return true;
        if (next_level_.size() > kMaxWidth) return false;
        level_.swap(next_level_);
    }
}

std::vector<Stacks::Level> Stacks::levels_of(const std::vector<uint64_t>& signature) const {
    std::vector<Level> all;
    size_t above = 0;  // nodes: how many parents each has comes first
    for (uint64_t word : signature) {
        Level& level = all.emplace_back();
        if (word >> 32) {
            const std::vector<uint32_t>& words = levels_[uint32_t(word)];
            for (size_t i = above; i < words.size(); i++) level.states.push_back(LrState(words[i]));
            above = level.states.size();
        } else if (all.size() == 1) {
            level.states.push_back(LrState(uint32_t(word)));
            above = 1;
        } else {
            const std::vector<uint32_t>& words = waiting_.items(uint32_t(word));
            for (size_t i = 0; i < words.size(); i += 2) level.items.emplace_back(words[i], words[i + 1]);
        }
    }
    return all;
}

// The stack on which the head of all open items of a node will have been completed.
Stacks::Continuation Stacks::continuation(NodeId n) {
    const Continuation& known = continuations_[n.index()];
    if (known.is_known) return known;
    const Continuation found = find_continuation(n);
    return continuations_[n.index()] = found;
}

Stacks::Continuation Stacks::find_continuation(NodeId n) {
    const Continuation none{kNoNode, 1, 1, 0, true};
    const LrAutomaton::Open open = lr_.open(graph_[n].state);
    if (!open.length) return none;
    NodeId below = n;
    for (uint32_t i = 0; i < open.length; i++)
        if ((below = graph_.only_parent(below)) == kNoNode) return none;
    work(10);
    const Shifted behind = reduced({StackGraph::one(after(below, open.head)), {}, int(open.length) - 1});
    const int looked = int(open.length) - lr_.productions().is_in_one_place(open.head);
    return {StackGraph::only(behind.frontier), behind.above, std::max(looked, behind.reach.hops), open.rest, true};
}

Stacks::Future::Future(Stacks& stacks, Frontier f, uint32_t hops, size_t most, bool tells_rests, std::vector<uint64_t>& words,
                       std::vector<int>& looked)
    : stacks_(stacks),
      words_(words),
      looked_(looked),
      most_(most),
      hops_(int(hops)),
      tells_rests_(tells_rests),
      frontier_(f) {
    words.clear();
    looked.clear();
    if (StackGraph::is_one(f)) node_ = StackGraph::only(f);
    else next_ = kSeveralOnTop;
}

bool Stacks::Future::more() {
    constexpr uint64_t kBehind = 2ULL << 32, kRest = 4ULL << 32;  // the state behind a head; what is left of one, instead of a state
    if (next_ == kEnded) return false;
    if (next_ == kSeveralOnTop) return end_with(stacks_.signature(frontier_, uint32_t(std::min<size_t>(size_t(hops_), most_ - 1)), words_));
    if (next_ == kSeveralBelow) return end_with(stacks_.levels_below(node_, uint32_t(hops_ - level_), most_, words_));
    const StackGraph& graph = stacks_.graph_;
    const Continuation behind = stacks_.continuation(node_);
    const bool is_one = behind.node != kNoNode;
    words_.push_back((is_behind_ ? kBehind : 0) | (is_one && tells_rests_ ? kRest | behind.rest : graph[node_].state.index()));
    looked_.push_back(looks_);
    is_behind_ = is_one;
    looks_ = std::max(looks_, level_ + behind.looked);
    level_ += behind.above;
    if (looks_ > hops_ || words_.size() == most_ || graph[node_].parent == StackGraph::kNoParent) next_ = kEnded;
    else if (is_one) node_ = behind.node;
    else if (const NodeId below = graph.only_parent(node_); below != kNoNode) node_ = below;
    else next_ = kSeveralBelow;
    return true;
}

bool Stacks::Future::end_with(bool is_told) {
    is_told_ = is_told;
    next_ = kEnded;
    const bool are_more = looked_.size() < words_.size();
    while (looked_.size() < words_.size()) looked_.push_back(level_++);
    return are_more;
}

bool Stacks::future(Frontier f, uint32_t hops, size_t most, bool tells_rests, std::vector<uint64_t>& words, std::vector<int>& looked) {
    Future all(*this, f, hops, most, tells_rests, words, looked);
    while (all.more()) {}
    return all.is_told();
}

void Stacks::collect(const std::function<void(const std::function<void(Frontier)>&)>& roots) {
    node_numbers_.happen();
    // What a stack accepts rests on where its reductions lead. Without those nodes the next question would make them all again.
    auto each_kept = [&](NodeId n, const StackGraph::Mark& mark) {
        if (graph_[n].accept == kNotAsked) return;
        if (subsumption_.is_pruned(n)) return subsumption_.each_lower(n, [&](NodeId y, int32_t) { mark(y); });
        for (const auto& r : lr_.reductions(graph_[n].state))
            graph_.each_below(n, r.length, [&](NodeId below) {
                const NodeId y = graph_.find_child(below, lr_.move(graph_[below].state, r.head));
                if (y != kNoNode) mark(y);
            });
    };
    graph_.collect(roots, each_kept, [&](const std::function<bool(NodeId)>& is_live, const StackGraph::Mark& mark) {
        subsumption_.each_near(is_live, mark);
    });
    subsumption_.forget();
    far_ = {};
    accepted_ = {};
    continuations_ = {};
    accepting_ = {};
    collect_at_ = std::max(least_collected_, 2 * num_live());
}

void Stacks::forget_states() {
    states().happen();
    accepted_ = {};
    continuations_ = {};
    accepting_ = {};
    subsumption_.forget_states();
    graph_.forget_states();
    sets_ = {};
    levels_ = {};
    bits_.clear();
    unions_ = {};
    unions_of_many_.clear();
    direct_.clear();
    waiting_.forget_states();
}

}  // namespace derivable
