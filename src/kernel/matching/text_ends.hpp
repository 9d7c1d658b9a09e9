// Where within tokens a text may end: for a grammar that is inside another one, which goes on with the rest of the token.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "matching/runs.hpp"
#include "support/byte_set.hpp"
#include "support/hashing.hpp"

namespace derivable {

class TextEnds {
  public:
    TextEnds(const Engine& engine, Runs& runs, const Vocabulary& vocabulary) : engine_(engine), runs_(runs), vocabulary_(vocabulary) {}

    // Nodes of the vocabulary's trie behind which the text may end and one of these bytes comes next; ascending. Never null. Cost: where it is not
    // known, a walk of what the vocabulary has before such bytes.
    EmbeddedText::Nodes find(const Parses& parses, const ByteSet& before);
    // Stack nodes are about to be freed.
    void forget_stacks() { known_.clear(); }

  private:
    EmbeddedText::Nodes walk(const Parses& parses, const ByteSet& before);
    EmbeddedText::Nodes interned(std::vector<uint32_t> nodes);

    const Engine engine_;
    Runs& runs_;
    const Vocabulary& vocabulary_;
    using Key = std::vector<uint32_t>;
    std::unordered_map<Key, EmbeddedText::Nodes, WordsHash> known_;             // by bytes and parses
    std::unordered_map<Key, std::weak_ptr<const Key>, WordsHash> interned_;  // those that somebody has
};

}  // namespace derivable
