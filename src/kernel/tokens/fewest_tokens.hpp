// How few tokens of a vocabulary spell a text.
//
// Any way of cutting a text into tokens is allowed, since masks are about bytes. So the fewest are found from the end of the text backwards: from a place on
// it takes one more than from behind the best token that begins there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokens/vocabulary.hpp"

namespace derivable {

class FewestTokens {
  public:
    static constexpr uint32_t kNone = ~0u;  // no tokens spell it

    explicit FewestTokens(const Vocabulary& vocabulary);
    size_t longest() const { return longest_; }  // token, in bytes
    // There is a token for each byte that UTF-8 has, as in vocabularies of models.
    bool spells_everything() const { return spells_everything_; }
    // Calls visit(length, token) for the tokens that a text begins with, the shortest first.
    template <class Visit>
    void each_prefix(std::string_view text, Visit visit) const {
        const Trie& trie = vocabulary_.trie;
        if (text.empty()) return;
        uint32_t node = first_[uint8_t(text[0])];
        for (size_t length = 1; node != kNoNode; length++) {
            if (trie.token_begin[node] < trie.token_begin[node + 1]) visit(length, trie.tokens[trie.token_begin[node]]);
            if (length == text.size()) return;
            node = child(node, uint8_t(text[length]));
        }
    }
    // The number for a text behind which something known stands: `rest` begins it, and counts[i] are needed from there on. kNone: no tokens spell it.
    uint32_t of(std::string_view text, std::string_view rest, const uint32_t* counts) const;
    // The number for all of a text; kNone if there are no such tokens. Cost: the text times the length of tokens that it begins with.
    uint32_t of(std::string_view text) const;
    // The text in so many pieces, each a token; byte by byte where no tokens spell it.
    std::vector<std::string_view> cut(std::string_view text) const;

  private:
    static constexpr uint32_t kNoNode = ~0u;
    // The numbers from each place of a text on, as of().
    std::vector<uint32_t> from_each(std::string_view text, std::string_view rest, const uint32_t* counts) const;
    uint32_t child(uint32_t node, uint8_t byte) const;

    const Vocabulary& vocabulary_;
    std::array<uint32_t, 256> first_;  // nodes of the trie
    size_t longest_ = 1;
    bool spells_everything_ = true;
};

}  // namespace derivable
