// How many lexemes may begin in one token, and with which bytes.
//
// Where a lexeme may begin is told by two bytes: one that some lexeme begins with, behind one that some lexeme ends with, or at the beginning of the token. What
// a token adds up to depends on what each of its lexemes costs, which every grammar says otherwise; which bytes they are is a matter of the vocabulary. Of 128,256
// tokens of llama-3 and JSON that is some thousand combinations.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "index/vocabulary.hpp"
#include "support/byte_set.hpp"

namespace derivable {

class LexemeBegins {
  public:
    using Weights = std::array<uint64_t, 256>;  // of a lexeme by its first byte; 0: none begins so

    explicit LexemeBegins(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

    // The most that the lexemes of one token weigh together, or more. `last`: bytes that lexemes end with. Cost: a walk of the vocabulary for sets of bytes that
    // are new; then the number of combinations.
    // PERF: the walk takes 2.5 ms of llama-3, more than compiling most schemas does.
    uint64_t most(const Weights& weights, const ByteSet& last);

  private:
    struct Combinations {
        ByteSet first, last;
        // One after the other: the number of its bytes, which may begin lexemes, and these, each as often as it does.
        std::vector<std::pair<uint8_t, uint8_t>> counts;  // byte, times
        std::vector<uint32_t> ends;                       // in `counts`
    };
    bool find(Combinations& made) const;  // false: there are too many
    uint64_t walk(const Weights& weights, const ByteSet& last) const;

    const Vocabulary& vocabulary_;
    std::vector<Combinations> known_;
};

}  // namespace derivable
