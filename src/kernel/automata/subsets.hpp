// What the subset constructions share: threads with their obligations, and where they lead.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automata/nfa.hpp"
#include "support/bits.hpp"
#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

// A thread of the subset construction: an NFA state and the obligations it carries (an interned set).
struct Thread {
    uint32_t state, obligations;
    bool operator==(Thread other) const { return state == other.state && obligations == other.obligations; }
    bool operator<(Thread other) const { return state != other.state ? state < other.state : obligations < other.obligations; }
};

class Subsets {
  public:
    Subsets(const Nfa& nfa, const Looks& looks, uint64_t max_states)
        : nfa_(nfa),
          looks_(looks),
          max_states_(max_states),
          place_(looks.behinds.size(), 0),
          seen_(nfa.states.size(), 0) {
        obligation_ids_.intern({});
        find_behinds();
        find_classes();
    }

    std::array<uint8_t, 256> classes{};
    std::vector<uint8_t> bytes;     // one of each class
    std::vector<uint32_t> behinds;  // the look-behinds that are asked, in the order of a `Seen`

    Seen at_start() const {
        Seen seen;
        for (uint32_t behind : behinds) seen.push_back(looks_.behinds[behind].empty() ? kDead : 0);
        return seen;
    }

    void step_seen(Seen& seen, uint8_t byte) const {
        for (size_t i = 0; i < seen.size(); i++)
            if (seen[i] >= 0) seen[i] = looks_.behinds[behinds[i]].step(uint32_t(seen[i]), byte);
    }

    // States may be few, and what look-around owes in them much: their work counts as so many states of an ordinary sort.
    void spend(uint64_t units) {
        constexpr uint64_t kOrdinary = 1'000;
        work(units);
        spent_ += units;
        if (spent_ / kOrdinary > max_states_)
            throw LimitExceeded("max_dfa_states", spent_ / kOrdinary, max_states_, "what the look-around of a pattern owes");
    }

    void begin() {
        stamp_++;
        seen_pairs_.clear();
    }

    // Adds the threads that `thread` stands for, in order of preference: consuming states and matches.
    void closure(Thread thread, const Seen& seen, std::vector<Thread>& out) {
        stack_.push_back(thread);
        while (!stack_.empty()) {
            spend(2);
            Thread t = stack_.back();
            stack_.pop_back();
            if (t.obligations == 0) {
                if (seen_[t.state] == stamp_) continue;
                seen_[t.state] = stamp_;
            } else if (!seen_pairs_.emplace(pack(t.state, t.obligations), 1).second) {
                continue;
            }
            const Nfa::State& s = nfa_.states[t.state];
            switch (s.kind) {
                case Nfa::Kind::kRanges:
                case Nfa::Kind::kMatch: out.push_back(t); break;
                case Nfa::Kind::kSplit:
                    for (size_t i = s.out.size(); i-- > 0;) stack_.push_back({s.out[i], t.obligations});
                    break;
                case Nfa::Kind::kLook:
                    if (s.ahead) look_ahead(s, t.obligations, seen);
                    else look_behind(s, t.obligations, seen[place_[s.look]]);
            }
        }
    }

    // The set with one more obligation; -1 if it contradicts one that is there.
    int64_t with(uint32_t obligations, Lookahead o) {
        Condition set = unpack(obligations);
        for (const Lookahead& d : set)
            if (d.look == o.look && d.state == o.state) return d.negative == o.negative ? int64_t(obligations) : -1;
        set.push_back(o);
        return intern(set);
    }

    // The sets with one more obligation for each alternative, so that all of these fail; none that says more than another one.
    std::vector<uint32_t> none_of(uint32_t obligations, const Conditions& alternatives) {
        std::vector<uint32_t> sets{obligations};
        for (const Condition& all : alternatives) {
            std::vector<uint32_t> next;
            for (uint32_t set : sets)
                for (Lookahead o : all) {
                    spend(10);
                    o.negative = !o.negative;
                    if (int64_t more = with(set, o); more >= 0) next.push_back(uint32_t(more));
                }
            absorb(next);
            if (next.size() > max_states_)
                throw LimitExceeded("max_dfa_states", next.size(), max_states_, "the ways in which look-ahead can fail");
            sets = std::move(next);
        }
        return sets;
    }

    // All obligations of `other` are in `set`.
    bool includes(uint32_t set, uint32_t other) const {
        if (set == other || other == 0) return true;
        const Condition more = unpack(set), fewer = unpack(other);
        return fewer.size() < more.size() && std::includes(more.begin(), more.end(), fewer.begin(), fewer.end());
    }

