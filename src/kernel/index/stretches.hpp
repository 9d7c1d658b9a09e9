// The vocabulary by the kinds of its tokens' bytes: tokens of characters of some kinds only, and nodes behind such characters.
//
// In `[0-9A-F]{8}` each count is a state, and a walk from each met all tokens of these characters anew. They are a set that depends on the kinds
// and on how many may follow; what is left to be walked begins with a byte of another kind, and such nodes are found by their byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/hashing.hpp"
#include "tokens/vocabulary.hpp"

namespace derivable {

// Cost: 16 bytes a node, and 104 to 168 bitmasks.
class Stretches {
  public:
    explicit Stretches(const Vocabulary& vocabulary);
    // Of nodes behind whole characters, or the first ones of a token.
    size_t num_nodes() const { return nodes_.size(); }
    uint32_t num_nodes(uint8_t byte) const { return begin_[byte + 1u] - begin_[byte]; }
    uint64_t num_nodes_of(uint64_t kinds) const;
    // visit(node, number of characters before it) for those of a byte behind characters of some kinds only, in order.
    template <typename Visit>
    void each(uint8_t byte, uint64_t kinds, Visit&& visit) const {
        for (uint32_t k = begin_[byte]; k < begin_[byte + 1u]; k++)
            if (!(nodes_[k].above & ~kinds)) visit(nodes_[k].node, size_t(nodes_[k].characters));
    }
    // A bitmask of the tokens of characters of some kinds only, `most` at most. The last one need not be whole.
    std::vector<uint32_t> tokens(uint64_t kinds, size_t most);
    size_t bytes() const {
        return nodes_.size() * sizeof(Node) + long_.size() * 8 + (kRows + kKinds + kGroups + with_others_.size()) * vocabulary_.words() * 4;
    }

  private:
    static constexpr size_t kRows = 32, kKinds = 64, kGroups = 8;
    struct Node {
        uint64_t above;  // kinds of all bytes
        uint32_t node, characters;
    };
    using Bitmask = std::vector<uint32_t>;
    const Bitmask& with_others(uint64_t kinds);

    const Vocabulary& vocabulary_;
    // By byte, in order.
    std::array<uint32_t, 257> begin_{};
    std::vector<Node> nodes_;
    std::vector<Bitmask> no_longer_;                              // [n]: tokens of n characters at most
    std::vector<std::pair<uint32_t, uint32_t>> long_;             // other tokens, with their lengths
    std::vector<Bitmask> with_;                                   // [kind]: tokens with a byte of it
    std::vector<Bitmask> with_some_;                              // [n]: tokens with a byte of some of eight kinds
    std::unordered_map<uint64_t, Bitmask, MixHash> with_others_;  // by kinds: tokens with a byte of none of them
};

}  // namespace derivable
