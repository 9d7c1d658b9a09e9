#include "support/sort_freed.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>

namespace derivable {

// PERF: glibc looks at 10,000 pieces of its list at a time, in 100 us or more; where it is empty, asking takes less than one.
SortFreed::~SortFreed() {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::microseconds kLong{20};
    constexpr std::size_t kMore = 100'003;  // bytes: than any piece that is likely to have been freed
    std::array<void*, 256> all;
    std::size_t taken = 0;
    for (bool are_more = true; are_more && taken < all.size();) {
        const Clock::time_point begin = Clock::now();
        all[taken++] = std::malloc(kMore);
        are_more = Clock::now() - begin > kLong;
    }
    while (taken > 0) std::free(all[--taken]);
}

}  // namespace derivable
