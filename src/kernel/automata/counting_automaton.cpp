#include "automata/counting_automaton.hpp"

#include <algorithm>
#include <deque>
#include <map>

#include "support/archive.hpp"
#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

constexpr uint32_t kMaxDepth = 1'000;  // SAFETY: bounds the recursion over parts
constexpr uint32_t kMostConfigurations = 1u << 16;

bool begins_character(uint8_t byte) { return (byte & 0xC0) != 0x80; }

// From each state to acceptance. Backwards, those of one number before those of the next (a 0-1 search).
std::vector<uint32_t> fewest_characters(const Dfa& dfa) {
    constexpr uint32_t kNone = ~0u;
    const uint32_t n = dfa.num_states();
    std::vector<std::vector<std::pair<uint32_t, bool>>> from(n);
    for (uint32_t s = 0; s < n; s++)
        for (int b = 0; b < 256; b++)
            if (const int32_t to = dfa.step(s, uint8_t(b)); to >= 0) {
                auto& all = from[uint32_t(to)];
                const std::pair<uint32_t, bool> way{s, begins_character(uint8_t(b))};
                if (all.empty() || all.back() != way) all.push_back(way);
            }
    work(size_t(n) * 16);
    std::vector<uint32_t> fewest(n, kNone);
    std::deque<std::pair<uint32_t, uint32_t>> todo;  // state, characters
    for (uint32_t s = 0; s < n; s++)
        if (dfa.accepting[s]) todo.push_back({s, 0});
    while (!todo.empty()) {
        const auto [s, characters] = todo.front();
        todo.pop_front();
        if (fewest[s] != kNone) continue;
        fewest[s] = characters;
        for (const auto& [before, begins] : from[s]) {
            if (begins) todo.push_back({before, characters + 1});
            else todo.push_front({before, characters});
        }
    }
    return fewest;
}

ByteSet all_bytes() {
    ByteSet all;
    all.words.fill(~0ULL);
    return all;
}

}  // namespace

// ---- what it is made of ----

CountingAutomaton CountingAutomaton::table(std::shared_ptr<const Dfa> dfa, uint64_t max_characters) {
    if (dfa->conditional() || dfa->past) throw Unsupported("look-around", "look-around in a pattern whose repeats are counted");
    std::vector<Part> parts;
    if (!dfa->empty()) {
        parts.push_back({Part::kTable});
        parts.back().dfa = std::move(dfa);
        parts.back().max = max_characters;
        describe(parts);
        if (max_characters != kNoMaximum && parts[0].fewest[0] > max_characters) parts.clear();
    }
    return of(std::move(parts));
}

CountingAutomaton CountingAutomaton::sequence(const std::vector<CountingAutomaton>& items) {
    std::vector<Part> parts;
    Part whole{Part::kSequence};
    for (const CountingAutomaton& item : items) {
        if (item.is_empty()) return of({});
        whole.items.push_back(append(parts, item));
    }
    parts.push_back(std::move(whole));
    return of(std::move(parts));
}

CountingAutomaton CountingAutomaton::choice(const std::vector<CountingAutomaton>& items) {
    std::vector<Part> parts;
    Part whole{Part::kChoice};
    for (const CountingAutomaton& item : items)
        if (!item.is_empty()) whole.items.push_back(append(parts, item));
    if (!whole.items.empty()) parts.push_back(std::move(whole));
    return of(std::move(parts));
}

CountingAutomaton CountingAutomaton::repeat(const CountingAutomaton& item, uint64_t min, uint64_t max, bool lazy) {
    if (min > max || (item.is_empty() && min)) return of({});
    if (max == 0 || item.is_empty()) return sequence({});
    std::vector<Part> parts;
    Part whole{Part::kRepeat};
    whole.items.push_back(append(parts, item));
    whole.min = min;
    whole.max = max;
    whole.lazy = lazy;
    parts.push_back(std::move(whole));
    return of(std::move(parts));
}

CountingAutomaton CountingAutomaton::without_empty() const {
    CountingAutomaton made = of(parts_, in_order_);
    made.without_empty_ = true;
    if (!made.states_.empty()) made.states_[0].accepts = false;
    if (!made.states_.empty() && made.states_[0].configurations.empty()) return of({});
    return made;
}

