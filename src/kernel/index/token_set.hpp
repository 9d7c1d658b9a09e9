// Sets of tokens, to be united into masks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/hashing.hpp"

namespace derivable {

class ImageReader;
class ImageWriter;

// Some token ids of a vocabulary, as whichever of a list and a bitmask is faster to OR into a mask.
class TokenSet {
  public:
    // `words` of a bitmask of the whole vocabulary.
    void add(uint32_t token, uint32_t words) {
        count_++;
        if (!dense_.empty()) {
            dense_[token >> 5] |= 1u << (token & 31);
        } else {
            ids_.push_back(token);
            // PERF: one listed id costs about as much to OR as eight words of a bitmask.
            if (ids_.size() > words / 8) spread(words);
        }
    }
    // Before the first of so many.
    void expect(size_t count, uint32_t words) {
        if (count > words / 8) spread(words);
        else ids_.reserve(count);
    }
    // All at once, from a bitmask.
    static TokenSet of(const std::vector<uint32_t>& row);
    // After the last add().
    void pack();
    // For sets of few tokens, side by side: a list of few, and more of them.
    bool is_short() const { return dense_.empty() && ids_.size() <= kShort; }
    void append(const TokenSet& o) { ids_.insert(ids_.end(), o.ids_.begin(), o.ids_.end()), count_ += o.count_; }
    void or_into(uint32_t* mask) const;
    uint32_t count() const { return count_; }
    uint64_t cost() const { return 1 + ids_.size() / 4 + dense_.size() / 80; }  // of or_into, as `work` counts
    void save(ImageWriter& out) const;
    static TokenSet restored(ImageReader& in, uint32_t vocabulary_size);
    size_t bytes() const { return (ids_.capacity() + dense_.capacity()) * 4; }

  private:
    static constexpr size_t kShort = 64;
    void spread(uint32_t words);

    std::vector<uint32_t> ids_, dense_;  // one of them is empty
    uint32_t count_ = 0;
};

}  // namespace derivable
