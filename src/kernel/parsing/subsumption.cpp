#include "parsing/subsumption.hpp"

#include <algorithm>
#include <utility>

#include "support/hashing.hpp"

namespace derivable {

namespace {
template <class List, class Value>
bool has(const List& list, const Value& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
}
}  // namespace

const std::vector<Subsumption::Item>& Subsumption::open_items(LrState state) {
    const size_t at = state.index();
    if (items_.size() <= at) items_.resize(at + 1), known_items_.resize(at + 1);
    if (!known_items_[at]) {
        Productions& productions = graph_.lr().productions();
        for (auto [production, dot] : graph_.lr().kernel(state)) {
            const Production& p = productions[production];
            if (dot == p.body.size()) continue;
            items_[at].push_back({rests_.intern({p.body.begin() + dot, p.body.end()}), p.head, production ? dot : 0});
        }
        known_items_[at] = 1;
    }
    return items_[at];
}

void Subsumption::close(Nodes& nodes) {
    for (size_t i = 0; i < nodes.size() && patience_; i++)
        each_noted(nodes[i], [&](NodeId y, int32_t) {
            if (look(nodes.size() / 8 + 1) && !has(nodes, y)) nodes.push_back(y);
        });
}

Subsumption::Nodes Subsumption::behind(NodeId n, const Item& item) {
    Nodes out;
    if (item.before)
        for (NodeId below : graph_.pop(n, item.before)) {
            note(n, int32_t(item.before), graph_[below].height);
            out.push_back(graph_.after(below, item.head));
        }
    if (out.size() > 1) lowest_ = kAnywhere;
    return out;
}

bool Subsumption::is_covered(NodeId n, const Nodes& others) {
    if (has(others, n)) return true;
    // What is skipped on the way to others is covered, too.
    for (NodeId other : others) {
        bool is_skipped = false;
        if (is_pruned(other))
            graph_.each_reduced(other, [&](NodeId y, int32_t popped) {
                note(other, popped + 1, graph_[y].height - 1);
                is_skipped |= look(1) && y == n;
            });
        if (is_skipped) return true;
    }
    for (const Item& item : open_items(graph_[n].state)) {
        const Nodes wanted = behind(n, item);
        // Without a stack behind it: the end of the text.
        for (size_t i = 0; i < std::max<size_t>(1, wanted.size()); i++) {
            bool found = false;
            for (size_t k = 0; k < others.size() && !found; k++) {
                if (!look(1)) return false;
                const std::vector<Item>& candidates = open_items(graph_[others[k]].state);
                for (size_t m = 0; m < candidates.size() && !found; m++) {
                    if (candidates[m].rest != item.rest) continue;
                    const Nodes given = behind(others[k], candidates[m]);
                    if (!look(given.size() + 1)) return false;
                    found = wanted.empty() ? given.empty()
                                           : std::any_of(given.begin(), given.end(), [&](NodeId y) { return simulates(y, wanted[i]); });
                }
            }
            if (!found) return false;
        }
    }
    return patience_ > 0;
}

bool Subsumption::are_covered(Nodes nodes, Nodes others) {
    close(nodes);
    close(others);
    return std::all_of(nodes.begin(), nodes.end(), [&](NodeId n) { return patience_ && is_covered(n, others); });
}

bool Subsumption::simulates(NodeId y, NodeId x) {
    if (x == y) return true;
    const uint64_t pair = pack(x, y);
    if (const int32_t* known = pairs_.find(pair)) {
        if (*known != kRefuted) lowest_ = std::min(lowest_, *known);
        return *known != kRefuted;
    }
    if (has(assumed_, pair)) return true;
    const size_t before = assumed_.size();
    assumed_.push_back(pair);
    const int32_t lowest = std::exchange(lowest_, INT32_MAX);
    const bool holds = are_covered({x}, {y});
    // What was assumed since may rest on this pair, so all hold together, or none is known to. What was refuted was refuted although it was
    // assumed.
    if (num_pairs_ > kMaxPairs + kMaxPairsOfNode * graph_.num_live()) pairs_ = {}, num_pairs_ = 0;
    if (holds && before == 0)
        for (uint64_t p : assumed_) pairs_[p] = lowest_, num_pairs_++;
    if (!holds && patience_) pairs_[pair] = kRefuted, num_pairs_++;
    lowest_ = holds ? std::min(lowest, lowest_) : lowest;
    if (!holds || before == 0) assumed_.resize(before);
    return holds;
}

// SAFETY: what was assumed when the last computation was left by an exception is not known.
void Subsumption::begin(int32_t lowest) {
    patience_ = kPatience;
    lowest_ = lowest;
    assumed_.clear();
}

void Subsumption::prune(NodeId n, std::vector<Lower> lower) {
    uint32_t reached = 1, tried = 0;
    for (const Lower& l : lower) {
        reached += graph_[l.node].reached;
        tried = std::max<uint32_t>(tried, graph_[l.node].tried);
    }
    Task whole(Task::kUnbounded);  // as in minimal()
    if (reached > kMuch) whole.enter();
    auto count = [&] {  // where ways meet, nodes were counted twice
        patience_ = kPatience;
        Nodes nodes{n};
        close(nodes);
        return uint32_t(nodes.size());
    };
    if (reached > kMuch) reached = count();
    if (reached > kMuch && reached >= 2 * tried && patience_) {
        const std::vector<Lower> before = lower;
        begin(graph_[n].height);
        skip(n, lower);
        if (!patience_) lower = before;
        graph_[n].lower = free_lists_.empty() ? uint32_t(lists_.size()) : free_lists_.back();
        if (free_lists_.empty()) lists_.emplace_back();
        else free_lists_.pop_back();
        lists_[graph_[n].lower] = {std::move(lower), lowest_};
        reached = count();
        tried = reached > kMuch ? reached : 0;
    }
    graph_[n].reached = uint16_t(std::min<uint32_t>(reached, UINT16_MAX));
    graph_[n].tried = uint16_t(std::min<uint32_t>(tried, UINT16_MAX));
}

void Subsumption::skip(NodeId n, std::vector<Lower>& lower) {
    auto add = [&](NodeId y, int32_t popped) {
        auto it = std::find_if(lower.begin(), lower.end(), [&](const Lower& l) { return l.node == y; });
        if (it == lower.end()) lower.push_back({y, popped});
        else it->popped = std::max(it->popped, popped);
    };
    for (size_t i = 0; i < lower.size() && patience_;) {
        const Lower l = lower[i];
        Nodes others;
        for (const Lower& other : lower)
            if (other.node != l.node) others.push_back(other.node);
        each_noted(l.node, [&](NodeId y, int32_t) { others.push_back(y); });
        close(others);
        others.push_back(n);
        if (patience_ && is_covered(l.node, others)) {
            lower.erase(lower.begin() + long(i));
            each_lower(l.node, [&](NodeId y, int32_t popped) { add(y, popped + l.popped); });
        } else {
            i++;
        }
    }
}

Frontier Subsumption::compute(const Nodes& nodes) {
    begin(0);
    // One node for each way down, so that single ways can be left out.
    Nodes ways;
    for (NodeId n : nodes) {
        const StackGraph::Nodes parents = graph_.parents(n);
        if (!parents.size()) ways.push_back(n);
        for (NodeId p : parents) ways.push_back(graph_.child(p, graph_[n].state));
    }
    auto without = [&](size_t i) {
        Nodes others = ways;
        others.erase(others.begin() + long(i));
        return others;
    };
    for (size_t i = 0; i < ways.size() && patience_;) {
        const NodeId n = ways[i];
        if (has_reductions(n)) {
            Nodes lower = without(i);
            each_lower(n, [&](NodeId y, int32_t) {
                if (look(lower.size() / 8 + 1) && !has(lower, y)) lower.push_back(y);
            });
            Nodes closed = lower;
            if (!open_items(graph_[n].state).empty()) close(closed);
            if (patience_ && is_covered(n, closed)) {
                ways = std::move(lower);
                continue;  // with what has moved up; where this one leads comes last
            }
        }
        i++;
    }
    for (size_t i = 0; ways.size() > 1 && i < ways.size() && patience_;) {
        Nodes others = without(i);
        if (are_covered({ways[i]}, others)) ways = std::move(others);
        else i++;
    }
    if (!patience_) ways = nodes;
    graph_.join(ways);
    return graph_.frontier(std::move(ways));
}

Frontier Subsumption::minimal(Frontier f) {
    if (is_plain(f)) return f;
    if (const Frontier* known = minimal_.find(f)) return *known;
    // Not a part of it can be done alone, and it is not much.
    Task whole(Task::kUnbounded);
    whole.enter();
    const Frontier result = compute(graph_.nodes(f).copy());
    minimal_[f] = result;
    minimal_[result] = result;
    return result;
}

// PERF: that the stacks of a text add nothing rests on the same of the stacks below them, one after the other; single ways down, which are no
// part of any frontier, above all. Without those of live nodes nothing was found out within any patience behind the first collection: of
// `root root | "b" root "c" | [a-z ]+`, 0.04 ms a byte became 24 to 120.
void Subsumption::each_near(const std::function<bool(NodeId)>& is_live, const std::function<void(NodeId)>& visit) const {
    auto is_near = [&](NodeId n) {
        const StackGraph::Nodes parents = graph_.parents(n);
        return is_live(n) || std::all_of(parents.begin(), parents.end(), is_live);
    };
    Nodes near;
    pairs_.each([&](uint64_t pair, int32_t lowest) {
        const NodeId x{uint32_t(pair >> 32)}, y{uint32_t(pair)};
        if (lowest == kRefuted || !is_near(x) || !is_near(y)) return;
        near.push_back(x);
        near.push_back(y);
    });
    for (NodeId n : near) visit(n);
}

void Subsumption::forget() {
    minimal_ = {};
    // SAFETY: what is known of nodes that are left stays true.
    const FlatMap<int32_t> before = std::exchange(pairs_, {});
    num_pairs_ = 0;
    std::vector<char> unused(graph_.size(), 0);
    for (NodeId n : graph_.unused()) unused[n.index()] = 1;
    auto is_left = [&](uint64_t node) { return node < unused.size() && !unused[node]; };
    before.each([&](uint64_t pair, int32_t lowest) {
        if (is_left(pair >> 32) && is_left(uint32_t(pair))) pairs_[pair] = lowest, num_pairs_++;
    });
    std::vector<char> used(lists_.size(), 0);
    for (NodeId n : graph_.ids())
        if (is_pruned(n)) used[graph_[n].lower] = 1;
    free_lists_.clear();
    for (uint32_t i = 0; i < lists_.size(); i++)
        if (!used[i]) lists_[i] = {}, free_lists_.push_back(i);
}

void Subsumption::forget_states() {
    lists_.clear();
    free_lists_.clear();
    items_.clear();
    known_items_.clear();
}

}  // namespace derivable
