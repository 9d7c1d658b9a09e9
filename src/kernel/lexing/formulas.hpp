// What future bytes owe to lexemes that have ended (only under longest and basic): formulas over obligations.
//
// An obligation is a longer attempt that must die, or a look-ahead that must hold or fail. A formula is in disjunctive normal form, so that it steps to one
// formula with each byte. Where look-behind reaches past its own lexeme, each alternative also holds what stands before: that is never broken and
// owes nothing, but the next lexeme is chosen by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "lexing/member_sets.hpp"
#include "support/arena.hpp"
#include "support/hashing.hpp"

namespace derivable {

class Formulas {
  public:
    Formulas(TerminalAutomata& automata, ByteKinds& kinds, MemberSets& sets) : automata_(automata), kinds_(kinds), sets_(sets) {
        lists_.intern({});            // kViolated: no alternative
        lists_.intern({kSeparator});  // kFree: one alternative, no obligation
        look_back();
    }

    static constexpr Obligations kViolated{0}, kFree{1};

    // ---- what stands before ----

    // To be called when a terminal was added that looks behind.
    void look_back();
    // At the start of a text nothing is owed; and before its first byte, as a state that no other is like.
    Obligations text_start() const { return text_start_; }
    Obligations fresh() const { return fresh_; }
    bool owes(Obligations formula) const {
        const auto& words = lists_[formula.index()];
        return formula != kFree && !(words.size() == 2 && obligations_[words[0]].kind == Obligation::kPast);
    }
    size_t size_of(Obligations formula) const { return lists_[formula.index()].size(); }  // in words
    uint32_t past(Obligations formula) const;
    // By terminal that looks behind (TerminalAutomata::looking_back), where that stands.
    const std::vector<uint32_t>& states_of(uint32_t past) const { return pasts_[past]; }
    Obligations nothing_owed(Obligations formula);  // the same past, and nothing owed
    // Owing nothing, after each text that look-behind tells apart; empty if there are more than `limit`.
    std::vector<Obligations> all_pasts(size_t limit);

    // ---- formulas ----

    Obligations all_of(Obligations a, Obligations b);
    // The look-ahead of an accepting state of an automaton holds; or none of it does.
    Obligations conditions(uint32_t automaton, const Conditions& c, bool negated);
    // No attempt of these members comes further and ends there; or it ends neither here nor there.
    Obligations no_longer(LexState members) { return only({Obligation::kLonger, members.index(), 0, 0, false}); }
    Obligations no_match(LexState members);
    Obligations step(Obligations formula, uint8_t byte);
    // What is left for a lexeme that begins with this byte: all but what the byte settles, so it steps to the same.
    Obligations without_settled(Obligations formula, uint8_t byte);
    // It is met if the text ends here.
    bool hold_at_end(Obligations formula) const;
    // Every way in which a lexeme of these members may end breaks it before. False in doubt.
    bool is_broken_by(LexState members, Obligations formula);

    uint32_t size() const { return lists_.size(); }  // so many formulas
    // As TerminalAutomata::write_automaton().
    void write(PackedWriter& out, Obligations formula, const TerminalAutomata::NumberOf& number) const;
    Obligations read(PackedReader& in, const TerminalAutomata::TerminalOf& terminal);
    // What stands before, and formulas, as they are numbered.
    void archive_pasts(Archive& a);
    void archive(Archive& a);
    size_t bytes() const { return bytes_; }

  private:
    static constexpr uint32_t kSeparator = ~0u;
    static constexpr size_t kMaxWords = 1u << 12;  // of a formula, in lists_

    struct Obligation {
        enum Kind : uint32_t { kFresh, kPast, kLonger, kLook } kind;  // kLonger: a longer attempt that must die
        uint32_t subject;                                             // kPast: past; kLonger: members; kLook: automaton
        uint32_t look, state;
        bool negative;
    };
    using Alternatives = std::vector<std::vector<uint32_t>>;  // of obligations, each ascending

    uint32_t add(const Obligation& d);
    bool is_known(const Obligation& d) const;  // what it refers to is there
    const LookDfa& look(const Obligation& d) const { return automata_.at(d.subject).look(d.look); }
    bool implies(uint32_t a, uint32_t b);
    bool matches_less(uint32_t a, uint32_t b);
    bool reduce(std::vector<uint32_t>& all);
    void absorb(Alternatives& alternatives);
    Obligations only(const Obligation& d);  // the formula that is just this
    Obligations any_of(Alternatives alternatives);
    Alternatives alternatives(Obligations formula) const;
    Obligations step(const Obligation& d, uint8_t byte);
    uint32_t step_past(uint32_t past, uint8_t byte);
    Obligations stands_behind(uint32_t past);  // the formula that is just this
    bool breaks(LexState single, uint32_t obligation);
    void count_words(size_t words);  // of one more formula
    void write(PackedWriter& out, const Obligation& d, const TerminalAutomata::NumberOf& number) const;
    Obligation read_obligation(PackedReader& in, const TerminalAutomata::TerminalOf& terminal);

    TerminalAutomata& automata_;
    ByteKinds& kinds_;
    MemberSets& sets_;
    Interner pasts_;  // states of all that look behind
    Obligations text_start_ = kFree, fresh_ = kViolated;
    FlatMap<uint32_t> past_steps_;      // by past and byte
    Pages<Obligations> stands_behind_;  // by past
    Interner obligation_ids_, lists_;
    size_t words_ = 0;  // in lists_
    std::vector<Obligation> obligations_;
    Pages<Obligations> only_;        // by obligation: its formula, if it was asked for
    FlatMap<Obligations> steps_;     // by formula and byte
    FlatMap<Obligations> no_match_;  // by members
    FlatMap<bool> matches_less_;     // by two obligations
    std::unordered_map<uint64_t, Obligations, MixHash> conjunctions_;
    std::unordered_map<uint64_t, bool, MixHash> breaks_;  // by single and obligation
    size_t bytes_ = 0;
};

}  // namespace derivable
