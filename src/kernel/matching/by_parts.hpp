// Numbers of sets of tokens by what they are made of (MemberWalk::Union).
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/hashing.hpp"

namespace derivable {

class ByParts {
  public:
    // Null if it is not known.
    const uint32_t* find(const std::vector<uint32_t>& parts) const {
        const auto known = numbers_.find(parts);
        return known == numbers_.end() ? nullptr : &known->second;
    }
    void keep(std::vector<uint32_t> parts, uint32_t number) {
        constexpr size_t kNode = 96;
        const size_t bytes = parts.size() * sizeof(uint32_t) + kNode;
        if (numbers_.try_emplace(std::move(parts), number).second) bytes_ += bytes;
    }
    void clear() {
        numbers_.clear();
        bytes_ = 0;
    }
    size_t bytes() const { return bytes_; }

  private:
    std::unordered_map<std::vector<uint32_t>, uint32_t, WordsHash> numbers_;
    size_t bytes_ = 0;
};

}  // namespace derivable
