// The decoder of JSON strings: which characters a literal spells, in any spelling or plainly, byte by byte.
//
// A surrogate pair of escapes is one character, a lone surrogate escape is one, too: so after a high surrogate the decoder remembers it.
#pragma once

#include <cstdint>
#include <string>

namespace derivable {

enum class Escapes : uint8_t { kAny, kPlain };

// Counting starts at 0 with the first character.
struct StringDecoder {
    // States of the decoder. `High...`: after the escape of a high surrogate, which a low one may complete.
    enum State : uint8_t {
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
        kStuck = 0xFF
    };

    static uint8_t decode(Escapes escapes, uint8_t state, uint8_t byte);
    // The step completes a character.
    static bool completes(Escapes escapes, uint8_t from, uint8_t to);
    // Characters, beyond those completed, that must come before the literal can end.
    static uint32_t owed(Escapes escapes, uint8_t state);
    // A text that leads to a state from the start of a literal.
    static const std::string& example(Escapes escapes, uint8_t state);
};

}  // namespace derivable
