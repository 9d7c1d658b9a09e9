#include "index/stretches.hpp"

#include <algorithm>

#include "support/task.hpp"

namespace derivable {

Stretches::Stretches(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
    const Trie& t = vocabulary_.trie;
    work(t.size() / 8);
    for (uint8_t byte : t.byte) begin_[byte + 1u]++;
    for (size_t b = 0; b < 256; b++) begin_[b + 1] += begin_[b];
    nodes_.resize(t.size());
    above_.resize(t.size());
    std::array<uint32_t, 256> next;
    std::copy_n(begin_.begin(), next.size(), next.begin());
    std::vector<uint64_t> path(1, 0);  // by depth
    no_longer_.assign(kRows, {});
    std::vector<std::vector<uint32_t>> of_length(kRows);
    for (uint32_t i = 0; i < t.size(); i++) {
        const size_t depth = t.depth[i];
        const uint32_t k = next[t.byte[i]]++;
        nodes_[k] = i;
        above_[k] = path[depth];
        if (path.size() < depth + 2) path.resize(2 * depth + 16);
        path[depth + 1] = path[depth] | 1ULL << byte_kind(t.byte[i]);
        for (uint32_t n = t.token_begin[i]; n < t.token_begin[i + 1]; n++) {
            if (depth + 1 < kRows) of_length[depth + 1].push_back(t.tokens[n]);
            else long_.emplace_back(t.tokens[n], uint32_t(depth + 1));
        }
    }
    for (size_t n = 0; n < kRows; n++) {
        no_longer_[n] = n ? no_longer_[n - 1] : std::vector<uint32_t>(vocabulary_.words(), 0);
        for (uint32_t token : of_length[n]) no_longer_[n][token >> 5] |= 1u << (token & 31);
    }
}

uint64_t Stretches::num_nodes_of(uint64_t kinds) const {
    uint64_t all = 0;
    for (size_t b = 0; b < 256; b++)
        if (kinds >> byte_kind(uint8_t(b)) & 1) all += num_nodes(uint8_t(b));
    return all;
}

const std::vector<uint32_t>& Stretches::all_of(uint64_t kinds) {
    constexpr size_t kMost = 64;
    if (auto known = by_kinds_.find(kinds); known != by_kinds_.end()) return known->second;
    if (by_kinds_.size() >= kMost) by_kinds_.clear();
    const Trie& t = vocabulary_.trie;
    std::vector<uint32_t> row(vocabulary_.words(), 0);
    uint32_t looked_at = 0;
    for (uint32_t i = 0; i < t.size(); looked_at++) {
        const bool is_out = !(kinds >> byte_kind(t.byte[i]) & 1), is_whole = !is_out && !(t.below[i] & ~kinds);
        const uint32_t last = is_out ? i : is_whole ? t.end[i] : i + 1;
        for (uint32_t n = t.token_begin[i]; n < t.token_begin[last]; n++) row[t.tokens[n] >> 5] |= 1u << (t.tokens[n] & 31);
        i = is_out ? t.end[i] : last;
    }
    work(looked_at / 4);
    return by_kinds_[kinds] = std::move(row);
}

std::vector<uint32_t> Stretches::tokens(uint64_t kinds, size_t most) {
    std::vector<uint32_t> row = all_of(kinds);
    work(row.size() / 20);
    if (most < kRows) {
        for (size_t w = 0; w < row.size(); w++) row[w] &= no_longer_[most][w];
    } else {
        for (auto [token, length] : long_)
            if (length > most) row[token >> 5] &= ~(1u << (token & 31));
    }
    return row;
}

}  // namespace derivable
