#include "index/walk_states.hpp"

#include "support/task.hpp"

namespace derivable {

void WalkStates::clear() {
    parts_.discarded.take(states_);
    states_.emplace_back();
    numbers_ = {};
    parts_.discarded.take(classes_);
    rows_ = {};
    groups_.clear();
    ways_.clear();
    group_ids_.clear();
    way_ids_.clear();
    bytes_ = 0;
}

WalkStates::Local WalkStates::local(LexState s) {
    if (s == kNoState) return kDead;
    if (const Local* known = numbers_.find(s)) return *known;
    work(20);
    // A state is 2 KB and more, with the lists made of it: where each walk meets thousands, as many that were forgotten are freed, or they pile up.
    parts_.discarded.some(4);
    // SAFETY: what is asked about a state may be refused (LimitExceeded). It has no number before all is answered.
    State x{s, group_of(s), false, parts_.prospects.may_be_newline(s)};
    if (single_) {
        x.leaves = lexer_.automata.accepts(s);
    } else {
        x.exits = lexer_.exits(s);
        x.leaves = !x.exits.empty();
        x.ways.assign(x.exits.size() * (lexer_.policy() == Policy::kScannerless ? 1 : 256), kUnknownWay);
    }
    x.classes = classes_of(s);
    states_.push_back(std::move(x));
    const auto number = Local(states_.size() - 1);
    rows_[number];
    return numbers_[s] = number;
}

const ByteClasses* WalkStates::classes_of(LexState s) {
    const std::array<uint8_t, 256>* classes = single_ ? lexer_.automata.recognizer_of(s).classes(lexer_.automata.state_of(s)) : nullptr;
    if (!classes) return &ByteClasses::alone();
    auto known = classes_.find(classes);
    if (known == classes_.end()) {
        work(100);
        bytes_ += 2'000;
        known = classes_.emplace(classes, ByteClasses(*classes)).first;
    }
    return &known->second;  // SAFETY: references to elements of an unordered_map stay valid
}

// PERF: a state is soon asked where all bytes lead, of which few differ. Where each state is new, as in a pattern that counts words, that was 60%
// of a comparison.
WalkStates::Local WalkStates::find_next(Local from, uint8_t byte) {
    const Local found = beside_->look([&] { return local(step(states_[from].lex, byte)); });
    std::array<Local, 256>& row = rows_[from];
    states_[from].classes->each_other(byte, [&](uint8_t b) { row[b] = found; });
    return row[byte] = found;
}

WalkStates::Local WalkStates::find_alike(Local s, size_t reach) {
    Local found = s;
    if (lexer_.policy() == Policy::kScannerless)
        found = beside_->look([&] { return local(lexer_.alike.for_short_texts(states_[s].lex, kReaches[reach])); });
    return states_[s].alike[reach] = found;
}

uint32_t WalkStates::group_of(LexState s, Indentations::Effect effect) {
    const auto [sureness, key] = parts_.prospects.sureness(s);
    const Group g{sureness, key, effect};
    auto [it, fresh] = group_ids_.try_emplace({uint32_t(g.sureness), g.key, effect}, uint32_t(groups_.size()));
    if (fresh) groups_.push_back(g);
    return it->second;
}

uint16_t WalkStates::way_of(TerminalId terminal, Obligations obligations, Indentations::Effect effect) {
    const std::array<uint32_t, 3> key{terminal.index(), obligations.index(), effect};
    auto known = way_ids_.find(key);
    if (known != way_ids_.end()) return uint16_t(known->second);
    if (ways_.size() >= kNoWay) throw TooAmbiguous();  // SAFETY: with nothing kept, which would come out as kNoWay when asked again
    ways_.push_back({terminal, obligations, effect});
    return uint16_t(way_ids_[key] = uint32_t(ways_.size() - 1));
}

uint16_t WalkStates::way_out(State& x, size_t e, uint8_t byte) {
    uint16_t& known = x.ways[x.ways.size() == x.exits.size() ? e : e * 256 + byte];
    if (known != kUnknownWay) return known;
    const Lexer::Exit exit = x.exits[e];
    const Obligations owed = lexer_.unsettled(exit.obligations, byte);
    return known = owed == Formulas::kViolated ? kNoWay : way_of(exit.terminal, owed);
}

}  // namespace derivable
