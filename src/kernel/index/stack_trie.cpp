#include "index/stack_trie.hpp"

#include <algorithm>
#include <utility>

namespace derivable {

StackTrie::Place StackTrie::root(const Split& split, uint32_t bracket_depth) {
    Node*& node = bracket_depth ? deeper_roots_[pack(split.id, bracket_depth)] : roots_[split.id];
    if (!node) node = add_nodes(1);
    return {node, -1};
}

StackTrie::Node* StackTrie::add_nodes(size_t n) {
    Node* nodes = nodes_.add(n);
    for (size_t i = 0; i < n; i++) nodes[i].id = num_nodes_++;
    return nodes;
}

// SAFETY: it is known once it is in the table, which may be refused.
void StackTrie::add_child(Node& parent, Node& child) {
    if (!parent.child) {
        parent.child = &child, parent.child_state = child.state;
        return;
    }
    others_[pack(parent.id, child.state)] = &child;
    child.sibling = std::exchange(parent.child->sibling, &child);
}

void StackTrie::descend(Place& place, const std::vector<uint64_t>& states, int known, std::vector<Found>& found) {
    for (uint64_t state : states) {
        Node* next = child(*place.node, narrow(state));
        if (!next) return;
        place = {next, place.depth + 1};
        if (place.depth <= known) continue;
        for (uint32_t i = 0; i < next->num_found; i++) found.push_back({place.depth, next->found[i]});
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
    for (int k = 0; k < fresh; k++) {
        Node& node = nodes[k];
        node.state = narrow(states[size_t(from.depth + 1 + k)]);
        Node& parent = k ? nodes[k - 1] : *from.node;
        add_child(parent, node);
        node.open = open;
        node.num_open = num_open;
    }
    keep_found(nodes, from.depth, depth, findings);
}

// Tokens of each level to its node; nodes know nothing deeper than `before` yet.
void StackTrie::keep_found(Node* nodes, int before, int depth, const Findings& findings) {
    struct Few {
        uint32_t sets = 0, tokens = 0;
        TokenSet* one = nullptr;
    };
    std::vector<Few> few(size_t(depth - before));
    auto each = [&](auto act) {
        for (size_t i = findings.found_from; i < findings.found.size(); i++) {
            const Found& f = findings.found[i];
            if (f.level > depth) continue;
            const size_t k = size_t(std::max(0, f.level - before - 1));
            act(nodes[k], few[k], *f.tokens);
        }
    };
    each([](Node& node, Few& here, const TokenSet& tokens) {
        if (tokens.is_short()) here.sets++, here.tokens += tokens.count();
        else node.num_found++;
    });
    for (size_t k = 0; k < few.size(); k++) {
        if (few[k].sets > 1) {
            few[k].one = &sets_.emplace_back();
            few[k].one->expect(few[k].tokens, ~0u);
            set_bytes_ += sizeof(TokenSet) + few[k].tokens * 4;
        }
        nodes[k].num_found += few[k].sets > 0;
        nodes[k].found = found_.add(nodes[k].num_found);
        nodes[k].num_found = 0;
        if (few[k].one) nodes[k].found[nodes[k].num_found++] = few[k].one;
    }
    each([](Node& node, Few& here, const TokenSet& tokens) {
        if (here.one && tokens.is_short()) here.one->append(tokens);
        else node.found[node.num_found++] = &tokens;
    });
}

}  // namespace derivable
