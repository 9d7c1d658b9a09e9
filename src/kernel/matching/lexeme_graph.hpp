// The lexemes of a text: all ways to cut it that the grammar allows, as one graph from its beginning to its end.
//
// Masks need none of it. Whoever wants to know how a text is derived (`derivable.trees`) does: what a lexeme is depends on the lexer's policy, on
// the parser's state and on columns, and all of that is decided here; which rules the lexemes make up is decided there.
#pragma once

#include <cstdint>
#include <vector>

#include "matching/constraint.hpp"

namespace derivable {

// A text as bytes, and which tokens it is made of where that is known. A token without bytes is one kNoByte.
struct TokenizedText {
    static constexpr uint16_t kNoByte = 256;
    struct Token {
        uint32_t begin, length, id;
    };
    std::vector<uint16_t> bytes;
    std::vector<Token> tokens;  // in ascending order
};

struct LexemeGraph {
    // Between two borders a lexeme. A newline's also says how blocks change: one more, or so many fewer.
    struct Edge {
        uint32_t from, to;
        Symbol symbol;  // that the parser gets; kEnd: none, because it is ignored
        int32_t blocks;
    };
    std::vector<uint32_t> borders;  // where they lie in the text; first its beginning, last its end
    std::vector<Edge> edges;        // sorted; each lies on a way from the first to the last
};

// `is_whole`: the ways on which the text is one of the language. Otherwise those on which it begins one: what is in progress at its end leads there,
// too, with each symbol that it may become. No edges: there are none. Throws LimitExceeded.
LexemeGraph lexeme_graph(Constraint& constraint, const TokenizedText& text, bool is_whole);

}  // namespace derivable
