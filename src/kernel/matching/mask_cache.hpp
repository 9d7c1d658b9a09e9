// Level 4 of the index: masks by lexer state and as much of stack and environment as they depend on.
//
// A trie for each lexer state. Its words are what is looked at of the environment, then the stack from its top down (Stacks::signature), as
// far as some mask of that lexer state has looked. A mask stands where its own reach ends, so a stack finds it after as many steps as it
// depends on states.
//
// Under scannerless a mask is kept by its *endings*, too: the stacks behind the lexeme in progress, as it may end. They are all that the mask
// depends on beside the lexer state, and many stacks lead to the same ones: after whichever of 40 optional keys another one is begun, behind
// its name the parser stands in one state. A stack that is new, but not its endings, finds its mask by these.
#pragma once

#include <array>
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

    // The parser behind the lexeme in progress, for each member of the lexer state that there is; of few.
    struct Endings {
        static constexpr size_t kMost = 4;
        struct Ending {
            Symbol symbol;
            After after;
        };
        std::array<Ending, kMost> all;
        size_t size = 0;  // 0: masks are not kept by them
        const Ending* begin() const { return all.data(); }
        const Ending* end() const { return all.data() + size; }
        const After* of(Symbol symbol) const;  // null: it may not be that
    };

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
    // The same by the endings of a parse, so many words of each (Stacks::future); from then on it is known by the parse's own stack, too.
    const Mask* find(const Parse& t, const Endings& endings, uint32_t* most = nullptr);
    const Mask* keep(const Parse& t, const Endings& endings, Reach behind, const Mask& words);
    const Mask* keep(const Parse& t, const Endings& endings, uint32_t most, uint8_t beside, const Mask& words);
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
        uint32_t node, hops;  // of the longest key so far; by endings: words of each
        uint8_t beside = 0;   // of some mask
    };
    using Roots = std::unordered_map<LexState, Root>;
    struct Found {
        int32_t row = -1;
        size_t words = 0;  // behind that of the environment, at which it stands
        uint8_t beside = 0;
    };
    // Both make signature_; false: it is too long.
    bool sign(const Parse& t, Key key);
    bool sign(const Endings& endings, uint32_t hops, size_t most);
    // What a parse's own stack was looked at for the first words of its endings.
    Reach own(const Endings& endings, size_t words) const;
    Found look_up(const Root& root, Environment environment);
    int32_t row_of(const Mask& words);
    void put(Roots& roots, const Parse& t, Key key, int32_t row);
    uint64_t environment_word(Environment e, uint8_t beside) const;
    uint64_t tally_word(Environment e, uint8_t beside) const;

    Stacks& stacks_;
    const Environments& environments_;
    Roots roots_, by_endings_;
    Pages<Node> nodes_;
    uint32_t num_nodes_ = 0;
    std::unordered_map<Mask, uint32_t, WordsHash> row_ids_;
    std::vector<const Mask*> rows_;
    uint64_t bytes_ = 0;
    std::vector<uint64_t> signature_;
    std::array<std::vector<uint64_t>, Endings::kMost> futures_;  // of endings, one by one (Stacks::future)
    std::array<std::vector<int>, Endings::kMost> looked_;
};

}  // namespace derivable
