#include "index/stretches.hpp"

#include <algorithm>

#include "support/task.hpp"

namespace derivable {

namespace {
void set(std::vector<uint32_t>& mask, uint32_t token) { mask[token >> 5] |= 1u << (token & 31); }
}  // namespace

Stretches::Stretches(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
    const Trie& t = vocabulary_.trie;
    work(t.size() / 4);
    const std::vector<uint32_t> none(vocabulary_.words(), 0);
    no_longer_.assign(kRows, none);
    with_.assign(kKinds, none);
    with_some_.assign(kGroups, none);
    struct At {
        uint64_t kinds = 0;
        uint32_t characters = 0;  // that have begun
        Utf8State place = kBetween;
    };
    std::vector<At> path(1);  // by depth
    std::vector<std::pair<uint8_t, Node>> found;
    found.reserve(t.size());
    for (uint32_t i = 0; i < t.size();) {
        const size_t depth = t.depth[i];
        const uint8_t byte = t.byte[i];
        const At above = path[depth];
        if (above.place == kBetween) begin_[byte + 1u]++, found.push_back({byte, {above.kinds, i, above.characters}});
        const Utf8State place = character_step(above.place, byte);
        if (place == kNowhere) {
            i = t.end[i];
            continue;
        }
        if (path.size() < depth + 2) path.resize(2 * depth + 16);
        const At at = path[depth + 1] = {above.kinds | 1ULL << byte_kind(byte), above.characters + (above.place == kBetween), place};
        for (uint32_t n = t.token_begin[i]; n < t.token_begin[i + 1]; n++) {
            const uint32_t token = t.tokens[n];
            if (at.characters < kRows) set(no_longer_[at.characters], token);
            else long_.emplace_back(token, at.characters);
            for (uint64_t rest = at.kinds; rest; rest &= rest - 1) set(with_[size_t(__builtin_ctzll(rest))], token);
        }
        i++;
    }
    for (size_t n = 1; n < kRows; n++)
        for (size_t w = 0; w < none.size(); w++) no_longer_[n][w] |= no_longer_[n - 1][w];
    for (size_t kind = 0; kind < kKinds; kind++)
        for (size_t w = 0; w < none.size(); w++) with_some_[kind / kGroups][w] |= with_[kind][w];
    for (size_t b = 0; b < 256; b++) begin_[b + 1] += begin_[b];
    nodes_.resize(found.size());
    std::array<uint32_t, 256> next;
    std::copy_n(begin_.begin(), next.size(), next.begin());
    for (const auto& [byte, node] : found) nodes_[next[byte]++] = node;
}

uint64_t Stretches::num_nodes_of(uint64_t kinds) const {
    uint64_t all = 0;
    for (size_t b = 0; b < 256; b++)
        if (kinds >> byte_kind(uint8_t(b)) & 1) all += num_nodes(uint8_t(b));
    return all;
}

// PERF: asking each node of llama-3 for the kinds below it was 0.45 million instructions, half of a mask; this is 0.05.
const Stretches::Bitmask& Stretches::with_others(uint64_t kinds) {
    constexpr size_t kMost = 64;
    if (auto known = with_others_.find(kinds); known != with_others_.end()) return known->second;
    Bitmask all(vocabulary_.words(), 0);  // work may be refused: kept when it is done
    auto unite = [&](const Bitmask& mask) {
        work(all.size() / 80);
        for (size_t w = 0; w < all.size(); w++) all[w] |= mask[w];
    };
    for (size_t group = 0; group < kGroups; group++) {
        const uint64_t out = ~kinds >> group * kGroups & 0xFF;
        if (out == 0xFF) unite(with_some_[group]);
        else
            for (size_t k = 0; k < kGroups; k++)
                if (out >> k & 1) unite(with_[group * kGroups + k]);
    }
    if (with_others_.size() >= kMost) with_others_.clear();
    return with_others_[kinds] = std::move(all);
}

std::vector<uint32_t> Stretches::tokens(uint64_t kinds, size_t most) {
    const Bitmask& others = with_others(kinds);
    Bitmask row = no_longer_[std::min(most, kRows - 1)];
    work(row.size() / 20);
    if (most >= kRows)
        for (auto [token, length] : long_)
            if (length <= most) set(row, token);
    for (size_t w = 0; w < row.size(); w++) row[w] &= ~others[w];
    return row;
}

}  // namespace derivable
