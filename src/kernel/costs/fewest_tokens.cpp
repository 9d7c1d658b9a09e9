#include "costs/fewest_tokens.hpp"

#include <algorithm>

#include "support/task.hpp"

namespace derivable {

FewestTokens::FewestTokens(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {
    const Trie& trie = vocabulary_.trie;
    first_.fill(kNoNode);
    for (uint32_t i = 0; i < trie.size(); i = trie.end[i]) first_[trie.byte[i]] = i;
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

uint32_t FewestTokens::of(std::string_view text) const {
    std::vector<uint32_t> fewest(text.size() + 1, kNone);
    fewest.back() = 0;
    for (size_t i = text.size(); i-- > 0;) {
        work(4);
        each_prefix(text.substr(i), [&](size_t length, uint32_t) {
            if (fewest[i + length] != kNone) fewest[i] = std::min(fewest[i], fewest[i + length] + 1);
        });
    }
    return fewest[0];
}

}  // namespace derivable
