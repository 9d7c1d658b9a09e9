// The exact search for dead ends, in so far as lexing does not depend on undecided parses: which boundary conditions can a parse of
// symbol X, begun under given conditions on top of a given stack, end with? The least fixpoint over (conditions, stack top,
// symbol) is Bar-Hillel's intersection of the grammar with the regular set of spellable terminal sequences, computed where it is asked for.
//
// Under `basic` the answer is exact. Under `longest` the candidates are read off one parse; where several are still undecided the real
// ones are more, so less can be spelled: "no" is right, and "yes" is if no stack is ever undecided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "liveness/spelling.hpp"
#include "parsing/stacks.hpp"
#include "support/hashing.hpp"

namespace derivable {

class Summaries {
  public:
    Summaries(Lexer& lexer, Stacks& stacks, Spelling& spelling, uint64_t max_steps)
        : lexer_(lexer),
          stacks_(stacks),
          spelling_(spelling),
          max_steps_(max_steps) {}

    // `depth`: of brackets that are open there.
    bool alive(Obligations obligations, Frontier f, uint32_t depth);
    // Between brackets a newline lexeme is dropped. By symbol; kept.
    void set_indentation(Symbol newline, const std::vector<char>* opens, const std::vector<char>* closes) {
        newline_ = newline, opens_ = opens, closes_ = closes;
    }

  private:
    // What the next lexeme starts under: the obligations, and (under longest) the accept set of the real top of the stack. That is the
    // stack before any reductions: candidates are chosen while it is still open which rules have ended. And whether brackets are open.
    using Context = uint32_t;
    Context context(Obligations obligations, AcceptSet accept_set, bool inside) {
        return contexts_.intern({obligations.index(), lexer_.policy() == Policy::kBasic ? 0 : accept_set.index(), inside});
    }
    int change(Symbol s) const { return newline_ == kEnd ? 0 : (*opens_)[s] - (*closes_)[s]; }  // of depth, by a symbol
    Obligations obligations(Context c) const { return Obligations(contexts_[c][0]); }
    AcceptSet accept_set(Context c) const { return AcceptSet(contexts_[c][1]); }
    AcceptSet accepts(NodeId n) { return stacks_.accepts(StackGraph::one(n)); }
    LexState start(Context c, Obligations obligations);
    bool alive_at(Context c, NodeId n, uint32_t depth);
    uint32_t profile(NodeId n);
    const std::vector<Context>& summary(Context c, NodeId n, Symbol x);
    // `outside`: no bracket is open around the whole body.
    std::vector<Context> sequence(Context c, NodeId n, const std::vector<Symbol>& body, size_t from, bool outside);
    void solve();
    void count(uint64_t steps);

    Lexer& lexer_;
    Stacks& stacks_;
    Spelling& spelling_;
    Symbol newline_ = kEnd;
    const std::vector<char>*opens_ = nullptr, *closes_ = nullptr;

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
    // Steps (Liveness) of a summary that is worked out, and of one that is asked for. SAFETY: usually few are asked for by each; where many contexts
    // may hold between the symbols of a body it is many thousands, and what was not counted of them was minutes.
    static constexpr uint64_t kStepsOfSummary = 100, kStepsOfAsking = 50;
    uint64_t steps_ = 0, max_steps_;  // of one question
    const Renumbering::Told nodes_{stacks_.nodes(), [this] { summaries_.clear(), keys_ = {}, solved_ = 0; }};
    const Renumbering::Told states_{stacks_.states(), [this] { contexts_ = {}, profiles_ = {}; }};
};

}  // namespace derivable
