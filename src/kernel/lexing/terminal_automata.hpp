// The automata of all terminals of a lexer, and their states: the members that a lexeme in progress may have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lexing/lex_state.hpp"
#include "lexing/recognizer.hpp"
#include "support/ids.hpp"

namespace derivable {

class PackedReader;
class PackedWriter;

class TerminalAutomata {
  public:
    explicit TerminalAutomata(Policy policy) : policy_(policy) {}

    // ---- terminals ----

    Policy policy() const { return policy_; }
    // Terminals are numbered in order of addition. Equal automata share a number under scannerless, where only languages count, and `kind`, which
    // says what else tells terminals apart. `rank`: lower wins between lexemes of equal length.
    TerminalId add(const Recognizer& recognizer, uint32_t rank, uint32_t kind = 0);
    // Lets go of automata, which Python may own: what is left can be freed by any thread, and no more can be done with it.
    void let_go();
    uint32_t num_terminals() const { return uint32_t(terminals_.size()); }
    const Recognizer& recognizer(TerminalId terminal) const { return terminals_[terminal].recognizer; }
    uint32_t rank(TerminalId terminal) const { return terminals_[terminal].rank; }
    // What stands before a lexeme, for the terminals that look behind: by their places in this list. A terminal has an automaton for each variant of it.
    const std::vector<const Past*>& looking_back() const { return looking_back_; }
    // The first automaton of a terminal; and the one behind a past (a state of each in `looking_back`).
    uint32_t first_automaton(TerminalId terminal) const { return terminals_[terminal].first; }
    uint32_t automaton(TerminalId terminal, const std::vector<uint32_t>& past) const {
        const Terminal& t = terminals_[terminal];
        return t.looks_back == kNever ? t.first : t.first + looking_back_[t.looks_back]->variant[past[t.looks_back]];
    }
    uint32_t num_automata() const { return uint32_t(automata_.size()); }
    const Recognizer& at(uint32_t automaton) const { return automata_[automaton].recognizer; }
    Recognizer& at(uint32_t automaton) { return automata_[automaton].recognizer; }
    TerminalId terminal(uint32_t automaton) const { return automata_[automaton].terminal; }

    // ---- states of one member ----

    // That of a state of an automaton, whose table is made if it is still to be made.
    LexState state(uint32_t automaton, uint32_t state);
    uint32_t num_states() const { return uint32_t(automaton_of_.size()); }
    uint32_t automaton_of(LexState single) const { return automaton_of_[single]; }
    uint32_t state_of(LexState single) const { return state_of_[single]; }  // of its automaton
    const Recognizer& recognizer_of(LexState single) const { return automata_[automaton_of_[single]].recognizer; }
    TerminalId terminal_of(LexState single) const { return automata_[automaton_of_[single]].terminal; }
    // What JSON strings by rule say of a state of theirs: ask(&JsonStrings::place, single). Of any other state no, none or 0.
    template <class Question, class... More>
    auto ask(Question question, LexState single, More&&... more) const {
        JsonStrings* strings = recognizer_of(single).strings();
        using Answer = decltype((strings->*question)(state_of_[single], std::forward<More>(more)...));
        return strings ? (strings->*question)(state_of_[single], std::forward<More>(more)...) : Answer();
    }
    bool accepts(LexState single) const { return recognizer_of(single).accepts(state_of_[single]); }
    LexState step(LexState single, uint8_t byte) {
        const Automaton& a = automata_[automaton_of_[single]];
        if (!a.recognizer.has_table()) return step_by_rule(single, byte);
        const int32_t next = a.recognizer.step_table(state_of_[single], byte);
        return next < 0 ? kNoState : LexState(a.first + uint32_t(next));
    }

    // As every process knows them: by terminals, to which others give numbers, and states of their automata. And back: BadState.
    using NumberOf = std::function<uint32_t(TerminalId)>;
    using TerminalOf = std::function<TerminalId(uint64_t)>;
    void write_automaton(PackedWriter& out, uint32_t automaton, const NumberOf& number) const;
    uint32_t read_automaton(PackedReader& in, const TerminalOf& terminal);
    size_t bytes() const { return bytes_; }

  private:
    static constexpr uint32_t kNever = ~0u;
    struct Terminal {
        Recognizer recognizer;
        uint32_t rank, first;          // of its automata: one for each variant of its past
        uint32_t looks_back = kNever;  // its place in looking_back_
    };
    struct Automaton {
        Recognizer recognizer;
        TerminalId terminal;
        uint32_t first;                 // its first state's number, once it has a table: the others follow
        std::vector<uint32_t> numbers;  // otherwise: by state, kNoState if there is none yet
    };
    void add_automaton(const Recognizer& recognizer, TerminalId terminal);
    void number_states(uint32_t automaton);  // of its table
    LexState step_by_rule(LexState single, uint8_t byte);

    Policy policy_;
    IdVector<TerminalId, Terminal> terminals_;
    std::vector<Automaton> automata_;
    std::vector<const Past*> looking_back_;
    std::unordered_map<std::string, TerminalId> by_language_;  // and kind, in the last four bytes
    std::unordered_map<const void*, TerminalId> by_identity_;  // of kind 0. PERF: saves comparing tables that are seen again and again
    IdVector<LexState, uint32_t> automaton_of_, state_of_;
    size_t bytes_ = 0;
};

}  // namespace derivable
