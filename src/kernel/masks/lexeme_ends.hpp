// Where within tokens lexemes end, as far as a border may lie behind them. Whatever the stack is, they end there: so they are looked for once for a
// lexer state and some beginnings of tokens, as splits are (index/split.hpp).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sequence/runs.hpp"
#include "support/hashing.hpp"
#include "tokens/vocabulary.hpp"

namespace derivable {

class LexemeEnds {
  public:
    // Beginnings of tokens: nodes of the vocabulary's trie, ascending. Equal ones are mostly one object.
    using Nodes = EmbeddedText::Nodes;
    static constexpr uint64_t kFar = 1u << 30;  // bytes
    // Bytes from the end of a terminal's lexeme to the next border, by symbol, at least.
    using Distances = std::vector<uint64_t>;

    LexemeEnds(const Engine& engine, const Vocabulary& vocabulary) : engine_(engine), trie_(vocabulary.trie) {}

    struct End {
        TerminalId terminal;
        Obligations obligations;
        Indentations::Effect effect;  // of the bytes before it, if it is a newline
        Nodes nodes;                  // before which it has ended
    };
    using Ends = std::shared_ptr<const std::vector<End>>;
    // Of lexemes that are in a state at some nodes. `ignored`: bytes from the end of an ignored lexeme to the next border.
    Ends find(const Nodes& nodes, LexState state, const Distances& distances, uint64_t ignored);
    // Those nodes below which a token has more bytes than so many.
    Nodes taller(const Nodes& nodes, uint64_t bytes);
    // Those behind which a token goes on with one of these bytes: the first ones of a slot.
    Nodes before(const Nodes& nodes, Symbol slot, const ByteSet& first);
    Nodes interned(std::vector<uint32_t> nodes);
    uint64_t height(uint32_t node) const { return node == Runs::kRoot ? kFar : trie_.height[node]; }

  private:
    using Key = std::vector<uint32_t>;
    static Key key_of(const Nodes& nodes, std::initializer_list<uint32_t> more) {
        Key key(more);
        for (uint32_t word : address_words(nodes.get())) key.push_back(word);
        return key;
    }
    ByteSet bytes_behind(uint32_t node) const;
    // What must still be written behind a state's lexeme before the next border.
    uint64_t needed(LexState state, const Distances& distances, uint64_t ignored);
    class Walk;

    const Engine engine_;
    const Trie& trie_;
    struct Needed {
        uint64_t least = kFar;  // of terminals that are not ignored
        bool may_be_ignored = false;
    };
    std::unordered_map<uint32_t, Needed> needed_;  // by lexer state
    struct Known {
        Nodes of;  // SAFETY: it keeps what the key has the address of
        Ends ends;
    };
    std::unordered_map<Key, Known, WordsHash> ends_;
    struct Below {
        std::tuple<TerminalId, Obligations, Indentations::Effect> end;
        Key nodes;
    };
    // By node and state. PERF: from whatever place a lexeme begins, behind a letter or two it is in one of few states, and most of the vocabulary lies
    // below. TODO
    std::unordered_map<Key, std::shared_ptr<const std::vector<Below>>, WordsHash> below_;
    std::unordered_map<Key, std::pair<Nodes, Nodes>, WordsHash> some_;  // of nodes that are kept so: those that were asked for
    std::unordered_map<Key, std::weak_ptr<const Key>, WordsHash> interned_;
};

}  // namespace derivable