uint32_t CountingAutomaton::append(std::vector<Part>& parts, const CountingAutomaton& other) {
    if (other.without_empty_)
        throw BadGrammar("a part of an automaton that counts has lost its empty string", "Take it away from the whole.");
    if (other.in_order_) throw BadGrammar("a part of an automaton that counts is in order", "Order the whole.");
    const auto first = uint32_t(parts.size());
    for (Part part : other.parts_) {
        for (uint32_t& item : part.items) item += first;
        parts.push_back(std::move(part));
    }
    return uint32_t(parts.size() - 1);
}

// What is known of each part by those that it is made of.
void CountingAutomaton::describe(std::vector<Part>& parts) {
    for (Part& part : parts) {
        if (!part.items.empty()) part.depth = 1;
        for (uint32_t item : part.items) part.depth = std::max(part.depth, parts[item].depth + 1);
        if (part.depth > kMaxDepth) throw LimitExceeded("nesting of a pattern", part.depth, kMaxDepth);
        switch (part.kind) {
            case Part::kTable: {
                if (part.rests) break;
                const Dfa& dfa = *part.dfa;
                part.nullable = dfa.accepting[0];
                part.rests = std::make_shared<const ShortestRests>(dfa, all_bytes());
                part.shortest = part.rests->length(0);
                if (part.max != kNoMaximum) part.fewest = fewest_characters(dfa);
                for (uint32_t characters : part.fewest) part.most_fewest = std::max(part.most_fewest, characters);
                part.ends.assign(dfa.num_states(), 1);
                for (uint32_t s = 0; s < dfa.num_states(); s++) {
                    part.longest_rest = std::max<uint64_t>(part.longest_rest, part.rests->length(s));
                    for (uint32_t c = 0; c < dfa.num_classes; c++)
                        if (dfa.table[size_t(s) * dfa.num_classes + c] >= 0) part.ends[s] = 0;
                }
                break;
            }
            case Part::kSequence:
                part.nullable = true;
                part.shortest = part.longest_rest = 0;
                for (uint32_t item : part.items) {
                    part.nullable &= parts[item].nullable;
                    part.longest_rest = std::max(part.longest_rest, parts[item].longest_rest);
                    part.shortest = plus(part.shortest, parts[item].shortest);
                }
                part.longest_rest = plus(part.longest_rest, part.shortest);
                break;
            case Part::kChoice:
                part.nullable = false;
                part.shortest = kLongest, part.longest_rest = 0;
                for (uint32_t item : part.items) {
                    part.nullable |= parts[item].nullable;
                    part.shortest = std::min(part.shortest, parts[item].shortest);
                    part.longest_rest = std::max(part.longest_rest, parts[item].longest_rest);
                }
                break;
            case Part::kRepeat: {
                const Part& item = parts[part.items[0]];
                if (item.nullable) part.min = 0;  // a round counts if it is not empty
                part.nullable = part.min == 0 || item.nullable;
                part.shortest = times(part.min, item.shortest);
                part.longest_rest = plus(item.longest_rest, part.shortest);
                break;
            }
        }
    }
}

CountingAutomaton CountingAutomaton::of(std::vector<Part> parts, bool in_order) {
    CountingAutomaton made;
    made.in_order_ = in_order;
    describe(parts);
    made.parts_ = std::move(parts);
    made.continuations_.push_back({0, 0, 0, kEnd});
    if (made.parts_.empty()) return made;
    std::map<std::vector<uint8_t>, uint8_t> kinds;  // of what the tables say of a byte
    std::vector<uint8_t> said;
    for (uint32_t b = 0; b < 256; b++) {
        said.assign(1, begins_character(uint8_t(b)));
        for (const Part& part : made.parts_)
            if (part.dfa) said.push_back(part.dfa->classes[b]);
        made.classes_[b] = kinds.try_emplace(said, uint8_t(kinds.size())).first->second;
    }
    Configurations first;
    if (in_order) made.begin_in_order(made.whole(), kEnd, first);
    else made.begin(made.whole(), kEnd, first);
    made.reduce(first);
    made.number(std::move(first), made.parts_.back().nullable);
    return made;
}

