// How far a walk of the spanner tree goes, for one mask.
#pragma once

#include <cstddef>
#include <cstdint>

#include "index/residuals.hpp"

namespace derivable {

class WalkBounds {
  public:
    // `bytes`: what the walk may make more of, as it is now.
    void begin(size_t bytes) { bytes_before_ = bytes; }
    // One item more, behind so many lexemes. Throws TooAmbiguous.
    void count(uint32_t lexemes, size_t bytes) {
        if (++items_ > kMaxItems || lexemes > kMaxLexemes || bytes > bytes_before_ + kMaxGrowth) throw TooAmbiguous();
    }

  private:
    static constexpr uint32_t kMaxLexemes = 256;  // SAFETY: of one token; each is a step of recursion
    static constexpr uint64_t kMaxItems = 1u << 17;
    static constexpr size_t kMaxGrowth = 64u << 20;

    size_t bytes_before_ = 0;
    uint64_t items_ = 0;
};

}  // namespace derivable
