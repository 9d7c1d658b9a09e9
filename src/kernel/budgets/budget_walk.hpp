// A mask within a budget, under scannerless: the walk of a mask (MemberWalk), asking of each set of tokens what it takes to end behind it.
//
// Tokens that end inside a lexeme are grouped by the rest of it (index/lexeme_rests), and behind the lexeme stands a known witness. So a hundred thousand tokens
// are some tens of questions, each about a short text before a witness.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "budgets/witnesses.hpp"
#include "masks/walk_bounds.hpp"
#include "sequence/lexemes.hpp"

namespace derivable {

class BudgetWalk {
  public:
    static constexpr uint64_t kNone = ~0ULL;
    // `left`: tokens, without the end token.
    BudgetWalk(const Engine& engine, Lexemes& lexemes, Witnesses& witnesses, const Vocabulary& vocabulary, uint64_t left)
        : engine_(engine),
          lexemes_(lexemes),
          witnesses_(witnesses),
          vocabulary_(vocabulary),
          left_(left) {}

    // Adds tokens that can end in time to `words`. Returns what any token takes at most, that one included; kNone where that is not known of some. Throws
    // TooAmbiguous.
    uint64_t run(const Parses& parses, uint32_t* words);
    // Of a token, the witness for which run() allows it. Null where it does not, or not all is known.
    Witness behind(uint32_t token, const Parses& parses);

  private:
    struct Item {
        ResidualId residual;
        LexState lex;
        Frontier stack;
        Environment environment;
        uint32_t depth;   // lexemes before this one
        uint32_t tokens;  // as Parse::tokens
    };
    void visit(const Item& x, uint32_t* words);
    void visit_member(const Item& x, LexState single, uint32_t* words);
    void end_inside(const Item& x, LexState single, const Split& split, const std::vector<After>& behind, uint32_t* words);
    void leave(const Item& x, const Split& split, const After& after, uint32_t* words);

    const Engine engine_;
    Lexemes& lexemes_;
    Witnesses& witnesses_;
    const Vocabulary& vocabulary_;
    const uint64_t left_;
    uint64_t need_ = 0;
    // Of behind().
    struct Wanted {
        uint32_t token;
        uint64_t need = kNone;
        std::string text;  // before the witness
        Witness rest;
    };
    std::optional<Wanted> wanted_;
    WalkBounds bounds_;
};

}  // namespace derivable
