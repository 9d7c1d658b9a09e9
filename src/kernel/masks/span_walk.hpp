// A mask under longest and basic: the spanner tree walked with the parser. A walk leaves behind what it found, and starts from what others did
// (index/stack_trie.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "index/stack_trie.hpp"
#include "masks/mask_cache.hpp"
#include "masks/walk_bounds.hpp"
#include "sequence/lexemes.hpp"
#include "sequence/operation.hpp"
#include "support/accelerators.hpp"

namespace derivable {

class SpanWalk {
  public:
    // What a walk goes by. `walked`: nodes of spanner trees, counted on.
    struct Parts {
        Access& access;
        Spanner& spanner;
        Stacks& stacks;
        const Terminals& terminals;
        Environments& environments;
        Lexemes& lexemes;
        StackTrie& stack_trie;
        uint64_t& walked;
        uint64_t lookahead;
        Accelerators accelerators;
        AcceleratorUses& uses;
    };
    // Adds to `words`. Throws TooAmbiguous; then there may be tokens in it that were still to be taken out again.
    SpanWalk(const Parts& parts, std::vector<uint32_t>& words) : p_(parts), words_(words) {}

    // What the answer depends on. `behind`: only what is left of tokens behind these beginnings of them is read.
    Reach run(const Parse& parse, const std::vector<uint32_t>* behind = nullptr);

  private:
    using Question = StackTrie::Question;
    // Some tokens with a prefix removed, before them a lexer state and a stack.
    struct Item {
        ResidualId residual;
        LexState lex;
        Frontier stack;
        Environment environment;
        int above;                     // as Stacks::Shifted, from the stack of the part on
        int level;                     // states below the top of the part's stack without which this would not be here
        uint64_t ended;                // lexemes, inside the token
        uint32_t depth;                // lexemes before this one
        const Split* split = nullptr;  // if not that of the residual and the lexer state: Spanner::repeated()
    };
    // The walk from an item with an exit, which is kept by itself.
    struct Part {
        StackTrie::Place place;
        size_t found, questions;  // where its own begin in found_ and questions_
        bool keeps = false;
        Reach looked;
        int kept = 0;        // hops of answers that can be kept
        bool never = false;  // some answer cannot
    };
    // `known`: tokens that questions of this level or less allow are in the mask.
    void walk_part(Part& part, const Item& start, const Split& split, int known);
    // All return the furthest level (Question::reach). Ask everything:
    int enter(Part& part, const Item& x, const Question* open);
    int visit(Part& part, const Item& x, const Split& split);
    // Ask again what is open: the questions from `begin` to `end`.
    int revisit(Part& part, const Item& x, const Split& split, uint32_t begin, uint32_t end);
    int ask(Part& part, const Item& x, const Split& split, uint32_t index);
    // Through an exit; what follows is asked, all of it or, if `open`, the questions behind that one.
    int leave(Part& part, const Item& x, const Split& split, uint32_t index, Symbol symbol, const Question* open);
    // What the end of a lexeme does to a stack, as Lexemes::after.
    After after(Symbol symbol, Frontier stack, Environment environment);
    // Notes what an answer looked at.
    int level_of(Part& part, Reach reach);

    const Parts p_;
    std::vector<uint32_t>& words_;
    // Of all parts under way, those of inner ones behind those of outer ones.
    std::vector<StackTrie::Found> found_;
    std::vector<Question> questions_;
    std::vector<uint64_t> states_;
    WalkBounds bounds_;
    struct Ended {
        Frontier stack = kNoFrontier;
        Symbol symbol = 0;
        Environment environment = 0;
        After after;
    };
    static constexpr size_t kEnded = 64;
    std::array<Ended, kEnded> ended_;  // those asked for last
};

}  // namespace derivable
