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

#include "index/vocabulary.hpp"
#include "support/hashing.hpp"

namespace derivable {

// Cost: 12 bytes a node, and 32 bitmasks.
class Stretches {
  public:
    explicit Stretches(const Vocabulary& vocabulary);
    size_t num_nodes() const { return nodes_.size(); }
    uint32_t num_nodes(uint8_t byte) const { return begin_[byte + 1u] - begin_[byte]; }
    uint64_t num_nodes_of(uint64_t kinds) const;
    // visit(node) for those of a byte behind bytes of some kinds only, in order.
    template <typename Visit>
    void each(uint8_t byte, uint64_t kinds, Visit&& visit) const {
        for (uint32_t k = begin_[byte]; k < begin_[byte + 1u]; k++)
            if (!(above_[k] & ~kinds)) visit(nodes_[k]);
    }
    // A bitmask of the tokens of bytes of some kinds only, `most` at most.
    std::vector<uint32_t> tokens(uint64_t kinds, size_t most);
    size_t bytes() const { return nodes_.size() * 12 + long_.size() * 8 + (kRows + by_kinds_.size()) * vocabulary_.words() * 4; }

  private:
    static constexpr size_t kRows = 32;
    const std::vector<uint32_t>& all_of(uint64_t kinds);

    const Vocabulary& vocabulary_;
    // Nodes by byte, in order, and the kinds of all bytes above each.
    std::array<uint32_t, 257> begin_{};
    std::vector<uint32_t> nodes_;
    std::vector<uint64_t> above_;
    std::vector<std::vector<uint32_t>> no_longer_;                           // [n]: a bitmask of the tokens of n bytes at most
    std::vector<std::pair<uint32_t, uint32_t>> long_;                        // other tokens, with their lengths
    std::unordered_map<uint64_t, std::vector<uint32_t>, MixHash> by_kinds_;  // bitmasks
};

}  // namespace derivable
