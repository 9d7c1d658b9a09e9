// Where in a character of UTF-8 a text stands.
#pragma once

#include <array>
#include <cstdint>

namespace derivable {

// Between two characters, or with so many bytes of one still to come; behind some first bytes not all of them fit.
enum Utf8State : uint8_t { kBetween, kOneMore, kTwoMore, kThreeMore, kBehindE0, kBehindED, kBehindF0, kBehindF4, kNumUtf8States, kNowhere };

inline const auto kCharacterSteps = [] {
    std::array<std::array<Utf8State, 256>, kNumUtf8States> t{};
    for (auto& row : t) row.fill(kNowhere);
    auto set = [&](Utf8State from, uint32_t low, uint32_t high, Utf8State to) {
        for (uint32_t b = low; b <= high; b++) t[from][b] = to;
    };
    set(kBetween, 0x00, 0x7F, kBetween);
    set(kBetween, 0xC2, 0xDF, kOneMore);
    set(kBetween, 0xE0, 0xEF, kTwoMore);
    set(kBetween, 0xF0, 0xF4, kThreeMore);
    t[kBetween][0xE0] = kBehindE0;  // nothing that has a shorter spelling
    t[kBetween][0xED] = kBehindED;  // no surrogates
    t[kBetween][0xF0] = kBehindF0;
    t[kBetween][0xF4] = kBehindF4;  // nothing past U+10FFFF
    set(kOneMore, 0x80, 0xBF, kBetween);
    set(kTwoMore, 0x80, 0xBF, kOneMore);
    set(kThreeMore, 0x80, 0xBF, kTwoMore);
    set(kBehindE0, 0xA0, 0xBF, kOneMore);
    set(kBehindED, 0x80, 0x9F, kOneMore);
    set(kBehindF0, 0x90, 0xBF, kTwoMore);
    set(kBehindF4, 0x80, 0x8F, kTwoMore);
    return t;
}();

inline Utf8State character_step(Utf8State place, uint8_t byte) { return kCharacterSteps[place][byte]; }

}  // namespace derivable
