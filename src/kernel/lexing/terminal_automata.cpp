#include "lexing/terminal_automata.hpp"

#include <utility>

#include "support/errors.hpp"
#include "support/packed.hpp"
#include "support/task.hpp"

namespace derivable {

TerminalId TerminalAutomata::add(const Recognizer& recognizer, uint32_t rank, uint32_t kind) {
    const TerminalId id(num_terminals());
    if (policy_ == Policy::kScannerless) {
        const auto seen = by_identity_.find(recognizer.identity());
        if (!kind && seen != by_identity_.end()) return seen->second;
        std::string key = recognizer.key();
        key.append(reinterpret_cast<const char*>(&kind), sizeof kind);
        auto [it, fresh] = by_language_.try_emplace(std::move(key), id);
        if (!fresh) return it->second;
        if (!kind && recognizer.identity()) by_identity_[recognizer.identity()] = id;
    }
    Terminal t{recognizer.copy(), rank, num_automata(), kNever};
    if (recognizer.past()) {
        for (const Recognizer& variant : recognizer.variants()) add_automaton(variant, id);
        t.looks_back = uint32_t(looking_back_.size());
        looking_back_.push_back(recognizer.past());
    } else {
        add_automaton(t.recognizer, id);
    }
    return terminals_.add(std::move(t));
}

void TerminalAutomata::let_go() {
    terminals_.clear();
    for (Automaton& a : automata_) a.recognizer.let_go();
}

void TerminalAutomata::add_automaton(const Recognizer& recognizer, TerminalId terminal) {
    automata_.push_back({recognizer, terminal, 0, {}});
    number_states(num_automata() - 1);
}

void TerminalAutomata::number_states(uint32_t automaton) {
    Automaton& a = automata_[automaton];
    a.first = num_states();
    for (uint32_t s = 0; s < a.recognizer.num_states(); s++) automaton_of_.add(automaton), state_of_.add(s);
    if (num_states() >= StateNumber::kSetBit)
        throw LimitExceeded("lexer states", num_states(), StateNumber::kSetBit, "the automata of all terminals of a vocabulary");
    bytes_ += a.recognizer.bytes();
}

LexState TerminalAutomata::state(uint32_t automaton, uint32_t state) {
    Automaton& a = automata_[automaton];
    if (a.recognizer.awaits_table()) {
        a.recognizer.make_table();
        terminals_[a.terminal].recognizer = a.recognizer;
        number_states(automaton);
    }
    if (a.recognizer.has_table()) return LexState(a.first + state);
    if (a.numbers.size() <= state) a.numbers.resize(state + 1, kNoState.index());
    if (a.numbers[state] == kNoState.index()) {
        if (num_states() >= StateNumber::kSetBit)
            throw LimitExceeded("lexer states", num_states(), StateNumber::kSetBit, "the automata of all terminals of a vocabulary");
        work(10);
        a.numbers[state] = num_states();
        automaton_of_.add(automaton);
        state_of_.add(state);
        bytes_ += 160;
    }
    return LexState(a.numbers[state]);
}

LexState TerminalAutomata::step_by_rule(LexState single, uint8_t byte) {
    const uint32_t a = automaton_of_[single];
    work(2);
    const int32_t next = automata_[a].recognizer.step(state_of_[single], byte);
    return next < 0 ? kNoState : state(a, uint32_t(next));
}

void TerminalAutomata::write_automaton(PackedWriter& out, uint32_t automaton, const NumberOf& number) const {
    const TerminalId id = automata_[automaton].terminal;
    out.put(number(id));
    if (terminals_[id].looks_back != kNever) out.put(automaton - terminals_[id].first);
}

uint32_t TerminalAutomata::read_automaton(PackedReader& in, const TerminalOf& terminal) {
    const Terminal& t = terminals_[terminal(in.next())];
    const uint32_t automaton = t.first + (t.looks_back == kNever ? 0 : in.below(looking_back_[t.looks_back]->variants.size()));
    in.check(!automata_[automaton].recognizer.is_empty());
    if (automata_[automaton].recognizer.awaits_table()) state(automaton, 0);
    return automaton;
}

}  // namespace derivable
