#include "matching/reach_trie.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace derivable {

uint32_t ReachTrie::other_child(const Node& node, uint64_t word) const {
    for (uint32_t child = nodes_[node.first].sibling; child != kNoNode; child = nodes_[child].sibling)
        if (nodes_[child].word == word) return child;
    const uint32_t* known = node.others ? node.others->find(word) : nullptr;
    return known ? *known : kNoNode;
}

void ReachTrie::add_child(Node& node, uint64_t word, uint32_t child) {
    if (node.first == kNoNode) {
        node.first = child, node.first_word = word;
    } else if (node.few < kFew) {
        nodes_[child].word = word;
        nodes_[child].sibling = std::exchange(nodes_[node.first].sibling, child);
        node.few++;
    } else {
        if (!node.others) node.others = std::make_unique<FlatMap<uint32_t>>();
        (*node.others)[word] = child;
    }
}

uint8_t ReachTrie::beside_of(Environment environment, Reach reach) const {
    uint8_t beside = 0;
    if (reach.brackets) beside |= kBrackets;
    if (reach.blocks) beside |= kBlocks;
    if (environments_.tallies.active()) {  // what was looked at of objects that the tokens themselves open does not matter
        const uint32_t depth = environments_.tallies.depth(environment);
        if (reach.tally == depth) beside |= kTopTally;
        if (reach.tally < depth) beside |= kTallies;
    }
    return beside;
}

uint64_t ReachTrie::environment_word(Environment e, uint8_t beside) const {
    return beside & kBlocks ? 2ULL << 32 | e : beside & kBrackets ? 1ULL << 32 | environments_.brackets(e) : 0;
}

// SAFETY: no word of a stack (Stacks::future) is one.
uint64_t ReachTrie::tally_word(Environment e, uint8_t beside) const {
    constexpr uint64_t kAll = 1ULL << 62, kHeld = 1ULL << 61;
    Tallies& tallies = environments_.tallies;
    return beside & kTallies || !tallies.depth(e) ? kAll | tallies.alike(e) : kHeld | tallies.alike_held(tallies.held(e));
}

void ReachTrie::put(uint32_t id, Environment environment, uint8_t beside, uint32_t length, const Words& words, int32_t value) {
    nodes_[num_nodes_];  // SAFETY: there before anything refers to it, for memory may be refused
    Root& root = roots_[id];
    if (root.node == kNoNode) root.node = num_nodes_++;
    root.words = std::max(root.words, length);
    root.beside |= beside;
    uint32_t node = root.node;
    auto descend = [&](uint64_t word) {
        uint32_t next = child(nodes_[node], word);
        if (next == kNoNode) {
            next = num_nodes_;
            nodes_[next];  // SAFETY: likewise
            add_child(nodes_[node], word, next);
            num_nodes_++;
        }
        node = next;
    };
    descend(environment_word(environment, root.beside));
    for (uint64_t word : words) descend(word);
    if (const uint8_t looked = beside & (kTopTally | kTallies); looked && environments_.tallies.active())
        descend(tally_word(environment, nodes_[node].tally |= looked));
    nodes_[node].value = value;
}

void ReachTrie::clear() {
    roots_ = {};
    nodes_ = {};
    num_nodes_ = 0;
}

void ReachTrie::each(const std::function<void(uint32_t, const std::vector<int32_t>&, uint64_t, uint64_t)>& visit) const {
    roots_.each([&](uint64_t id, const Root& root) {
        std::set<int32_t> values;
        uint64_t keys = 0, deepest = 0;
        std::vector<std::pair<uint32_t, uint64_t>> todo{{root.node, 0}};
        while (!todo.empty()) {
            auto [node, depth] = todo.back();
            todo.pop_back();
            const Node& n = nodes_[node];
            if (n.value >= 0) keys++, values.insert(n.value), deepest = std::max(deepest, depth);
            for (uint32_t next = n.first; next != kNoNode; next = nodes_[next].sibling) todo.push_back({next, depth + 1});
            if (n.others) n.others->each([&](uint64_t, uint32_t next) { todo.push_back({next, depth + 1}); });
        }
        visit(uint32_t(id), {values.begin(), values.end()}, keys, deepest ? deepest - 1 : 0);  // the first word is the environment
    });
}

}  // namespace derivable
