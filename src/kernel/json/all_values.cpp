#include "json/all_values.hpp"

#include <array>
#include <cstdint>

namespace derivable {

namespace {

Dfa make(Lone lone) {
    enum : uint32_t { kAny, kAfterHigh, kOne, kTwo, kThree, kE0, kED, kEDAfterHigh, kF0, kF4, kHighOne, kCount };
    Dfa d;
    for (uint32_t b = 0; b < 256; b++) d.classes[b] = uint8_t(b);
    d.num_classes = 256;
    d.table.assign(kCount * 256, kDead);
    d.accepting.assign(kCount, 0);
    d.condition.assign(kCount, 0);
    auto set = [&](uint32_t from, uint32_t low, uint32_t high, uint32_t to) {
        for (uint32_t b = low; b <= high; b++) d.table[from * 256 + b] = int32_t(to);
    };
    for (uint32_t s : {kAny, kAfterHigh}) {
        d.accepting[s] = 1;
        set(s, 0, 0x7F, kAny);
        set(s, 0xC2, 0xDF, kOne);
        set(s, 0xE1, 0xEF, kTwo);
        set(s, 0xE0, 0xE0, kE0);
        set(s, 0xED, 0xED, s == kAny ? kED : kEDAfterHigh);
        set(s, 0xF1, 0xF3, kThree);
        set(s, 0xF0, 0xF0, kF0);
        set(s, 0xF4, 0xF4, kF4);
    }
    set(kOne, 0x80, 0xBF, kAny);
    set(kTwo, 0x80, 0xBF, kOne);
    set(kThree, 0x80, 0xBF, kTwo);
    set(kE0, 0xA0, 0xBF, kOne);
    set(kED, 0x80, lone == Lone::kNone ? 0x9F : 0xBF, kOne);
    set(kEDAfterHigh, 0x80, 0x9F, kOne);
    if (lone != Lone::kNone)
        for (uint32_t s : {kED, kEDAfterHigh}) set(s, 0xA0, 0xAF, kHighOne);
    set(kHighOne, 0x80, 0xBF, lone == Lone::kSpelled ? kAfterHigh : kAny);
    set(kF0, 0x90, 0xBF, kTwo);
    set(kF4, 0x80, 0x8F, kTwo);
    d.minimize();
    return d;
}

}  // namespace

const Dfa& all_values(Lone lone) {
    static const std::array<Dfa, 3> all = {make(Lone::kAll), make(Lone::kSpelled), make(Lone::kNone)};
    return all[size_t(lone)];
}

}  // namespace derivable
