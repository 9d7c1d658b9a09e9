#include "matching/apply_bitmask.hpp"

#include <algorithm>
#include <cstring>

// PERF: compiled twice, for AVX2 and for any processor of the family; which one is taken is decided when the module is loaded. Sanitizers
// are not ready then.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define FOR_SEVERAL_PROCESSORS __attribute__((target_clones("avx2", "default")))
#else
#define FOR_SEVERAL_PROCESSORS
#endif

namespace derivable {

namespace {

constexpr uint32_t kAll = ~0u;

#define INTO_EACH_OF_THEM __attribute__((always_inline)) inline

// As many numbers as one vector register of AVX2 holds, or two of others. Every lane looks at a bit of its own: not all processors can
// shift lanes by different counts.
template <class Bits>
struct Lanes {
    typedef Bits Vector __attribute__((vector_size(32)));
    static constexpr size_t kCount = 32 / sizeof(Bits);
    Vector bit, minimum;
    explicit Lanes(Bits m) {
        for (size_t i = 0; i < kCount; i++) bit[i] = Bits(Bits(1) << i), minimum[i] = m;
    }
    INTO_EACH_OF_THEM void choose(Bits* x, uint32_t word) const {
        for (size_t part = 0; part < 32; part += kCount) {
            Bits piece = Bits(word >> part);
            Vector was, word_in_all = Vector{} + piece;
            std::memcpy(&was, x + part, sizeof was);
            const Vector refused = Vector((word_in_all & bit) != bit);
            was = (was & ~refused) | (minimum & refused);
            std::memcpy(x + part, &was, sizeof was);
        }
    }
};

// Where the run of such words that begins there ends. PERF: masks are mostly long runs of words that are alike, so many at a time.
INTO_EACH_OF_THEM size_t end_of_run(const uint32_t* words, size_t from, size_t count) {
    constexpr size_t kBlock = 32;
    const uint32_t word = words[from];
    size_t end = from + 1;
    for (; end + kBlock <= count; end += kBlock) {
        uint32_t different = 0;
        for (size_t i = 0; i < kBlock; i++) different |= words[end + i] ^ word;
        if (different) break;
    }
    while (end < count && words[end] == word) end++;
    return end;
}

template <class Bits>
INTO_EACH_OF_THEM void apply_words(Bits* x, const uint32_t* words, size_t count, Bits minimum) {
    const Lanes<Bits> lanes(minimum);
    for (size_t w = 0; w < count;) {
        const uint32_t word = words[w];
        size_t end = w + 1;
        if (word == kAll) {
            end = end_of_run(words, w, count);
        } else if (word == 0) {
            end = end_of_run(words, w, count);
            std::fill(x + 32 * w, x + 32 * end, minimum);
        } else {
            // PERF: a store for each of one or two is cheaper than reading and writing back all 32.
            uint32_t refused = ~word;
            const uint32_t but_one = refused & (refused - 1);
            if ((but_one & (but_one - 1)) != 0) lanes.choose(x + 32 * w, word);
            else
                for (; refused; refused &= refused - 1) x[32 * w + size_t(__builtin_ctz(refused))] = minimum;
        }
        w = end;
    }
}

FOR_SEVERAL_PROCESSORS void apply_16(uint16_t* x, const uint32_t* words, size_t count, uint16_t minimum) {
    apply_words(x, words, count, minimum);
}
FOR_SEVERAL_PROCESSORS void apply_32(uint32_t* x, const uint32_t* words, size_t count, uint32_t minimum) {
    apply_words(x, words, count, minimum);
}
FOR_SEVERAL_PROCESSORS void apply_64(uint64_t* x, const uint32_t* words, size_t count, uint64_t minimum) {
    apply_words(x, words, count, minimum);
}

bool is_allowed(const uint32_t* words, size_t count, size_t token) { return token / 32 < count && words[token / 32] >> (token % 32) & 1; }

template <class Bits, class Apply>
void apply(const LogitRow& row, const uint32_t* words, size_t count, Apply apply_words) {
    const Bits minimum = Bits(row.minimum);
    size_t done = 0;
    if (row.stride == int64_t(sizeof(Bits)) && reinterpret_cast<uintptr_t>(row.data) % sizeof(Bits) == 0) {
        const size_t whole = std::min(count, row.width / 32);
        apply_words(reinterpret_cast<Bits*>(row.data), words, whole, minimum);
        done = 32 * whole;
    }
    // What does not lie side by side, or not where numbers of this size lie, and what is left of a word.
    for (size_t token = done; token < row.width; token++)
        if (!is_allowed(words, count, token)) std::memcpy(row.data + int64_t(token) * row.stride, &minimum, sizeof minimum);
}

}  // namespace

void apply_bitmask(const LogitRow& row, const uint32_t* words, size_t count) {
    if (row.size == 2) return apply<uint16_t>(row, words, count, apply_16);
    if (row.size == 4) return apply<uint32_t>(row, words, count, apply_32);
    apply<uint64_t>(row, words, count, apply_64);
}

}  // namespace derivable
