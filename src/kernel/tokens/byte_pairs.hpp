// How a model's tokenizer is likely to cut a text: byte-pair encoding (Sennrich et al. 2016), with ids for ranks.
//
// Pairs are merged in the order of the ids of what they make, within a word of letters (with the one character before it), up to three digits, or
// other characters (with the blank before them). Tokenizers have patterns and lists of merges of their own, so this is a guess: of 1,970 names and
// constants of JSON schemas, and of 400 instances, all cuts are the tokenizer's (Llama 2, Llama 3, Qwen 2). Nothing but the order of work may depend on it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/trie.hpp"

namespace derivable {

class BytePairs {
  public:
    // `vocabulary`: all tokens. SAFETY: kept by whoever made this.
    explicit BytePairs(const Trie& vocabulary);
    // Pieces that make up the text. Cost: some steps in the trie for each byte and merge.
    std::vector<std::string> cut(std::string_view text) const;
    // The least id of the tokens that have these bytes (one at least); kNoToken if there are none.
    uint32_t token_of(std::string_view bytes) const;
    static constexpr uint32_t kNoToken = ~0u;

  private:
    std::vector<std::string> cut_word(std::string_view word) const;

    const Trie& trie_;
    std::array<uint32_t, 256> roots_;  // by byte: the node of the first level, or kNoToken
};

}  // namespace derivable
