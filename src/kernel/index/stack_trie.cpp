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
    for (auto i = size_t(place.depth + 1); i < states.size(); i++) {
        Node* next = child(*place.node, narrow(states[i]));
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
    words_.clear();
    for (size_t i = findings.questions_from; i < findings.questions.size(); i++) {
        const Question& q = findings.questions[i];
        for (uint32_t word : {q.index << 2 | uint32_t(q.repeated) << 1 | uint32_t(q.of_exit),
                              uint32_t(uint16_t(q.level)) << 16 | uint16_t(q.reach), q.symbol, q.end})
            words_.push_back(word);
    }
    const Open* open = open_list(words_);

    const int fresh = depth - from.depth;
    Node* nodes = add_nodes(size_t(fresh));
    for (int k = 0; k < fresh; k++) {
        Node& node = nodes[k];
        node.state = narrow(states[size_t(from.depth + 1 + k)]);
        if (k) add_child(nodes[k - 1], node);
        node.open = open;
    }
    keep_found(nodes, from.depth, depth, findings);
    add_child(*from.node, nodes[0]);  // SAFETY: last, for memory may be refused
}

// PERF: of 400 Python programs 525,000 questions are lists of 35,000.
const StackTrie::Open* StackTrie::open_list(const std::vector<uint32_t>& words) {
    const uint32_t* known = open_words_.find(words);
    return known ? &open_lists_[*known] : add_open_list(words);
}

const StackTrie::Open* StackTrie::add_open_list(std::vector<uint32_t> words) {
    const auto size = uint32_t(words.size() / kQuestionWords);
    Question* questions = questions_.add(size);
    const uint32_t* at = words.data();
    for (uint32_t i = 0; i < size; i++, at += kQuestionWords)
        questions[i] = {bool(at[0] & 1), bool(at[0] & 2), int16_t(at[1] >> 16), int16_t(at[1]), at[0] >> 2, at[2], at[3]};
    open_lists_.resize(open_words_.size());  // SAFETY: there before it is known; one whose number was refused is dropped
    open_lists_.push_back({open_words_.size(), size, questions});
    set_bytes_ += words.size() * 4 + 64;
    open_words_.intern(std::move(words));
    return &open_lists_.back();
}

// Tokens of each level to its node; nodes know nothing deeper than `before` yet.
void StackTrie::keep_found(Node* nodes, int before, int depth, const Findings& findings) {
    few_.assign(size_t(depth - before), {});
    auto each = [&](auto act) {
        for (size_t i = findings.found_from; i < findings.found.size(); i++) {
            const Found& f = findings.found[i];
            if (f.level > depth) continue;
            const size_t k = size_t(std::max(0, f.level - before - 1));
            act(nodes[k], few_[k], *f.tokens);
        }
    };
    each([](Node& node, Few& here, const TokenSet& tokens) {
        if (tokens.is_short()) here.sets++, here.tokens += tokens.count();
        else node.num_found++;
    });
    for (size_t k = 0; k < few_.size(); k++) {
        if (few_[k].sets > 1) {
            few_[k].one = &sets_.emplace_back();
            few_[k].one->expect(few_[k].tokens, ~0u);
            set_bytes_ += sizeof(TokenSet) + few_[k].tokens * 4;
        }
        nodes[k].num_found += few_[k].sets > 0;
        nodes[k].found = found_.add(nodes[k].num_found);
        nodes[k].num_found = 0;
        if (few_[k].one) nodes[k].found[nodes[k].num_found++] = few_[k].one;
    }
    each([](Node& node, Few& here, const TokenSet& tokens) {
        if (here.one && tokens.is_short()) here.one->append(tokens);
        else node.found[node.num_found++] = &tokens;
    });
}

}  // namespace derivable
