// A mask as it is kept: where few words of it are not 0, those. Two of three masks of JSON schemas are such (llama-3): keys, what may stand behind them,
// values of a list. Of the others all words are kept.
//
// PERF: 150 schemas ahead of time had 129 masks each on average, of 16 kB, which were more than half of what a constraint took (4.7 MB, now 3.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tokens/token_set.hpp"

namespace derivable {

class PackedMask {
  public:
    PackedMask() = default;
    explicit PackedMask(std::vector<uint32_t> words);
    // `tokens`: after pack() or normalize().
    PackedMask(const TokenSet& tokens, uint32_t num_words);

    // All words of it.
    void write(uint32_t* words) const;
    // Beside what is there.
    void add_to(uint32_t* words) const;
    std::vector<uint32_t> words() const;
    bool holds(uint32_t token) const;
    bool operator==(const PackedMask& o) const { return num_words_ == o.num_words_ && places_ == o.places_ && words_ == o.words_; }
    uint64_t hash() const;
    size_t bytes() const { return words_.capacity() * sizeof(uint32_t) + places_.capacity() * sizeof(uint16_t); }

  private:
    // PERF: up to a quarter, it would be four of five masks and 3.1 MB; but to find so many words among all of them took a twentieth of lazy masks.
    static bool is_sparse(size_t used, size_t all) { return used <= all / 8 && all <= size_t(UINT16_MAX) + 1; }
    bool has_all() const { return words_.size() == num_words_; }

    uint32_t num_words_ = 0;
    std::vector<uint32_t> words_;   // all, or those that are not 0
    std::vector<uint16_t> places_;  // of the latter
};

}  // namespace derivable
