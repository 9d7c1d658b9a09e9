#include "stacks.hpp"

#include <algorithm>

namespace derivable {

Stacks::Stacks(LrAutomaton& lr) : lr_(lr) { new_node(LrAutomaton::kStart, kNoNode); }

NodeId Stacks::new_node(uint32_t state, uint32_t parent) {
    NodeId id;
    work(5);
    if (!free_.empty()) {
        id = free_.back();
        free_.pop_back();
        nodes_[id] = Node{state, parent};
    } else {
        id = NodeId(nodes_.size());
        if (id >= kManyBit) throw LimitExceeded("parser stack nodes", id, kManyBit, "all parses of a constraint's matchers");
        nodes_.push_back({state, parent});
    }
    return id;
}

uint32_t Stacks::place(std::vector<std::vector<NodeId>>& lists, std::vector<uint32_t>& unused, std::vector<NodeId> list) {
    if (unused.empty()) {
        lists.push_back(std::move(list));
        return uint32_t(lists.size() - 1);
    }
    uint32_t at = unused.back();
    unused.pop_back();
    lists[at] = std::move(list);
    return at;
}

NodeId Stacks::child(NodeId parent, uint32_t state) {
    for (NodeId c = nodes_[parent].first_child; c != kNoNode; c = nodes_[c].next_sibling)
        if (nodes_[c].state == state) return c;
    NodeId c = new_node(state, parent);
    nodes_[c].next_sibling = nodes_[parent].first_child;
    nodes_[parent].first_child = c;
    return c;
}

// By state first: so equal stacks have equal signatures whatever the numbers of their nodes.
void Stacks::sort(std::vector<NodeId>& nodes) const {
    std::sort(nodes.begin(), nodes.end(), [&](NodeId x, NodeId y) { return nodes_[x].state != nodes_[y].state ? nodes_[x].state < nodes_[y].state : x < y; });
}

NodeId Stacks::node(uint32_t state, std::vector<NodeId> parents) {
    sort(parents);
    parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
    if (parents.size() == 1) return child(parents[0], state);
    std::vector<uint32_t> key{state};
    key.insert(key.end(), parents.begin(), parents.end());
    auto it = joined_.find(key);
    if (it != joined_.end()) return it->second;
    NodeId n = new_node(state, kManyBit | place(parent_lists_, free_lists_, std::move(parents)));
    joined_.emplace(std::move(key), n);
    return n;
}

Frontier Stacks::frontier(std::vector<NodeId> nodes) {
    sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    if (nodes.size() == 1) return nodes[0];
    auto [it, fresh] = many_ids_.try_emplace(nodes, 0);
    if (fresh) it->second = place(many_, free_many_, std::move(nodes));
    return kManyBit | it->second;
}

NodeId Stacks::after(NodeId below, Symbol nonterminal) { return child(below, lr_.move(nodes_[below].state, nonterminal)); }

std::vector<NodeId> Stacks::pop(NodeId n, uint32_t count) const {
    std::vector<NodeId> level{n}, next;
    while (count-- > 0) {
        next.clear();
        work(8 * level.size());
        for (NodeId x : level) {
            uint32_t p = nodes_[x].parent;
            if (p & kManyBit && p != kNoNode)
                next.insert(next.end(), parent_lists_[p & ~kManyBit].begin(), parent_lists_[p & ~kManyBit].end());
            else if (p != kNoNode)
                next.push_back(p);
        }
        if (next.size() > 1) {
            std::sort(next.begin(), next.end());
            next.erase(std::unique(next.begin(), next.end()), next.end());
        }
        level.swap(next);
    }
    return level;
}

template <class Visit>
void Stacks::each_below(NodeId n, uint32_t count, Visit visit) const {
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

uint32_t Stacks::intern_set(std::vector<Symbol> sorted) {
    uint32_t id = sets_.intern(sorted);
    if (id == bits_.size()) {
        std::vector<uint64_t> bits;
        for (Symbol s : sorted) {
            if (bits.size() <= s / 64) bits.resize(s / 64 + 1);
            bits[s / 64] |= 1ULL << (s % 64);
        }
        bits_.push_back(std::move(bits));
    }
    return id;
}

uint32_t Stacks::unite(uint32_t a, uint32_t b) {
    if (a == b) return a;
    if (a > b) std::swap(a, b);
    auto [it, fresh] = unions_.try_emplace(pack(a, b), 0);
    if (!fresh) return it->second;
    std::vector<Symbol> both;
    std::set_union(sets_[a].begin(), sets_[a].end(), sets_[b].begin(), sets_[b].end(), std::back_inserter(both));
    uint32_t id = intern_set(std::move(both));
    return unions_[pack(a, b)] = id;
}

uint32_t Stacks::accept_of(NodeId n) {
    if (nodes_[n].accept != kUnknown) return nodes_[n].accept;
    // Depth first with an explicit stack: chains of reductions may be as long as the parser stack. Every reduction leads to a
    // lower node (all right-hand sides have two symbols or more), so this ends.
    std::vector<NodeId> work{n};
    while (!work.empty()) {
        derivable::work(10);
        NodeId x = work.back();
        if (nodes_[x].accept != kUnknown) {
            work.pop_back();
            continue;
        }
        uint32_t state = nodes_[x].state;
        if (direct_.size() <= state) direct_.resize(std::max<size_t>(lr_.num_states(), state + 1), kUnknown);
        if (direct_[state] == kUnknown) direct_[state] = intern_set(lr_.shifts(state));
        uint32_t set = direct_[state];
        int32_t hops = 0;
        bool ready = true;
        for (const auto& r : lr_.reductions(state))
            each_below(x, r.length, [&](NodeId below) {
                NodeId y = after(below, r.head);
                if (nodes_[y].accept == kUnknown) {
                    work.push_back(y);
                    ready = false;
                } else if (ready) {
                    set = unite(set, nodes_[y].accept);
                    int32_t len = int32_t(r.length);
                    hops = std::max({hops, len, len + nodes_[y].accept_hops - 1});
                }
            });
        if (!ready) continue;
        nodes_[x].accept = set;
        nodes_[x].accept_hops = hops;
        work.pop_back();
    }
    return nodes_[n].accept;
}

uint32_t Stacks::accepts(Frontier f, int* hops) {
    if (!(f & kManyBit)) {
        uint32_t set = accept_of(f);
        if (hops) *hops = nodes_[f].accept_hops;
        return set;
    }
    uint32_t set = kUnknown;
    for (NodeId n : nodes(f)) {
        uint32_t s = accept_of(n);
        if (hops) *hops = std::max(set == kUnknown ? 0 : *hops, nodes_[n].accept_hops);
        set = set == kUnknown ? s : unite(set, s);
    }
    return set;
}

void Stacks::shifters(NodeId n, Symbol t, std::vector<Shifter>& out, int& hops) {
    // Depth first over the reductions that lead to nodes accepting t. Chains longer than kFar are remembered.
    struct Step {
        NodeId node;
        int32_t above;
        uint32_t depth;
    };
    std::vector<Step> work{{n, 0, 0}};
    std::vector<std::pair<NodeId, int32_t>> chain;  // a single file of reductions so far, for remembering
    bool single_file = true;
    size_t first = out.size();
    std::unordered_map<NodeId, int32_t> visited;  // once paths have branched they may meet again
    while (!work.empty()) {
        derivable::work(5);
        Step x = work.back();
        work.pop_back();
        if (!single_file) {
            auto [it, fresh] = visited.try_emplace(x.node, x.above);
            if (!fresh && it->second >= x.above) continue;
            it->second = x.above;
        }
        if (x.depth >= kFar) {
            auto it = far_.find(pack(x.node, t));
            if (it != far_.end()) {
                for (Shifter s : it->second.first) out.push_back({s.node, s.above + x.above});
                hops = std::max(hops, it->second.second + x.above);
                continue;
            }
            chain.emplace_back(x.node, x.above);
        }
        uint32_t state = nodes_[x.node].state;
        if (direct_[state] != kUnknown && contains(direct_[state], t)) out.push_back({x.node, x.above});
        size_t before = work.size();
        for (const auto& r : lr_.reductions(state))
            each_below(x.node, r.length, [&](NodeId below) {
                hops = std::max(hops, x.above + int(r.length));
                NodeId y = after(below, r.head);
                accept_of(y);
                hops = std::max(hops, x.above + int(r.length) - 1 + nodes_[y].accept_hops);
                if (contains(nodes_[y].accept, t)) work.push_back({y, x.above + int32_t(r.length) - 1, x.depth + 1});
            });
        single_file &= work.size() - before <= 1 && before == 0;
    }
    if (out.size() - first > 1) {
        std::sort(out.begin() + long(first), out.end(), [](Shifter a, Shifter b) { return a.node != b.node ? a.node < b.node : a.above > b.above; });
        auto same = [](Shifter a, Shifter b) { return a.node == b.node; };
        out.erase(std::unique(out.begin() + long(first), out.end(), same), out.end());
    }
    // PERF: along a single file every node shifts where its last one does; remembering that keeps a closing
    // bracket after n right-recursive items at O(1) amortised instead of O(n) per question.
    if (single_file && !chain.empty() && out.size() == first + 1)
        for (auto [node, above] : chain)
            if (node != out[first].node) far_[pack(node, t)] = {{{out[first].node, out[first].above - above}}, hops - above};
}

Stacks::Shifter Stacks::only_shifter(NodeId n, Symbol t, int& hops) {
    int32_t above = 0;
    for (uint32_t depth = 0; depth < kFar; depth++) {
        work(3);
        const uint32_t state = nodes_[n].state;
        bool shifts = contains(direct_[state], t), several = false;
        NodeId next = kNoNode;
        int32_t popped = 0;
        for (const auto& r : lr_.reductions(state))
            each_below(n, r.length, [&](NodeId below) {
                const NodeId y = after(below, r.head);
                hops = std::max({hops, above + int(r.length), above + int(r.length) - 1 + (accept_of(y), nodes_[y].accept_hops)});
                if (!contains(nodes_[y].accept, t)) return;
                several |= next != kNoNode;
                next = y, popped = int32_t(r.length) - 1;
            });
        if (several || (shifts && next != kNoNode)) break;
        if (shifts) return {n, above};
        n = next;
        above += popped;
    }
    return {kNoNode, 0};
}

// PERF: where nothing but one reduction is possible it is made at once, so what follows is asked of fewer different stacks: `f(x)`, `f.x` and
// `f[x]` become one. First passes walk 9% (Python) to 14% (Java) fewer nodes. Only a few at a time: masks ask again and again.
Stacks::Shifted Stacks::reduced(Shifted s) {
    for (uint32_t i = 0; i < kFar && lr_.is_complete(nodes_[s.frontier].state); i++) {
        const LrAutomaton::Reduction r = lr_.reductions(nodes_[s.frontier].state)[0];
        NodeId below = s.frontier;
        for (uint32_t k = 0; k < r.length; k++)
            if ((below = nodes_[below].parent) & kManyBit) return s;  // several, or none
        s.above += int(r.length) - 1;
        s.hops = std::max(s.hops, s.above + 1);
        s.frontier = after(below, r.head);
    }
    return s;
}

Stacks::Shifted Stacks::shift(Frontier f, Symbol t) {
    int hops = 0;
    uint32_t set = accepts(f, &hops);
    if (!contains(set, t)) return {kNoFrontier, hops, 0};
    if (!(f & kManyBit))
        if (const Shifter s = only_shifter(f, t, hops); s.node != kNoNode) return reduced({child(s.node, lr_.move(nodes_[s.node].state, t)), hops, s.above - 1});
    std::vector<Shifter> from;
    for (NodeId n : nodes(f)) shifters(n, t, from, hops);
    int above = -1;
    std::vector<std::pair<uint32_t, NodeId>> targets;
    for (Shifter s : from) {
        above = std::max(above, s.above - 1);
        targets.emplace_back(lr_.move(nodes_[s.node].state, t), s.node);
    }
    std::sort(targets.begin(), targets.end());
    std::vector<NodeId> result;
    for (size_t i = 0; i < targets.size();) {
        std::vector<NodeId> parents;
        size_t j = i;
        for (; j < targets.size() && targets[j].first == targets[i].first; j++) parents.push_back(targets[j].second);
        result.push_back(node(targets[i].first, std::move(parents)));
        i = j;
    }
    return {frontier(std::move(result)), hops, above};
}

Frontier Stacks::merge(Frontier a, Frontier b) {
    if (a == b) return a;
    std::vector<NodeId> all = nodes(a);
    for (NodeId n : nodes(b)) all.push_back(n);
    work(10 * all.size());
    sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    std::vector<NodeId> result;
    for (size_t i = 0; i < all.size();) {
        size_t j = i + 1;
        while (j < all.size() && nodes_[all[j]].state == nodes_[all[i]].state) j++;
        if (j == i + 1) {
            result.push_back(all[i]);
        } else {
            std::vector<NodeId> below;
            for (size_t k = i; k < j; k++)
                for (NodeId p : parents(all[k])) below.push_back(p);
            result.push_back(node(nodes_[all[i]].state, std::move(below)));
        }
        i = j;
    }
    return frontier(std::move(result));
}

bool Stacks::signature(Frontier f, uint32_t hops, std::vector<uint64_t>& out) {
    constexpr size_t kMaxWidth = 64;
    out.clear();
    uint32_t depth = 0;
    std::vector<NodeId> level, next;
    std::vector<uint32_t> words;
    if (!(f & kManyBit)) {
        // One stack: its states.
        for (NodeId n = f;; depth++) {
            out.push_back(nodes_[n].state);
            uint32_t p = nodes_[n].parent;
            if (depth == hops || p == kNoNode) return true;
            if (p & kManyBit) {
                level = parent_lists_[p & ~kManyBit];
                words = {uint32_t(level.size())};
                depth++;
                break;
            }
            n = p;
        }
    } else {
        level = nodes(f);
    }
    // Several: the tree of parents, level by level, as interned lists: how many parents each node above has, then the states. A
    // shorter signature must be a prefix of a longer one, so a level does not say how many parents it has itself.
    for (;; depth++) {
        for (NodeId n : level) words.push_back(nodes_[n].state);
        out.push_back((1ULL << 32) | levels_.intern(words));
        if (depth == hops) return true;
        words.clear();
        next.clear();
        for (NodeId n : level) {
            std::vector<NodeId> below = parents(n);
            words.push_back(uint32_t(below.size()));
            next.insert(next.end(), below.begin(), below.end());
        }
        if (next.empty()) return true;
        if (next.size() > kMaxWidth) return false;
        level.swap(next);
    }
}

void Stacks::collect(const std::function<void(const std::function<void(Frontier)>&)>& roots) {
    std::vector<char> live(nodes_.size(), 0), live_many(many_.size(), 0);
    std::vector<NodeId> work;
    auto mark = [&](NodeId n) {
        if (!live[n]) live[n] = 1, work.push_back(n);
    };
    mark(0);
    roots([&](Frontier f) {
        if (!(f & kManyBit)) return mark(f);
        live_many[f & ~kManyBit] = 1;
        for (NodeId n : many_[f & ~kManyBit]) mark(n);
    });
    while (!work.empty()) {
        const NodeId n = work.back();
        work.pop_back();
        each_below(n, 1, mark);
        // What a stack accepts rests on where its reductions lead. Without those nodes the next question would make them all again.
        if (nodes_[n].accept == kUnknown) continue;
        for (const auto& r : lr_.reductions(nodes_[n].state))
            each_below(n, r.length, [&](NodeId below) {
                const uint32_t state = lr_.move(nodes_[below].state, r.head);
                for (NodeId c = nodes_[below].first_child; c != kNoNode; c = nodes_[c].next_sibling)
                    if (nodes_[c].state == state) return mark(c);
            });
    }
    // The next collections need not look at the last ones again.
    while (!live[nodes_.size() - 1]) nodes_.pop_back();
    free_.clear();
    for (NodeId n = 0; n < nodes_.size(); n++) {
        nodes_[n].first_child = kNoNode;
        if (!live[n]) free_.push_back(n);
    }
    for (NodeId n = 0; n < nodes_.size(); n++) {
        uint32_t p = nodes_[n].parent;
        if (!live[n] || p == kNoNode || p & kManyBit) continue;
        nodes_[n].next_sibling = nodes_[p].first_child;
        nodes_[p].first_child = n;
    }
    for (auto it = joined_.begin(); it != joined_.end();) it = live[it->second] ? std::next(it) : joined_.erase(it);
    // Lists of dead nodes are emptied in place: indices of live ones must not move.
    std::vector<char> used(parent_lists_.size(), 0);
    for (NodeId n = 0; n < nodes_.size(); n++)
        if (live[n] && nodes_[n].parent != kNoNode && nodes_[n].parent & kManyBit) used[nodes_[n].parent & ~kManyBit] = 1;
    for (uint32_t i = 0; i < parent_lists_.size(); i++)
        if (!used[i] && !parent_lists_[i].empty()) std::vector<NodeId>().swap(parent_lists_[i]), free_lists_.push_back(i);
    for (auto it = many_ids_.begin(); it != many_ids_.end();) {
        if (live_many[it->second]) {
            ++it;
        } else {
            std::vector<NodeId>().swap(many_[it->second]);
            free_many_.push_back(it->second);
            it = many_ids_.erase(it);
        }
    }
    far_ = {};
    collect_at_ = std::max(kCollectAt, 2 * num_live());
}

void Stacks::forget_states() {
    std::vector<char> live(nodes_.size(), 1), kept(lr_.num_states(), 0);
    for (NodeId n : free_) live[n] = 0;
    for (NodeId n = 0; n < nodes_.size(); n++)
        if (live[n]) kept[nodes_[n].state] = 1;
    const std::vector<uint32_t> numbers = lr_.forget_states(kept);  // in the same order: what is sorted by state stays so
    for (NodeId n = 0; n < nodes_.size(); n++)
        if (live[n]) nodes_[n].state = numbers[nodes_[n].state], nodes_[n].accept = kUnknown;
    std::unordered_map<std::vector<uint32_t>, NodeId, WordsHash> joined;
    for (auto& [key, n] : joined_) {
        std::vector<uint32_t> renumbered = key;
        renumbered[0] = nodes_[n].state;
        joined.emplace(std::move(renumbered), n);
    }
    joined_ = std::move(joined);
    nodes_.shrink_to_fit();
    sets_ = {};
    levels_ = {};
    bits_.clear();
    unions_.clear();
    direct_.clear();
}

}  // namespace derivable
