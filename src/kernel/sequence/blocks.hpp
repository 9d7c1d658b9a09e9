// What lexemes mean to a grammar with indentation; the definition is in docs/lexing.md.
//
// A newline lexeme carries a column. When it ends the parser is told what that means: a line of the same block, a deeper block (INDENT), or
// the end of blocks (DEDENT). Between brackets, and where no line may end, it means nothing.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "index/spanner.hpp"
#include "liveness/liveness.hpp"
#include "sequence/environment.hpp"
#include "sequence/terminals.hpp"

namespace derivable {

class Blocks {
  public:
    Blocks(Stacks& stacks, Spanner& spanner, Liveness& liveness, const Terminals& terminals, Indentations& indentations)
        : stacks_(stacks),
          spanner_(spanner),
          lexer_(spanner.lexer),
          liveness_(liveness),
          terminals_(terminals),
          indentations_(indentations) {}

    bool active() const { return indentations_.active(); }
    // `at_end`: the text ends with the lexeme.
    After after(Symbol symbol, Frontier f, Environment environment, bool at_end);
    // The text may end on this stack: every open block can be closed.
    Answer<bool> may_end(Frontier f, Environment environment);
    // Whether a lexeme that may be a newline can be completed.
    Answer<bool> alive_in_newline(LexState lex, Frontier f, Environment environment);
    // Wherever a newline lexeme has got, it can go on to another line. Then its column so far decides nothing.
    bool newline_goes_on(TerminalId newline);

  private:
    class NewlineSearch;
    After after_newline(Frontier f, Environment environment, bool at_end);
    void only_if_goes_on(After& after);
    Answer<bool> closes(Frontier f, Environment environment);
    // What may become of a lexeme that may be a newline, whatever the stack: how it may end, and the states in which it is none any more.
    struct Rest {
        std::vector<Lexer::Exit> exits;
        std::vector<LexState> others;
    };
    const Rest& rest_of_newline(LexState lex);
    const std::vector<uint8_t>& bytes_in_newlines();

    Stacks& stacks_;
    Spanner& spanner_;  // of the grammar alone
    Lexer& lexer_;
    Liveness& liveness_;
    const Terminals& terminals_;
    Indentations& indentations_;
    FlatMap<uint32_t> newline_questions_;  // by lexer state and environment: consecutive numbers from 1 on
    uint32_t num_newline_questions_ = 0;
    FlatMap<Answer<bool>> newline_alive_;  // by one of those and the frontier
    std::unordered_map<LexState, Rest> rests_;
    std::vector<uint8_t> bytes_in_newlines_;
    const Renumbering::Told nodes_{stacks_.nodes(), [this] { newline_alive_ = {}, newline_questions_ = {}; }};
};

}  // namespace derivable
