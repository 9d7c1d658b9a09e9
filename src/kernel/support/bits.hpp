// Sets of small numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace derivable {

// A set of small numbers.
class Bits {
  public:
    Bits() = default;
    explicit Bits(size_t size) : words_((size + 63) / 64, 0) {}
    bool has(uint32_t i) const { return words_[i / 64] >> (i % 64) & 1; }
    void add(uint32_t i) { words_[i / 64] |= 1ULL << (i % 64); }
    void remove(uint32_t i) { words_[i / 64] &= ~(1ULL << (i % 64)); }
    bool add_all(const Bits& o) {  // true if it grew
        uint64_t grown = 0;
        for (size_t i = 0; i < words_.size(); i++) grown |= o.words_[i] & ~words_[i], words_[i] |= o.words_[i];
        return grown != 0;
    }
    void keep(const Bits& o) {
        for (size_t i = 0; i < words_.size(); i++) words_[i] &= o.words_[i];
    }
    bool meets(const Bits& o) const {
        for (size_t i = 0; i < words_.size(); i++)
            if (words_[i] & o.words_[i]) return true;
        return false;
    }
    bool includes(const Bits& o) const {
        for (size_t i = 0; i < words_.size(); i++)
            if (o.words_[i] & ~words_[i]) return false;
        return true;
    }
    bool operator==(const Bits& o) const { return words_ == o.words_; }
    const std::vector<uint64_t>& words() const { return words_; }

  private:
    std::vector<uint64_t> words_;
};

// Sorts numbers that are all different; `bits` are 0, and as many as there may be numbers.
// PERF: of 3,000 words, each behind `[a-z]*`, most sets of states have thousands, and sorting them was half of 3.9 s.
inline void sort_distinct(std::vector<uint32_t>& numbers, std::vector<uint64_t>& bits) {
    if (numbers.size() < bits.size() / 4) return std::sort(numbers.begin(), numbers.end());
    for (uint32_t n : numbers) bits[n / 64] |= uint64_t(1) << n % 64;
    numbers.clear();
    for (size_t i = 0; i < bits.size(); bits[i++] = 0)
        for (uint64_t rest = bits[i]; rest; rest &= rest - 1) numbers.push_back(uint32_t(64 * i + size_t(__builtin_ctzll(rest))));
}

}  // namespace derivable