// ---- steps ----

uint32_t CountingAutomaton::continuation(const Continuation& c) {
    uint64_t hash = mix(pack(c.part, c.next)) ^ mix(c.min * 31 + 7) ^ mix(mix(c.max));
    const uint32_t* known = continuation_numbers_.find(hash, [&](uint32_t id) { return continuations_[id] == c; });
    if (known) return *known;
    work(8);
    continuations_.push_back(c);
    continuation_numbers_.put(hash, uint32_t(continuations_.size() - 1));
    return uint32_t(continuations_.size() - 1);
}

// So many rounds more.
uint32_t CountingAutomaton::rounds(uint32_t part, uint64_t min, uint64_t max, uint32_t next) {
    return max ? continuation({part, min, max, next}) : next;
}

// The places within a part where its texts begin, but for the empty one.
void CountingAutomaton::begin(uint32_t id, uint32_t then, Configurations& out) {
    const Part& part = parts_[id];
    work(2);
    switch (part.kind) {
        case Part::kTable:
            if (part.ends[0]) break;
            out.push_back({id, 0, counts_characters(part) ? continuation({id, 0, part.max, then}) : then});
            break;
        case Part::kSequence:
            for (uint32_t i = 0; i < part.items.size(); i++) {
                const bool last = i + 1 == part.items.size();
                begin(part.items[i], last ? then : continuation({id, i + 1, 0, then}), out);
                if (!parts_[part.items[i]].nullable) break;
            }
            break;
        case Part::kChoice:
            for (uint32_t item : part.items) begin(item, then, out);
            break;
        case Part::kRepeat: begin(part.items[0], rounds(id, less_one(part.min), less_one(part.max), then), out); break;
    }
}

// Where texts go on behind a part that has ended. True if they may end there.
bool CountingAutomaton::go_on(uint32_t then, Configurations& out) {
    for (;;) {
        if (then == kEnd) return true;
        const Continuation c = continuations_[then];
        const Part& part = parts_[c.part];
        if (part.kind == Part::kSequence) {
            for (uint64_t i = c.min; i < part.items.size(); i++) {
                const bool last = i + 1 == part.items.size();
                begin(part.items[i], last ? c.next : continuation({c.part, i + 1, 0, c.next}), out);
                if (!parts_[part.items[i]].nullable) return false;
            }
        } else {
            begin(part.items[0], rounds(c.part, less_one(c.min), less_one(c.max), c.next), out);
            if (c.min) return false;
        }
        then = c.next;
    }
}

// PERF: what is in progress and what is owed are stepped by the same bytes again and again (longest match).
int32_t CountingAutomaton::step(uint32_t state, uint8_t byte) {
    if (!in_order_) return stepped(state, byte);
    const uint64_t key = pack(state, classes_[byte]);
    if (const int32_t* known = steps_.find(key)) return *known;
    return steps_[key] = stepped(state, byte);
}

int32_t CountingAutomaton::stepped(uint32_t state, uint8_t byte) {
    Configurations next;
    bool accepts = false;
    for (size_t i = 0; i < states_[state].configurations.size(); i++) {
        const Configuration c = states_[state].configurations[i];
        const Part& part = parts_[c.part];
        const int32_t to = part.dfa->step(c.state, byte);
        work(2);
        if (to < 0) continue;
        uint32_t then = c.then;
        if (counts_characters(part)) {
            Continuation left = continuations_[c.then];
            if (begins_character(byte) && left.max == 0) continue;
            if (begins_character(byte)) left.max = less_one(left.max);
            if (part.fewest[uint32_t(to)] > left.max) continue;
            then = continuation(left);
        }
        if (!part.ends[uint32_t(to)]) next.push_back({c.part, uint32_t(to), then});
        if (!part.dfa->accepting[uint32_t(to)]) continue;
        accepts |= in_order_ ? go_on_in_order(behind(c), next) : go_on(behind(c), next);
        if (accepts && in_order_) break;
    }
    if (next.empty() && !accepts) return kDead;
    reduce(next);
    return int32_t(number(std::move(next), accepts));
}

