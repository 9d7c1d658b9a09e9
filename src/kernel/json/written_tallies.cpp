// Tallies by what they hold, not by their numbers.
#include <algorithm>
#include <utility>

#include "json/tallies.hpp"

namespace derivable {

// From the outermost object to the innermost: the marks, each as the distance from the one before, and how many others.
void Tallies::write(PackedWriter& out, Id id) {
    std::vector<uint32_t> sets;
    for (; tallies_[id].depth; id = tallies_[id].below) sets.push_back(tallies_[id].held);
    out.put(sets.size());
    for (auto held = sets.rbegin(); held != sets.rend(); ++held) {
        const Set& set = written(*held);
        out.put(set.size);
        uint32_t next = 0;
        for (uint32_t w = 0; w < set.words.size(); w++)
            for (uint64_t bits = set.words[w]; bits; bits &= bits - 1) {
                const uint32_t mark = w * 64 + uint32_t(__builtin_ctzll(bits));
                out.put(mark - next);
                next = mark + 1;
            }
        out.put(set.extra);
    }
}

// What members without a mark are counted up to, at most.
uint64_t Tallies::most_others() const { return std::max(told_apart_, most_counted_); }

uint32_t Tallies::read_set(PackedReader& in, uint32_t bound) {
    uint32_t held = 0, next = 0;
    for (size_t n = in.count(); n > 0; n--) {
        in.check(next < bound);
        const uint32_t mark = next + in.below(bound - next);
        held = with(held, mark);
        next = mark + 1;
    }
    const uint64_t extra = in.next();
    in.check(extra <= most_others());
    if (!extra) return held;
    const Set& marks = sets_[held];
    return find_set({held, 0, marks.size, uint32_t(extra), marks.hash});
}

Tallies::Id Tallies::read(PackedReader& in) {
    uint32_t bound = 0;
    each_key([&](uint32_t, uint32_t mark) { bound = std::max(bound, mark + 1); });
    Id id = kInitial;
    for (size_t n = in.count(2); n > 0; n--) id = find(id, read_set(in, bound));
    return id;
}

}  // namespace derivable
