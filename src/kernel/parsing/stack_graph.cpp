#include "parsing/stack_graph.hpp"

#include <algorithm>
#include <utility>

#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

NodeId StackGraph::new_node(LrState state, uint32_t parent) {
    work(5);
    discarded_.some(kDiscarded);
    int32_t height = 0;
    if (parent != kNoParent && parent & kManyBit)
        for (NodeId p : parent_lists_[parent & ~kManyBit]) height = std::max(height, nodes_[p].height + 1);
    else if (parent != kNoParent) height = nodes_[NodeId(parent)].height + 1;
    if (!free_.empty()) {
        const NodeId id = free_.back();
        free_.pop_back();
        nodes_[id] = Node{state, parent, height};
        return id;
    }
    if (nodes_.size() >= kManyBit)
        throw LimitExceeded("parser stack nodes", nodes_.size(), kManyBit, "all parses of a constraint's matchers");
    return nodes_.add({state, parent, height});
}

uint32_t StackGraph::place(std::vector<std::vector<NodeId>>& lists, std::vector<uint32_t>& unused, std::vector<NodeId> list) {
    if (unused.empty()) {
        lists.push_back(std::move(list));
        return uint32_t(lists.size() - 1);
    }
    uint32_t at = unused.back();
    unused.pop_back();
    lists[at] = std::move(list);
    return at;
}

NodeId StackGraph::find_child(NodeId parent, LrState state) const {
    NodeId c = nodes_[parent].first_child;
    uint32_t listed = 0;
    for (; c != kNoNode && nodes_[c].state != state; listed++) c = nodes_[c].next_sibling;
    if (c != kNoNode || listed < kListed) return c;
    const NodeId* known = further_children_.find(pack(parent, state));
    return known ? *known : kNoNode;
}

void StackGraph::add_child(NodeId parent, NodeId child) {
    uint32_t listed = 0;
    for (NodeId c = nodes_[parent].first_child; c != kNoNode; c = nodes_[c].next_sibling) listed++;
    if (listed >= kListed) {
        further_children_[pack(parent, nodes_[child].state)] = child;
        return;
    }
    nodes_[child].next_sibling = nodes_[parent].first_child;
    nodes_[parent].first_child = child;
}

NodeId StackGraph::child(NodeId parent, LrState state) {
    NodeId c = find_child(parent, state);
    if (c != kNoNode) return c;
    c = new_node(state, parent.index());
    add_child(parent, c);
    return c;
}

void StackGraph::sort(std::vector<NodeId>& nodes) const {
    std::sort(nodes.begin(), nodes.end(),
              [&](NodeId x, NodeId y) { return nodes_[x].state != nodes_[y].state ? nodes_[x].state < nodes_[y].state : x < y; });
}

// In a long list each node once; in a short one sorting it finds them as soon.
// PERF: n nodes of one LR state have up to n parents each, most of them in common: sorting all n² of them was half of a mask of
// `"**" root "**" | "*" root "*" | [a-z *]+`.
void StackGraph::drop_repeated(std::vector<NodeId>& nodes) const {
    constexpr size_t kLong = 32;
    work(2 * nodes.size());
    if (nodes.size() < kLong) return;
    if (met_.size() < nodes_.size()) met_.resize(nodes_.size(), 0);
    if (++calls_ == 0) met_.assign(met_.size(), 0), calls_ = 1;
    size_t kept = 0;
    for (NodeId n : nodes)
        if (met_[n.index()] != calls_) met_[n.index()] = calls_, nodes[kept++] = n;
    nodes.resize(kept);
}

NodeId StackGraph::node(LrState state, std::vector<NodeId> parents) {
    drop_repeated(parents);
    work(5 * parents.size());
    sort(parents);
    parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
    if (parents.size() == 1) return child(parents[0], state);
    std::vector<uint32_t> key{state.index()};
    for (NodeId p : parents) key.push_back(p.index());
    auto it = joined_.find(key);
    if (it != joined_.end()) return it->second;
    NodeId n = new_node(state, kManyBit | place(parent_lists_, free_lists_, std::move(parents)));
    joined_.emplace(std::move(key), n);
    return n;
}

void StackGraph::join(std::vector<NodeId>& nodes) {
    work(5 * nodes.size());
    sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    size_t size = 0;
    for (size_t i = 0, j; i < nodes.size(); i = j) {
        for (j = i + 1; j < nodes.size() && nodes_[nodes[j]].state == nodes_[nodes[i]].state;) j++;
        NodeId joined = nodes[i];
        if (j > i + 1) {
            std::vector<NodeId> below;
            for (size_t k = i; k < j; k++)
                for (NodeId p : parents(nodes[k])) below.push_back(p);
            joined = node(nodes_[nodes[i]].state, std::move(below));
        }
        nodes[size++] = joined;
    }
    nodes.resize(size);
}

Frontier StackGraph::frontier(std::vector<NodeId> nodes) {
    if (nodes.size() == 1) return one(nodes[0]);
    auto [it, fresh] = many_ids_.try_emplace(nodes, 0);
    if (fresh) it->second = place(many_, free_many_, std::move(nodes)), discarded_.some(kDiscarded);
    return Frontier(kManyBit | it->second);
}

