#include "masks/reach_trie.hpp"

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
    return beside & kBlocks ? kBlocksWord | e : beside & kBrackets ? kBracketsWord | environments_.brackets(e) : 0;
}

// SAFETY: no word of a stack (Stacks::future) is one.
uint64_t ReachTrie::tally_word(Environment e, uint8_t beside) const {
    Tallies& tallies = environments_.tallies;
    return beside & kTallies || !tallies.depth(e) ? kTalliesWord | tallies.alike(e) : kTopTallyWord | tallies.alike_held(tallies.held(e));
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

template <class Visit>
void ReachTrie::each_below(const Root& root, Visit visit) const {
    struct Place {
        uint32_t node;
        size_t depth;
        uint64_t word;
    };
    Words words;
    std::vector<Place> todo{{root.node, 0, 0}};
    while (!todo.empty()) {
        const Place at = todo.back();
        todo.pop_back();
        words.resize(at.depth);
        if (at.depth) words.back() = at.word;
        const Node& n = nodes_[at.node];
        if (n.value >= 0) visit(words, n.value);
        for (uint32_t next = n.first; next != kNoNode; next = nodes_[next].sibling)
            todo.push_back({next, at.depth + 1, next == n.first ? n.first_word : nodes_[next].word});
        if (n.others) n.others->each([&](uint64_t word, uint32_t next) { todo.push_back({next, at.depth + 1, word}); });
    }
}

void ReachTrie::each(const std::function<void(uint32_t, const std::vector<int32_t>&, uint64_t, uint64_t)>& visit) const {
    roots_.each([&](uint64_t id, const Root& root) {
        std::set<int32_t> values;
        uint64_t keys = 0, deepest = 0;
        each_below(root, [&](const Words& words, int32_t value) {
            keys++;
            values.insert(value);
            deepest = std::max<uint64_t>(deepest, words.size());
        });
        visit(uint32_t(id), {values.begin(), values.end()}, keys, deepest ? deepest - 1 : 0);  // the first word is the environment
    });
}

void ReachTrie::each_key(const std::function<void(uint32_t, const Written&, int32_t)>& visit) const {
    constexpr uint64_t kOfTally = kTalliesWord | kTopTallyWord;
    roots_.each([&](uint64_t id, const Root& root) {
        each_below(root, [&](const Words& words, int32_t value) {
            const bool has_tally = words.size() > 1 && words.back() & kOfTally;
            visit(uint32_t(id), {words[0], {words.begin() + 1, words.end() - has_tally}, has_tally ? words.back() : 0}, value);
        });
    });
}

ReachTrie::Written ReachTrie::written(const Root& root, Environment environment, const Words& words, const Found& found) const {
    const uint8_t tally = found.beside & (kTopTally | kTallies);
    return {environment_word(environment, root.beside),
            {words.begin(), words.begin() + std::ptrdiff_t(found.words)},
            tally ? tally_word(environment, tally) : 0};
}

}  // namespace derivable
