#include "tokens/fewest_tokens.hpp"

#include <algorithm>
#include <string>

#include "support/task.hpp"

namespace derivable {

FewestTokens::FewestTokens(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
    const Trie& trie = vocabulary_.trie;
    first_.fill(kNoNode);
    for (uint32_t i = 0; i < trie.size(); i = trie.end[i]) first_[trie.byte[i]] = i;
    for (uint32_t i = 0; i < trie.size(); i = trie.end[i]) longest_ = std::max(longest_, size_t(trie.height[i]) + 1);
    constexpr int kLastOfUtf8 = 0xF4;
    for (int b = 0; b <= kLastOfUtf8; b++) {
        const bool is_overlong = b == 0xC0 || b == 0xC1;
        const uint32_t node = first_[size_t(b)];
        if (!is_overlong && (node == kNoNode || trie.token_begin[node] == trie.token_begin[node + 1])) spells_everything_ = false;
    }
}

uint32_t FewestTokens::child(uint32_t node, uint8_t byte) const {
    const Trie& trie = vocabulary_.trie;
    if (trie.child_begin.empty()) {
        for (uint32_t c = node + 1; c < trie.end[node]; c = trie.end[c])
            if (trie.byte[c] == byte) return c;
        return kNoNode;
    }
    const auto first = trie.child_byte.begin() + trie.child_begin[node], last = trie.child_byte.begin() + trie.child_begin[node + 1];
    const auto found = std::lower_bound(first, last, byte);
    return found != last && *found == byte ? trie.child_node[size_t(found - trie.child_byte.begin())] : kNoNode;
}

namespace {
constexpr uint32_t kNothing = 0;  // is needed behind the end of a text
}

uint32_t FewestTokens::of(std::string_view text) const { return of(text, {}, &kNothing); }

uint32_t FewestTokens::of(std::string_view text, std::string_view rest, const uint32_t* counts) const {
    return text.empty() ? counts[0] : from_each(text, rest, counts)[0];
}

std::vector<uint32_t> FewestTokens::from_each(std::string_view text, std::string_view rest, const uint32_t* counts) const {
    std::string all(text);
    all += rest.substr(0, longest_);
    std::vector<uint32_t> fewest(text.size(), kNone);
    for (size_t i = text.size(); i-- > 0;) {
        work(4);
        each_prefix(std::string_view(all).substr(i), [&](size_t length, uint32_t) {
            const size_t end = i + length;
            const uint32_t left = end < text.size() ? fewest[end] : counts[end - text.size()];
            if (left != kNone) fewest[i] = std::min(fewest[i], left + 1);
        });
    }
    return fewest;
}

std::vector<std::string_view> FewestTokens::cut(std::string_view text) const {
    std::vector<uint32_t> fewest = from_each(text, {}, &kNothing);
    fewest.push_back(kNothing);
    std::vector<std::string_view> pieces;
    for (size_t i = 0; i < text.size(); i += pieces.back().size()) {
        size_t first = 1;
        each_prefix(text.substr(i), [&](size_t length, uint32_t) {
            if (fewest[i] != kNone && fewest[i + length] == fewest[i] - 1) first = length;
        });
        pieces.push_back(text.substr(i, first));
    }
    return pieces;
}

}  // namespace derivable
