#include "lexing/lexeme_begins.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <unordered_set>

#include "support/task.hpp"

namespace derivable {

namespace {

bool contains(const ByteSet& all, const ByteSet& some) {
    bool contained = true;
    for (size_t w = 0; w < all.words.size(); w++) contained &= (some.words[w] & ~all.words[w]) == 0;
    return contained;
}

bool contains(const LexemeBegins::Followers& all, const LexemeBegins::Followers& some) {
    return std::equal(all.begin(), all.end(), some.begin(), [](const ByteSet& a, const ByteSet& b) { return contains(a, b); });
}

// Calls visit(node, begins) for each node of a trie: whether a lexeme may begin there.
template <class Visit>
void each_node(const Trie& trie, const LexemeBegins::Followers& followers, Visit visit) {
    std::vector<uint8_t> bytes;
    work(trie.size());
    for (uint32_t i = 0; i < trie.size(); i++) {
        const size_t depth = trie.depth[i];
        bytes.resize(depth);
        if (!visit(i, depth == 0 || followers[bytes[depth - 1]][trie.byte[i]])) return;
        bytes.push_back(trie.byte[i]);
    }
}

}  // namespace

uint64_t LexemeBegins::most(const Weights& weights, const Followers& followers) {
    constexpr size_t kMostKnown = 8;
    Combinations wanted;
    for (size_t b = 0; b < weights.size(); b++)
        if (weights[b]) wanted.first.set(uint8_t(b));
    wanted.followers = followers;
    auto known = std::find_if(known_.begin(), known_.end(), [&](const Combinations& c) {
        return contains(c.first, wanted.first) && contains(c.followers, wanted.followers);
    });
    if (known == known_.end()) {
        if (known_.size() == kMostKnown || !find(wanted)) return walk(weights, followers);
        known_.push_back(std::move(wanted));
        known = known_.end() - 1;
    }
    uint64_t most = 0;
    uint32_t at = 0;
    work(known->counts.size() / 4 + 1);
    for (const uint32_t end : known->ends) {
        uint64_t sum = 0;
        for (; at < end; at++) sum += weights[known->counts[at].first] * known->counts[at].second;
        most = std::max(most, sum);
    }
    return most;
}

bool LexemeBegins::find(Combinations& made) const {
    constexpr size_t kMost = 1u << 14;
    std::vector<uint8_t> begun;  // bytes that lexemes begin with, up to a depth
    std::vector<size_t> sizes;   // of it, by depth
    std::unordered_set<std::string> met;
    bool is_small = true;
    each_node(vocabulary_.trie, made.followers, [&](uint32_t node, bool begins) {
        const size_t depth = vocabulary_.trie.depth[node];
        const uint8_t byte = vocabulary_.trie.byte[node];
        sizes.resize(depth + 1, 0);
        begun.resize(sizes[depth]);
        if (begins && made.first[byte]) {
            begun.push_back(byte);
            std::string sorted(begun.begin(), begun.end());
            std::sort(sorted.begin(), sorted.end());
            is_small = met.insert(std::move(sorted)).second ? met.size() <= kMost : is_small;
        }
        sizes.push_back(begun.size());
        return is_small;
    });
    if (!is_small) return false;
    constexpr uint8_t kMostTimes = std::numeric_limits<uint8_t>::max();
    for (const std::string& bytes : met) {
        const size_t begin = made.counts.size();
        for (const char c : bytes) {
            const bool again = made.counts.size() > begin && made.counts.back() != std::pair(uint8_t(c), kMostTimes) &&
                               made.counts.back().first == uint8_t(c);
            if (again) made.counts.back().second++;
            else made.counts.emplace_back(uint8_t(c), 1);
        }
        made.ends.push_back(uint32_t(made.counts.size()));
    }
    return true;
}

namespace {

// Calls visit(node, weight) for each node: of the lexemes that may begin in the text that leads there.
template <class Visit>
void each_weight(const Trie& trie, const LexemeBegins::Weights& weights, const LexemeBegins::Followers& followers, Visit visit) {
    std::vector<uint64_t> sums{0};  // before each depth
    each_node(trie, followers, [&](uint32_t node, bool begins) {
        sums.resize(trie.depth[node] + 1);
        sums.push_back(sums.back() + (begins ? weights[trie.byte[node]] : 0));
        visit(node, sums.back());
        return true;
    });
}

}  // namespace

uint64_t LexemeBegins::walk(const Weights& weights, const Followers& followers) const {
    uint64_t most = 0;
    each_weight(vocabulary_.trie, weights, followers, [&](uint32_t, uint64_t weight) { most = std::max(most, weight); });
    return most;
}

void LexemeBegins::Each::sort() {
    std::vector<uint32_t> at(size_t(kMost) + 2);  // by weight from above: where its tokens begin
    for (uint16_t weight : by_token) at[kMost - weight + 1u]++;
    std::partial_sum(at.begin(), at.end(), at.begin());
    heaviest.resize(by_token.size());
    for (uint32_t token = 0; token < by_token.size(); token++) heaviest[at[kMost - by_token[token]]++] = token;
}

LexemeBegins::Each LexemeBegins::each(const Weights& weights, const Followers& followers) const {
    const Trie& trie = vocabulary_.trie;
    Each made{std::vector<uint16_t>(vocabulary_.size(), Each::kMost), std::vector<uint16_t>(trie.size())};
    std::vector<uint32_t> path;
    each_weight(trie, weights, followers, [&](uint32_t node, uint64_t weight) {
        path.resize(trie.depth[node]);
        path.push_back(node);
        if (trie.token_begin[node] == trie.token_begin[node + 1]) return;
        const auto own = uint16_t(std::min<uint64_t>(weight, Each::kMost));
        for (uint32_t i = trie.token_begin[node]; i < trie.token_begin[node + 1]; i++) made.by_token[trie.tokens[i]] = own;
        for (size_t i = path.size(); i-- > 0 && made.below[path[i]] < own;) made.below[path[i]] = own;
    });
    return made;
}

}  // namespace derivable
