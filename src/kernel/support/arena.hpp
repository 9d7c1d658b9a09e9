// Arrays that never move.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace derivable {

// Elements of less than a kilobyte together: a power of two. PERF: asked for more, glibc's malloc first puts together all that the process has freed in
// small pieces. That was 200 to 500 us behind a compile or the encoding of a text, in whichever mask a page was needed, and half of all masks of more
// than 100 us.
constexpr uint32_t page_size(size_t element) {
    uint32_t n = 1;
    while (2 * n * element <= 1000) n *= 2;
    return n;
}

// Elements that are freed together. PERF: one array that moves when it grows was a stall of 24 ms in a large trie; blocks of 229 KB were 50 us in whichever
// mask needed the next one, to have them from the system and to clear them.
template <typename T>
class Arena {
  public:
    // `n` elements side by side; not null even if that is none.
    T* add(size_t n) {
        if (blocks_.empty() || n > left_) {
            left_ = std::max<size_t>(n, page_size(sizeof(T)));
            blocks_.push_back(std::make_unique<T[]>(left_));
            at_ = blocks_.back().get();
            bytes_ += left_ * sizeof(T);
        }
        left_ -= n;
        return std::exchange(at_, at_ + n);
    }
    size_t bytes() const { return bytes_; }

  private:
    std::deque<std::unique_ptr<T[]>> blocks_;
    T* at_ = nullptr;
    size_t left_ = 0, bytes_ = 0;
};

// Values by small numbers, made when they are asked for.
template <typename T>
class Pages {
  public:
    T& operator[](uint32_t i) {
        const size_t page = i / kPage;
        if (pages_.size() <= page) pages_.resize(page + 1);
        if (!pages_[page]) pages_[page] = std::make_unique<T[]>(kPage), bytes_ += kPage * sizeof(T);
        return pages_[page][i % kPage];
    }
    const T& operator[](uint32_t i) const { return pages_[i / kPage][i % kPage]; }  // one that was asked for
    size_t bytes() const { return bytes_; }

  private:
    static constexpr uint32_t kPage = page_size(sizeof(T));
    std::vector<std::unique_ptr<T[]>> pages_;
    size_t bytes_ = 0;
};

}  // namespace derivable
