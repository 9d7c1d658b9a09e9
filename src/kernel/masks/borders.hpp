// Tokens that lie on both sides of a border: an inner text ends, or begins, where they begin or within them.
//
// What the index says of a parse is about tokens that stay on its side. Here is where others go over: the parses behind the border, and the
// beginnings of tokens with which it is reached.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "masks/lexeme_ends.hpp"
#include "parsing/follow.hpp"
#include "sequence/lexemes.hpp"
#include "sequence/runs.hpp"
#include "support/hashing.hpp"
#include "tokens/vocabulary.hpp"

namespace derivable {

class Borders {
  public:
    Borders(const Engine& engine, Lexemes& lexemes, Runs& runs, const Vocabulary& vocabulary)
        : engine_(engine),
          lexemes_(lexemes),
          runs_(runs),
          vocabulary_(vocabulary),
          ends_(engine, vocabulary),
          adjacency_(engine.stacks.lr()) {}

    struct Crossing {
        Parse behind;
        EmbeddedText::Nodes nodes;  // null: where the token begins
        Symbol slot = kEnd;         // a name begins there; then `behind` is before its first byte, and neither name nor meaning are told
        std::vector<LineEnd> line_ends{};  // of lexemes before it, which the meaning is told of
    };
    std::vector<Crossing> of(const Parse& t) { return t.embedded ? out_of(t) : into(t, nullptr); }
    // Likewise, of a parse that stands behind some beginnings of tokens (null: where tokens begin). Valid until the next call.
    const std::vector<Crossing>& into(const Parse& t, const EmbeddedText::Nodes& nodes);
    // Those that begin with one of its nodes and go on behind the border; ascending. Valid until the next call.
    const std::vector<uint32_t>& tokens(const Crossing& c);
    // As a list of nodes that crossings share.
    EmbeddedText::Nodes interned(std::vector<uint32_t> nodes) { return ends_.interned(std::move(nodes))->nodes; }
    // Frees all that is known, but for distances. Not while somebody has what it returned.
    void give_back() { ends_.give_back(), forget(); }

  private:
    std::vector<Crossing> out_of(const Parse& t);
    class Search;
    // Bytes that a text takes, at least, from a stack on to where an inner text begins.
    uint64_t distance(Frontier stack);
    void find_distances();
    const ByteSet& next_bytes(const Parse& t);

    const Engine engine_;
    Lexemes& lexemes_;
    Runs& runs_;
    const Vocabulary& vocabulary_;
    LexemeEnds ends_;
    Adjacency adjacency_;
    // By terminal, at least: bytes from the end of its lexeme to where an inner text begins, and those of the lexeme. Empty until they are asked for.
    std::vector<uint64_t> distances_, lengths_;
    using Place = std::vector<uint32_t>;  // a parse that has written nothing
    static Place place_of(const Parse& t);
    struct Into {
        EmbeddedText::Nodes nodes;  // SAFETY: it keeps what the key has the address of
        std::vector<Crossing> crossings;
    };
    std::unordered_map<Place, Into, WordsHash> into_;
    std::unordered_map<Place, ByteSet, WordsHash> next_bytes_;
    struct Behind {
        Crossing crossing;  // SAFETY: it keeps what the key has the addresses of
        std::vector<uint32_t> tokens;
    };
    std::unordered_map<Place, Behind, WordsHash> tokens_;
    void forget() { into_.clear(), next_bytes_.clear(), tokens_.clear(); }
    const Renumbering::Told nodes_told_{engine_.stacks.nodes(), [this] { forget(); }};
};

}  // namespace derivable
