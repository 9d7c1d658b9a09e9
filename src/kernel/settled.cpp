#include "settled.hpp"

#include <utility>

namespace derivable {

Settled::NodeId Settled::add(uint32_t state) {
    bytes_ += sizeof(Node);
    nodes_.emplace_back();
    nodes_.back().state = state;
    return NodeId(nodes_.size() - 1);
}

Settled::NodeId Settled::child(NodeId node, uint64_t state) const {
    NodeId c = nodes_[node].first_child;
    while (c != kNothing && nodes_[c].state != narrow(state)) c = nodes_[c].next_sibling;
    return c;
}

Settled::Place Settled::root(uint32_t residual, LexState lex, uint32_t layout_depth, uint32_t& hops) {
    uint32_t& lexeme = lexemes_[pack(residual, lex)];
    if (!lexeme) lexeme = ++num_lexemes_;
    NodeId& node = roots_[pack(lexeme, layout_depth)];
    if (!node) node = add(0) + 1;
    hops = nodes_[node - 1].hops;
    return {node - 1, -1};
}

void Settled::descend(Place& place, const std::vector<uint64_t>& states, int known, std::vector<Found>& found) const {
    for (uint64_t state : states) {
        const NodeId next = child(place.node, state);
        if (next == kNothing) return;
        place = {next, place.depth + 1};
        if (place.depth <= known) continue;
        for (const Split::Inside* inside : nodes_[place.node].inside) found.push_back({place.depth, inside});
    }
}

void Settled::keep(Place root, Place from, const std::vector<uint64_t>& states, int depth, const std::vector<Found>& found, size_t first, Questions questions) {
    depth = std::min(depth, int(states.size()) - 1);
    if (depth <= from.depth) return;
    nodes_[root.node].hops = std::max(nodes_[root.node].hops, uint32_t(depth));
    bytes_ += questions.size() * sizeof(Question) + sizeof(Questions) + (found.size() - first) * sizeof(Split::Inside*);
    const uint32_t open = uint32_t(questions_.size());
    questions_.push_back(std::move(questions));
    for (int d = from.depth + 1; d <= depth; d++) {
        const NodeId node = add(narrow(states[size_t(d)]));
        nodes_[node].next_sibling = std::exchange(nodes_[from.node].first_child, node);
        for (size_t i = first; i < found.size(); i++)
            if (found[i].level == d || (found[i].level < d && d == from.depth + 1)) nodes_[node].inside.push_back(found[i].inside);
        nodes_[node].open = open;
        from.node = node;
    }
}

}  // namespace derivable
