// The terminals of a grammar, and what they are to the lexer: several symbols may be one terminal of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lexing/lexer.hpp"
#include "parsing/productions.hpp"
#include "sequence/embedded.hpp"
#include "support/hashing.hpp"

namespace derivable {

constexpr uint32_t kAnyNumber = 0;

struct TerminalSpec {
    Recognizer recognizer;  // without the empty string; no text at all if the terminal is a token reference
    uint32_t rank;          // lower wins between lexemes of equal length
    bool ignored;
    uint32_t max_tokens = kAnyNumber;  // that one lexeme may lie in
};

// A terminal that is one token by its id, whatever its text (or, negated, any one token of text but these). It has no bytes, so it
// begins and ends where tokens do: the text before it is cut as if it ended there, the text after it as if it began there.
struct TokenReference {
    Symbol symbol;
    std::vector<uint32_t> tokens;
    bool negated;
    bool matches(uint32_t t, const std::string& bytes) const {
        bool named = std::find(tokens.begin(), tokens.end(), t) != tokens.end();
        return negated ? !named && !bytes.empty() : named;
    }
};

// A terminal whose lexemes are names (Slots). `base`: the one that it is to the lexer, or itself. The parser tells one from the other.
struct Slot {
    Symbol symbol, base;
};

class Terminals {
  public:
    // Terminal i is grammar symbol i + 1. `distinct`: those that open arrays of distinct items.
    // `slots`: those whose lexemes are names.
    void add(Lexer& lexer, std::vector<TerminalSpec> specs, std::vector<TokenReference> references, const std::vector<Symbol>& distinct,
             std::vector<std::shared_ptr<EmbeddedLanguage>> languages, const std::vector<Slot>& slots);
    // It competes wherever a lexeme begins, like those that are ignored.
    void compete_everywhere(Symbol symbol) { everywhere_.push_back(to_lexer_[symbol]); }

    size_t size() const { return to_lexer_.size(); }  // with the end of the text
    TerminalId to_lexer(Symbol s) const { return to_lexer_[s]; }
    bool is_ignored(Symbol s) const { return ignored_[s]; }
    bool opens_distinct(Symbol s) const { return s < distinct_.size() && distinct_[s]; }
    bool has_distinct() const { return !distinct_.empty(); }
    bool some_are_bounded() const { return !bounds_.empty(); }
    // Tokens that one lexeme of a terminal of the lexer may lie in; kAnyNumber.
    uint32_t max_tokens(TerminalId terminal) const {
        const auto bound = bounds_.find(terminal);
        return bound == bounds_.end() ? kAnyNumber : bound->second;
    }
    const std::vector<TerminalId>& all_to_lexer() const { return to_lexer_; }
    const std::vector<char>& all_ignored() const { return ignored_; }
    const std::vector<TerminalId>& everywhere() const { return everywhere_; }  // of the lexer
    const std::vector<TokenReference>& references() const { return references_; }
    const std::vector<std::shared_ptr<EmbeddedLanguage>>& languages() const { return languages_; }  // that are inside this one
    bool embeds() const { return !languages_.empty(); }

    struct Symbols {
        const Symbol *first = nullptr, *last = nullptr;
        const Symbol* begin() const { return first; }
        const Symbol* end() const { return last; }
    };
    // It is what some slot is to the lexer.
    bool is_of_slots(TerminalId terminal) const { return of_slots_.count(terminal) != 0; }
    bool is_slot(Symbol s) const { return !slots_.empty() && slots_.count(s) != 0; }
    // Some symbol whose terminal of the lexer it is.
    Symbol symbol(TerminalId terminal) const {
        if (slots_.empty()) return *of(terminal).begin();
        return Symbol(std::find(to_lexer_.begin() + 1, to_lexer_.end(), terminal) - to_lexer_.begin());
    }
    // The symbols of a terminal of the lexer, but for slots: what a lexeme is that is no name (none if it is another grammar's).
    Symbols of(TerminalId terminal) const {
        const auto* range = ranges_.find(terminal);
        return range ? Symbols{&by_lexer_[range->first], &by_lexer_[range->first] + range->second} : Symbols{};
    }

  private:
    std::vector<TerminalId> to_lexer_;      // by symbol
    std::vector<char> ignored_, distinct_;  // by symbol; `distinct_` is empty if none is
    std::vector<TerminalId> everywhere_;
    std::vector<TokenReference> references_;
    std::vector<std::shared_ptr<EmbeddedLanguage>> languages_;
    std::vector<Symbol> by_lexer_;  // in the order of their lexer terminals
    // Begin and length in by_lexer_. PERF: not a table by lexer terminal, of which many schemas together have tens of thousands.
    FlatMap<std::pair<uint32_t, uint32_t>> ranges_;
    std::unordered_map<TerminalId, uint32_t> bounds_;  // of those that are bounded
    std::unordered_set<TerminalId> of_slots_;
    std::unordered_set<Symbol> slots_;
};

}  // namespace derivable
