// Automata that count: how many rounds a text holds, and texts that complete one.
#include <algorithm>
#include <set>
#include <utility>

#include "automata/counting_automaton.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {
constexpr uint64_t kLongText = 1ULL << 20;  // that is not written out
}

// ---- rounds in a text ----

// Without the numbers in it: what it can read, and more.
CountingAutomaton CountingAutomaton::round_of(uint32_t item) const {
    std::vector<char> needed(item + 1, 0);
    needed[item] = 1;
    for (uint32_t id = item + 1; id-- > 0;)
        if (needed[id])
            for (uint32_t below : parts_[id].items) needed[below] = 1;
    std::vector<Part> parts;
    std::vector<uint32_t> numbers(item + 1, 0);
    for (uint32_t id = 0; id <= item; id++) {
        if (!needed[id]) continue;
        Part part = parts_[id];
        for (uint32_t& below : part.items) below = numbers[below];
        if (part.kind == Part::kRepeat) part.min = std::min<uint64_t>(part.min, 1);
        part.max = kNoMaximum;
        numbers[id] = uint32_t(parts.size());
        parts.push_back(std::move(part));
    }
    return of(std::move(parts));
}

// One by one: sets of them may be many.
CountingAutomaton::Rounds CountingAutomaton::anywhere() {
    std::set<Configuration> seen;
    Configurations todo = states_[0].configurations;
    while (!todo.empty()) {
        const Configuration c = todo.back();
        todo.pop_back();
        if (!seen.insert(c).second) continue;
        const Dfa& dfa = *parts_[c.part].dfa;
        work(dfa.num_classes + 10);
        for (uint32_t k = 0; k < dfa.num_classes; k++) {
            const int32_t to = dfa.table[size_t(c.state) * dfa.num_classes + k];
            if (to < 0) continue;
            if (!parts_[c.part].ends[uint32_t(to)]) todo.push_back({c.part, uint32_t(to), c.then});
            if (dfa.accepting[uint32_t(to)]) go_on(c.then, todo);
        }
    }
    Rounds rounds;
    for (const Configuration& c : seen) rounds.push_back({c, 0});
    return rounds;
}

uint32_t CountingAutomaton::read(const Rounds& before, uint8_t byte, Rounds& after) {
    after.clear();
    uint32_t most = 0;
    Configurations out;
    const auto add = [&](const Configuration& c, uint32_t rounds) {
        for (auto& [at, known] : after)
            if (at == c) {
                known = std::max(known, rounds);
                return;
            }
        after.push_back({c, rounds});
    };
    for (const auto& [c, rounds] : before) {
        const Part& part = parts_[c.part];
        const int32_t to = part.dfa->step(c.state, byte);
        if (to < 0) continue;
        if (!part.ends[uint32_t(to)]) add({c.part, uint32_t(to), c.then}, rounds);
        if (!part.dfa->accepting[uint32_t(to)]) continue;
        out.clear();
        const bool ended = go_on(c.then, out);
        for (const Configuration& next : out) add(next, rounds);
        if (!ended) continue;
        most = std::max(most, rounds + 1);
        for (const Configuration& next : states_[0].configurations) add(next, rounds + 1);
    }
    for (const Configuration& first : states_[0].configurations) add(first, 0);  // what stands before may be no round
    work(2 * before.size() + 2);
    return most;
}

// ---- texts ----

uint64_t CountingAutomaton::shortest_behind(uint32_t then) const {
    uint64_t length = 0;
    for (; then != kEnd; then = continuations_[then].next) {
        const Continuation& c = continuations_[then];
        const Part& part = parts_[c.part];
        if (part.kind == Part::kRepeat) length = plus(length, times(c.min, parts_[part.items[0]].shortest));
        else
            for (uint64_t i = c.min; i < part.items.size(); i++) length = plus(length, parts_[part.items[i]].shortest);
    }
    return length;
}

void CountingAutomaton::append_shortest(uint32_t id, std::string& out) const {
    const Part& part = parts_[id];
    switch (part.kind) {
        case Part::kTable: out += part.rests->text(*part.dfa, 0); break;
        case Part::kSequence:
            for (uint32_t item : part.items) append_shortest(item, out);
            break;
        case Part::kChoice:
            append_shortest(*std::min_element(part.items.begin(), part.items.end(),
                                              [&](uint32_t a, uint32_t b) { return parts_[a].shortest < parts_[b].shortest; }),
                            out);
            break;
        case Part::kRepeat:
            for (uint64_t i = 0; i < part.min; i++) append_shortest(part.items[0], out);
            break;
    }
}

std::optional<std::string> CountingAutomaton::shortest_rest(uint32_t state) const {
    if (states_[state].accepts) return std::string();
    const Configuration* best = nullptr;
    uint64_t least = kLongText;
    for (const Configuration& c : states_[state].configurations) {
        const uint64_t length = plus(parts_[c.part].rests->length(c.state), shortest_behind(behind(c)));
        if (length < least) least = length, best = &c;
    }
    if (!best) return std::nullopt;
    work(least / 4 + 1);
    std::string out = parts_[best->part].rests->text(*parts_[best->part].dfa, best->state);
    for (uint32_t then = behind(*best); then != kEnd; then = continuations_[then].next) {
        const Continuation& c = continuations_[then];
        const Part& part = parts_[c.part];
        if (part.kind == Part::kRepeat)
            for (uint64_t i = 0; i < c.min; i++) append_shortest(part.items[0], out);
        else
            for (uint64_t i = c.min; i < part.items.size(); i++) append_shortest(part.items[i], out);
    }
    return out;
}

std::pair<ByteSet, ByteSet> CountingAutomaton::outer_bytes() const {
    std::pair<ByteSet, ByteSet> outer;
    if (is_empty()) return outer;
    for (const Configuration& c : states_[0].configurations)
        for (int b = 0; b < 256; b++)
            if (parts_[c.part].dfa->step(c.state, uint8_t(b)) >= 0) outer.first.set(uint8_t(b));
    std::vector<uint32_t> todo{whole()};  // parts with whose texts a text may end
    while (!todo.empty()) {
        const Part& part = parts_[todo.back()];
        todo.pop_back();
        if (part.kind == Part::kSequence) {
            for (size_t i = part.items.size(); i-- > 0;) {
                todo.push_back(part.items[i]);
                if (!parts_[part.items[i]].nullable) break;
            }
        } else if (part.kind != Part::kTable) {
            todo.insert(todo.end(), part.items.begin(), part.items.end());
        } else {
            const Dfa& dfa = *part.dfa;
            for (uint32_t s = 0; s < dfa.num_states(); s++)
                for (int b = 0; b < 256; b++)
                    if (const int32_t to = dfa.step(s, uint8_t(b)); to >= 0 && dfa.accepting[uint32_t(to)]) outer.second.set(uint8_t(b));
        }
    }
    return outer;
}

}  // namespace derivable
