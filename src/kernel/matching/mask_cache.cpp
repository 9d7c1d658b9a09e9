#include "matching/mask_cache.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace derivable {

uint32_t MaskCache::Node::child(uint64_t word) const {
    if (first == kNoNode || first_word == word) return first;
    if (!others) return kNoNode;
    auto it = others->find(word);
    return it == others->end() ? kNoNode : it->second;
}

void MaskCache::Node::add_child(uint64_t word, uint32_t node) {
    if (first == kNoNode) {
        first = node, first_word = word;
    } else {
        if (!others) others = std::make_unique<std::unordered_map<uint64_t, uint32_t, MixHash>>();
        others->emplace(word, node);
    }
}

MaskCache::Key MaskCache::key_of(const Parse& t, Reach reach) const {
    Key key{uint32_t(reach.hops), 0};
    if (reach.brackets) key.beside |= Key::kBrackets;
    if (reach.blocks) key.beside |= Key::kBlocks;
    if (environments_.tallies.active()) {  // what was looked at of objects that the tokens themselves open does not matter
        const uint32_t depth = environments_.tallies.depth(t.environment);
        if (reach.tally == depth) key.beside |= Key::kTopTally;
        if (reach.tally < depth) key.beside |= Key::kTallies;
    }
    return key;
}

uint64_t MaskCache::environment_word(Environment e, uint8_t beside) const {
    return beside & Key::kBlocks ? 2ULL << 32 | e : beside & Key::kBrackets ? 1ULL << 32 | environments_.brackets(e) : 0;
}

// No word of a stack's signature is one.
uint64_t MaskCache::tally_word(Environment e, uint8_t beside) const {
    return beside & Key::kTallies ? 4ULL << 32 | e : 3ULL << 32 | environments_.tallies.held(e);
}

const MaskCache::Mask* MaskCache::find(const Parse& t, Key* key) {
    auto found = roots_.find(t.lex);
    if (found == roots_.end() || !stacks_.signature(t.stack, found->second.hops, signature_)) return nullptr;
    const Root& root = found->second;
    uint32_t node = root.node;
    signature_.insert(signature_.begin(), environment_word(t.environment, root.beside));
    for (size_t i = 0; i < signature_.size(); i++) {
        if ((node = nodes_[node].child(signature_[i])) == Node::kNoNode) break;
        uint8_t beside = root.beside & (Key::kBrackets | Key::kBlocks);
        uint32_t last = node;
        if (nodes_[node].row < 0 && nodes_[node].tally) {
            beside |= nodes_[node].tally;
            last = nodes_[node].child(tally_word(t.environment, nodes_[node].tally));
        }
        if (last == Node::kNoNode || nodes_[last].row < 0) continue;
        if (key) *key = {uint32_t(std::max<size_t>(i, 1) - 1), beside};
        return rows_[size_t(nodes_[last].row)];
    }
    return nullptr;
}

const MaskCache::Mask* MaskCache::keep(const Parse& t, Key key, const Mask& words) {
    if (key.hops > kMaxHops || !stacks_.signature(t.stack, key.hops, signature_)) return nullptr;
    if (rows_.size() == rows_.capacity()) rows_.reserve(2 * rows_.size() + 16);  // SAFETY: before the row has a number
    auto [row, fresh] = row_ids_.try_emplace(words, uint32_t(rows_.size()));
    if (fresh) {
        rows_.push_back(&row->first);
        bytes_ += words.size() * 4 + 64;
    }
    auto [root, new_root] = roots_.try_emplace(t.lex, Root{num_nodes_, key.hops});
    num_nodes_ += new_root;
    root->second.hops = std::max(root->second.hops, key.hops);
    root->second.beside |= key.beside;
    signature_.insert(signature_.begin(), environment_word(t.environment, root->second.beside));
    uint32_t node = root->second.node;
    auto descend = [&](uint64_t word) {
        uint32_t next = nodes_[node].child(word);
        if (next == Node::kNoNode) {
            next = num_nodes_++;
            nodes_[node].add_child(word, next);
        }
        node = next;
    };
    for (uint64_t word : signature_) descend(word);
    if (const uint8_t looked = key.beside & (Key::kTopTally | Key::kTallies); looked && environments_.tallies.active())
        descend(tally_word(t.environment, nodes_[node].tally |= looked));
    nodes_[node].row = int32_t(row->second);
    return &row->first;
}

void MaskCache::clear() {
    roots_.clear();
    nodes_ = {};
    num_nodes_ = 0;
    row_ids_.clear();
    rows_.clear();
    bytes_ = 0;
}

void MaskCache::each(const std::function<void(LexState, const std::vector<const Mask*>&, uint64_t, uint64_t)>& visit) const {
    for (const auto& [lex, root] : roots_) {
        std::set<int32_t> rows;
        uint64_t keys = 0, deepest = 0;
        std::vector<std::pair<uint32_t, uint64_t>> todo{{root.node, 0}};
        while (!todo.empty()) {
            auto [node, depth] = todo.back();
            todo.pop_back();
            const Node& n = nodes_[node];
            if (n.row >= 0) keys++, rows.insert(n.row), deepest = std::max(deepest, depth);
            if (n.first != Node::kNoNode) todo.push_back({n.first, depth + 1});
            if (n.others)
                for (const auto& [word, next] : *n.others) todo.push_back({next, depth + 1});
        }
        std::vector<const Mask*> masks;
        for (int32_t row : rows) masks.push_back(rows_[size_t(row)]);
        visit(lex, masks, keys, deepest ? deepest - 1 : 0);  // the first word is the environment
    }
}

}  // namespace derivable