    // Leaves out what is there twice, and sets that say more than another one.
    void absorb(std::vector<uint32_t>& sets) {
        constexpr size_t kMany = 1024;
        std::sort(sets.begin(), sets.end());
        sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
        if (sets.size() < 2 || sets.size() > kMany) return;
        spend(10 * sets.size() * sets.size());
        const std::vector<uint32_t> all = std::exchange(sets, {});
        for (uint32_t set : all)
            if (std::none_of(all.begin(), all.end(), [&](uint32_t other) { return other != set && includes(set, other); }))
                sets.push_back(set);
    }

    // After one more byte: -1 if an obligation failed.
    int64_t step(uint32_t obligations, uint32_t byte_class) {
        if (obligations == 0) return 0;
        if (steps_.size() <= obligations) steps_.resize(size_t(obligations) + 1);
        if (steps_[obligations].empty()) steps_[obligations].assign(bytes.size(), kUnknown);
        int64_t& known = steps_[obligations][byte_class];
        return known == kUnknown ? known = step_anew(obligations, byte_class) : known;
    }

    int64_t step_anew(uint32_t obligations, uint32_t byte_class) {
        spend(10);
        Condition next;
        for (const Lookahead& o : unpack(obligations)) {
            int32_t s = looks_.aheads[o.look].automaton.step(o.state, bytes[byte_class]);
            if (s >= 0) {
                Lookahead moved{o.look, uint32_t(s), o.negative};
                for (const Lookahead& n : next)
                    if (n.look == moved.look && n.state == moved.state && n.negative != moved.negative) return -1;
                next.push_back(moved);
            } else if ((s == kMatched) == o.negative) {
                return -1;
            }
        }
        return intern(next);
    }

    bool holds_at_end(uint32_t obligations) const {
        for (const Lookahead& o : unpack(obligations))
            if (bool(looks_.aheads[o.look].automaton.matches_at_end[o.state]) == o.negative) return false;
        return true;
    }

    Condition unpack(uint32_t obligations) const {
        const auto& words = obligation_ids_[obligations];
        Condition set;
        for (size_t i = 0; i < words.size(); i += 3) set.push_back({words[i], words[i + 1], words[i + 2] != 0});
        return set;
    }

    int64_t intern(Condition set) {
        std::sort(set.begin(), set.end());
        set.erase(std::unique(set.begin(), set.end()), set.end());
        std::vector<uint32_t> words;
        for (const Lookahead& o : set) words.insert(words.end(), {o.look, o.state, o.negative});
        return obligation_ids_.intern(words);
    }

    // Where threads lead by each class, in order of preference, before the closure. Visits (class, targets, whether these are those of the
    // class before). With `matched`, a match stays one as long as what it owes can still be kept.
    template <typename Visit>
    void each_class(const std::vector<Thread>& threads, bool matched, Visit&& visit) {
        constexpr size_t kMostTargets = 1u << 22;  // held at a time
        const uint32_t n = uint32_t(bytes.size()), width = uint32_t(std::max<size_t>(1, kMostTargets / (threads.size() + 1)));
        targets_.resize(n);
        for (uint32_t first = 0, last; first < n; first = last) {
            last = std::min(first + width, n);
            spend(threads.size() + 2);
            auto lead = [&](Thread t, uint32_t from, uint32_t end, uint32_t to) {
                spend(1);
                for (uint32_t c = std::max(from, first); c < std::min(end, last); c++)
                    if (int64_t obligations = step(t.obligations, c); obligations >= 0) targets_[c].push_back({to, uint32_t(obligations)});
            };
            for (const Thread& t : threads)
                if (matched && is_match(t.state)) lead(t, 0, n, t.state);
                else
                    for (const Nfa::Range& r : nfa_.states[t.state].ranges)
                        lead(t, classes[r.lo], r.hi == 255 ? n : classes[r.hi + 1u], r.to);
            for (uint32_t c = first; c < last; c++) visit(c, targets_[c], c > first && targets_[c] == targets_[c - 1]);
            for (uint32_t c = first; c < last; c++) targets_[c].clear();
        }
    }

    bool is_match(uint32_t state) const { return nfa_.states[state].kind == Nfa::Kind::kMatch; }
    uint32_t start() const { return nfa_.start; }

