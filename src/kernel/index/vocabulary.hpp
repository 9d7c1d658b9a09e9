// What the kernel knows of a model's vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "automata/transducer.hpp"
#include "index/trie.hpp"

namespace derivable {

struct Vocabulary;

// The tokens of a vocabulary as what their bytes stand for: those of another one. Their ids stay.
struct Decoded {
    std::shared_ptr<const Vocabulary> of;
    std::shared_ptr<const Transducer> transducer;
    // Tokens behind which it is in another state than before them (Transducer::kMain): they stand for no text by themselves, and are no tokens of text
    // here. By what they write; and the states behind them, by token.
    Trie unfinished;
    std::vector<uint32_t> silent;                // those of them that write nothing
    std::unordered_map<uint32_t, uint16_t> behind;
};

// The vocabulary as the kernel sees it. Immutable, shared.
struct Vocabulary {
    std::vector<std::string> bytes;  // per token; empty: never text (special or missing)
    std::vector<uint32_t> eos;
    Trie trie;
    std::shared_ptr<const Decoded> decoded;  // null: its tokens stand for themselves
    // Tokens with a comma: first those with a '"' before the last one, then the others, each by their bytes.
    struct Comma {
        uint32_t token;
        int comma, quote, bracket;  // places in the token: of the last comma, and of the last '"' and '[' before it or -1
        // The first and the second '"': its place or -1, and a number that is the same where what follows from there on is.
        struct Quote {
            int place = -1;
            uint32_t rest = 0;
        } quotes[2];
    };
    std::vector<Comma> commas;
    size_t num_quoted = 0;
    void find_commas();
    // The trie and the commas, of the bytes. `order`: the tokens of text in the order of their bytes, if that is known.
    void index(const std::vector<uint32_t>& order = {});
    // From tables as they are saved: little-endian lengths (-1: never text) of `size` tokens, their bytes, and the ids of those of text in
    // the order of their bytes (or nothing). Throws BadArtifact.
    static Vocabulary from_tables(std::string_view lengths, std::string_view blob, std::string_view order, std::vector<uint32_t> eos);
    // The vocabulary that this one is, decoded.
    static Vocabulary of_decoded(std::shared_ptr<const Vocabulary> of, std::shared_ptr<const Transducer> transducer);
    uint32_t size() const { return uint32_t(bytes.size()); }
    uint32_t words() const { return (size() + 31) / 32; }
};

}  // namespace derivable
