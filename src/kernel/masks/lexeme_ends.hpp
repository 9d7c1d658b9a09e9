// Where within tokens lexemes end, as far as a border may lie behind them. Whatever the stack is, they end there: so they are looked for once for a
// lexer state and some beginnings of tokens, as splits are (index/split.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
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
    static constexpr uint64_t kFar = 1u << 30;  // bytes
    // What lies below so many nodes of a vocabulary is kept. PERF: from 8 on, first masks of SQL with names took twice as long as from 64 on. Of tiny ones, which
    // tests have, it is one in 16.
    static uint32_t worth_keeping(const Trie& trie) { return std::clamp(trie.size() / 16, 1u, 64u); }
    // Bytes from the end of a terminal's lexeme to the next border, by symbol, at least.
    using Distances = std::vector<uint64_t>;
    // Beginnings of tokens: nodes of the vocabulary's trie, ascending. Equal sets are one while somebody has them.
    struct NodeSet {
        EmbeddedText::Nodes nodes;
        ByteSet next;                                                       // bytes behind some of them
        std::vector<std::pair<uint64_t, std::shared_ptr<NodeSet>>> taller;  // those that were asked for
        std::vector<std::pair<const ByteSet*, std::shared_ptr<NodeSet>>> before;
    };
    using NodeSetRef = std::shared_ptr<NodeSet>;

    LexemeEnds(const Engine& engine, const Vocabulary& vocabulary) : engine_(engine), trie_(vocabulary.trie) {}

    struct End {
        TerminalId terminal;
        Obligations obligations;
        Indentations::Effect effect;  // of the bytes before it, if it is a newline
        NodeSetRef set;               // of nodes behind which it has ended
    };
    using Ends = std::shared_ptr<const std::vector<End>>;
    // Of lexemes that are in a state behind some nodes. `ignored`: bytes from the end of an ignored lexeme to the next border.
    Ends find(const NodeSetRef& set, LexState state, const Distances& distances, uint64_t ignored);
    // Those that some token goes on from with more bytes.
    NodeSetRef taller(const NodeSetRef& set, uint64_t bytes);
    // Those that some token goes on from with one of these bytes. `first` stays where it is.
    NodeSetRef before(const NodeSetRef& set, const ByteSet& first);
    NodeSetRef interned(std::vector<uint32_t> nodes);
    // Frees all that grows with the texts that are written. Not while somebody has a set of nodes.
    void give_back() { ends_.clear(), below_.clear(), interned_.clear(); }
    uint64_t height(uint32_t node) const { return node == Runs::kRoot ? kFar : trie_.height[node]; }

  private:
    using Key = std::vector<uint32_t>;
    template <class Stays>
    NodeSetRef some_of(const NodeSetRef& set, Stays stays);
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
        NodeSetRef set;  // SAFETY: it keeps what the key has the address of
        Ends ends;
    };
    std::unordered_map<Key, Known, WordsHash> ends_;
    using Ended = std::map<std::tuple<TerminalId, Obligations, Indentations::Effect>, Key>;  // nodes behind which lexemes have
    // By node and state. PERF: wherever a lexeme begins, behind a letter or two it is in one of few states, and most of the vocabulary lies below. Without
    // this, and Names::below_, first masks of five queries of SQL for a database took 2.7 ms on average, and with them 2.1 (llama-3).
    std::unordered_map<Key, std::shared_ptr<const Ended>, WordsHash> below_;
    std::unordered_map<Key, std::weak_ptr<NodeSet>, WordsHash> interned_;
};

}  // namespace derivable
