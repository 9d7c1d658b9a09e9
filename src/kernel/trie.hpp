// Tries over token bytes, flattened in preorder: a node's subtree is the index range [i, end[i]), so skipping a subtree is
// one assignment and a walk reads memory forwards.
//
// The whole vocabulary is one trie. The *residual* of a lexeme that ends inside tokens is another: the trie of what is left of
// those tokens, where one node may stand for many tokens (`x",` and `y",` both leave `,`).
#pragma once

#include "common.hpp"

namespace derivable {

struct TrieNodes;

struct Trie {
    std::vector<uint8_t> byte;
    std::vector<uint16_t> depth;  // of the first level: 0
    std::vector<uint32_t> end;    // one past the subtree
    std::vector<uint32_t> token_begin{0};  // tokens that end at node i: tokens[token_begin[i] .. token_begin[i + 1])
    std::vector<uint32_t> tokens;

    uint32_t size() const { return uint32_t(byte.size()); }

    // From (bytes, token) pairs; empty byte strings are left out.
    static Trie build(std::vector<std::pair<std::string_view, uint32_t>> entries);
    // The union of the subtrees below (and including) the given nodes; nodes of equal byte merge.
    static Trie merge(const std::vector<TrieNodes>& roots);
};

// Nodes of one trie.
struct TrieNodes {
    const Trie* trie;
    std::vector<uint32_t> nodes;
};

// Some token ids of a vocabulary, as whichever of a list and a bitmask is faster to OR into a mask.
class TokenSet {
  public:
    TokenSet() = default;
    TokenSet(std::vector<uint32_t> ids, uint32_t words);
    void or_into(uint32_t* mask) const {
        if (dense_.empty()) {
            for (uint32_t t : ids_) mask[t >> 5] |= 1u << (t & 31);
        } else {
            for (size_t i = 0; i < dense_.size(); i++) mask[i] |= dense_[i];
        }
    }
    uint32_t count() const { return count_; }
    // Without the tokens of `removed` and with those of `added`.
    TokenSet edited(const std::vector<uint32_t>& removed, const std::vector<uint32_t>& added, uint32_t words) const;
    size_t bytes() const { return (ids_.capacity() + dense_.capacity()) * 4; }

  private:
    std::vector<uint32_t> ids_, dense_;
    uint32_t count_ = 0;
};

}  // namespace derivable
