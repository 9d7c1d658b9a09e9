// Tokens that end inside a lexeme, by the rest of it: a shortest text that completes it behind the token.
//
// In a string nearly all tokens have the rest `"`; those that end within a character have some bytes more. So what it takes to end behind each of 100,000 tokens
// is a question about a handful of texts. Like splits, this depends on languages and the vocabulary only, so it is worked out once for all strings.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "index/residuals.hpp"
#include "lexing/lexeme_texts.hpp"
#include "lexing/lexer.hpp"
#include "tokens/token_set.hpp"

namespace derivable {

struct LexemeRest {
    std::string text;
    TokenSet tokens;
};

class LexemeRests {
  public:
    LexemeRests(const Vocabulary& vocabulary, Lexer& lexer, Residuals& residuals)
        : vocabulary_(vocabulary),
          lexer_(lexer),
          residuals_(residuals),
          fewest_(vocabulary),
          texts_(lexer, fewest_) {}

    const FewestTokens& fewest_tokens() const { return fewest_; }
    LexemeTexts& texts() { return texts_; }
    // Of a state of one member, under scannerless as AlikeStates::equal() has it. Tokens of which no rest is known are left out. Some may be there that a bound on the
    // number of characters does not let through. Cost: a walk of what is left of the tokens, once.
    const std::vector<LexemeRest>& of(ResidualId residual, LexState single);
    // Residuals have other numbers from now on.
    void forget() { known_.clear(), bytes_ = 0; }
    size_t bytes() const { return bytes_; }

  private:
    std::vector<LexemeRest> make(ResidualId residual, LexState single);
    std::vector<LexemeRest> with_need(const std::vector<LexemeRest>& all, uint64_t need, uint64_t others);
    std::vector<LexemeRest> walk(ResidualId residual, LexState single);
    std::vector<LexemeRest> within(const std::vector<LexemeRest>& all, LexState single, uint64_t room);

    const Vocabulary& vocabulary_;
    Lexer& lexer_;
    Residuals& residuals_;
    const FewestTokens fewest_;
    LexemeTexts texts_;
    std::unordered_map<uint64_t, std::unique_ptr<const std::vector<LexemeRest>>, MixHash> known_;
    size_t bytes_ = 0;
};

}  // namespace derivable
