// Numbers of sets of tokens by what they are made of (MemberWalk::Union).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/arena.hpp"
#include "support/hashing.hpp"

namespace derivable {

class ByParts {
  public:
    // Null if it is not known.
    const uint32_t* find(const std::vector<uint32_t>& parts) const {
        const uint32_t* known = parts_.find(parts);
        return known ? &numbers_[*known] : nullptr;
    }
    void keep(std::vector<uint32_t> parts, uint32_t number) {
        constexpr size_t kEntry = 72;
        const size_t bytes = parts.size() * sizeof(uint32_t) + kEntry;
        const uint32_t size = parts_.size();
        numbers_[size] = number;  // SAFETY: before the parts are known
        if (parts_.intern(std::move(parts)) == size) bytes_ += bytes;
    }
    void clear() {
        parts_ = {};
        numbers_ = {};
        bytes_ = 0;
    }
    size_t bytes() const { return bytes_; }

  private:
    Interner parts_;
    Pages<uint32_t> numbers_;
    size_t bytes_ = 0;
};

}  // namespace derivable
