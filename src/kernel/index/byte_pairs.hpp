// How a model's tokenizer is likely to cut a text: byte-pair encoding (Sennrich et al. 2016), with ids for ranks.
//
// Pairs are merged in the order of the ids of what they make, within a word of letters (with the one character before it), up to three digits, or
// other characters. Tokenizers have patterns and lists of merges of their own, so this is a guess: of 4,000 names and constants of JSON schemas 99.9% of
// the cuts are the tokenizer's (Llama 2, Llama 3, Qwen 2). Nothing but the order of work may depend on it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "index/trie.hpp"

namespace derivable {

// Pieces that make up the text. `vocabulary`: the trie of all tokens. Cost: that of a few steps in it for each byte and merge.
std::vector<std::string> byte_pairs(const Trie& vocabulary, std::string_view text);

}  // namespace derivable
