// Where within tokens a text may end: for a grammar that is inside another one, which goes on with the rest of the token.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "matching/runs.hpp"
#include "support/byte_set.hpp"
#include "support/hashing.hpp"

namespace derivable {

class TextEnds {
  public:
    explicit TextEnds(Runs& runs) : runs_(runs) {}

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
    // Those nodes with which the text may end; ascending. Never null. Cost: where it is not known, a walk of the beginnings.
    EmbeddedText::Nodes find(const Parses& parses, const Beginnings& beginnings);
    EmbeddedText::Nodes interned(std::vector<uint32_t> nodes);
    // Stack nodes are about to be freed.
    void forget_stacks() { known_.clear(); }

  private:
    EmbeddedText::Nodes walk(const Parses& parses, const Beginnings& beginnings);

    Runs& runs_;
    using Key = std::vector<uint32_t>;
    std::unordered_map<Key, EmbeddedText::Nodes, WordsHash> known_;          // by beginnings and parses
    std::unordered_map<Key, std::weak_ptr<const Key>, WordsHash> interned_;  // those that somebody has
};

}  // namespace derivable
