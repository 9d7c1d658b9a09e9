// Logits of tokens that a bitmask does not allow become minus infinity. Knows nothing of grammars.
#pragma once

#include <cstddef>
#include <cstdint>

namespace derivable {

// One row of floating-point numbers of 2, 4 or 8 bytes each, wherever they lie.
struct LogitRow {
    char* data;
    size_t width;      // numbers
    int64_t stride;    // bytes from one to the next; may be negative, but not 0
    uint32_t size;     // bytes of one
    uint64_t minimum;  // the bits of minus infinity
};

// Bit t % 32 of word t // 32 says whether token t is allowed; what lies past the words is not.
//
// Cost: a look at each word, and at the numbers of those words that allow some tokens and not others.
void apply_bitmask(const LogitRow& row, const uint32_t* words, size_t count);

}  // namespace derivable
