// A mask the plain way: the whole algorithm on one page, with nothing that only makes it faster.
//
// It remembers nothing, so each mask is a walk of the whole vocabulary. The other ways to a mask (SpanWalk, MemberWalk, MaskCache) are held against it
// by the tests, and a compiled grammar can be told to use it alone (Accelerators::none).
//
// Source: Willard & Louf, Algorithms 3 and 4 (tokens by lexer state); Park et al., Algorithm 4 (what is left of a token behind a lexeme).
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "sequence/history.hpp"
#include "sequence/lexemes.hpp"
#include "tokens/vocabulary.hpp"

namespace derivable {

class PlainMask {
  public:
    // `lookahead`: lexemes that may end inside a token (DOMINO's k).
    PlainMask(const Engine& engine, Lexemes& lexemes, const Vocabulary& vocabulary, uint64_t lookahead)
        : engine_(engine),
          lexemes_(lexemes),
          vocabulary_(vocabulary),
          lookahead_(lookahead) {}

    // The tokens of text that may follow a parse, in vocabulary.words() words. Cost: each token once for each way to cut it into lexemes; as many calls
    // within each other as the longest token has bytes.
    std::vector<uint32_t> run(const Parse& parse);

  private:
    // What is left of some tokens: all that stands below these nodes of the vocabulary's trie.
    using Residual = std::vector<uint32_t>;
    // What a lexer state makes of a residual, whatever the parser says.
    struct Split {
        using InProgress = std::pair<LexState, Environment>;
        using Ended = std::tuple<TerminalId, Obligations, Environment, bool>;  // the last: within the token, and not where it begins
        std::map<InProgress, std::vector<uint32_t>> inside;                    // the tokens that end while the lexeme is in progress
        std::map<Ended, Residual> exits;                                       // what is left of tokens where the lexeme has ended
    };
    static constexpr uint32_t kRoot = ~0u;  // above all nodes of the trie

    void visit(const Residual& residual, const Parse& parse, uint64_t ended);
    void split(uint32_t node, LexState state, Environment environment, bool within, Split& into);
    template <class Visit>
    void each_child(uint32_t node, Visit visit) const;

    const Engine engine_;
    Lexemes& lexemes_;
    const Vocabulary& vocabulary_;
    const uint64_t lookahead_;
    std::vector<uint32_t> words_;
};

}  // namespace derivable
