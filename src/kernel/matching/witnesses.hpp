// Witnesses: for a place of a text, a known text that completes it, as few tokens.
//
// What completes a stack with the fewest tokens, terminal by terminal, is known (costs/). That is a guess: a lexeme may swallow the next one, an array may
// hold the item already, an object may still lack keys. So the text that it stands for is followed byte by byte, as any text is, and where it is refused the
// next best is tried. What comes out is no estimate: these bytes are in the language.
//
// The text is then cut into tokens anew, since one token may span several terminals. Each place that the text goes through has its rest for a witness. Most
// places that are asked for lead to one of these after some bytes (`"`, behind any letter of a string), so a witness is found sooner than it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "costs/fewest_tokens.hpp"
#include "costs/lexeme_texts.hpp"
#include "costs/stack_costs.hpp"
#include "costs/symbol_costs.hpp"
#include "matching/runs.hpp"
#include "matching/witness.hpp"
#include "support/hashing.hpp"

namespace derivable {

class Witnesses {
  public:
    Witnesses(const Engine& engine, Lexemes& lexemes, Runs& runs, const Vocabulary& vocabulary, uint64_t lookahead)
        : engine_(engine),
          lexemes_(lexemes),
          runs_(runs),
          vocabulary_(vocabulary),
          lookahead_(lookahead) {}

    // A witness of a place; null if none is known, which is no proof that there is none. Cost: some tens of microseconds for a place that is new; the first one also what symbols cost, a pass over the grammar.
    Witness find(const Parses& parses);
    // The fewest tokens that spell some bytes; as many as there are bytes if no tokens do.
    uint64_t tokens_of_bytes(std::string_view bytes) {
        const uint32_t fewest = tables().tokens.of(bytes);
        return fewest == FewestTokens::kNone ? bytes.size() : fewest;
    }
    // Calls visit(token, rest) for tokens with which a witness goes on.
    template <class Visit>
    void each_next(const Witness& w, Visit visit) {
        const std::vector<uint32_t>& units = w.text->units;
        if (w.at == units.size()) return;
        if (units[w.at] & WitnessText::kToken) return visit(units[w.at] & ~WitnessText::kToken, Witness{w.text, w.at + 1});
        std::string bytes;
        for (size_t i = w.at; i < units.size() && !(units[i] & WitnessText::kToken) && bytes.size() < kLongestToken; i++)
            bytes.push_back(char(units[i]));
        tables().tokens.each_prefix(bytes, [&](size_t length, uint32_t token) {
            const Witness rest{w.text, w.at + uint32_t(length)};
            if (rest.tokens() != FewestTokens::kNone) visit(token, rest);
        });
    }
    // Stack nodes are about to be freed.
    void forget_stacks();

  private:
    static constexpr size_t kLongestToken = size_t(1) << 16;  // bytes
    using Units = std::vector<uint32_t>;
    struct Tables {
        Tables(const Engine& engine, const Vocabulary& vocabulary);
        FewestTokens tokens;
        LexemeTexts texts;
        SymbolCosts symbols;
        StackCosts stacks;
        std::unordered_map<uint32_t, Cost> keys;  // by mark: of a member with that key, the least
        std::vector<Units> separators;            // ignored lexemes to stand between two others
    };
    // A way to go on: a lexeme, or a token that is named.
    struct Option {
        Symbol symbol;
        Units units;
        Cost cost;
    };
    // Between two lexemes: where the text has got, and what follows.
    struct Boundary {
        Parses parses;
        Frontier stack;
        Environment environment;
        size_t length;  // of the text
        bool after_newline = false;
        std::vector<Option> options;
        size_t next = 0;
        int stage = 0;  // how far options were listed
    };
    class Search;

    Tables& tables();
    bool more_options(Boundary& b);
    void list_best(Boundary& b);
    void list_newlines(Boundary& b);
    void list_counted(Boundary& b);
    void list_others(Boundary& b);
    void add_texts(Boundary& b, Symbol symbol, size_t most, bool separated);
    Cost pending(Symbol symbol, Environment environment);
    static std::vector<uint32_t> key_of(const Parses& parses);
    bool has_key(const Parses& parses) const;
    Witness keep(Units units, const Witness& rest, const std::vector<size_t>& borders, std::vector<std::vector<uint32_t>> keys);

    const Engine engine_;
    Lexemes& lexemes_;
    Runs& runs_;
    const Vocabulary& vocabulary_;
    const uint64_t lookahead_;
    std::unique_ptr<Tables> tables_;
    std::unordered_map<std::vector<uint32_t>, Witness, WordsHash> known_;
};

}  // namespace derivable