  private:
    // Goes on where a look-ahead holds, or is owed.
    void look_ahead(const Nfa::State& s, uint32_t obligations, const Seen& seen) {
        const LookAhead& look = looks_.aheads[s.look];
        int32_t start = look.automaton.start;
        if (!look.behinds.empty()) {
            key_.clear();
            for (uint32_t behind : look.behinds) key_.push_back(seen[place_[behind]]);
            start = look.starts.at(key_);
        }
        if (start < 0) {
            if ((start == kMatched) != s.negative) stack_.push_back({s.out[0], obligations});
        } else if (int64_t more = with(obligations, {s.look, uint32_t(start), s.negative}); more >= 0) {
            stack_.push_back({s.out[0], uint32_t(more)});
        }
    }

    // Goes on where a look-behind holds; where that is not known yet, under each of the conditions under which it does.
    void look_behind(const Nfa::State& s, uint32_t obligations, int32_t state) {
        const Dfa& behind = looks_.behinds[s.look];
        const bool matched = state >= 0 && behind.accepting[size_t(state)];
        const uint32_t condition = matched ? behind.condition[size_t(state)] : 0;
        if (condition == 0) {
            if (matched != s.negative) stack_.push_back({s.out[0], obligations});
            return;
        }
        const Conditions& alternatives = behind.conditions[condition - 1];
        if (s.negative) {
            for (uint32_t more : none_of(obligations, alternatives)) stack_.push_back({s.out[0], more});
            return;
        }
        for (const Condition& all : alternatives) {
            int64_t more = obligations;
            for (size_t i = 0; i < all.size() && more >= 0; i++) more = with(uint32_t(more), all[i]);
            if (more >= 0) stack_.push_back({s.out[0], uint32_t(more)});
        }
    }

    // Those that the automaton asks, and those on which the look-ahead that begins in it depends.
    void find_behinds() {
        std::vector<uint8_t> asked(place_.size(), 0);
        for (const Nfa::State& s : nfa_.states) {
            if (s.kind != Nfa::Kind::kLook) continue;
            if (!s.ahead) asked[s.look] = 1;
            else
                for (uint32_t behind : looks_.aheads[s.look].behinds) asked[behind] = 1;
        }
        for (uint32_t i = 0; i < asked.size(); i++)
            if (asked[i]) place_[i] = uint32_t(behinds.size()), behinds.push_back(i);
    }

    void find_classes() {
        // Refine {all bytes} by every range boundary and by the classes of the other automata.
        std::vector<uint8_t> boundary(257, 0);
        for (const Nfa::State& s : nfa_.states)
            for (const Nfa::Range& r : s.ranges) boundary[r.lo] = 1, boundary[size_t(r.hi) + 1] = 1;
        Interner kinds;
        uint32_t segment = 0;
        for (int b = 0; b < 256; b++) {
            segment += boundary[size_t(b)];
            std::vector<uint32_t> key{segment};
            for (const LookAhead& l : looks_.aheads) key.push_back(l.automaton.classes[size_t(b)]);
            for (uint32_t behind : behinds) key.push_back(looks_.behinds[behind].classes[size_t(b)]);
            uint32_t before = kinds.size(), id = kinds.intern(key);
            if (id == before) bytes.push_back(uint8_t(b));
            classes[size_t(b)] = uint8_t(id);
        }
    }

    const Nfa& nfa_;
    const Looks& looks_;
    const uint64_t max_states_;
    uint64_t spent_ = 0;
    std::vector<uint32_t> place_;  // of each look-behind that is asked, in a `Seen`
    Seen key_;
    std::vector<uint32_t> seen_;
    uint32_t stamp_ = 0;
    std::unordered_map<uint64_t, char, MixHash> seen_pairs_;
    std::vector<Thread> stack_;
    Interner obligation_ids_;
    static constexpr int64_t kUnknown = -2;
    std::vector<std::vector<int64_t>> steps_;   // by obligations, by class
    std::vector<std::vector<Thread>> targets_;  // by class
};

inline void make_key(const Seen& seen, const std::vector<Thread>& threads, std::vector<uint32_t>& key) {
    key.clear();
    for (int32_t s : seen) key.push_back(uint32_t(s));
    for (const Thread& t : threads) key.push_back(t.state), key.push_back(t.obligations);
}

inline void sort_unique(std::vector<Thread>& threads) {
    std::sort(threads.begin(), threads.end());
    threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
}

// States may be few and their subsets huge (`.*(a|aa|aaa|...)`): they count as so many states of an ordinary size. A thread takes 16 bytes.
inline void check_held(uint64_t threads, uint64_t max_states) {
    constexpr uint64_t kOrdinary = 200;
    if (threads / kOrdinary > max_states)
        throw LimitExceeded("max_dfa_states", threads / kOrdinary, max_states, "the subsets of a pattern's automaton");
}

}  // namespace derivable
