// Dead ends. Under longest match a stack that the parser likes may still have no future: after `NAME` in `NAME NAME ";"` every
// letter makes the first name longer, so nothing can ever start the second. (Park et al. assume this away in Lemma C.7.)
//
// Two answers:
//
// - *Separability*, decided once: from every boundary that lexing can reach, every terminal can be spelled next, through
//   ignored lexemes if need be. Then any stack the parser likes has a future, and questions cost nothing.
// - Otherwise *exactly*, by summaries: which boundary conditions can a parse of symbol X, begun under given conditions on
//   top of a given stack, end with? The least fixpoint over (conditions, stack top, symbol) is Bar-Hillel's intersection of the
//   grammar with the regular set of spellable terminal sequences, computed where it is asked for.
#pragma once

#include "lexer.hpp"
#include "stacks.hpp"

namespace derivable {

class Liveness {
  public:
    Liveness(Lexer& lexer, Stacks& stacks, const std::vector<uint32_t>& to_lexer, const std::vector<char>& ignored, uint64_t max_steps)
        : lexer_(lexer), stacks_(stacks), to_lexer_(to_lexer), ignored_(ignored), max_work_(max_steps) {}

    // Every boundary can be followed by every terminal of the grammar.
    bool separable();
    // Some text completes a lexeme in progress (state `s`) on these stacks to a member of the language.
    bool alive(LexState s, Frontier f);
    // Stack nodes are about to be freed.
    void forget_stacks() {
        alive_.clear();
        summaries_.clear();
        keys_ = Interner();
        solved_ = 0;
    }

  private:
    using Boundary = std::pair<Symbol, uint32_t>;  // terminal that ended (0: an ignored one), duties after it

    // Terminals without text are tokens by their id. Like the end, they can stand wherever nothing is owed.
    bool is_token(Symbol terminal) const { return terminal != kEnd && lexer_.dfa(to_lexer_[terminal]).empty(); }
    const std::vector<Boundary>& boundaries(LexState s);
    LexState start(uint32_t accept_set, uint32_t duties);
    // What the next lexeme starts under: the duties, and the accept set of the real top of the stack. That is the stack before
    // any reductions: candidates are chosen while it is still open which rules have ended.
    using Context = uint32_t;
    Context context(uint32_t duties, uint32_t accept_set) { return contexts_.intern({duties, accept_set}); }
    bool alive_at(Context c, NodeId n);
    uint32_t profile(NodeId n);
    const std::vector<Context>& summary(Context c, NodeId n, Symbol x);
    std::vector<Context> sequence(Context c, NodeId n, const std::vector<Symbol>& body, size_t from);
    void solve();

    Lexer& lexer_;
    Stacks& stacks_;
    const std::vector<uint32_t>& to_lexer_;
    const std::vector<char>& ignored_;

    std::unordered_map<LexState, std::vector<Boundary>> boundaries_;
    // Summaries by (context, profile of the stack top, symbol); those from solved_ on are still growing.
    struct Summary {
        Context context;
        NodeId node;
        Symbol symbol;
        std::vector<Context> after;
    };
    Interner contexts_, profiles_, keys_;
    std::vector<Summary> summaries_;
    size_t solved_ = 0;
    bool changed_ = false;
    uint64_t work_ = 0, max_work_;
    std::unordered_map<uint64_t, bool, MixHash> alive_;  // by (lexer state, frontier)
};

}  // namespace derivable
