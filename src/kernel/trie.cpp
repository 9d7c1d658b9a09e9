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

Trie Trie::merge(const Trie& s, std::vector<uint32_t> roots) {
    Trie t;
    // A frame holds the source nodes still to merge at one depth, sorted by byte; equal bytes become one node.
    struct Frame {
        std::vector<uint32_t> nodes;
        size_t next;
        uint32_t node;  // the merged parent, closed when the frame ends
    };
    auto by_byte = [&](uint32_t a, uint32_t b) { return s.byte[a] != s.byte[b] ? s.byte[a] < s.byte[b] : a < b; };
    std::sort(roots.begin(), roots.end(), by_byte);
    std::vector<Frame> stack;
    stack.push_back({std::move(roots), 0, ~0u});
    while (!stack.empty()) {
        Frame& f = stack.back();
        if (f.next == f.nodes.size()) {
            if (f.node != ~0u) t.end[f.node] = t.size();
            stack.pop_back();
            continue;
        }
        size_t first = f.next;
        uint8_t byte = s.byte[f.nodes[first]];
        uint32_t node = t.size();
        t.byte.push_back(byte);
        t.depth.push_back(uint16_t(stack.size() - 1));
        t.end.push_back(0);
        std::vector<uint32_t> below;
        for (; f.next < f.nodes.size() && s.byte[f.nodes[f.next]] == byte; f.next++) {
            uint32_t n = f.nodes[f.next];
            t.tokens.insert(t.tokens.end(), s.tokens.begin() + s.token_begin[n], s.tokens.begin() + s.token_begin[n + 1]);
            for (uint32_t c = n + 1; c < s.end[n]; c = s.end[c]) below.push_back(c);
        }
        t.token_begin.push_back(uint32_t(t.tokens.size()));
        std::sort(below.begin(), below.end(), by_byte);
        stack.push_back({std::move(below), 0, node});
    }
    return t;
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
