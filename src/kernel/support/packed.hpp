// What is small is written small: numbers of 7 bits to a byte, the lowest first (LEB128). And reading them again, from bytes that may say anything.
//
// Images of tables (support/image.hpp) are words, which a file of megabytes is read as. The state of a matcher is a hundred small numbers that travel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "support/errors.hpp"

namespace derivable {

class PackedWriter {
  public:
    void put(uint64_t n) {
        for (; n >= 0x80; n >>= 7) bytes_.push_back(char(n | 0x80));
        bytes_.push_back(char(n));
    }
    void text(std::string_view bytes) {
        put(bytes.size());
        bytes_.append(bytes);
    }
    const std::string& bytes() const { return bytes_; }

  private:
    std::string bytes_;
};

// Throws BadState where there is less than was written, or a number is too large.
class PackedReader {
  public:
    explicit PackedReader(std::string_view bytes) : bytes_(bytes) {}

    uint64_t next() {
        uint64_t n = 0;
        for (uint32_t shift = 0; shift < 64; shift += 7) {
            if (bytes_.empty()) throw BadState("the state of a matcher is cut off");
            const auto byte = uint8_t(bytes_[0]);
            bytes_.remove_prefix(1);
            n |= uint64_t(byte & 0x7F) << shift;
            if (byte < 0x80) return n;
        }
        throw BadState("a number in the state of a matcher is too long");
    }
    uint32_t below(uint64_t bound) {
        const uint64_t n = next();
        check(n < bound && n <= UINT32_MAX);
        return uint32_t(n);
    }
    bool flag() { return below(2); }
    // So many of things that take at least `least` bytes each. SAFETY: no more than there are bytes for.
    size_t count(size_t least = 1) {
        const uint64_t n = next();
        check(n <= bytes_.size() / least);
        return size_t(n);
    }
    std::string_view text() {
        const size_t size = count();
        const std::string_view found = bytes_.substr(0, size);
        bytes_.remove_prefix(size);
        return found;
    }
    static void check(bool fits) {
        if (!fits) throw BadState("a number in the state of a matcher is out of place");
    }
    void check_at_end() const { check(bytes_.empty()); }

  private:
    std::string_view bytes_;
};

}  // namespace derivable
