// What was found out about dead ends, written down and read again.
#include "liveness/liveness.hpp"
#include "support/archive.hpp"

namespace derivable {

void Spelling::archive(Archive& a) {
    const size_t size = ignored_.size(), formulas = lexer_.formulas.size();
    a.check(recurrents_.empty());
    a.each(recurrents_, 7, [&](Recurrent& r) {
        a.below(r.obligations, formulas);
        a.bits(r.unconditional, size);
        a.bits(r.into_main, size);
        a.map(r.reached_from, 2, [&](Obligations& from, bool& reached) { a.below(from, formulas), a.flag(reached); });
        a.map(r.ways_in, 2, [&](uint32_t& past, std::vector<uint8_t>& bytes) {
            a.number(past);
            a.each(bytes, 1, [&](uint8_t& byte) { a.below(byte, 256); });
        });
    });
    a.map(recurrent_of_, 2, [&](Obligations& obligations, uint32_t& recurrent) {
        a.below(obligations, formulas);
        a.number(recurrent);
        a.check(recurrent < recurrents_.size() || recurrent == kNoRecurrent);
    });
    bool knows_spellable = !spellable_.words().empty();
    a.flag(knows_spellable);
    if (knows_spellable) a.bits(spellable_, size);
    a.map(possible_, 3, [&](Obligations& obligations, Bits& bits) { a.below(obligations, formulas), a.bits(bits, size); });
}

void Liveness::archive(Archive& a) {
    spelling_.archive(a);
    a.map(always_alive_, 2, [&](LexState& state, bool& alive) {
        a.number(state);
        a.check(lexer_.is_state(state));
        a.flag(alive);
    });
    // PERF: made here and not in masks, where they were 160,000 and 260,000 instructions of 700,000. SAFETY: a file may name any number of sets.
    constexpr uint32_t kMost = 8;
    const size_t size = stacks_.lr().productions().num_terminals() + 1;
    const uint32_t count = a.count(completions_.size(), 2);
    for (uint32_t i = 0; i < count; i++) {
        Bits terminals = a.reading() ? Bits() : completions_[i]->terminals();
        a.bits(terminals, size);
        if (a.reading() && i < kMost) completion(terminals);
    }
}

}  // namespace derivable
