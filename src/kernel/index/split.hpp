// What a lexer state makes of the tokens of a residual: those that end inside the lexeme, and how it may end inside others.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "index/residuals.hpp"
#include "lexing/indentation.hpp"
#include "lexing/lexer.hpp"
#include "support/byte_set.hpp"
#include "tokens/token_set.hpp"

namespace derivable {

struct Split {
    // How sure it is that a token ending inside may be completed.
    enum class Sureness : uint8_t {
        kSure,        // whenever this lexer state was reached
        kProducible,  // if the parser can use one of the terminals in `key` (a set of Prospects::producible)
        kExact        // to be decided for lexer state `key` and the stack
    };
    struct Inside {
        Sureness sureness;
        uint32_t key;
        std::shared_ptr<const TokenSet> tokens;
        Indentations::Effect effect =
            Indentations::kNothing;  // where a newline lexeme is in progress, and its column may make a difference
        // Beside those of a similar state, without some.
        const Inside* base = nullptr;
        std::vector<uint32_t> removed;
        void or_into(uint32_t* mask) const;
        void unite_into(TokenSet& set, uint32_t words) const;
        size_t listed() const { return (tokens ? tokens->listed() : 0) + (base ? base->listed() : 0); }  // as TokenSet::listed
        uint64_t cost() const {
            return (tokens ? tokens->cost() : 0) + (base ? base->cost() + removed.size() / 2 : 0);
        }  // of that, as `work` counts
    };
    struct Exit {
        // Of a state of one member under scannerless: unused, the terminal is the member's and nothing is owed.
        TerminalId terminal;
        Obligations obligations;
        ResidualId residual;
        Indentations::Effect effect = Indentations::kNothing;  // of the bytes before it, if a newline lexeme ends
        std::vector<uint32_t> except;                          // tokens of the residual that this state does not let out
    };
    uint32_t id = 0;  // of those of a spanner; no other one ever has it
    ResidualId residual;
    LexState state = kNoState;        // by which it is split
    const Split* previous = nullptr;  // of the same residual
    std::vector<Inside> inside;
    std::vector<Exit> exits;    // those before the first byte come first
    uint32_t exits_before = 0;  // so many
    bool exits_once = false;    // no token goes through two of the others
};

// The state that a walk goes beside: what becomes of most tokens is as there.
struct Neighbour {
    LexState state = kNoState;  // none: all tokens are walked
    const Split* split = nullptr;
    bool on_list = false;  // it differs only within a list of strings (or, if there is none, the list is all): `listed` are the next bytes
    bool distant = false;  // only the longest tokens can tell the two apart
    bool unbounded = false;  // it is the same one without the bound on the characters that are counted
    ByteSet listed;
    ByteSet apart;  // of one of the same residual, that is changed: all bytes that may lead to other states
    explicit operator bool() const { return state != kNoState || on_list; }
};

inline void Split::Inside::or_into(uint32_t* mask) const {
    if (base) add_except(mask, removed, [&] { base->or_into(mask); });
    if (tokens) tokens->or_into(mask);
}

inline void Split::Inside::unite_into(TokenSet& set, uint32_t words) const {
    if (base && removed.empty()) {
        base->unite_into(set, words);
    } else if (base) {
        TokenSet others;
        base->unite_into(others, words);
        others.pack();
        set.unite(others, removed, words);
    }
    if (tokens) set.unite(*tokens, {}, words);
}

}  // namespace derivable
