#include "trie.hpp"

#include <algorithm>

namespace derivable {

Trie Trie::build(std::vector<std::pair<std::string_view, uint32_t>> entries) {
    std::sort(entries.begin(), entries.end());
    Trie t;
    std::vector<uint32_t> open;  // nodes on the path of the previous entry
    std::string_view previous;
    for (auto [bytes, token] : entries) {
        if (bytes.empty()) continue;
        if (bytes.size() > 0xFFFF) throw LimitExceeded("token length", bytes.size(), 0xFFFF, "the vocabulary");
        size_t common = 0;
        while (common < std::min(bytes.size(), previous.size()) && bytes[common] == previous[common]) common++;
        while (open.size() > common) t.end[open.back()] = t.size(), open.pop_back();
        for (size_t d = common; d < bytes.size(); d++) {
            open.push_back(t.size());
            t.byte.push_back(uint8_t(bytes[d]));
            t.depth.push_back(uint16_t(d));
            t.end.push_back(0);
            t.token_begin.push_back(uint32_t(t.tokens.size()));
        }
        t.tokens.push_back(token);
        t.token_begin.back() = uint32_t(t.tokens.size());
        previous = bytes;
    }
    while (!open.empty()) t.end[open.back()] = t.size(), open.pop_back();
    return t;
}

Trie Trie::merge(const std::vector<TrieNodes>& given) {
    Trie t;
    struct Source {
        uint8_t byte;
        uint32_t node;
        const Trie* trie;
    };
    // A frame holds the source nodes still to merge at one depth, sorted by byte; equal bytes become one node.
    struct Frame {
        std::vector<Source> nodes;
        size_t next;
        uint32_t node;  // the merged parent, closed when the frame ends
    };
    auto by_byte = [](const Source& a, const Source& b) { return a.byte < b.byte; };
    std::vector<Source> roots;
    for (const TrieNodes& g : given)
        for (uint32_t n : g.nodes) roots.push_back({g.trie->byte[n], n, g.trie});
    std::stable_sort(roots.begin(), roots.end(), by_byte);
    std::vector<Frame> stack;
    stack.push_back({std::move(roots), 0, ~0u});
    while (!stack.empty()) {
        Frame& f = stack.back();
        if (f.next == f.nodes.size()) {
            if (f.node != ~0u) t.end[f.node] = t.size();
            stack.pop_back();
            continue;
        }
        uint8_t byte = f.nodes[f.next].byte;
        uint32_t node = t.size();
        t.byte.push_back(byte);
        t.depth.push_back(uint16_t(stack.size() - 1));
        t.end.push_back(0);
        std::vector<Source> below;
        for (; f.next < f.nodes.size() && f.nodes[f.next].byte == byte; f.next++) {
            const Trie& s = *f.nodes[f.next].trie;
            uint32_t n = f.nodes[f.next].node;
            t.tokens.insert(t.tokens.end(), s.tokens.begin() + s.token_begin[n], s.tokens.begin() + s.token_begin[n + 1]);
            for (uint32_t c = n + 1; c < s.end[n]; c = s.end[c]) below.push_back({s.byte[c], c, &s});
        }
        t.token_begin.push_back(uint32_t(t.tokens.size()));
        std::stable_sort(below.begin(), below.end(), by_byte);
        stack.push_back({std::move(below), 0, node});
    }
    return t;
}

TokenSet TokenSet::edited(const std::vector<uint32_t>& removed, const std::vector<uint32_t>& added, uint32_t words) const {
    std::vector<uint32_t> bits(words, 0);
    or_into(bits.data());
    for (uint32_t t : removed) bits[t >> 5] &= ~(1u << (t & 31));
    for (uint32_t t : added) bits[t >> 5] |= 1u << (t & 31);
    TokenSet out;
    out.count_ = uint32_t(count_ - removed.size() + added.size());
    out.dense_ = std::move(bits);
    return out;
}

TokenSet::TokenSet(std::vector<uint32_t> ids, uint32_t words) : count_(uint32_t(ids.size())) {
    // PERF: one listed id costs about as much to OR as eight words of a bitmask.
    if (ids.size() > words / 8) {
        dense_.assign(words, 0);
        for (uint32_t t : ids) dense_[t >> 5] |= 1u << (t & 31);
    } else {
        std::sort(ids.begin(), ids.end());  // neighbouring bits one after the other
        ids.shrink_to_fit();
        ids_ = std::move(ids);
    }
}

}  // namespace derivable
