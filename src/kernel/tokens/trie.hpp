// Tries over token bytes, flattened in preorder: a node's subtree is the index range [i, end[i]), so skipping a subtree is
// one assignment and a walk reads memory forwards.
//
// The whole vocabulary is one trie. The *residual* of a lexeme that ends inside tokens is another: the trie of what is left of
// those tokens, where one node may stand for many tokens (`x",` and `y",` both leave `,`).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "support/byte_set.hpp"
#include "support/characters.hpp"
#include "support/hashing.hpp"

namespace derivable {

// One of 64 kinds of bytes that grammars tend to treat alike, so that the bytes of a subtree fit one word.
inline constexpr std::array<uint8_t, 256> kByteKinds = [] {
    std::array<uint8_t, 256> k{};
    uint8_t next = 0;
    auto together = [&](int lo, int hi) {
        for (int b = lo; b <= hi; b++) k[size_t(b)] = next;
        next++;
    };
    auto apart = [&](int lo, int hi) {
        for (int b = lo; b <= hi; b++) together(b, b);
    };
    together(0x00, 0x1F);
    apart('\t', '\n');
    apart('\r', '\r');
    apart(' ', '/');
    together('0', '9');
    apart(':', '@');
    together('A', 'F');
    together('G', 'Z');
    apart('[', '`');
    together('a', 'f');
    together('g', 'z');
    apart('{', 0x7F);
    // Of characters of several bytes: all that begin with C4 to CA, D0, D1, E5 to E9, EB and EC are letters, and among those with C2,
    // E1, E2, E3 and EF there are spaces or the like.
    together(0x80, 0xBF);
    for (auto [lo, hi] : {std::pair(0xC0, 0xC2), {0xC3, 0xC3}, {0xC4, 0xCA}, {0xCB, 0xCF}, {0xD0, 0xD1}, {0xD2, 0xDF}}) together(lo, hi);
    apart(0xE0, 0xE4);
    for (auto [lo, hi] : {std::pair(0xE5, 0xE9), {0xEA, 0xEA}, {0xEB, 0xEC}, {0xED, 0xED}, {0xEE, 0xEF}, {0xF0, 0xFF}}) together(lo, hi);
    return k;
}();
constexpr uint8_t byte_kind(uint8_t byte) { return kByteKinds[byte]; }
const std::vector<uint8_t>& bytes_of_kind(uint8_t kind);

struct TrieNodes;

struct Trie {
    uint32_t first_id = 0;  // of the first node: given by the owner, to tell the nodes of all its tries apart
    std::vector<uint8_t> byte;
    std::vector<uint16_t> depth;           // of the first level: 0
    std::vector<uint32_t> end;             // one past the subtree
    std::vector<uint32_t> token_begin{0};  // tokens that end at node i: tokens[token_begin[i] .. token_begin[i + 1])
    std::vector<uint32_t> tokens;          // in preorder, so those of a subtree stand together
    std::vector<uint64_t> below;           // the kinds (byte_kind) of all bytes below node i
    std::vector<uint16_t> height;          // bytes of the longest way below node i
    std::vector<uint8_t> well_formed;      // bit p: for a text in Utf8State p behind node i, all ways below it are UTF-8 (or begin some)

    // If built of many entries: the children of node i are those from child_begin[i] to child_begin[i + 1].
    std::vector<uint32_t> child_begin, child_node;
    std::vector<uint8_t> child_byte;

    uint32_t size() const { return uint32_t(byte.size()); }
    // The kinds of all bytes from that of node i on.
    uint64_t kinds(uint32_t i) const { return below[i] | 1ULL << byte_kind(byte[i]); }
    // visit(child, byte) for the children whose byte is in a set, in order. PERF: the children of a node high up lie far apart: asking each
    // for its byte takes two misses of the caches.
    template <typename Visit>
    void each_child(uint32_t node, const ByteSet& bytes, Visit&& visit) const {
        if (child_begin.empty()) {
            for (uint32_t c = node + 1; c < end[node]; c = end[c])
                if (bytes[byte[c]]) visit(c, byte[c]);
        } else {
            for (uint32_t k = child_begin[node]; k < child_begin[node + 1]; k++)
                if (bytes[child_byte[k]]) visit(child_node[k], child_byte[k]);
        }
    }

    // A byte is so many times in one token at most. Looks at all nodes.
    uint32_t most_of(uint8_t value) const;

    // From (bytes, token) pairs; empty byte strings are left out.
    static Trie build(std::vector<std::pair<std::string_view, uint32_t>> entries);
    // The union of the subtrees below (and including) the given nodes; nodes of equal byte merge.
    static Trie merge(const std::vector<TrieNodes>& roots);

  private:
    static std::optional<Trie> of_sorted(const std::vector<std::pair<std::string_view, uint32_t>>& entries);
    void note_below(uint32_t node);
    void append(const Trie& other, uint32_t node, uint32_t at_depth);
    void reserve(size_t nodes, size_t of_tokens);
};

// Nodes of one trie.
struct TrieNodes {
    const Trie* trie;
    std::vector<uint32_t> nodes;
};

}  // namespace derivable
