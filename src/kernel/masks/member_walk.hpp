// A mask under scannerless: each member of a lexer state is split by itself, and what is behind its exits is found out in the same way, from the
// state before the next lexeme.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "masks/mask_cache.hpp"
#include "masks/walk_bounds.hpp"
#include "sequence/lexemes.hpp"
#include "sequence/operation.hpp"

namespace derivable {

class MemberWalk {
  public:
    // What a walk goes by. `walked`: items, counted on.
    struct Parts {
        Access& access;
        Spanner& spanner;
        const Terminals& terminals;
        Stacks& stacks;
        Lexemes& lexemes;
        uint64_t& walked;
        uint64_t lookahead;
        TokenSet::Sorter& sorter;
    };
    explicit MemberWalk(const Parts& parts) : p_(parts), lexer_(parts.spanner.lexer) {}

    // What a mask, or the part of one behind an exit, is made of. Equal keys, equal tokens.
    struct Union {
        Reach reach;  // what it depends on
        std::vector<uint32_t> key;
        void or_into(uint32_t* words) const;
        TokenSet tokens(uint32_t num_words) const;
        // They are a list, and so are all that they are united of.
        bool are_few(uint32_t num_words) const;

      private:
        friend class MemberWalk;
        struct Part {
            const Split::Inside* inside;  // or null:
            const TokenSet* behind;
            const std::vector<uint32_t>* except;
        };
        std::vector<Part> parts;
        std::list<TokenSet> sets;  // that parts refer to
    };
    // While nothing of the spanner is forgotten (Spanner::Walk). `endings`: of the parse, if its mask is kept by them; then what it depends on is
    // told of their stacks. `num_words`: of a mask. Throws TooAmbiguous.
    Union run(const Parse& parse, const MaskCache::Endings& endings, uint32_t num_words);

  private:
    // Some tokens with a prefix removed, before them a lexer state and a stack.
    struct Item {
        ResidualId residual;
        LexState lex;
        Frontier stack;
        Environment environment;
        uint64_t ended;  // lexemes, inside the token
        uint32_t depth;  // lexemes before this one
    };
    static Union some();  // nothing, with room for the usual number of parts
    // Adds what an item allows; `after(symbol)`: behind its lexeme.
    template <class GetAfter>
    void visit(const Item& x, Union& all, GetAfter after);
    template <class GetAfter>
    void visit(const Item& x, const Split& split, TerminalId of, Union& all, GetAfter after);
    // ... or what a residual allows behind an exit. What it depends on is told of the stack before that exit (After::above).
    void visit_behind(ResidualId residual, const After& after, uint64_t ended, uint32_t depth, Union& all);
    static constexpr TerminalId kOfExit{};  // exits have terminals of their own

    const Parts p_;
    Lexer& lexer_;
    WalkBounds bounds_;
    uint32_t num_words_ = 0;
};

}  // namespace derivable
