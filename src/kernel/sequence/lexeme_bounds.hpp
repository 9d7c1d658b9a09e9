// Bounds on the number of tokens that one lexeme lies in: a reasoning of 500 tokens at most, a name of 10.
//
// A token lies in a lexeme if at least one byte of it does. At the end of each token, the lexemes in progress whose terminals are bounded
// (Terminals::max_tokens) have one token more. A lexeme that has all its tokens ends there: its terminal leaves the lexer state, and the parse goes on as if
// the next lexeme began. Before that, a lexeme is given up if it lacks more bytes than tokens are left. One token may be as short as a byte, so what is not
// given up can always be completed.
//
// The bound is no matter of the index: masks are kept by lexer state and stack as ever. Only where the next token could lead too far, some tokens are taken out.
#pragma once

#include <cstdint>

#include "sequence/lexemes.hpp"
#include "sequence/stepper.hpp"
#include "support/hashing.hpp"

namespace derivable {

class LexemeBounds {
  public:
    LexemeBounds(const Engine& engine, Lexemes& lexemes, Stepper& stepper) : engine_(engine), lexemes_(lexemes), stepper_(stepper) {}

    bool active() const { return engine_.terminals.some_are_bounded(); }
    // The terminals are there. Throws LimitExceeded: the shortest text of one has more bytes than its bound.
    void prepare();
    // A token of text ends behind these parses.
    void end_token(Parses& parses, const Stepper::Keep& keep);
    // Behind some token of text end_token() may give up a lexeme; false is sure.
    bool may_refuse(const Parses& parses) const;

  private:
    // Bytes that a lexeme lacks, of a state of one member.
    uint64_t rest(LexState single);
    // The parses stay as they are, but for the count.
    bool count_far(Parses& parses);
    // Some member is bounded, and judge(single, terminal, bound) says yes of it.
    template <class Judge>
    bool some_member(LexState lex, Judge judge) const;
    // Such a member, in so many tokens, ends or is given up.
    bool ends(LexState single, TerminalId terminal, uint32_t bound, uint32_t tokens);
    uint64_t longest_rest(TerminalId terminal) const;
    void end_lexeme(const Parse& t, TerminalId terminal, Parses& parses, const Stepper::Keep& keep);

    // Some member is bounded.
    bool is_bounded(LexState lex);

    const Engine engine_;
    Lexemes& lexemes_;
    Stepper& stepper_;
    // PERF: nearly all tokens are far from any bound, which one comparison tells (benchmarks/parts.py: a mask and a step cost what they do without bounds;
    // looking at each member cost 0.8 us more).
    uint64_t far_ = ~0ULL;   // in so many tokens no lexeme can be given up; 0: one that begins within a token may already lack too much
    FlatMap<bool> bounded_;  // by lexer state
};

}  // namespace derivable
