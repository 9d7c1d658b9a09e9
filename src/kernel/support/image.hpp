// What a table is written down as: mostly words of 32 bits, the lowest byte first. And reading them again, from a file that may say anything.
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
    void put(size_t n) {
        const auto word = uint32_t(n);
        run(&word, &word + 1);
    }
    void text(std::string_view bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
    void run(const uint32_t* begin, const uint32_t* end) { text({reinterpret_cast<const char*>(begin), size_t(end - begin) * 4}); }
    void list(const std::vector<uint32_t>& words) {
        put(words.size());
        run(words.data(), words.data() + words.size());
    }
    std::string_view view() const { return {bytes_.data(), bytes_.size()}; }
    std::string bytes() const { return std::string(view()); }

  private:
    std::vector<char> bytes_;  // no string, which grows in a library whose allocations Task does not count
};

// Throws BadArtifact where there is less than was written, or a number is too large.
//
// SAFETY: bytes may be those of a file that is mapped, which somebody writes to; so what was checked is not read again.
class ImageReader {
  public:
    ImageReader() = default;
    // A copy of them, or, if they lie as words do, themselves: for as long as `owner` is there. Errors name `what` they are of.
    explicit ImageReader(std::string_view data, std::shared_ptr<const void> owner = nullptr, const char* what = "its index")
        : what_(what),
          size_(data.size()) {
        if (owner && reinterpret_cast<uintptr_t>(data.data()) % alignof(uint32_t) == 0) {
            owner_ = std::move(owner);
            bytes_ = data.data();
            return;
        }
        std::shared_ptr<char[]> bytes(new char[size_]);  // which lie as words do
        if (!data.empty()) std::memcpy(bytes.get(), data.data(), size_);
        bytes_ = bytes.get();
        owner_ = std::move(bytes);
    }
    uint32_t next() {
        uint32_t word;
        std::memcpy(&word, text(sizeof word).data(), sizeof word);
        return word;
    }
    uint32_t below(size_t bound) {
        const uint32_t n = next();
        check(n < bound);
        return n;
    }
    // So many of things that take at least `size` words each.
    uint32_t count(size_t size = 1) {
        const uint32_t n = next();
        need(uint64_t(n) * size);
        return n;
    }
    void need(uint64_t words) const {
        if (words > (size_ - at_) / 4) refuse("", " is cut off");
    }
    // SAFETY: valid as long as the bytes, as the next two.
    std::string_view text(size_t n) {
        if (n > size_ - at_) refuse("", " is cut off");
        return {bytes_ + std::exchange(at_, at_ + n), n};
    }
    // Where there is nothing but words.
    const uint32_t* run(size_t n) {
        need(n);
        return reinterpret_cast<const uint32_t*>(text(4 * n).data());
    }
    std::vector<uint32_t> list() {
        std::vector<uint32_t> words(count());
        if (!words.empty()) std::memcpy(words.data(), text(4 * words.size()).data(), 4 * words.size());
        return words;
    }
    void check(bool fits) const {
        if (!fits) refuse("a number of ", " is out of place");
    }
    void check_at_end() const {
        if (at_ != size_) refuse("", " is longer than it says");
    }
    // Where it stands, in words, and one that stands elsewhere, for what is read when it is asked for. SAFETY: that one does not keep the bytes.
    //
    // PERF: a count of owners, which threads share, was a tenth of what it took to read a node of a trie.
    size_t position() const { return at_ / 4; }
    ImageReader at(size_t position) const {
        ImageReader other;
        check(position <= size_ / 4);
        other.bytes_ = bytes_, other.size_ = size_, other.at_ = 4 * position;
        return other;
    }
    bool is_empty() const { return size_ == 0; }

  private:
    [[noreturn]] void refuse(const char* before, const char* behind) const { throw BadArtifact(std::string(before) + what_ + behind); }

    std::shared_ptr<const void> owner_;
    const char *bytes_ = nullptr, *what_ = "its index";
    size_t size_ = 0, at_ = 0;
};

}  // namespace derivable
