#include "support/sort_freed.hpp"

#include <cstdlib>

namespace derivable {

SortFreed::~SortFreed() {
    constexpr std::size_t kMore = 1 << 14;  // than any piece that is likely to have been freed
    void* volatile all = std::malloc(kMore);
    std::free(all);
}

}  // namespace derivable
