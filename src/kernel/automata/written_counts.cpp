// States of automata that count by what they are, not by their numbers.
#include <algorithm>
#include <utility>

#include "automata/counting_automaton.hpp"

namespace derivable {

// Whether the text may end, and the configurations, each with what comes behind it from the inside out.
void CountingAutomaton::write(PackedWriter& out, uint32_t state) const {
    const State& s = states_[state];
    out.put(s.accepts);
    out.put(s.configurations.size());
    for (const Configuration& c : s.configurations) {
        out.put(c.part), out.put(c.state);
        size_t depth = 0;
        for (uint32_t then = c.then; then != kEnd; then = continuations_[then].next) depth++;
        out.put(depth);
        for (uint32_t then = c.then; then != kEnd; then = continuations_[then].next) {
            const Continuation& behind = continuations_[then];
            out.put(behind.part), out.put(behind.min);
            out.put(behind.max + 1);  // kNoMaximum: 0
        }
    }
}

uint32_t CountingAutomaton::read(PackedReader& in) {
    const bool accepts = in.flag();
    Configurations all(in.count(3));
    in.check(accepts || !all.empty());
    for (Configuration& c : all) {
        c.part = in.below(parts_.size());
        in.check(parts_[c.part].kind == Part::kTable);
        c.state = in.below(parts_[c.part].dfa->num_states());
        c.then = read_behind(in, c.part);
    }
    reduce(all);  // as all are, by their own numbers
    return number(std::move(all), accepts);
}

// SAFETY: what comes behind a part belongs to one around it, which has a larger number; but for the count of a table's own characters.
uint32_t CountingAutomaton::read_behind(PackedReader& in, uint32_t within) {
    std::vector<Continuation> all(in.count(3));
    in.check(!all.empty() || !counts_characters(parts_[within]));
    for (Continuation& c : all) {
        const bool is_count = &c == all.data() && counts_characters(parts_[within]);
        c.part = in.below(parts_.size());
        const Part& part = parts_[c.part];
        c.min = in.next(), c.max = in.next() - 1, c.next = kEnd;
        in.check(is_count ? c.part == within : c.part > within);
        within = c.part;
        if (is_count) in.check(c.min == 0 && c.max <= part.max);
        else if (part.kind == Part::kSequence) in.check(c.min < part.items.size() && c.max == 0);
        else in.check(part.kind == Part::kRepeat && c.min <= c.max && c.max > 0 && c.min <= part.min);
        if (!is_count && part.kind == Part::kRepeat) in.check(c.max <= part.max);
    }
    uint32_t then = kEnd;
    for (size_t i = all.size(); i-- > 0;) {
        all[i].next = then;
        then = continuation(all[i]);
    }
    return then;
}

}  // namespace derivable
