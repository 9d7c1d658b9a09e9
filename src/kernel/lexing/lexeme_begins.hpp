// How many lexemes may begin in one token, and with which bytes.
//
// Where a lexeme may begin is told by two bytes: one that some lexeme begins with, behind one with which one ends before it, or at the beginning of the token. What
// a token adds up to depends on what each of its lexemes costs, which every grammar says otherwise; which bytes they are is a matter of the vocabulary. Of 128,256
// tokens of llama-3 and JSON that is some thousand combinations.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "support/byte_set.hpp"
#include "tokens/vocabulary.hpp"

namespace derivable {

class LexemeBegins {
  public:
    using Weights = std::array<uint64_t, 256>;  // of a lexeme by its first byte; 0: none begins so

    using Followers = std::array<ByteSet, 256>;  // by the byte that a lexeme ends with: those that may begin one directly behind it

    explicit LexemeBegins(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

    // The most that the lexemes of one token weigh together, or more. Cost: a walk of the vocabulary for followers that are new; then the number of
    // combinations.
    // PERF: the walk takes 2.5 ms of llama-3, more than compiling most schemas does.
    uint64_t most(const Weights& weights, const Followers& followers);
    // What those of each token weigh.
    struct Each {
        static constexpr uint16_t kMost = std::numeric_limits<uint16_t>::max();  // or more, or not known
        std::vector<uint16_t> by_token;                                          // kMost: also of what is no text
        std::vector<uint16_t> below;     // by node of the trie: the most of tokens that go through it
        std::vector<uint32_t> heaviest;  // tokens, the heaviest first
        void sort();
    };
    // Cost: a walk of the vocabulary.
    Each each(const Weights& weights, const Followers& followers) const;

  private:
    struct Combinations {
        ByteSet first;
        Followers followers;
        // One after the other: the number of its bytes, which may begin lexemes, and these, each as often as it does.
        std::vector<std::pair<uint8_t, uint8_t>> counts;  // byte, times
        std::vector<uint32_t> ends;                       // in `counts`
    };
    bool find(Combinations& made) const;  // false: there are too many
    uint64_t walk(const Weights& weights, const Followers& followers) const;

    const Vocabulary& vocabulary_;
    std::vector<Combinations> known_;
};

}  // namespace derivable
