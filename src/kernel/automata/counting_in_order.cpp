// Automata that count, as Python's `re` reads an expression: which of several texts it prefers.
#include <algorithm>
#include <set>
#include <utility>

#include "automata/counting_automaton.hpp"
#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

// SAFETY: so that going on ends, and recursion over parts is bounded.
const char* CountingAutomaton::refusal_in_order(const std::vector<Part>& parts) {
    constexpr size_t kMostItems = 1'000;
    for (const Part& part : parts) {
        if (part.kind == Part::kRepeat && parts[part.items[0]].nullable) return "a repeat that is counted, of what may be empty";
        if (part.items.size() > kMostItems) return "a pattern of so many parts, some of which are counted";
    }
    return nullptr;
}

CountingAutomaton CountingAutomaton::in_order() const {
    if (const char* refusal = refusal_in_order(parts_)) throw Unsupported("counting in order", refusal);
    CountingAutomaton made = of(parts_, true);
    return without_empty_ ? made.without_empty() : made;
}

// The places where texts of a part begin, and where they go on if they are empty, the preferred ones first. True: the text may end there, which is
// preferred to all that would come behind. Rounds are not empty, so this ends.
bool CountingAutomaton::begin_in_order(uint32_t id, uint32_t then, Configurations& out) {
    const Part& part = parts_[id];
    work(2);
    switch (part.kind) {
        case Part::kTable:
            if (!part.ends[0]) out.push_back({id, 0, counts_characters(part) ? continuation({id, 0, part.max, then}) : then});
            return part.nullable && go_on_in_order(then, out);
        case Part::kChoice:
            return std::any_of(part.items.begin(), part.items.end(), [&](uint32_t item) { return begin_in_order(item, then, out); });
        case Part::kSequence: return go_on_in_order(continuation({id, 0, 0, then}), out);
        case Part::kRepeat: break;
    }
    return go_on_in_order(continuation({id, part.min, part.max, then}), out);
}

bool CountingAutomaton::go_on_in_order(uint32_t then, Configurations& out) {
    if (then == kEnd) return true;
    const Continuation c = continuations_[then];
    const Part& part = parts_[c.part];
    if (part.kind == Part::kSequence) {
        if (c.min == part.items.size()) return go_on_in_order(c.next, out);
        const bool last = c.min + 1 == part.items.size();
        return begin_in_order(part.items[c.min], last ? c.next : continuation({c.part, c.min + 1, 0, c.next}), out);
    }
    const uint32_t another = rounds(c.part, less_one(c.min), less_one(c.max), c.next);
    if (c.min) return begin_in_order(part.items[0], another, out);
    if (part.lazy) return go_on_in_order(c.next, out) || begin_in_order(part.items[0], another, out);
    return begin_in_order(part.items[0], another, out) || go_on_in_order(c.next, out);
}

// What a preferred one may do as well; of many only what is the same.
void CountingAutomaton::leave_out_covered(Configurations& all) const {
    constexpr size_t kMany = 256;
    const bool few = all.size() <= kMany;
    Configurations kept;
    std::set<Configuration> same;
    for (const Configuration& c : all) {
        work(few ? 1 + kept.size() / 4 : 20);
        const auto covers_it = [&](const Configuration& preferred) {
            return preferred.part == c.part && preferred.state == c.state && covers(preferred.then, c.then);
        };
        if (few ? std::none_of(kept.begin(), kept.end(), covers_it) : same.insert(c).second) kept.push_back(c);
    }
    all = std::move(kept);
}

}  // namespace derivable
