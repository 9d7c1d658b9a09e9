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

const After* MaskCache::Endings::of(Symbol symbol) const {
    const Ending* found = std::find_if(begin(), end(), [&](const Ending& e) { return e.symbol == symbol; });
    return found == end() ? nullptr : &found->after;
}

Reach MaskCache::own(const Endings& endings, size_t words) const {
    Reach all;
    for (size_t i = 0; i < endings.size; i++) {
        const After& after = endings.all[i].after;
        const size_t last = std::min((words + endings.size - 1) / endings.size, looked_[i].size());
        all |= after.reach | Reach{std::max(0, looked_[i][last - 1] + after.above)};
    }
    return all;
}

bool MaskCache::sign(const Parse& t, Key key) { return key.hops <= kMaxHops && stacks_.signature(t.stack, key.hops, signature_); }

// Word by word, those of each stack side by side; one that a stack does not have is kNone.
bool MaskCache::sign(const Endings& endings, uint32_t hops, size_t most) {
    constexpr uint64_t kNone = ~0ULL;
    size_t words = 0;
    for (size_t i = 0; i < endings.size; i++) {
        if (!stacks_.future(endings.all[i].after.stack, hops, most, futures_[i], looked_[i])) return false;
        words = std::max(words, futures_[i].size());
    }
    signature_.clear();
    for (size_t k = 0; k < words; k++)
        for (size_t i = 0; i < endings.size; i++) signature_.push_back(k < futures_[i].size() ? futures_[i][k] : kNone);
    return true;
}

// Along signature_.
MaskCache::Found MaskCache::look_up(const Root& root, Environment environment) {
    uint32_t node = root.node;
    signature_.insert(signature_.begin(), environment_word(environment, root.beside));
    for (size_t i = 0; i < signature_.size(); i++) {
        if ((node = nodes_[node].child(signature_[i])) == Node::kNoNode) break;
        uint8_t beside = root.beside & (Key::kBrackets | Key::kBlocks);
        uint32_t last = node;
        if (nodes_[node].row < 0 && nodes_[node].tally) {
            beside |= nodes_[node].tally;
            last = nodes_[node].child(tally_word(environment, nodes_[node].tally));
        }
        if (last != Node::kNoNode && nodes_[last].row >= 0) return {nodes_[last].row, i, beside};
    }
    return {};
}

const MaskCache::Mask* MaskCache::find(const Parse& t, Key* key) {
    const auto root = roots_.find(t.lex);
    if (root == roots_.end() || !stacks_.signature(t.stack, root->second.hops, signature_)) return nullptr;
    const Found found = look_up(root->second, t.environment);
    if (key) *key = {uint32_t(std::max<size_t>(found.words, 1) - 1), found.beside};
    return found.row < 0 ? nullptr : rows_[size_t(found.row)];
}

const MaskCache::Mask* MaskCache::find(const Parse& t, const Endings& endings, uint32_t* most) {
    const auto root = by_endings_.find(t.lex);
    if (root == by_endings_.end() || !sign(endings, Reach::kDeep, root->second.hops)) return nullptr;
    const Found found = look_up(root->second, t.environment);
    if (found.row < 0) return nullptr;
    if (most) *most = uint32_t(found.words / endings.size);
    Key key = key_of(t, own(endings, found.words));
    key.beside |= found.beside;
    if (sign(t, key)) put(roots_, t, key, found.row);
    return rows_[size_t(found.row)];
}

const MaskCache::Mask* MaskCache::keep(const Parse& t, Key key, const Mask& words) {
    if (!sign(t, key)) return nullptr;
    const int32_t row = row_of(words);
    put(roots_, t, key, row);
    return rows_[size_t(row)];
}

const MaskCache::Mask* MaskCache::keep(const Parse& t, const Endings& endings, Reach behind, const Mask& words) {
    if (behind.hops > kMaxHops || !sign(endings, uint32_t(behind.hops), ~size_t(0))) return nullptr;
    const auto most = uint32_t(signature_.size() / endings.size);
    return keep(t, endings, most, key_of(t, behind | own(endings, signature_.size())).beside, words);
}

const MaskCache::Mask* MaskCache::keep(const Parse& t, const Endings& endings, uint32_t most, uint8_t beside, const Mask& words) {
    if (!sign(endings, Reach::kDeep, most)) return nullptr;
    const int32_t row = row_of(words);
    const Key of_stack{uint32_t(own(endings, signature_.size()).hops), beside};
    put(by_endings_, t, {most, beside}, row);
    if (sign(t, of_stack)) put(roots_, t, of_stack, row);
    return rows_[size_t(row)];
}

int32_t MaskCache::row_of(const Mask& words) {
    if (rows_.size() == rows_.capacity()) rows_.reserve(2 * rows_.size() + 16);  // SAFETY: before the row has a number
    auto [row, fresh] = row_ids_.try_emplace(words, uint32_t(rows_.size()));
    if (fresh) {
        rows_.push_back(&row->first);
        bytes_ += words.size() * 4 + 64;
    }
    return int32_t(row->second);
}

// Under signature_.
void MaskCache::put(Roots& roots, const Parse& t, Key key, int32_t row) {
    auto [root, new_root] = roots.try_emplace(t.lex, Root{num_nodes_, key.hops});
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
    nodes_[node].row = row;
}

void MaskCache::clear() {
    roots_.clear();
    by_endings_.clear();
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
