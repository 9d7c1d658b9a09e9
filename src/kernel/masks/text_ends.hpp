// Where within tokens a text may end: for a grammar that is inside another one, which goes on with the rest of the token.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "masks/reach_trie.hpp"
#include "sequence/runs.hpp"
#include "support/byte_set.hpp"
#include "support/hashing.hpp"

namespace derivable {

class TextEnds {
  public:
    TextEnds(const Engine& engine, Lexemes& lexemes, Runs& runs)
        : engine_(engine),
          lexemes_(lexemes),
          runs_(runs),
          known_(engine.environments) {}

    // Beginnings of tokens behind which one of some bytes comes, decoded: those of which the text can be an end, whatever it is.
    struct Beginnings {
        // Of nodes of a vocabulary's trie, whose tokens are read from a state on.
        Beginnings(const Trie& vocabulary, const Transducer& transducer, Transducer::State from, const ByteSet& before);
        Trie trie;                    // its tokens are those nodes
        std::vector<uint32_t> empty;  // nodes that write nothing
        const uint32_t number = next_number_++;

      private:
        static inline std::atomic<uint32_t> next_number_{0};
    };
    // Those nodes with which the text may end; ascending. Never null. Kept by what they depend on, as masks are. Cost: where it is not known, a walk of the
    // beginnings.
    EmbeddedText::Nodes find(const Parses& parses, const Beginnings& beginnings);

  private:
    EmbeddedText::Nodes of_parse(const Parse& t, const Beginnings& beginnings);
    std::vector<uint32_t> by_bytes(const Parses& parses, const Beginnings& beginnings);
    EmbeddedText::Nodes interned(std::vector<uint32_t> nodes);

    const Engine engine_;
    Lexemes& lexemes_;
    Runs& runs_;
    FlatMap<uint32_t> roots_;  // by beginnings and lexer state; and one
    uint32_t num_roots_ = 0;
    ReachTrie known_;  // of these: in lists_
    std::vector<EmbeddedText::Nodes> lists_;
    ReachTrie::Words signature_;
    using Key = std::vector<uint32_t>;
    // Where an answer looks too far down for a key: by the whole stack. In a block of Python nearly all of it decides whether the text may end.
    std::unordered_map<Key, EmbeddedText::Nodes, WordsHash> deep_;
    std::unordered_map<Key, std::weak_ptr<const Key>, WordsHash> interned_;  // those that somebody has
    const Renumbering::Told nodes_{engine_.stacks.nodes(), [this] { deep_.clear(); }};
    const Renumbering::Told states_{engine_.stacks.states(), [this] { known_.clear(), lists_.clear(); }};
};

}  // namespace derivable
