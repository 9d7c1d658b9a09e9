// Which tokens of a residual may follow on a stack: the part of a mask behind an exit.
//
// Under scannerless nothing else matters behind a lexeme, so what is behind `"` of any key is worked out once, not once for each key that was
// begun. As masks are (MaskCache), these are kept by as much of the environment and of the stack's future as they have looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "index/residuals.hpp"
#include "index/token_set.hpp"
#include "matching/by_parts.hpp"
#include "matching/reach_trie.hpp"

namespace derivable {

class ResidualMasks {
  public:
    ResidualMasks(Stacks& stacks, Environments& environments, uint32_t num_words)
        : stacks_(stacks),
          environments_(environments),
          trie_(environments),
          sorter_(num_words) {}

    struct Known {
        const TokenSet* tokens;  // valid until clear()
        uint32_t number;         // of them; equal sets are one
        Reach reach;             // of the stack that was asked for
    };
    std::optional<Known> find(ResidualId residual, Frontier stack, Environment environment);
    // The number of a set by what it is made of (MemberWalk::Union), or else of what `make` makes.
    template <class Make>
    uint32_t number(std::vector<uint32_t> parts, Make make) {
        if (const uint32_t* known = by_parts_.find(parts)) return *known;
        const uint32_t number = number_of(make());
        by_parts_.keep(std::move(parts), number);
        return number;
    }
    void normalize(TokenSet& tokens) { tokens.normalize(sorter_); }
    const TokenSet* tokens(uint32_t number) const { return sets_[number]; }
    // To be found again, if it did not look too far for that.
    void keep(ResidualId residual, Frontier stack, Environment environment, uint32_t number, Reach reach);
    void clear();
    size_t bytes() const { return bytes_ + by_parts_.bytes() + trie_.bytes(); }

  private:
    struct Hash {
        size_t operator()(const TokenSet& set) const { return set.hash(); }
    };
    uint32_t number_of(TokenSet tokens);
    struct Kept {
        uint32_t number;
        uint32_t tally;  // Reach::tally, where it is not of the innermost object
    };

    Stacks& stacks_;
    Environments& environments_;
    ReachTrie trie_;  // of residuals: in kept_
    std::vector<Kept> kept_;
    std::unordered_map<TokenSet, uint32_t, Hash> numbers_;
    std::vector<const TokenSet*> sets_;
    ByParts by_parts_;
    size_t bytes_ = 0;  // of kept_ and the sets
    TokenSet::Sorter sorter_;
    ReachTrie::Words words_;
    std::vector<int> looked_;
};

}  // namespace derivable
