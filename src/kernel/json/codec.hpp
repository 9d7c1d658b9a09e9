// How a character can be spelled in a JSON string.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace derivable {

// What the escapes of two characters stand for.
constexpr std::string_view kShortEscapes = "\"\\/bfnrt";
constexpr std::array<uint32_t, 8> kShortMeanings = {'"', '\\', '/', 8, 12, 10, 13, 9};

inline std::string utf8(uint32_t c) {
    if (c < 0x80) return {char(c)};
    if (c < 0x800) return {char(0xC0 | c >> 6), char(0x80 | (c & 63))};
    if (c < 0x10000) return {char(0xE0 | c >> 12), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
    return {char(0xF0 | c >> 18), char(0x80 | (c >> 12 & 63)), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
}

// The character of a text at a place, and how many bytes it has.
inline std::pair<uint32_t, uint32_t> character_at(std::string_view text, size_t i) {
    const uint8_t b = uint8_t(text[i]);
    const uint32_t n = b < 0x80 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
    uint32_t c = n == 1 ? b : b & (0xFFu >> (n + 1));
    for (uint32_t k = 1; k < n && i + k < text.size(); k++) c = c << 6 | (uint8_t(text[i + k]) & 63);
    return {c, n};
}

inline bool has_short_escape(uint32_t c) { return std::find(kShortMeanings.begin(), kShortMeanings.end(), c) != kShortMeanings.end(); }

// A character's escape by number, in lower case: one unit or a pair.
inline size_t escape_length(uint32_t c) { return c < 0x10000 ? 6 : 12; }
inline char escape_at(uint32_t c, size_t i) {
    const uint32_t unit = c < 0x10000 ? c : i < 6 ? 0xD800 + ((c - 0x10000) >> 10) : 0xDC00 + (c & 0x3FF);
    const size_t place = i % 6;
    return place == 0 ? '\\' : place == 1 ? 'u' : "0123456789abcdef"[unit >> 4 * (5 - place) & 15];
}
inline bool can_be_raw(uint32_t c) { return c >= 0x20 && c != '"' && c != '\\'; }

}  // namespace derivable
