#include "index/lexeme_begins.hpp"

#include <algorithm>
#include <limits>
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

// Calls visit(depth, byte, begins) for each node of a trie: whether a lexeme may begin there.
template <class Visit>
void each_node(const Trie& trie, const ByteSet& last, Visit visit) {
    std::vector<uint8_t> bytes;
    work(trie.size());
    for (uint32_t i = 0; i < trie.size(); i++) {
        const size_t depth = trie.depth[i];
        bytes.resize(depth);
        if (!visit(depth, trie.byte[i], depth == 0 || last[bytes[depth - 1]])) return;
        bytes.push_back(trie.byte[i]);
    }
}

}  // namespace

uint64_t LexemeBegins::most(const Weights& weights, const ByteSet& last) {
    constexpr size_t kMostKnown = 8;
    Combinations wanted;
    for (size_t b = 0; b < weights.size(); b++)
        if (weights[b]) wanted.first.set(uint8_t(b));
    wanted.last = last;
    auto known = std::find_if(known_.begin(), known_.end(),
                              [&](const Combinations& c) { return contains(c.first, wanted.first) && contains(c.last, wanted.last); });
    if (known == known_.end()) {
        if (known_.size() == kMostKnown || !find(wanted)) return walk(weights, last);
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
    each_node(vocabulary_.trie, made.last, [&](size_t depth, uint8_t byte, bool begins) {
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

uint64_t LexemeBegins::walk(const Weights& weights, const ByteSet& last) const {
    uint64_t most = 0;
    std::vector<uint64_t> sums{0};  // before each depth
    each_node(vocabulary_.trie, last, [&](size_t depth, uint8_t byte, bool begins) {
        sums.resize(depth + 1);
        sums.push_back(sums.back() + (begins ? weights[byte] : 0));
        most = std::max(most, sums.back());
        return true;
    });
    return most;
}

}  // namespace derivable
