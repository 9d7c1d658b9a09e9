#include "matching/reach_trie.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace derivable {

uint32_t ReachTrie::Node::child(uint64_t word) const {
    if (first == kNoNode || first_word == word) return first;
    if (!others) return kNoNode;
    auto it = others->find(word);
    return it == others->end() ? kNoNode : it->second;
}

void ReachTrie::Node::add_child(uint64_t word, uint32_t node) {
    if (first == kNoNode) {
        first = node, first_word = word;
    } else {
        if (!others) others = std::make_unique<std::unordered_map<uint64_t, uint32_t, MixHash>>();
        others->emplace(word, node);
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

// No word of a stack is one.
uint64_t ReachTrie::tally_word(Environment e, uint8_t beside) const {
    return beside & kTallies ? 4ULL << 32 | e : 3ULL << 32 | environments_.tallies.held(e);
}

ReachTrie::Found ReachTrie::find(const Root& root, Environment environment, const Words& words) const {
    uint32_t node = root.node;
    uint64_t word = environment_word(environment, root.beside);
    for (size_t i = 0;; i++) {
        if ((node = nodes_[node].child(word)) == Node::kNoNode) return {};
        uint8_t beside = root.beside & (kBrackets | kBlocks);
        uint32_t last = node;
        if (nodes_[node].value < 0 && nodes_[node].tally) {
            beside |= nodes_[node].tally;
            last = nodes_[node].child(tally_word(environment, nodes_[node].tally));
        }
        if (last != Node::kNoNode && nodes_[last].value >= 0) return {nodes_[last].value, i, beside};
        if (i == words.size()) return {};
        word = words[i];
    }
}

void ReachTrie::put(uint32_t id, Environment environment, uint8_t beside, uint32_t length, const Words& words, int32_t value) {
    auto [known, is_new] = roots_.try_emplace(id, Root{num_nodes_, length});
    num_nodes_ += is_new;
    Root& root = known->second;
    root.words = std::max(root.words, length);
    root.beside |= beside;
    uint32_t node = root.node;
    auto descend = [&](uint64_t word) {
        uint32_t next = nodes_[node].child(word);
        if (next == Node::kNoNode) {
            next = num_nodes_++;
            nodes_[node].add_child(word, next);
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
    roots_.clear();
    nodes_ = {};
    num_nodes_ = 0;
}

void ReachTrie::each(const std::function<void(uint32_t, const std::vector<int32_t>&, uint64_t, uint64_t)>& visit) const {
    for (const auto& [id, root] : roots_) {
        std::set<int32_t> values;
        uint64_t keys = 0, deepest = 0;
        std::vector<std::pair<uint32_t, uint64_t>> todo{{root.node, 0}};
        while (!todo.empty()) {
            auto [node, depth] = todo.back();
            todo.pop_back();
            const Node& n = nodes_[node];
            if (n.value >= 0) keys++, values.insert(n.value), deepest = std::max(deepest, depth);
            if (n.first != Node::kNoNode) todo.push_back({n.first, depth + 1});
            if (n.others)
                for (const auto& [word, next] : *n.others) todo.push_back({next, depth + 1});
        }
        visit(id, {values.begin(), values.end()}, keys, deepest ? deepest - 1 : 0);  // the first word is the environment
    }
}

}  // namespace derivable
