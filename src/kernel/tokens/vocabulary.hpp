// What the kernel knows of a model's vocabulary.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "automata/transducer.hpp"
#include "tokens/trie.hpp"

namespace derivable {

struct Vocabulary;

// The tokens of a vocabulary as what their bytes stand for, which are those of another one. A token keeps its id where it is read from the main state of the
// transducer on, and the text may end behind it. What else it may be has ids behind these; equal texts have one.
struct Decoded {
    std::shared_ptr<const Vocabulary> of;
    std::shared_ptr<const Transducer> transducer;
    static constexpr uint32_t kNothing = ~0u;
    // A token behind which the text may not end: what it writes (kNothing: nothing), and the same with some characters that can complete it: all of those that
    // one byte more does, and some others.
    struct Unfinished {
        uint32_t token, text;
        std::shared_ptr<const std::vector<uint32_t>> completed;
        Transducer::State behind;
    };
    struct Readings {                                       // of tokens from one state on
        std::vector<uint32_t> same;                         // a mask: of those that are read so from the main state on, too
        std::vector<std::pair<uint32_t, uint32_t>> others;  // id and token
        std::vector<Unfinished> unfinished;
    };
    std::unordered_map<Transducer::State, Readings> readings;  // from states that are worth it
    std::array<uint32_t, 256> of_byte;                         // an id that is just this byte
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
    uint32_t num_tokens() const { return decoded ? decoded->of->size() : size(); }  // the ids behind them are readings
    uint32_t size() const { return uint32_t(bytes.size()); }
    uint32_t words() const { return (size() + 31) / 32; }
};

}  // namespace derivable
