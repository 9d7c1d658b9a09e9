// The states of JsonStrings' decoder, for the files that implement it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "json/string_literals.hpp"

namespace derivable {

// States of the decoder. `High...`: after the escape of a high surrogate, which a low one may complete.
enum Decoder : uint8_t {
    kBefore,    // the opening quote
    kBoundary,  // between characters
    kEnd,       // after the closing quote
    kEscape,    // backslash
    kHex,       // \u
    kHexD,      // \ud: a surrogate, perhaps
    kHex1,      // \uX, any other
    kHex0,      // \u0, \u00, \u000, \u007: not all that may follow is spelled plainly
    kHex00,
    kHex000,
    kHex007,
    kHex2,
    kHex3,
    kHigh2,  // \ud8 to \udb
    kHigh3,
    kHigh,  // a high surrogate; otherwise as kBoundary
    kHighEscape,
    kHighHex,
    kHighHexD,
    kLow2,  // \udc to \udf after a high surrogate
    kLow3,
    kMore1,  // continuation bytes of UTF-8 still to come
    kMore2,
    kMore3,
    kAfterE0,  // whose next byte is restricted: no overlong forms, no surrogates, nothing past U+10FFFF
    kAfterED,
    kAfterF0,
    kAfterF4,
    kNumDecoders,
    kStuck = JsonStrings::kStuck
};

// What the escapes of two characters stand for.
constexpr std::string_view kShortEscapes = "\"\\/bfnrt";
constexpr std::array<uint32_t, 8> kShortMeanings = {'"', '\\', '/', 8, 12, 10, 13, 9};

inline std::string utf8(uint32_t c) {
    if (c < 0x80) return {char(c)};
    if (c < 0x800) return {char(0xC0 | c >> 6), char(0x80 | (c & 63))};
    if (c < 0x10000) return {char(0xE0 | c >> 12), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
    return {char(0xF0 | c >> 18), char(0x80 | (c >> 12 & 63)), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
}

}  // namespace derivable
