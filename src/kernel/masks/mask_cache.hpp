// Level 4 of the index: masks by lexer state and as much of stack and environment as they depend on.
//
// A mask stands in a trie under its lexer state and the states of the stack from its top down (Stacks::signature), as far as it has looked, so a
// stack finds it after as many steps as it depends on states.
//
// Under scannerless a mask is kept by its *endings*, too: the stacks behind the lexeme in progress, as it may end. They are all that the mask
// depends on beside the lexer state, and many stacks lead to the same ones: after whichever of 40 optional keys another one is begun, behind
// its name the parser stands in one state. A stack that is new, but not its endings, finds its mask by these.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "masks/by_parts.hpp"
#include "masks/reach_trie.hpp"
#include "sequence/environment.hpp"
#include "sequence/history.hpp"
#include "support/arena.hpp"
#include "support/hashing.hpp"
#include "tokens/packed_mask.hpp"

namespace derivable {

class MaskCache {
  public:
    // Answers that look further down the stack than this are not worth a key; the stack nodes remember what they found anyway.
    static constexpr int kMaxHops = 32;

    MaskCache(Stacks& stacks, Environments& environments) : stacks_(stacks), by_stack_(environments), by_endings_(environments) {}

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

    // What a mask is kept by: so many states below the top of the stack, and so much of the environment (ReachTrie::Beside).
    struct Key {
        uint32_t hops = 0;
        uint8_t beside = 0;
    };
    Key key_of(const Parse& t, Reach reach) const { return {uint32_t(reach.hops), by_stack_.beside_of(t.environment, reach)}; }
    // The mask of a parse, if it is known; valid until clear().
    const PackedMask* find(const Parse& t, Key* key = nullptr);
    // Its number, or -1. Until clear() no other mask has it.
    int32_t number(const Parse& t, Key* key = nullptr);
    // The number of a mask, to be kept; equal ones are one.
    int32_t row_of(PackedMask mask);
    const PackedMask& row(int32_t number) const { return rows_[uint32_t(number)]; }
    // Null: it cannot be kept.
    const PackedMask* keep(const Parse& t, Key key, int32_t row);
    // The same by the endings of a parse, so many words of each (Stacks::future); from then on it is known by the parse's own stack, too.
    const PackedMask* find(const Parse& t, const Endings& endings, uint32_t* most = nullptr);
    const PackedMask* keep(const Parse& t, const Endings& endings, Reach behind, int32_t row);
    const PackedMask* keep(const Parse& t, const Endings& endings, uint32_t most, uint8_t beside, int32_t row);
    // Numbers of masks by what they are made of.
    ByParts& by_parts() { return by_parts_; }
    void clear();
    uint32_t num_cleared() const { return num_cleared_; }  // how often

    uint64_t bytes() const { return bytes_ + by_parts_.bytes(); }
    size_t size() const { return num_rows_; }  // different masks
    uint32_t num_keys() const { return by_stack_.num_nodes() + by_endings_.num_nodes(); }
    bool is_large() const { return num_keys() > kMaxNodes; }
    // Calls visit(lexer state, masks, keys, states looked at by the longest of them) for each lexer state.
    void each(const std::function<void(LexState, const std::vector<const PackedMask*>&, uint64_t, uint64_t)>& visit) const;
    // Calls visit(lexer state, key, number of the mask) for each key, by the parse's own stack.
    void each_key(const std::function<void(LexState, const ReachTrie::Written&, int32_t)>& visit) const;
    // The key under which the mask of a parse stands, and its number; none if it is not known.
    std::optional<std::pair<ReachTrie::Written, int32_t>> written(const Parse& t);

  private:
    static constexpr uint32_t kMaxNodes = 1u << 20;
    // Both make signature_; false: it is too long.
    bool sign(const Parse& t, Key key);
    bool sign(const Endings& endings, uint32_t hops, size_t most);
    // As keep(), with the endings signed.
    const PackedMask* keep_signed(const Parse& t, const Endings& endings, uint32_t most, uint8_t beside, int32_t row);
    void put_words(size_t number, size_t stacks);  // of futures_, into it
    // What a parse's own stack was looked at for the first words of its endings.
    Reach own(const Endings& endings, size_t words) const;

    Stacks& stacks_;
    ReachTrie by_stack_, by_endings_;  // of lexer states: rows
    ByParts by_parts_;
    NumbersByHash row_numbers_;
    Pages<PackedMask> rows_;
    uint32_t num_rows_ = 0;
    uint64_t bytes_ = 0;
    uint32_t num_cleared_ = 0;
    ReachTrie::Words signature_;
    std::array<std::vector<uint64_t>, Endings::kMost> futures_;  // of endings, one by one (Stacks::future)
    std::array<std::vector<int>, Endings::kMost> looked_;
};

}  // namespace derivable
