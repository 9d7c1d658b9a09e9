#include "lexing/alike_states.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "support/task.hpp"

namespace derivable {

void AlikeStates::settle(LexState s) {
    // PERF: finding out what else is the same takes 70 units of work a state, 200 ms for an enumeration of 100,000 integers. So large an
    // automaton has little in common with others.
    constexpr uint32_t kLarge = 1u << 12;
    constexpr uint64_t kLong = 100'000;
    work(10);
    Recognizer& recognizer = automata_.at(automata_.automaton_of(s));
    const uint32_t state = automata_.state_of(s);
    auto keep = [&](LexState single, LexState canonical, LexState equal) {
        known_.reach(single, automata_.num_states());
        known_[single] = {canonical, equal};
    };
    if (recognizer.num_states() > kLarge) {
        keep(s, s, s);
    } else if (recognizer.has_table()) {
        // SAFETY: not a part of it can be done alone. PERF: 1.4 million units for a long regular expression: more than a walk may take, so each one was
        // broken off there, and masks beside it stayed byte by byte, 1 ms each.
        Task whole(Task::kUnbounded);
        whole.enter();
        const uint32_t first = s.index() - state;
        const std::vector<uint32_t> equal = recognizer.equal_states(languages_, first);
        for (uint32_t i = 0; i < equal.size(); i++) {
            const int32_t alike = recognizer.acting_as(recognizer, i, longest_token_);
            keep(LexState(first + i), LexState(equal[size_t(alike)]), LexState(equal[i]));
        }
        num_long_settled_ += whole.spent() > kLong;
    } else if (const std::string* text = automata_.ask(&JsonStrings::text_of_any_string, s, ~0ULL)) {
        const LexState same = in_any_string(*text, recognizer.strings()->escapes());
        keep(s, same, same);
    } else {
        std::string key = automata_.ask(&JsonStrings::state_key, s, longest_token_);
        const LexState same = for_short_texts(s, longest_token_);  // a count is one thing where its bound is far
        keep(s, key.empty() || same != s ? same : counted_.try_emplace(std::move(key), s).first->second, s);
    }
}

LexState AlikeStates::in_any_string(const std::string& text, Escapes escapes) {
    TerminalId& terminal = any_string_[size_t(escapes)];
    if (terminal == TerminalId()) terminal = automata_.add(Recognizer::any_string(escapes), 0);
    const uint32_t any = automata_.first_automaton(terminal);
    return canonical(automata_.state(any, automata_.at(any).run(text)));
}

uint32_t AlikeStates::unbounded(uint32_t a) {
    if (automata_.at(a).has_table()) return a;
    if (const uint32_t* known = unbounded_.find(a)) return *known;
    const std::optional<Recognizer> all = automata_.at(a).unbounded();
    const uint32_t whole = all ? automata_.first_automaton(automata_.add(*all, 0)) : a;
    return unbounded_[a] = whole;
}

LexState AlikeStates::acting_as(uint32_t whole, LexState s, uint64_t bytes) {
    const int32_t alike = automata_.at(whole).acting_as(automata_.recognizer_of(s), automata_.state_of(s), bytes);
    if (alike == kDead) return kNoState;
    const LexState same = automata_.state(whole, uint32_t(alike));
    return same == s ? s : canonical(same);
}

LexState AlikeStates::for_short_texts(LexState s, uint64_t bytes) {
    const uint32_t a = automata_.automaton_of(s);
    if (const std::string* text = automata_.ask(&JsonStrings::text_of_any_string, s, bytes))
        return in_any_string(*text, automata_.at(a).strings()->escapes());
    const uint32_t whole = unbounded(a);
    if (automata_.ask(&JsonStrings::meets_bound, s, bytes)) return s;
    const LexState alike = acting_as(whole, s, bytes);
    return alike == kNoState ? s : alike;
}

uint64_t AlikeStates::alike_for(LexState a, LexState b) const {
    if (!StateNumber::is_single(a) || !StateNumber::is_single(b) || automata_.automaton_of(a) != automata_.automaton_of(b)) return 0;
    return automata_.ask(&JsonStrings::alike_for, a, automata_.state_of(b));
}

LexState AlikeStates::without_bound(LexState s) {
    if (!StateNumber::is_single(s)) return kNoState;
    const JsonStrings* strings = automata_.recognizer_of(s).strings();
    if (!strings || !strings->counted_values()) return kNoState;
    const uint32_t whole = unbounded(automata_.automaton_of(s));
    const int32_t same = automata_.at(whole).acting_as(automata_.recognizer_of(s), automata_.state_of(s), ~0ULL);
    return same == kDead ? kNoState : automata_.state(whole, uint32_t(same));
}

LexState AlikeStates::any_string(LexState s) {
    if (!StateNumber::is_single(s) || !automata_.ask(&JsonStrings::is_between_characters, s)) return kNoState;
    return between_characters_of_any_string(s);
}

LexState AlikeStates::between_characters(LexState of, const CountedValues::Place& place) {
    const uint32_t a = automata_.automaton_of(of);
    const int32_t state = automata_.at(a).strings()->between_characters(place);
    return state < 0 ? kNoState : canonical(automata_.state(a, uint32_t(state)));
}

LexState AlikeStates::off_list(LexState s) {
    const uint32_t a = automata_.automaton_of(s);
    const int32_t to = automata_.at(a).strings()->off_list(automata_.state_of(s));
    return to < 0 ? kNoState : canonical(automata_.state(a, uint32_t(to)));
}

}  // namespace derivable
