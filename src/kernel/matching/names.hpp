// Tokens that lie in names, or go on behind one.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "index/vocabulary.hpp"
#include "matching/lexemes.hpp"
#include "matching/runs.hpp"
#include "support/hashing.hpp"

namespace derivable {

class Names {
  public:
    Names(const Engine& engine, Lexemes& lexemes, Runs& runs, const Vocabulary& vocabulary)
        : engine_(engine),
          lexemes_(lexemes),
          runs_(runs),
          vocabulary_(vocabulary) {}

    // Those that go on with the name in progress, below some nodes of the vocabulary's trie (null: all of it). Valid until the next call.
    const std::vector<uint32_t>& tokens(const Parse& name, const EmbeddedText::Nodes& nodes);
    // Where the name has ended: before the first byte of what follows.
    std::vector<Parse> behind(const Parse& name);
    // Stack nodes are about to be freed.
    void forget_stacks() { tokens_.clear(), inside_.clear(); }

  private:
    // What is within the name depends on the name and on the lexer only.
    struct End {
        uint32_t node;  // with more below it
        LexState lex;
        Environment environment;
        Slots::Place slot;
    };
    struct Inside {
        std::vector<uint32_t> tokens;
        std::vector<End> ends;  // where the name may end
    };
    const Inside& inside(const Parse& name, const EmbeddedText::Nodes& nodes);
    // Below a node of the vocabulary, where the name is `text` further, at `at` of the names.
    void walk(uint32_t node, const Parse& name, NameSet::Node at, std::string& text, Inside& inside);
    bool may_end_within(uint32_t node, const Parse& name);

    const Engine engine_;
    Lexemes& lexemes_;
    Runs& runs_;
    const Vocabulary& vocabulary_;
    template <class Value>
    struct Known {
        EmbeddedText::Nodes nodes;  // SAFETY: it keeps what the key has the address of
        Value value;
    };
    template <class Value>
    using Memo = std::unordered_map<std::vector<uint32_t>, Known<Value>, WordsHash>;
    Memo<std::vector<uint32_t>> tokens_;
    // PERF: states of the meaning come and go, and sets of names stay: a list is walked once, not for each state.
    Memo<Inside> inside_;
};

}  // namespace derivable
