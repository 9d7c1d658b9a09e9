#include "index/split_lists.hpp"

#include "support/task.hpp"

namespace derivable {

void SplitLists::clear() {
    piece_ids_ = {};
    list_ids_ = {};
    lists_.clear();
    list_items_ = {};
    difference_ids_ = {};
    parts_.discarded.take(pieces_);
    parts_.discarded.take(differences_);
    parts_.discarded.take(token_sets_);
    parts_.discarded.take(residuals_);
    bytes_ = 0;
}

SplitLists::ListId SplitLists::list(const Trie& t, const std::vector<uint32_t>& items, bool of_nodes) {
    work(20 + items.size());
    uint64_t hash = mix(WordsHash()(items) ^ pack(t.first_id, of_nodes));
    const ListId* known = list_ids_.find(hash, [&](ListId id) {
        const List& list = lists_[id];
        return list.trie == &t && list.of_nodes == of_nodes && std::equal(items.begin(), items.end(), list.begin, list.end);
    });
    if (known) return *known;
    work(3 * items.size());  // each is a place of its own in the trie
    uint32_t* begin = list_items_.add(items.size());
    const uint32_t* end = std::copy(items.begin(), items.end(), begin);
    bytes_ += items.size() * 4 + sizeof(List) + 32;
    lists_.push_back({&t, begin, end, of_nodes, of_nodes && is_antichain(t, begin, end)});
    list_ids_.put(hash, ListId(lists_.size() - 1));
    return ListId(lists_.size() - 1);
}

bool SplitLists::is_antichain(const Trie& t, const uint32_t* begin, const uint32_t* end) {
    return std::adjacent_find(begin, end, [&](uint32_t x, uint32_t y) { return y < t.end[x]; }) == end;
}

bool SplitLists::is_antichain(const Lists& lists) const {
    return std::all_of(lists.kept.begin(), lists.kept.end(), [&](ListId id) { return lists_[id].antichain; }) &&
           std::all_of(lists.own.begin(), lists.own.end(),
                       [](const TrieNodes& l) { return is_antichain(*l.trie, l.nodes.data(), l.nodes.data() + l.nodes.size()); });
}

std::vector<uint32_t> SplitLists::key_of(const Lists& lists, uint32_t kind) {
    std::vector<uint32_t> key{kind, uint32_t(lists.kept.size())};
    key.insert(key.end(), lists.kept.begin(), lists.kept.end());
    for (const TrieNodes& l : lists.own) {
        key.push_back(l.trie->first_id);
        key.push_back(uint32_t(l.nodes.size()));
        key.insert(key.end(), l.nodes.begin(), l.nodes.end());
    }
    return key;
}

std::shared_ptr<const TokenSet> SplitLists::tokens(const Lists& lists, std::vector<uint32_t>& beside) {
    if (!beside.empty()) {
        each(lists, [&](const Trie& t, const uint32_t* begin, const uint32_t* end) {
            for (const uint32_t* range = begin; range != end; range += 2)
                for (uint32_t k = range[0]; k < range[1]; k++) beside[t.tokens[k] >> 5] |= 1u << (t.tokens[k] & 31);
        });
        auto result = std::make_shared<const TokenSet>(TokenSet::of(beside));
        parts_.bytes += result->bytes();
        return result;
    }
    std::vector<uint32_t> key;
    if (!lists.kept.empty()) {
        key = key_of(lists, 0);
        if (auto known = token_sets_.find(key); known != token_sets_.end()) return known->second;
    }
    TokenSet all;
    size_t count = 0;
    work(1 + lists.kept.size());
    each(lists, [&](const Trie&, const uint32_t* begin, const uint32_t* end) {
        for (const uint32_t* range = begin; range != end; range += 2) count += range[1] - range[0];
    });
    work(count / 4);
    all.expect(count, parts_.vocabulary.words());
    each(lists, [&](const Trie& t, const uint32_t* begin, const uint32_t* end) {
        for (const uint32_t* range = begin; range != end; range += 2)
            for (uint32_t k = range[0]; k < range[1]; k++) all.add(t.tokens[k], parts_.vocabulary.words());
    });
    all.pack();
    parts_.bytes += all.bytes();
    auto result = std::make_shared<const TokenSet>(std::move(all));
    if (!lists.kept.empty()) {
        bytes_ += result->bytes() + key.size() * 4 + 128;
        token_sets_.emplace(std::move(key), result);
    }
    return result;
}

std::vector<TrieNodes> SplitLists::nodes(const Lists& lists, const std::vector<ListId>& others) const {
    std::vector<TrieNodes> all;
    each_but(lists, others, [&](const Trie& t, const uint32_t* begin, const uint32_t* end) {
        work(size_t(end - begin) * 6);
        if (all.empty() || all.back().trie != &t) all.push_back({&t, {}});
        all.back().nodes.insert(all.back().nodes.end(), begin, end);
    });
    return all;
}

ResidualId SplitLists::residual(const Lists& lists, bool once) {
    std::vector<uint32_t> key;
    if (!lists.kept.empty()) {
        key = key_of(lists, once);
        if (auto known = residuals_.find(key); known != residuals_.end()) return known->second;
    }
    const ResidualId result = parts_.residuals.add(nodes(lists, {}), once);
    if (!lists.kept.empty()) {
        bytes_ += key.size() * 4 + 64;
        residuals_.emplace(std::move(key), result);
    }
    return result;
}

}  // namespace derivable
