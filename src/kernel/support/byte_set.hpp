// Sets of bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace derivable {

struct ByteSet {
    std::array<uint64_t, 4> words{};
    static ByteSet all() { return {{~0ULL, ~0ULL, ~0ULL, ~0ULL}}; }
    void set(uint8_t b) { words[b >> 6] |= 1ULL << (b & 63); }
    ByteSet& operator|=(const ByteSet& o) {
        for (size_t w = 0; w < 4; w++) words[w] |= o.words[w];
        return *this;
    }
    void remove(uint8_t b) { words[b >> 6] &= ~(1ULL << (b & 63)); }
    bool operator[](uint8_t b) const { return words[b >> 6] >> (b & 63) & 1; }
    bool meets(const ByteSet& o) const {
        uint64_t both = 0;
        for (size_t w = 0; w < 4; w++) both |= words[w] & o.words[w];
        return both != 0;
    }
    size_t size() const {
        size_t n = 0;
        for (uint64_t word : words) n += size_t(__builtin_popcountll(word));
        return n;
    }
    // How many of them are smaller.
    uint32_t rank(uint8_t b) const {
        int below = __builtin_popcountll(words[b >> 6] & ((1ULL << (b & 63)) - 1));
        for (size_t w = 0; w < size_t(b >> 6); w++) below += __builtin_popcountll(words[w]);
        return uint32_t(below);
    }
    template <typename Visit>
    void each(Visit&& visit) const {
        for (uint32_t w = 0; w < 4; w++)
            for (uint64_t rest = words[w]; rest; rest &= rest - 1) visit(uint8_t(64 * w + uint32_t(__builtin_ctzll(rest))));
    }
};

}  // namespace derivable
