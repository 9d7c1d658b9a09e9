// What a table is written down as: words of 32 bits, the lowest byte first. And reading them again, from a file that may say anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/errors.hpp"

namespace derivable {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are copied as they are");

class ImageWriter {
  public:
    void put(size_t n) { words_.push_back(uint32_t(n)); }
    void run(const uint32_t* begin, const uint32_t* end) { words_.insert(words_.end(), begin, end); }
    void append(const ImageWriter& other) { run(other.words_.data(), other.words_.data() + other.words_.size()); }
    void list(const std::vector<uint32_t>& words) {
        put(words.size());
        run(words.data(), words.data() + words.size());
    }
    std::string bytes() const { return {reinterpret_cast<const char*>(words_.data()), words_.size() * 4}; }

  private:
    std::vector<uint32_t> words_;
};

// Throws BadArtifact where there is less than was written, or a number is too large.
//
// SAFETY: words may be those of a file that is mapped, which somebody writes to; so what was checked is not read again.
class ImageReader {
  public:
    ImageReader() = default;
    // A copy of them, or, if they lie as words do, themselves: for as long as `owner` is there.
    explicit ImageReader(std::string_view data, std::shared_ptr<const void> owner = nullptr) : size_(data.size() / 4) {
        if (data.size() % 4) throw BadArtifact("its index is cut off");
        if (owner && reinterpret_cast<uintptr_t>(data.data()) % alignof(uint32_t) == 0) {
            owner_ = std::move(owner);
            words_ = reinterpret_cast<const uint32_t*>(data.data());
            return;
        }
        std::shared_ptr<uint32_t[]> words(new uint32_t[size_]);
        if (!data.empty()) std::memcpy(words.get(), data.data(), data.size());
        words_ = words.get();
        owner_ = std::move(words);
    }
    uint32_t next() {
        if (at_ == size_) throw BadArtifact("its index is cut off");
        return words_[at_++];
    }
    uint32_t below(size_t bound) {
        const uint32_t n = next();
        check(n < bound);
        return n;
    }
    // So many of things that take at least `size` words each.
    uint32_t count(size_t size = 1) {
        const uint32_t n = next();
        if (uint64_t(n) * size > size_ - at_) throw BadArtifact("its index is cut off");
        return n;
    }
    // SAFETY: valid as long as the words.
    const uint32_t* run(size_t n) {
        if (n > size_ - at_) throw BadArtifact("its index is cut off");
        return words_ + std::exchange(at_, at_ + n);
    }
    std::vector<uint32_t> list() {
        const uint32_t n = count();
        const uint32_t* begin = run(n);
        return {begin, begin + n};
    }
    static constexpr const char* kMisplaced = "a number of its index is out of place";
    static void check(bool fits) {
        if (!fits) throw BadArtifact(kMisplaced);
    }
    bool at_end() const { return at_ == size_; }
    // Where it stands, and one that stands elsewhere, for what is read when it is asked for. SAFETY: that one does not keep the words.
    //
    // PERF: a count of owners, which threads share, was a tenth of what it took to read a node of a trie.
    size_t position() const { return at_; }
    ImageReader at(size_t position) const {
        ImageReader other;
        check(position <= size_);
        other.words_ = words_, other.size_ = size_, other.at_ = position;
        return other;
    }
    bool is_empty() const { return size_ == 0; }

  private:
    std::shared_ptr<const void> owner_;
    const uint32_t* words_ = nullptr;
    size_t size_ = 0, at_ = 0;
};

}  // namespace derivable
