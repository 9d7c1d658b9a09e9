#include "tokens/trie.hpp"

#include <algorithm>

#include "support/errors.hpp"

namespace derivable {

const std::vector<uint8_t>& bytes_of_kind(uint8_t kind) {
    static const std::vector<std::vector<uint8_t>> bytes = [] {
        std::vector<std::vector<uint8_t>> out(64);
        for (int b = 0; b < 256; b++) out[byte_kind(uint8_t(b))].push_back(uint8_t(b));
        return out;
    }();
    return bytes[kind];
}

// Of a node, once those below it are done.
void Trie::note_below(uint32_t i) {
    for (uint32_t c = i + 1; c < end[i]; c = end[c]) {
        below[i] |= below[c] | 1ULL << byte_kind(byte[c]);
        height[i] = std::max(height[i], uint16_t(height[c] + 1));
        if (!well_formed[i]) continue;
        if (byte[c] < 0x80) {  // PERF: nearly all bytes; such a one stands between characters only
            well_formed[i] &= uint8_t(well_formed[c] & 1u << kBetween);
            continue;
        }
        for (uint32_t p = 0; p < kNumUtf8States; p++) {
            const Utf8State to = character_step(Utf8State(p), byte[c]);
            if (to == kNowhere || !(well_formed[c] >> to & 1)) well_formed[i] &= uint8_t(~(1u << p));
        }
    }
}

uint32_t Trie::most_of(uint8_t value) const {
    uint32_t most = 0;
    std::vector<uint32_t> on_way{0};  // before each depth
    for (uint32_t i = 0; i < size(); i++) {
        on_way.resize(depth[i] + 1u);
        on_way.push_back(on_way.back() + (byte[i] == value));
        most = std::max(most, on_way.back());
    }
    return most;
}

// The subtree of a node of another trie, at the end and at some depth.
void Trie::append(const Trie& other, uint32_t node, uint32_t at_depth) {
    const uint32_t first = size(), from = other.token_begin[node], until = other.end[node], base = uint32_t(tokens.size());
    byte.insert(byte.end(), other.byte.begin() + node, other.byte.begin() + until);
    height.insert(height.end(), other.height.begin() + node, other.height.begin() + until);
    below.insert(below.end(), other.below.begin() + node, other.below.begin() + until);
    well_formed.insert(well_formed.end(), other.well_formed.begin() + node, other.well_formed.begin() + until);
    tokens.insert(tokens.end(), other.tokens.begin() + from, other.tokens.begin() + other.token_begin[until]);
    depth.resize(first + until - node);
    end.resize(first + until - node);
    token_begin.resize(first + until - node + 1);
    for (uint32_t i = node, to = first; i < until; i++, to++) {
        depth[to] = uint16_t(other.depth[i] - other.depth[node] + at_depth);
        end[to] = other.end[i] - node + first;
        token_begin[to + 1] = other.token_begin[i + 1] - from + base;
    }
}

void Trie::reserve(size_t nodes, size_t of_tokens) {
    byte.reserve(nodes);
    depth.reserve(nodes);
    end.reserve(nodes);
    token_begin.reserve(nodes + 1);
    below.reserve(nodes);
    well_formed.reserve(nodes);
    height.reserve(nodes);
    tokens.reserve(of_tokens);
}

Trie Trie::build(std::vector<std::pair<std::string_view, uint32_t>> entries) {
    // PERF: those of a saved vocabulary are sorted, and to ask costs a pass over all bytes: it is seen as they are taken in.
    if (std::optional<Trie> trie = of_sorted(entries)) return std::move(*trie);
    std::sort(entries.begin(), entries.end());
    return std::move(*of_sorted(entries));
}

// Nothing if they are not sorted.
std::optional<Trie> Trie::of_sorted(const std::vector<std::pair<std::string_view, uint32_t>>& entries) {
    Trie t;
    size_t bytes = 0;
    for (const auto& [text, token] : entries) bytes += text.size();
    t.reserve(bytes, entries.size());
    std::vector<uint32_t> open;  // nodes on the path of the previous entry
    std::string_view previous;
    for (const auto& [bytes, token] : entries) {
        if (bytes.empty()) continue;
        if (bytes.size() > 0xFFFF) throw LimitExceeded("token length", bytes.size(), 0xFFFF, "the vocabulary");
        size_t common = 0;
        while (common < std::min(bytes.size(), previous.size()) && bytes[common] == previous[common]) common++;
        const bool ascending = common == previous.size() ? common < bytes.size() || t.tokens.empty() || t.tokens.back() <= token
                                                         : common < bytes.size() && uint8_t(previous[common]) < uint8_t(bytes[common]);
        if (!ascending) return std::nullopt;
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
    t.below.assign(t.size(), 0);
    t.height.assign(t.size(), 0);
    t.well_formed.assign(t.size(), 0xFF);
    for (uint32_t i = t.size(); i-- > 0;) t.note_below(i);
    t.child_begin.reserve(t.size() + 1);
    t.child_node.reserve(t.size());
    t.child_byte.reserve(t.size());
    t.child_begin.push_back(0);
    for (uint32_t i = 0; i < t.size(); i++) {
        for (uint32_t c = i + 1; c < t.end[i]; c = t.end[c]) {
            t.child_node.push_back(c);
            t.child_byte.push_back(t.byte[c]);
        }
        t.child_begin.push_back(uint32_t(t.child_node.size()));
    }
    return t;
}

Trie Trie::merge(const std::vector<TrieNodes>& given) {
    Trie t;
    struct Source {
        uint8_t byte;
        uint32_t node;
        const Trie* trie;
        bool operator<(const Source& o) const { return byte < o.byte; }
    };
    std::vector<Source> sources;
    size_t num_nodes = 0, num_tokens = 0;
    for (const TrieNodes& g : given)
        for (uint32_t n : g.nodes) {
            sources.push_back({g.trie->byte[n], n, g.trie});
            num_nodes += g.trie->end[n] - n;
            num_tokens += g.trie->token_begin[g.trie->end[n]] - g.trie->token_begin[n];
        }
    t.reserve(num_nodes, num_tokens);
    std::sort(sources.begin(), sources.end());
    // A frame is the sources still to merge at one depth, sorted by byte; equal bytes become one node.
    struct Frame {
        size_t begin, next, end;
        uint32_t node;  // the merged parent, closed when the frame ends
    };
    std::vector<Frame> stack{{0, 0, sources.size(), ~0u}};
    while (!stack.empty()) {
        Frame& f = stack.back();
        if (f.next == f.end) {
            if (f.node != ~0u) t.end[f.node] = t.size(), t.note_below(f.node);
            sources.resize(f.begin);
            stack.pop_back();
            continue;
        }
        const Source first = sources[f.next];
        const auto depth = uint32_t(stack.size() - 1);
        if (f.next + 1 == f.end || sources[f.next + 1].byte != first.byte) {
            // PERF: nearly all nodes are in one of the tries only. The largest of Java, 6,500 nodes: 0.52 ms became 0.13.
            t.append(*first.trie, first.node, depth);
            f.next++;
            continue;
        }
        uint32_t node = t.size();
        t.byte.push_back(first.byte);
        t.depth.push_back(uint16_t(depth));
        t.end.push_back(0);
        t.below.push_back(0);
        t.height.push_back(0);
        t.well_formed.push_back(0xFF);
        const size_t first_token = t.tokens.size(), below = sources.size();
        for (; f.next < f.end && sources[f.next].byte == first.byte; f.next++) {
            const Trie& s = *sources[f.next].trie;
            const uint32_t n = sources[f.next].node;
            t.tokens.insert(t.tokens.end(), s.tokens.begin() + s.token_begin[n], s.tokens.begin() + s.token_begin[n + 1]);
            for (uint32_t c = n + 1; c < s.end[n]; c = s.end[c]) sources.push_back({s.byte[c], c, &s});
        }
        // A token that can be cut in several ways may come more than once.
        std::sort(t.tokens.begin() + long(first_token), t.tokens.end());
        t.tokens.erase(std::unique(t.tokens.begin() + long(first_token), t.tokens.end()), t.tokens.end());
        t.token_begin.push_back(uint32_t(t.tokens.size()));
        std::sort(sources.begin() + long(below), sources.end());
        stack.push_back({below, below, sources.size(), node});
    }
    return t;
}

}  // namespace derivable
