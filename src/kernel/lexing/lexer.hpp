// The lexer: which lexemes are in progress, and what the text to come must still do.
//
// A lexer state is a pair of
//   members        the terminals a lexeme in progress may belong to, each with the state of its automaton, and
//   obligations    what future bytes owe to lexemes that have already ended (only under longest and basic).
// Obligations are a formula (Formulas), so a state steps to exactly one state, whatever the obligations.
//
// Ending a lexeme is lazy: a lexeme that could end stays in progress until the next byte, where `exits` says how it may
// have ended before that byte.
//
// What it is made of can be asked by itself: the terminals' automata and their states, kinds of bytes, states that act alike, sets of members, formulas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lexing/alike_states.hpp"
#include "lexing/byte_kinds.hpp"
#include "lexing/formulas.hpp"
#include "lexing/member_sets.hpp"
#include "lexing/terminal_automata.hpp"
#include "support/arena.hpp"
#include "support/byte_set.hpp"
#include "support/hashing.hpp"

namespace derivable {

class Lexer {
  public:
    explicit Lexer(Policy policy)
        : automata(policy),
          kinds(automata),
          alike(automata),
          sets(automata, kinds),
          formulas(automata, kinds, sets) {}
    // SAFETY: its parts refer to one another.
    Lexer(const Lexer&) = delete;
    Lexer& operator=(const Lexer&) = delete;

    TerminalAutomata automata;
    ByteKinds kinds;
    AlikeStates alike;
    MemberSets sets;
    Formulas formulas;

    Policy policy() const { return automata.policy(); }
    // As TerminalAutomata::add().
    TerminalId add(const Recognizer& recognizer, uint32_t rank, uint32_t kind = 0);

    // The state before the first byte of a lexeme of one of `terminals`, with `obligations` from before. kNoState if there are none.
    LexState start(const std::vector<TerminalId>& terminals, Obligations obligations);
    LexState with_obligations(LexState members, Obligations obligations);
    LexState none() { return sets.of(std::vector<uint32_t>()); }                           // no terminal at all: only the end can follow
    LexState fresh(LexState s) { return with_obligations(members(s), formulas.fresh()); }  // before the first byte of a text
    bool is_fresh(LexState s) const { return obligations(s) == formulas.fresh(); }
    LexState members(LexState s) const { return StateNumber::is_pair(s) ? pairs_[StateNumber::of(s)].members : s; }
    Obligations obligations(LexState s) const { return StateNumber::is_pair(s) ? pairs_[StateNumber::of(s)].obligations : Formulas::kFree; }

    LexState step(LexState s, uint8_t byte) { return StateNumber::is_single(s) ? automata.step(s, byte) : step_slow(s, byte); }
    std::vector<LexState> successors(LexState s);  // one byte further, each once
    // Not under scannerless: of some bytes all that lead from two states to different ones, and perhaps others.
    ByteSet apart(LexState a, LexState b, const ByteSet& of);
    // What is left to owe for a lexeme that begins with this byte: all but what the byte settles, so it steps to the same. kViolated: none that
    // may end begins with it; never in doubt.
    Obligations unsettled(Obligations obligations, uint8_t byte);

    struct Exit {
        TerminalId terminal;
        Obligations obligations;  // before the next byte
    };
    // How the lexeme in progress may have ended before the next byte.
    const std::vector<Exit>& exits(LexState s);
    bool accepts(LexState s) { return !exits(s).empty(); }

    // (terminal, automaton state) of every member; for explanations and analyses.
    std::vector<std::pair<TerminalId, uint32_t>> describe(LexState s) const;
    // Not under scannerless. The states as they are numbered, read by a lexer to which the same terminals were added. Throws BadArtifact where
    // something refers to what is not there; then the lexer is not to be used.
    void archive(Archive& a);
    bool is_state(LexState s) const { return StateNumber::is_pair(s) ? StateNumber::of(s) < pairs_.size() : sets.has(s); }
    // A state as every process knows it (TerminalAutomata::write_automaton). And back: BadState.
    void write(PackedWriter& out, LexState s, const TerminalAutomata::NumberOf& number) const;
    LexState read(PackedReader& in, const TerminalAutomata::TerminalOf& terminal);
    size_t bytes() const {
        return bytes_ + automata.bytes() + alike.bytes() + sets.bytes() + formulas.bytes() + exits_of_single_.bytes() +
               exits_of_set_.bytes() + exits_of_pair_.bytes();
    }

  private:
    static constexpr LexState kUnknown{~0u - 1};
    struct Pair {
        LexState members;
        Obligations obligations;
        enum : uint8_t { kUnjudged, kOpen, kDead } fate = kUnjudged;
    };
    struct Option {
        TerminalId terminal;
        Obligations condition;
    };
    struct Exits {
        bool known = false;
        std::vector<Exit> list;
    };

    LexState step_slow(LexState s, uint8_t byte);
    LexState stepped(LexState members, Obligations obligations, uint8_t byte);  // kNoState if that has no future
    bool is_dead(LexState pair);
    LexState any_lexeme(Obligations obligations);  // all terminals compete
    void prepare_first_bytes();
    const std::vector<Option>& options(LexState members);
    Exits& exits_at(LexState s) {
        const uint32_t number = StateNumber::of(s);
        return StateNumber::is_pair(s)     ? exits_of_pair_[number]
               : StateNumber::is_single(s) ? exits_of_single_[number]
                                           : exits_of_set_[number];
    }

    FlatMap<uint32_t> pair_ids_;  // and one
    std::vector<Pair> pairs_;
    std::vector<LexState> any_lexeme_;  // by past: members; kUnknown if not asked for yet
    uint32_t any_of_ = 0;               // of so many terminals
    FlatMap<Obligations> unsettled_;    // by obligations and byte
    std::unordered_map<LexState, std::vector<Option>> options_;
    Pages<Exits> exits_of_single_, exits_of_set_, exits_of_pair_;
    size_t bytes_ = 0;
};

}  // namespace derivable
