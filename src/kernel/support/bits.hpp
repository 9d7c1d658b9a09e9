// Sets of small numbers.
#pragma once

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

}  // namespace derivable