std::vector<NodeId> StackGraph::pop(NodeId n, uint32_t count) const {
    std::vector<NodeId> level{n}, next;
    while (count-- > 0) {
        next.clear();
        work(8 * level.size());
        for (NodeId x : level) {
            uint32_t p = nodes_[x].parent;
            if (p & kManyBit && p != kNoParent)
                next.insert(next.end(), parent_lists_[p & ~kManyBit].begin(), parent_lists_[p & ~kManyBit].end());
            else if (p != kNoParent) next.push_back(NodeId(p));
        }
        if (next.size() > 1) {
            drop_repeated(next);
            std::sort(next.begin(), next.end());
            next.erase(std::unique(next.begin(), next.end()), next.end());
        }
        level.swap(next);
    }
    return level;
}

void StackGraph::collect(const std::function<void(const std::function<void(Frontier)>&)>& roots,
                         const std::function<void(NodeId, const Mark&)>& each_kept,
                         const std::function<void(const std::function<bool(NodeId)>&, const Mark&)>& beside) {
    IdVector<NodeId, char> live(nodes_.size(), 0);
    std::vector<char> live_many(many_.size(), 0);
    std::vector<NodeId> work;
    auto mark = [&](NodeId n) {
        if (!live[n]) live[n] = 1, work.push_back(n);
    };
    mark(NodeId(0));
    roots([&](Frontier f) {
        if (is_one(f)) return mark(only(f));
        live_many[place_of(f)] = 1;
        for (NodeId n : many_[place_of(f)]) mark(n);
    });
    auto mark_all = [&] {
        while (!work.empty()) {
            const NodeId n = work.back();
            work.pop_back();
            each_below(n, 1, mark);
            each_kept(n, mark);
        }
    };
    mark_all();
    beside([&](NodeId n) { return bool(live[n]); }, mark);
    mark_all();
    // The next collections need not look at the last ones again.
    while (!live[NodeId(size() - 1)]) nodes_.pop_back();
    free_.clear();
    further_children_ = {};
    for (NodeId n : nodes_.ids()) {
        nodes_[n].first_child = nodes_[n].next_sibling = kNoNode;
        if (!live[n]) nodes_[n].lower = kUnknown, free_.push_back(n);
    }
    for (NodeId n : nodes_.ids()) {
        uint32_t p = nodes_[n].parent;
        if (!live[n] || p & kManyBit) continue;
        add_child(NodeId(p), n);
    }
    for (auto it = joined_.begin(); it != joined_.end();) it = live[it->second] ? std::next(it) : joined_.erase(it);
    // Lists of dead nodes are emptied in place: indices of live ones must not move.
    std::vector<char> used(parent_lists_.size(), 0);
    for (NodeId n : nodes_.ids())
        if (live[n] && nodes_[n].parent != kNoParent && nodes_[n].parent & kManyBit) used[nodes_[n].parent & ~kManyBit] = 1;
    std::vector<std::vector<NodeId>> dead;
    auto let_go = [&dead](std::vector<NodeId>& list) { dead.push_back(std::exchange(list, {})); };
    for (uint32_t i = 0; i < parent_lists_.size(); i++)
        if (!used[i] && !parent_lists_[i].empty()) let_go(parent_lists_[i]), free_lists_.push_back(i);
    decltype(many_ids_) kept;
    for (uint32_t i = 0; i < many_.size(); i++) {
        if (live_many[i]) kept.insert(many_ids_.extract(many_[i]));
        else if (!many_[i].empty()) let_go(many_[i]), free_many_.push_back(i);
    }
    many_ids_.swap(kept);
    discarded_.take(kept);
    discarded_.take(dead);
}

std::optional<uint32_t> StackGraph::depth_of(NodeId ground, Frontier f) const {
    constexpr uint32_t kDeepest = 256;
    constexpr size_t kWidest = 64;
    if (ground == kNoNode) return std::nullopt;
    std::vector<NodeId> level = nodes(f).copy(), below;
    for (uint32_t depth = 0; depth < kDeepest && level.size() <= kWidest; depth++) {
        work(1 + level.size());
        below.clear();
        for (NodeId n : level) {
            if (n == ground) continue;
            if (nodes_[n].height <= nodes_[ground].height) return std::nullopt;
            const Nodes p = parents(n);
            below.insert(below.end(), p.begin(), p.end());
        }
        if (below.empty()) return depth;
        level.swap(below);
    }
    return std::nullopt;
}

void StackGraph::forget_states() {
    discarded_.some(~size_t(0));
    IdVector<NodeId, char> live(nodes_.size(), 1);
    IdVector<LrState, char> kept(lr_.num_states(), 0);
    for (NodeId n : free_) live[n] = 0;
    for (NodeId n : nodes_.ids())
        if (live[n]) kept[nodes_[n].state] = 1;
    const IdVector<LrState, LrState> numbers = lr_.forget_states(kept);  // in the same order: what is sorted by state stays so
    for (NodeId n : nodes_.ids()) {
        Node& x = nodes_[n];
        if (!live[n]) continue;
        x.state = numbers[x.state];
        x.accept = {};
        x.lower = kUnknown;
        x.reached = x.tried = 0;
    }
    std::unordered_map<std::vector<uint32_t>, NodeId, WordsHash> joined;
    for (auto& [key, n] : joined_) {
        std::vector<uint32_t> renumbered = key;
        renumbered[0] = nodes_[n].state.index();
        joined.emplace(std::move(renumbered), n);
    }
    joined_ = std::move(joined);
    FlatMap<NodeId> children;
    further_children_.each([&](uint64_t key, NodeId n) { children[pack(uint32_t(key >> 32), nodes_[n].state)] = n; });
    further_children_ = std::move(children);
    nodes_.shrink_to_fit();
}

}  // namespace derivable
