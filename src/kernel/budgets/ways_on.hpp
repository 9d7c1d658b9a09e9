// Ways to go on between two lexemes, for a text that is to end soon: the best first.
//
// What completes a stack with the fewest tokens, terminal by terminal, is known (costs/). Where it is refused (an object lacks a key, the array holds the item,
// the lexeme would be cut otherwise) others are listed: other texts of the same terminal, then other terminals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "costs/stack_costs.hpp"
#include "costs/symbol_costs.hpp"
#include "sequence/engine.hpp"
#include "sequence/lexemes.hpp"

namespace derivable {

class WaysOn {
  public:
    // Of a constraint: what its symbols cost. Cost: a text for each terminal, and a pass over the grammar.
    WaysOn(const Engine& engine, Lexemes& lexemes, const Vocabulary& vocabulary);

    using Units = std::vector<uint32_t>;  // as WitnessText::units
    // A lexeme, or a token that is named.
    struct Option {
        Symbol symbol;
        Units units;
    };
    // Behind a lexeme that has ended.
    struct Boundary {
        Frontier stack;
        Environment environment;
        bool after_newline = false;
        Meaning::State meaning = Meaning::kNone;
        std::vector<Option> options;
        size_t next = 0;  // of the options
        int stage = 0;    // how far they were listed
    };
    // The next option; null: there are none left.
    const Option* next(Boundary& b);
    // Lines in all columns that may follow.
    void list_newlines(Boundary& b);
    std::vector<uint32_t> columns(Environment environment) const;
    bool is_newline(Symbol s) const;  // by whose column blocks are told

    // What any object or array may ask for beside what its rules do, in tokens, at most.
    uint64_t most_pending() const;
    const SymbolCosts& symbols() const { return symbols_; }
    StackCosts& stacks() { return stacks_; }
    LexemeTexts& texts() { return engine_.spanner.rests().texts(); }
    const FewestTokens& fewest_tokens() { return engine_.spanner.rests().fewest_tokens(); }
    // Bytes that one of the text takes, at most, where it is encoded.
    size_t longest_spelling() const { return longest_spelling_; }

  private:
    void list_best(Boundary& b);
    void list_counted(Boundary& b);
    void list_others(Boundary& b);
    void add_texts(Boundary& b, Symbol symbol, size_t most, bool separated);
    Cost pending(Symbol symbol, Environment environment);
    std::vector<Cost> terminal_costs();
    void list_separators();
    bool is_indentation(Symbol s) const;

    const Engine engine_;
    Lexemes& lexemes_;
    const Vocabulary& vocabulary_;
    // Tokens that spell a text; kNone: only together with others, if at all.
    uint32_t fewest_of(const std::string& text);
    const size_t longest_spelling_ = vocabulary_.decoded ? vocabulary_.decoded->transducer->longest_spelling() : 1;
    const SymbolCosts symbols_;
    StackCosts stacks_;
    std::unordered_map<uint32_t, Cost> keys_;  // by mark: of a member with that key, the least
    std::vector<Units> separators_;            // ignored lexemes to stand between two others
};

}  // namespace derivable
