// Sets of tokens, to be united into masks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace derivable {

class ImageReader;
class ImageWriter;

// Runs something that adds tokens to a mask, and takes `except` out of what it added.
template <typename Add>
void add_except(uint32_t* mask, const std::vector<uint32_t>& except, Add&& add) {
    std::vector<uint32_t> fresh;
    for (uint32_t t : except)
        if (!(mask[t >> 5] >> (t & 31) & 1)) fresh.push_back(t);
    add();
    for (uint32_t t : fresh) mask[t >> 5] &= ~(1u << (t & 31));
}

// Some token ids of a vocabulary, as whichever of a list and a bitmask is faster to OR into a mask. A bitmask may be a file's (`restored`); then nothing is
// to be added.
class TokenSet {
  public:
    // `words` of a bitmask of the whole vocabulary.
    void add(uint32_t token, uint32_t words) {
        count_++;
        if (!dense_.empty()) {
            dense_[token >> 5] |= 1u << (token & 31);
        } else {
            ids_.push_back(token);
            if (are_many(ids_.size(), words)) spread(words);
        }
    }
    // Before the first of so many.
    void expect(size_t count, uint32_t words) {
        if (are_many(count, words)) spread(words);
        else ids_.reserve(count);
    }
    // All at once, from a bitmask.
    static TokenSet of(const std::vector<uint32_t>& row);
    // Without some tokens, and then with others. (Counts those that were added twice twice, as this does.)
    TokenSet amended(const std::vector<uint32_t>& gone, const std::vector<uint32_t>& come, uint32_t words) const;
    // After the last add().
    void pack();
    // With the tokens of another one (after its pack() or normalize()) that are not in `except`, of a vocabulary of so many words; then, once,
    // normalize(). Its count() is not to be asked for any more.
    void unite(const TokenSet& o, const std::vector<uint32_t>& except, uint32_t words);
    // Numbers of a vocabulary, to be sorted; empty between two uses.
    struct Sorter {
        explicit Sorter(uint32_t words) : bits((words + 1) / 2, 0), words_used((bits.size() + 63) / 64, 0) {}
        std::vector<uint64_t> bits, words_used;
    };
    void normalize(Sorter& sorter);
    bool operator==(const TokenSet& o) const {
        return ids_ == o.ids_ && num_words() == o.num_words() && std::equal(dense(), dense() + num_words(), o.dense());
    }
    // For sets of few tokens, side by side: a list of few, and more of them.
    bool is_short() const { return !is_dense() && ids_.size() <= kShort; }
    void append(const TokenSet& o) { ids_.insert(ids_.end(), o.ids_.begin(), o.ids_.end()), count_ += o.count_; }
    void or_into(uint32_t* mask) const;
    template <class Visit>
    void each(Visit visit) const {
        if (const std::vector<uint32_t>* ids = list()) return void(std::for_each(ids->begin(), ids->end(), visit));
        for (uint32_t w = 0; w < num_words(); w++)
            for (uint32_t bits = dense()[w]; bits; bits &= bits - 1) visit(w * 32 + uint32_t(__builtin_ctz(bits)));
    }
    uint32_t count() const { return count_; }
    bool empty() const { return ids_.empty() && !is_dense(); }
    // Ascending after pack() or normalize(). Null: they are a bitmask.
    const std::vector<uint32_t>* list() const { return is_dense() ? nullptr : &ids_; }
    // How many they are at most, if they are a list; else more than any list has.
    size_t listed() const { return is_dense() ? size_t(UINT32_MAX) : ids_.size(); }
    static bool are_many(size_t ids, uint32_t words) { return ids > words / 8; }  // PERF: one costs about as much to OR as eight words
    uint64_t cost() const { return 1 + ids_.size() / 4 + num_words() / 80; }      // of or_into, as `work` counts
    void save(ImageWriter& out) const;
    // SAFETY: valid as long as the words of the file. Who writes to these changes which tokens are in it, and nothing else: ids, which say where a bit
    // is set, are a copy.
    static TokenSet restored(ImageReader& in, uint32_t vocabulary_size);
    size_t bytes() const { return (ids_.capacity() + dense_.capacity()) * 4; }

  private:
    static constexpr size_t kShort = 64;
    void spread(uint32_t words);
    bool is_dense() const { return lent_ || !dense_.empty(); }
    const uint32_t* dense() const { return lent_ ? lent_ : dense_.data(); }
    size_t num_words() const { return lent_ ? num_lent_ : dense_.size(); }

    std::vector<uint32_t> ids_, dense_;  // one of them is empty
    // PERF: bitmasks are a third of a saved constraint. Copied, they were 2,000 page faults when it is loaded, and four in each mask that met
    // another one.
    const uint32_t* lent_ = nullptr;
    size_t num_lent_ = 0;
    uint32_t count_ = 0;
};

// Sets by the numbers that they are written down under: equal ones are one in a file, and in who reads it.
class SetNumbers {
  public:
    uint32_t add(const TokenSet& set);  // SAFETY: which stays where it is
    const uint32_t* find(const TokenSet& set) const;
    uint32_t size() const { return uint32_t(sets_.size()); }
    void save(ImageWriter& out) const;

  private:
    std::unordered_map<const TokenSet*, uint32_t> numbers_;
    std::unordered_map<std::string, uint32_t> known_;
    std::vector<const TokenSet*> sets_;
};

}  // namespace derivable
