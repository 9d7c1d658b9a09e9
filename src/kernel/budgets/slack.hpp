// How many tokens suffice to end a text, reckoned from above and soon found. No search: stacks cost at most so much (costs/), and lexemes in progress, names
// and inner texts so much more.
//
// After a token the stack costs no more than its dearest way on did before (StackCosts::most), and for each lexeme that begins in the token what that may add
// (LeftCorners). Which lexemes may begin in a token is told by its bytes (LexemeBegins). So nearly all steps of a text are known to be far enough from the end of
// its budget, many steps at once, and near it most tokens are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "budgets/ways_on.hpp"
#include "costs/left_corners.hpp"
#include "sequence/lexemes.hpp"

namespace derivable {

class Slack {
  public:
    static constexpr uint64_t kNone = EmbeddedText::Slack::kNone;

    Slack(const Engine& engine, Lexemes& lexemes, WaysOn& ways);

    // So many of the next tokens can be any that the grammar allows, if `left` may be taken in all. 0: it is not known that the next one can.
    uint64_t free_steps(const Parses& parses, uint64_t left);
    // Tokens that suffice to end the text, and what a token may add to them.
    EmbeddedText::Slack of(const Parses& parses);
    // Tokens that suffice, by the parse that takes the least. kNone: that is not known.
    uint64_t least(const Parses& parses);
    // What the lexemes of each token may add. Only where free_steps() knows something.
    const LexemeBegins::Each& by_token();
    // What a token may add beside its lexemes: an inner text, a name that goes on.
    uint64_t in_token() const;
    uint64_t per_token() const { return per_token_; }
    // What a meaning asks for. kNone: it does not say.
    uint64_t of_meaning(const Parse& t);
    // What the rest of a name may take, where some are listed that are longer than `Meaning::longest` promises of one.
    uint64_t longer_names(Slots::Place place);
    // The meaning says what it still asks for, or there is none.
    bool knows_meaning(const Parses& parses);

  private:
    void find_per_token();
    // Of an inner text that begins, all in all.
    uint64_t most_of_inner(const LeftCorners& corners) const;
    uint64_t of_stack(Cost cost, Environment environment) const;
    template <class Visit>
    void each_behind(const Parse& t, Visit visit);
    template <class Visit>
    void each_column(const Parse& t, Symbol newline, LexState single, Visit visit);
    uint64_t rest_of(LexState single);
    uint64_t rest_of_name(const Parse& t);
    uint64_t written(const Slots::Texts& texts);

    const Engine engine_;
    Lexemes& lexemes_;
    WaysOn& ways_;
    // Where lexemes must be kept apart, a terminal costs up to one token more.
    const uint64_t separated_ = engine_.spanner.lexer.policy() == Policy::kScannerless ? 1 : 2;
    LexemeBegins::Weights begins_{};  // what a lexeme may add, by its first byte
    LexemeBegins::Followers followers_{};
    LexemeBegins::Each by_token_;  // once it was asked for
    uint64_t per_token_ = kNone;   // what a token may add; kNone: not known
    uint64_t per_object_ = 0;      // what an open object may still ask for, beside what its rules do
    uint64_t rest_ = 0;            // of a lexeme in progress
    uint64_t inner_ = 0;           // of an inner text that begins
    const uint64_t end_ = engine_.environments.indentations.active() || engine_.slots.active()
                              ? 8
                              : 4;  // the end, what stands before the next lexeme, columns
    FlatMap<uint32_t> rests_;       // of lexemes in progress, by state
};

}  // namespace derivable
