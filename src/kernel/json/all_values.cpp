#include "json/all_values.hpp"

#include <array>
#include <cstdint>

#include "support/characters.hpp"

namespace derivable {

namespace {

// The automaton of characters, with three bytes for each lone surrogate.
Dfa make(Lone lone) {
    enum : uint32_t { kAfterHigh = kNumUtf8States, kEDAfterHigh, kHighOne, kCount };
    Dfa d;
    for (uint32_t b = 0; b < 256; b++) d.classes[b] = uint8_t(b);
    d.num_classes = 256;
    d.table.assign(kCount * 256, kDead);
    d.accepting.assign(kCount, 0);
    d.condition.assign(kCount, 0);
    auto set = [&](uint32_t from, uint32_t low, uint32_t high, uint32_t to) {
        for (uint32_t b = low; b <= high; b++) d.table[from * 256 + b] = int32_t(to);
    };
    for (uint32_t b = 0; b < 256; b++) {
        for (uint32_t s = 0; s < kNumUtf8States; s++)
            if (const Utf8State to = character_step(Utf8State(s), uint8_t(b)); to != kNowhere) set(s, b, b, to);
        d.table[kAfterHigh * 256 + b] = d.table[kBetween * 256 + b];
        d.table[kEDAfterHigh * 256 + b] = d.table[kBehindED * 256 + b];
    }
    d.accepting[kBetween] = d.accepting[kAfterHigh] = 1;
    set(kAfterHigh, 0xED, 0xED, kEDAfterHigh);
    if (lone != Lone::kNone) {
        set(kBehindED, 0xB0, 0xBF, kOneMore);
        for (uint32_t s : {uint32_t(kBehindED), uint32_t(kEDAfterHigh)}) set(s, 0xA0, 0xAF, kHighOne);
    }
    set(kHighOne, 0x80, 0xBF, lone == Lone::kSpelled ? uint32_t(kAfterHigh) : uint32_t(kBetween));
    d.minimize();
    return d;
}

}  // namespace

const Dfa& all_values(Lone lone) {
    static const std::array<Dfa, 3> all = {make(Lone::kAll), make(Lone::kSpelled), make(Lone::kNone)};
    return all[size_t(lone)];
}

}  // namespace derivable
