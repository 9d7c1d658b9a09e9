#include "index/stack_trie.hpp"

#include <algorithm>
#include <utility>

namespace derivable {

StackTrie::Place StackTrie::root(const Split& split, uint32_t bracket_depth) {
    Node*& node = roots_[pack(split.id, bracket_depth)];
    if (!node) node = add_nodes(1);
    return {node, -1};
}

StackTrie::Node* StackTrie::add_nodes(size_t n) {
    Node* nodes = nodes_.add(n);
    for (size_t i = 0; i < n; i++) nodes[i].id = num_nodes_++;
    return nodes;
}

void StackTrie::descend(Place& place, const std::vector<uint64_t>& states, int known, std::vector<Found>& found) const {
    for (uint64_t state : states) {
        Node* next = child(*place.node, narrow(state));
        if (!next) return;
        place = {next, place.depth + 1};
        if (place.depth <= known) continue;
        for (uint32_t i = 0; i < next->num_inside; i++) found.push_back({place.depth, next->inside[i]});
    }
}

void StackTrie::keep(Place root, Place from, const std::vector<uint64_t>& states, int depth, const Findings& findings) {
    depth = std::min(depth, int(states.size()) - 1);
    if (depth <= from.depth) return;
    root.node->state = std::max(root.node->state, uint32_t(depth));
    const uint32_t num_open = uint32_t(findings.questions.size() - findings.questions_from);
    Question* open = questions_.add(num_open);
    std::copy(findings.questions.begin() + long(findings.questions_from), findings.questions.end(), open);

    const int fresh = depth - from.depth;
    Node* nodes = add_nodes(size_t(fresh));
    auto each_found = [&](auto act) {
        for (size_t i = findings.found_from; i < findings.found.size(); i++)
            if (const Found& f = findings.found[i]; f.level <= depth) act(nodes[std::max(0, f.level - from.depth - 1)], f.inside);
    };
    each_found([](Node& node, const Split::Inside*) { node.num_inside++; });
    for (int k = 0; k < fresh; k++) {
        Node& node = nodes[k];
        node.state = narrow(states[size_t(from.depth + 1 + k)]);
        Node& parent = k ? nodes[k - 1] : *from.node;
        if (parent.child) others_[pack(parent.id, node.state)] = &node, parent.has_others = true;
        else parent.child = &node;
        node.inside = insides_.add(std::exchange(node.num_inside, 0));
        node.open = open;
        node.num_open = num_open;
    }
    each_found([](Node& node, const Split::Inside* inside) { node.inside[node.num_inside++] = inside; });
}

}  // namespace derivable
