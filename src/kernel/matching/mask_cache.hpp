// Level 4 of the index: masks by lexer state and as much of stack and environment as they depend on.
//
// A trie for each lexer state. Its words are what is looked at of the environment, then the stack from its top down (Stacks::signature), as
// far as some mask of that lexer state has looked. A mask stands where its own reach ends, so a stack finds it after as many steps as it
// depends on states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "matching/environment.hpp"
#include "matching/history.hpp"
#include "support/arena.hpp"
#include "support/hashing.hpp"

namespace derivable {

class MaskCache {
  public:
    using Mask = std::vector<uint32_t>;
    // Answers that look further down the stack than this are not worth a key; the stack nodes remember what they found anyway.
    static constexpr int kMaxHops = 32;

    MaskCache(Stacks& stacks, const Environments& environments) : stacks_(stacks), environments_(environments) {}

    // What a mask is kept by: so many states below the top of the stack, and of the environment:
    struct Key {
        enum : uint8_t { kBrackets = 1, kBlocks = 2, kTopTally = 4, kTallies = 8, kAll = 15 };
        uint32_t hops = 0;
        uint8_t beside = 0;
    };
    Key key_of(const Parse& t, Reach reach) const;
    // The mask of a parse, if it is known; valid until clear().
    const Mask* find(const Parse& t, Key* key = nullptr);
    // Null: it cannot be kept.
    const Mask* keep(const Parse& t, Key key, const Mask& words);
    void clear();

    uint64_t bytes() const { return bytes_; }
    size_t size() const { return rows_.size(); }  // different masks
    uint32_t num_keys() const { return num_nodes_; }
    bool is_large() const { return num_nodes_ > kMaxNodes; }
    // Calls visit(lexer state, masks, keys, states looked at by the longest of them) for each lexer state.
    void each(const std::function<void(LexState, const std::vector<const Mask*>&, uint64_t, uint64_t)>& visit) const;

  private:
    static constexpr uint32_t kMaxNodes = 1u << 20;
    struct Node {
        int32_t row = -1;
        uint32_t first = kNoNode;  // nearly all have one child, most often the next node in memory
        uint64_t first_word = 0;
        uint8_t tally = 0;  // looked at by rows below, which are kept by it
        std::unique_ptr<std::unordered_map<uint64_t, uint32_t, MixHash>> others;
        static constexpr uint32_t kNoNode = ~0u;
        uint32_t child(uint64_t word) const;
        void add_child(uint64_t word, uint32_t node);
    };
    struct Root {
        uint32_t node, hops;  // of the longest key so far
        uint8_t beside = 0;   // of some mask
    };
    uint64_t environment_word(Environment e, uint8_t beside) const;
    uint64_t tally_word(Environment e, uint8_t beside) const;

    Stacks& stacks_;
    const Environments& environments_;
    std::unordered_map<LexState, Root> roots_;
    Pages<Node> nodes_;
    uint32_t num_nodes_ = 0;
    std::unordered_map<Mask, uint32_t, WordsHash> row_ids_;
    std::vector<const Mask*> rows_;
    uint64_t bytes_ = 0;
    std::vector<uint64_t> signature_;
};

}  // namespace derivable