ByteSet CountingAutomaton::next(uint32_t state) const {
    ByteSet all;
    for (const Configuration& c : states_[state].configurations) {
        const Part& part = parts_[c.part];
        const uint64_t left = counts_characters(part) ? continuations_[c.then].max : kNoMaximum;
        for (uint32_t byte = 0; byte < 256; byte++) {
            const int32_t to = part.dfa->step(c.state, uint8_t(byte));
            if (to < 0) continue;
            const bool begins = begins_character(uint8_t(byte));
            if (left == kNoMaximum || (left >= begins && part.fewest[uint32_t(to)] <= left - begins)) all.set(uint8_t(byte));
        }
    }
    return all;
}

// All that may follow the other may follow the one.
bool CountingAutomaton::covers(uint32_t one, uint32_t other) const {
    for (;; one = continuations_[one].next, other = continuations_[other].next) {
        if (one == other) return true;
        if (one == kEnd || other == kEnd) return false;
        const Continuation &a = continuations_[one], &b = continuations_[other];
        const bool within = parts_[a.part].kind == Part::kSequence ? a.min == b.min : a.min <= b.min && a.max >= b.max;
        if (a.part != b.part || !within) return false;
    }
}

// Of what may follow one place: repeats of neighbouring numbers are one, and what is covered is left out.
void CountingAutomaton::reduce_behind(std::vector<uint32_t>& thens) {
    std::sort(thens.begin(), thens.end(), [&](uint32_t a, uint32_t b) { return continuations_[a] < continuations_[b]; });
    std::vector<uint32_t> joined;
    for (uint32_t then : thens) {
        const Continuation b = continuations_[then];
        if (!joined.empty() && joined.back() != kEnd && then != kEnd && parts_[b.part].kind == Part::kRepeat) {
            const Continuation a = continuations_[joined.back()];
            if (a.part == b.part && a.next == b.next && (a.max == kNoMaximum || b.min <= a.max + 1)) {
                joined.back() = continuation({a.part, a.min, std::max(a.max, b.max), a.next});
                continue;
            }
        }
        if (joined.empty() || joined.back() != then) joined.push_back(then);
    }
    constexpr size_t kMany = 64;
    thens.clear();
    work(joined.size());
    for (uint32_t then : joined) {
        const bool few = joined.size() <= kMany;
        if (!few || std::none_of(joined.begin(), joined.end(), [&](uint32_t one) { return one != then && covers(one, then); }))
            thens.push_back(then);
    }
}

void CountingAutomaton::reduce(Configurations& all) {
    if (all.size() <= 1) return;
    if (all.size() > kMostConfigurations)
        throw LimitExceeded("configurations of an automaton that counts", all.size(), kMostConfigurations);
    work(all.size());
    if (in_order_) return leave_out_covered(all);
    std::sort(all.begin(), all.end());
    Configurations out;
    std::vector<uint32_t> thens;
    for (size_t i = 0; i < all.size();) {
        const Configuration c = all[i];
        thens.clear();
        for (; i < all.size() && all[i].part == c.part && all[i].state == c.state; i++) thens.push_back(all[i].then);
        if (thens.size() > 1) reduce_behind(thens);
        for (uint32_t then : thens) out.push_back({c.part, c.state, then});
    }
    all = std::move(out);
}

uint32_t CountingAutomaton::number(Configurations configurations, bool accepts) {
    uint64_t hash = accepts;
    for (const Configuration& c : configurations) hash = mix(hash ^ pack(c.part, c.state)) ^ mix(c.then + 1);
    const auto same = [&](uint32_t id) { return states_[id].accepts == accepts && states_[id].configurations == configurations; };
    if (const uint32_t* known = numbers_.find(hash, same)) return *known;
    work(10);
    states_.push_back({std::move(configurations), accepts});
    numbers_.put(hash, uint32_t(states_.size() - 1));
    return uint32_t(states_.size() - 1);
}

// ---- states that act alike ----

