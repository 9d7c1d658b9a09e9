// Members that act alike, and one of them that stands for all: to the index under scannerless, where only languages count, and to what completes a lexeme.
//
// A JSON string by rule acts on its boundary as any string does, one whose characters are counted as one without the bound where that is far.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "automata/state_equivalence.hpp"
#include "lexing/terminal_automata.hpp"
#include "support/hashing.hpp"

namespace derivable {

class AlikeStates {
  public:
    explicit AlikeStates(TerminalAutomata& automata) : automata_(automata) {}

    // Under scannerless any two states of one terminal with the same language are interchangeable to the index, whichever terminals
    // they belong to: a fixed one of them. Otherwise the state itself.
    LexState canonical(LexState single) {
        if (automata_.policy() != Policy::kScannerless) return single;
        return known(single).canonical;
    }
    // The same for what completes a lexeme, however long: a state with the same language, a fixed one as far as that is known. What canonical states have in
    // common is what no token tells apart, and one of them may need a hundred words more than another.
    LexState equal(LexState single) {
        if (automata_.policy() != Policy::kScannerless) return single;
        return known(single).equal;
    }
    LexState step_canonical(LexState single, uint8_t byte) {
        const LexState next = automata_.step(single, byte);
        return next == kNoState ? next : canonical(next);
    }
    // So often that was found out for a whole automaton at once, and was much of what a walk may take.
    uint32_t num_long_settled() const { return num_long_settled_; }
    // No distinction is made between more characters than any token has: fewer states, the same masks.
    void set_longest_token(uint64_t bytes) { longest_token_ = bytes; }
    uint64_t longest_token() const { return longest_token_; }

    // Under scannerless: a canonical state that acts as this one on all texts of so many bytes, one for as many states as are known to be alike.
    LexState for_short_texts(LexState canonical, uint64_t bytes);
    // Canonical states of one automaton that act alike on all texts of fewer bytes. 0: not known.
    uint64_t alike_for(LexState a, LexState b) const;
    // Of a state of strings whose characters are counted beside an automaton, the one that does the same without the bound on their number.
    // kNoState: it is not such a state, or there is none.
    LexState without_bound(LexState single);
    // Of a canonical state between two characters of strings whose values an automaton accepts, the one that is there in any string at all.
    // Else kNoState.
    LexState any_string(LexState canonical);
    // The canonical state that is there between two characters of all JSON strings in its spelling, of one by rule.
    LexState between_characters_of_any_string(LexState like) {
        return in_any_string("\"", automata_.recognizer_of(like).strings()->escapes());
    }
    // The state of the same strings that is there between two characters.
    LexState between_characters(LexState of, const CountedValues::Place& place);
    // Of a canonical state before or within a list of strings, which acts so but for the bytes on the list. kNoState: leads nowhere.
    LexState off_list(LexState on_list);
    size_t bytes() const { return languages_.bytes(); }

  private:
    struct Known {
        LexState canonical, equal;  // kNoState if not asked for yet
    };
    const Known& known(LexState single) {
        if (!known_.has(single) || known_[single].canonical == kNoState) settle(single);
        return known_[single];
    }
    void settle(LexState single);
    LexState in_any_string(const std::string& text, Escapes escapes);
    uint32_t unbounded(uint32_t automaton);  // without the bound on its texts, or itself
    LexState acting_as(uint32_t whole, LexState single, uint64_t bytes);

    TerminalAutomata& automata_;
    IdVector<LexState, Known> known_;
    Languages languages_;
    FlatMap<uint32_t> unbounded_;           // automata without the bound on their length; by automaton, itself where there is none
    std::array<TerminalId, 2> any_string_;  // the terminals of all JSON strings, by their spelling
    std::unordered_map<std::string, LexState> counted_;
    uint64_t longest_token_ = ~0ULL;
    uint32_t num_long_settled_ = 0;
};

}  // namespace derivable
