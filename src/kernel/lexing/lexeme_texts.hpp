// Texts that complete a lexeme: a shortest one from each state of its automaton, and others for where that one will not do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lexing/lexeme_begins.hpp"
#include "lexing/lexer.hpp"
#include "support/hashing.hpp"
#include "tokens/fewest_tokens.hpp"

namespace derivable {

class LexemeTexts {
  public:
    LexemeTexts(Lexer& lexer, const FewestTokens& tokens);

    // A text that completes the lexeme in progress, of a state of one member: a shortest one, or nearly. None if it was not found. Completing it
    // further on goes on with the same text. Cost: a search of the automaton, once for each state that its text leads through.
    std::optional<std::string> shortest(LexState single);
    // The same, and others that are not much longer, `most` at most: the shortest first.
    std::vector<std::string> several(LexState single, size_t most);
    // A character of which the fewest tokens make a long text.
    uint8_t filler() const { return filler_; }
    // The state before the first byte of a terminal.
    LexState start(TerminalId terminal);
    // What is known of all texts of a terminal: bytes with which they begin and end; some text of so many bytes completes any beginning.
    struct Outline {
        ByteSet first, last;
        uint64_t longest_rest = 0;
    };
    const Outline& outline(TerminalId terminal);
    // By the byte that a lexeme ends with: bytes that may begin the one directly behind it.
    using Followers = LexemeBegins::Followers;
    // Adds those of a terminal, of some bytes, and perhaps others: under longest match a keyword does not end before a letter. `rival`: a terminal that competes
    // wherever this one does. Cost: each state of the automata of both with each kind of byte.
    void add_followers(TerminalId terminal, TerminalId rival, const ByteSet& of, Followers& followers);

  private:
    struct Step {
        uint8_t byte = 0;
        LexState next = kNoState;  // kNoState: the lexeme is complete
    };
    bool find_by_rule(LexState single);
    bool search(LexState single, bool plain);
    bool keep_along(LexState single, const std::string& text);
    void keep(LexState single, Step step) { steps_[single.index()] = step; }

    Lexer& lexer_;
    uint8_t filler_ = 'a';
    FlatMap<Step> steps_;
    IdVector<TerminalId, LexState> starts_;
    std::unordered_map<TerminalId, Outline> outlines_;
};

}  // namespace derivable