// The bytes have room for some rounds, for one that was begun before them, and for one that a byte behind them ends. More than that are without end. So walks
// from there do not count. PERF (benchmarks/counted.py): of `[\s\S]{0,4000}</think>` the first mask takes 0.1 ms, and 12 if it does (llama-3).
uint32_t CountingAutomaton::far(uint32_t then, uint64_t bytes) {
    if (then == kEnd) return kEnd;
    Continuation c = continuations_[then];
    c.next = far(c.next, bytes);
    if (const Part& part = parts_[c.part]; part.kind == Part::kRepeat) {
        const uint64_t room = bytes / std::max<uint64_t>(1, parts_[part.items[0]].shortest);
        const uint64_t most = std::min(room, part.most_rounds) + 2;
        if (c.min >= most) c.min = kNoMaximum;
        if (c.max >= most) c.max = kNoMaximum;
    } else if (counts_characters(part)) {
        if (c.max >= bytes + part.most_fewest) c.max = kNoMaximum;
    }
    return continuation(c);
}

uint32_t CountingAutomaton::acting_as(uint32_t state, uint64_t bytes) {
    constexpr uint64_t kForever = 1u << 20;
    if (bytes >= kForever) return state;
    const uint64_t key = pack(state, uint32_t(bytes));
    if (const uint32_t* known = alike_.find(key)) return *known - 1;
    Configurations all = states_[state].configurations;
    for (Configuration& c : all) c.then = far(c.then, bytes);
    reduce(all);
    const uint32_t alike = number(std::move(all), states_[state].accepts);
    alike_[key] = alike + 1;
    return alike;
}

// ---- as bytes ----

size_t CountingAutomaton::bytes() const {
    size_t all = 512;
    for (const Part& part : parts_) all += 128 + (part.dfa ? part.dfa->table.size() * 4 + part.dfa->num_states() * 16 : 0);
    return all;
}

void CountingAutomaton::archive(Archive& a, bool& without_empty, bool& in_order, std::vector<Part>& parts) {
    std::vector<char> used;
    a.number(without_empty);
    a.number(in_order);
    a.each(parts, 7, [&](Part& part) {
        a.below(part.kind, Part::kRepeat + 1);
        a.wide(part.min);
        a.wide(part.max);
        a.flag(part.lazy);
        a.list(part.items, used.size());
        for (uint32_t item : part.items) a.check(!std::exchange(used[item], 1));  // it is a tree
        used.push_back(0);
        switch (part.kind) {
            case Part::kTable: {
                a.check(part.items.empty());
                std::string dfa = a.reading() ? "" : part.dfa->saved();
                a.text(dfa);
                if (!a.reading()) break;
                part.dfa = std::make_shared<const Dfa>(Dfa::from_saved(dfa));
                a.check(!part.dfa->empty() && !part.dfa->conditional() && !part.dfa->past && !table(part.dfa, part.max).is_empty());
                break;
            }
            case Part::kSequence: break;
            case Part::kChoice: a.check(!part.items.empty()); break;
            case Part::kRepeat: a.check(part.items.size() == 1 && part.min <= part.max && part.max); break;
        }
    });
    if (in_order && a.reading()) {
        describe(parts);
        a.check(!refusal_in_order(parts));
    }
    a.check(parts.empty() || size_t(std::count(used.begin(), used.end(), 1)) + 1 == parts.size());
}

std::string CountingAutomaton::saved() const {
    Archive a;
    bool without_empty = without_empty_, in_order = in_order_;
    std::vector<Part> parts = parts_;
    archive(a, without_empty, in_order, parts);
    return a.out().bytes();
}

CountingAutomaton CountingAutomaton::from_saved(std::string_view data) {
    Archive a(ImageReader(data, nullptr, "an automaton in it"));
    bool without_empty = false, in_order = false;
    std::vector<Part> parts;
    archive(a, without_empty, in_order, parts);
    a.in().check_at_end();
    CountingAutomaton made = of(std::move(parts));
    if (in_order) made = of(std::move(made.parts_), true);
    return without_empty ? made.without_empty() : made;
}

}  // namespace derivable
