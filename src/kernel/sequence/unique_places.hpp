// Places in arrays of distinct items, by numbers: equal ones have one number. What is known of a place is kept by it.
//
// A hash finds a place, and what it is made of decides. Two lists of values that only had the same hash would be one, and a mask of one of them a mask of
// the other.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "json/unique_values.hpp"
#include "support/arena.hpp"
#include "support/hashing.hpp"

namespace derivable {

class UniquePlaces {
  public:
    // What a number is for: whatever else is equal, these are apart.
    enum Use : uint32_t { kWhole, kInside, kMask };
    // How much of what was written is a part of the place.
    enum class Written : uint8_t { kNothing, kAround, kAll };
    class Place {
      public:
        Place() = default;
        Place(Use use, std::initializer_list<uint32_t> words) {
            add(use);
            for (uint32_t word : words) add(word);
        }
        Place& add(uint32_t word) {
            words_[size_++] = word;
            return *this;
        }
        Place& add_long(uint64_t word) { return add(uint32_t(word)).add(uint32_t(word >> 32)); }
        Place& add(const WritingRef& writing, Written written) {
            writing_ = writing, written_ = written;
            return *this;
        }
        bool operator==(const Place& other) const {
            if (words_ != other.words_ || size_ != other.size_ || written_ != other.written_) return false;
            if (written_ == Written::kNothing || writing_ == other.writing_) return true;
            return written_ == Written::kAll ? writing_->is_alike(*other.writing_) : writing_->is_alike_around(*other.writing_);
        }
        uint64_t hash() const {
            uint64_t h = size_;
            for (size_t i = 0; i < size_; i += 2) h = mix(h ^ pack(words_[i], words_[i + 1]));
            if (written_ == Written::kNothing) return h;
            return mix(h ^ (written_ == Written::kAll ? writing_->key() : writing_->key_around()) ^ uint64_t(written_));
        }

      private:
        std::array<uint32_t, 10> words_{};
        uint32_t size_ = 0;
        Written written_ = Written::kNothing;
        WritingRef writing_;
    };

    uint32_t number(Place place) {
        uint64_t hash = place.hash();
        if (const uint32_t* known = ids_.find(hash, [&](uint32_t id) { return places_[id] == place; })) return *known;
        places_[size_] = std::move(place);
        ids_.put(hash, size_);
        return size_++;
    }
    uint32_t size() const { return size_; }
    void clear() { ids_ = {}, places_ = {}, size_ = 0; }

  private:
    NumbersByHash ids_;
    Pages<Place> places_;
    uint32_t size_ = 0;
};

}  // namespace derivable
