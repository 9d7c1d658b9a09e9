#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "automata/nfa.hpp"
#include "support/bits.hpp"
#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

// A thread of the subset construction: an NFA state and the obligations it carries (an interned set).
struct Thread {
    uint32_t state, obligations;
    bool operator==(Thread other) const { return state == other.state && obligations == other.obligations; }
    bool operator<(Thread other) const { return state != other.state ? state < other.state : obligations < other.obligations; }
};

class Subsets {
  public:
    Subsets(const Nfa& nfa, const std::vector<LookDfa>& looks, const std::vector<Dfa>& behinds)
        : nfa_(nfa),
          looks_(looks),
          behinds_(behinds),
          seen_(nfa.states.size(), 0) {
        obligation_ids_.intern({});
        find_classes();
    }

    std::array<uint8_t, 256> classes{};
    std::vector<uint8_t> bytes;  // one of each class

    std::vector<int32_t> start_behinds() const {
        std::vector<int32_t> b;
        for (const Dfa& d : behinds_) b.push_back(d.empty() ? kDead : 0);
        return b;
    }

    void step_behinds(std::vector<int32_t>& b, uint8_t byte) const {
        for (size_t i = 0; i < b.size(); i++)
            if (b[i] >= 0) b[i] = behinds_[i].step(uint32_t(b[i]), byte);
    }

    void begin() {
        stamp_++;
        seen_pairs_.clear();
    }

    // Adds the threads that `thread` stands for, in order of preference: consuming states and matches.
    void closure(Thread thread, const std::vector<int32_t>& behinds, std::vector<Thread>& out) {
        stack_.push_back(thread);
        while (!stack_.empty()) {
            work(2);
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
                    if (s.ahead) {
                        int32_t start = looks_[s.look].start;
                        if (start >= 0) {
                            int64_t obligations = with(t.obligations, {s.look, uint32_t(start), s.negative});
                            if (obligations >= 0) stack_.push_back({s.out[0], uint32_t(obligations)});
                        } else if ((start == kMatched) != s.negative) {
                            stack_.push_back({s.out[0], t.obligations});
                        }
                    } else {
                        int32_t b = behinds[s.look];
                        bool holds = b >= 0 && behinds_[s.look].accepting[size_t(b)];
                        if (holds != s.negative) stack_.push_back({s.out[0], t.obligations});
                    }
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

    // After one more byte: -1 if an obligation failed.
    int64_t step(uint32_t obligations, uint32_t byte_class) {
        if (obligations == 0) return 0;
        if (steps_.size() <= obligations) steps_.resize(size_t(obligations) + 1);
        if (steps_[obligations].empty()) steps_[obligations].assign(bytes.size(), kUnknown);
        int64_t& known = steps_[obligations][byte_class];
        return known == kUnknown ? known = step_anew(obligations, byte_class) : known;
    }

    int64_t step_anew(uint32_t obligations, uint32_t byte_class) {
        work(10);
        Condition next;
        for (const Lookahead& o : unpack(obligations)) {
            int32_t s = looks_[o.look].step(o.state, bytes[byte_class]);
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
            if (bool(looks_[o.look].matches_at_end[o.state]) == o.negative) return false;
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
            work(threads.size() + 2);
            auto lead = [&](Thread t, uint32_t from, uint32_t end, uint32_t to) {
                work(1);
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
            for (const LookDfa& l : looks_) key.push_back(l.classes[size_t(b)]);
            for (const Dfa& d : behinds_) key.push_back(d.classes[size_t(b)]);
            uint32_t before = kinds.size(), id = kinds.intern(key);
            if (id == before) bytes.push_back(uint8_t(b));
            classes[size_t(b)] = uint8_t(id);
        }
    }

    const Nfa& nfa_;
    const std::vector<LookDfa>& looks_;
    const std::vector<Dfa>& behinds_;
    std::vector<uint32_t> seen_;
    uint32_t stamp_ = 0;
    std::unordered_map<uint64_t, char, MixHash> seen_pairs_;
    std::vector<Thread> stack_;
    Interner obligation_ids_;
    static constexpr int64_t kUnknown = -2;
    std::vector<std::vector<int64_t>> steps_;   // by obligations, by class
    std::vector<std::vector<Thread>> targets_;  // by class
};

void make_key(const std::vector<int32_t>& behinds, const std::vector<Thread>& threads, std::vector<uint32_t>& key) {
    key.clear();
    for (int32_t b : behinds) key.push_back(uint32_t(b));
    for (const Thread& t : threads) key.push_back(t.state), key.push_back(t.obligations);
}

void sort_unique(std::vector<Thread>& threads) {
    std::sort(threads.begin(), threads.end());
    threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
}

}  // namespace

namespace {

// States may be few and their subsets huge (`.*(a|aa|aaa|...)`): they count as so many states of an ordinary size. A thread takes 16 bytes.
void check_held(uint64_t threads, uint64_t max_states) {
    constexpr uint64_t kOrdinary = 200;
    if (threads / kOrdinary > max_states)
        throw LimitExceeded("max_dfa_states", threads / kOrdinary, max_states, "the subsets of a pattern's automaton");
}

// Without look-around a thread is an NFA state, and bytes between which no range begins or ends act alike.
Dfa determinize_plain(const Nfa& nfa, bool leftmost_first, uint64_t max_states) {
    Dfa dfa;
    std::array<uint8_t, 257> boundary{};
    for (const Nfa::State& s : nfa.states)
        for (const Nfa::Range& r : s.ranges) boundary[r.lo] = boundary[size_t(r.hi) + 1] = 1;
    for (size_t b = 1; b < 256; b++) dfa.classes[b] = uint8_t(dfa.classes[b - 1] + boundary[b]);
    dfa.num_classes = dfa.classes[255] + 1u;

    Interner ids;
    std::vector<uint32_t> seen(nfa.states.size(), 0), stack, threads;
    std::vector<uint64_t> bits(nfa.states.size() / 64 + 1, 0);
    uint32_t stamp = 0;
    uint64_t held = 0;
    // Of all that the targets stand for, in order of preference, the consuming states and matches.
    auto state_for = [&](const std::vector<uint32_t>& targets) -> int32_t {
        stamp++;
        threads.clear();
        bool accepts = false;
        stack.assign(targets.rbegin(), targets.rend());
        while (!stack.empty() && !(accepts && leftmost_first)) {  // a match cuts off what is less preferred
            uint32_t t = stack.back();
            stack.pop_back();
            if (seen[t] == stamp) continue;
            seen[t] = stamp;
            const Nfa::State& s = nfa.states[t];
            if (s.kind == Nfa::Kind::kSplit) {
                stack.insert(stack.end(), s.out.rbegin(), s.out.rend());
                continue;
            }
            threads.push_back(t);
            accepts |= s.kind == Nfa::Kind::kMatch;
        }
        if (threads.empty()) return kDead;
        work(2 + 3 * threads.size());
        if (!leftmost_first) sort_distinct(threads, bits);
        uint32_t before = ids.size(), id = ids.intern(threads);
        if (id < before) return int32_t(id);
        if (ids.size() > max_states) throw LimitExceeded("max_dfa_states", ids.size(), max_states, "a pattern's automaton");
        held += threads.size();
        check_held(held, max_states);
        dfa.accepting.push_back(accepts);
        dfa.condition.push_back(0);
        return int32_t(id);
    };
    state_for({nfa.start});
    constexpr size_t kMostTargets = 1u << 22;  // held at a time
    std::vector<std::vector<uint32_t>> targets(dfa.num_classes);
    for (uint32_t i = 0; i < ids.size(); i++) {
        const std::vector<uint32_t>& subset = ids[i];
        const uint32_t width = uint32_t(std::max<size_t>(1, kMostTargets / subset.size()));
        for (uint32_t first = 0, last; first < dfa.num_classes; first = last) {
            last = std::min(first + width, dfa.num_classes);
            work(subset.size() + 2);
            for (uint32_t s : subset)
                for (const Nfa::Range& r : nfa.states[s].ranges)
                    for (uint32_t c = std::max<uint32_t>(first, dfa.classes[r.lo]), end = std::min<uint32_t>(last, dfa.classes[r.hi] + 1u);
                         c < end; c++)
                        targets[c].push_back(r.to);
            for (uint32_t c = first; c < last; c++)
                dfa.table.push_back(c > first && targets[c] == targets[c - 1] ? dfa.table.back() : state_for(targets[c]));
            for (uint32_t c = first; c < last; c++) targets[c].clear();
        }
    }
    dfa.minimize();
    return dfa;
}

// The construction of subsets, from what look-behind has seen on.
struct Construction {
    Subsets subsets;
    const bool leftmost_first;
    const uint64_t max_states;
    Dfa dfa;
    Interner ids;
    std::deque<std::vector<Thread>> threads_of;  // read while it grows
    std::vector<std::vector<int32_t>> behinds_of;
    uint64_t held = 0;
    std::vector<uint32_t> words;

    Construction(const Nfa& nfa, const std::vector<LookDfa>& looks, const std::vector<Dfa>& behinds, bool leftmost_first,
                 uint64_t max_states)
        : subsets(nfa, looks, behinds),
          leftmost_first(leftmost_first),
          max_states(max_states) {
        dfa.classes = subsets.classes;
        dfa.num_classes = uint32_t(subsets.bytes.size());
        dfa.looks = looks;
    }

    // A match cuts off what is less preferred; a conditional one leaves it alive under the negated condition.
    void cut(std::vector<Thread>& threads) {
        for (size_t i = 0; i < threads.size(); i++) {
            if (!subsets.is_match(threads[i].state)) continue;
            work(threads.size() * (1 + threads.size() / 16));
            Condition pending = subsets.unpack(threads[i].obligations);
            std::vector<Thread> rest(threads.begin() + long(i) + 1, threads.end());
            threads.resize(i + 1);
            for (const Thread& t : rest)
                for (Lookahead o : pending) {
                    o.negative = !o.negative;
                    int64_t obligations = subsets.with(t.obligations, o);
                    if (obligations < 0) continue;
                    bool known = std::find(threads.begin(), threads.end(), Thread{t.state, uint32_t(obligations)}) != threads.end();
                    if (!known) threads.push_back({t.state, uint32_t(obligations)});
                }
        }
    }

    int32_t state_for(std::vector<Thread> threads, std::vector<int32_t> behind) {
        if (leftmost_first) cut(threads);
        else sort_unique(threads);
        if (threads.empty()) return kDead;
        work(2 + 2 * threads.size());
        make_key(behind, threads, words);
        uint32_t before = ids.size(), id = ids.intern(words);
        if (id < before) return int32_t(id);
        if (ids.size() > max_states) throw LimitExceeded("max_dfa_states", ids.size(), max_states, "a pattern's automaton");
        held += threads.size();
        check_held(held, max_states);
        Conditions alternatives;
        bool accepts = false, certain = false;
        for (const Thread& t : threads) {
            if (!subsets.is_match(t.state)) continue;
            if (t.obligations == 0) accepts = certain = true;
            else if (!leftmost_first) accepts = certain = certain || subsets.holds_at_end(t.obligations);
            else accepts = true, alternatives.push_back(subsets.unpack(t.obligations));
        }
        dfa.accepting.push_back(accepts);
        if (accepts && !certain) {
            dfa.conditions.push_back(std::move(alternatives));
            dfa.condition.push_back(uint32_t(dfa.conditions.size()));
        } else {
            dfa.condition.push_back(0);
        }
        threads_of.push_back(std::move(threads));
        behinds_of.push_back(std::move(behind));
        return int32_t(id);
    }

    // Once: the automaton is moved out.
    Dfa run(const std::vector<int32_t>& start_behinds) {
        std::vector<Thread> threads;
        subsets.begin();
        subsets.closure({subsets.start(), 0}, start_behinds, threads);
        state_for(std::move(threads), start_behinds);
        std::vector<int32_t> behind = start_behinds, behind_before;
        // PERF: of the 664,000 steps of Python's f-strings 585,000 are dead or as for the class before, and 71,000 were met already: 82 to
        // 20 ms.
        constexpr size_t kLongest = 64, kMost = 1u << 16;
        Interner leads;  // targets met before, up to so many
        std::vector<int32_t> led;
        for (size_t i = 0; i < threads_of.size(); i++)
            subsets.each_class(threads_of[i], false, [&](uint32_t c, const std::vector<Thread>& targets, bool as_before) {
                if (!behind.empty()) {
                    std::swap(behind, behind_before);
                    behind = behinds_of[i];
                    subsets.step_behinds(behind, subsets.bytes[c]);
                    as_before = as_before && behind == behind_before;
                }
                if (targets.empty()) {
                    dfa.table.push_back(kDead);
                    return;
                }
                if (as_before) {
                    dfa.table.push_back(dfa.table.back());
                    return;
                }
                const bool keep = targets.size() <= kLongest && led.size() < kMost;
                if (keep) {
                    make_key(behind, targets, words);
                    uint32_t id = leads.intern(words);
                    if (id < led.size()) {
                        dfa.table.push_back(led[id]);
                        return;
                    }
                }
                std::vector<Thread> next;
                subsets.begin();
                for (Thread t : targets) subsets.closure(t, behind, next);
                dfa.table.push_back(state_for(std::move(next), behind));
                if (keep) led.push_back(dfa.table.back());
            });
        dfa.minimize();
        return std::move(dfa);
    }
};

}  // namespace

Dfa determinize(const Nfa& nfa, const std::vector<LookDfa>& looks, const std::vector<Dfa>& behinds, bool leftmost_first,
                uint64_t max_states) {
    if (looks.empty() && behinds.empty()) return determinize_plain(nfa, leftmost_first, max_states);
    Subsets subsets(nfa, looks, behinds);
    if (!leftmost_first || behinds.empty())  // look-behind sees the terminal's own text only
        return Construction(nfa, looks, behinds, leftmost_first, max_states).run(subsets.start_behinds());
    // A lexeme starts anywhere in a text, and look-behind sees what stands before: one automaton for each past it can tell apart.
    Past past;
    past.classes = subsets.classes;
    past.num_classes = uint32_t(subsets.bytes.size());
    std::vector<std::vector<int32_t>> pasts{subsets.start_behinds()};
    std::map<std::vector<int32_t>, uint32_t> ids{{pasts[0], 0}};
    uint64_t total = 0;
    for (size_t i = 0; i < pasts.size(); i++) {
        past.variants.push_back(Construction(nfa, looks, behinds, leftmost_first, max_states).run(pasts[i]));
        past.variant.push_back(uint32_t(i));
        total += past.variants.back().num_states() + 1;
        // Those still to be made count already: there may be millions of pasts.
        if (total + (pasts.size() - i - 1) > max_states)
            throw LimitExceeded("max_dfa_states", total + (pasts.size() - i - 1), max_states,
                                "a pattern's automata, one for each text that its look-behind tells apart");
        for (uint8_t byte : subsets.bytes) {
            work(5 + pasts[i].size());
            std::vector<int32_t> next = pasts[i];
            subsets.step_behinds(next, byte);
            auto [it, fresh] = ids.try_emplace(next, uint32_t(pasts.size()));
            if (fresh) pasts.push_back(std::move(next));
            past.table.push_back(it->second);
        }
    }
    return Dfa::with_past(std::move(past));
}

LookDfa determinize_look(const Nfa& nfa, const std::vector<LookDfa>& looks, uint64_t max_states) {
    static const std::vector<Dfa> no_behinds;
    Subsets subsets(nfa, looks, no_behinds);
    LookDfa look;
    look.classes = subsets.classes;
    look.num_classes = uint32_t(subsets.bytes.size());
    Interner ids;
    std::deque<std::vector<Thread>> threads_of;  // read while it grows
    uint64_t held = 0;
    std::vector<uint32_t> words;
    auto state_for = [&](std::vector<Thread> threads) -> int32_t {
        bool at_end = false;
        for (const Thread& t : threads)
            if (subsets.is_match(t.state)) {
                if (t.obligations == 0) return kMatched;
                at_end = at_end || subsets.holds_at_end(t.obligations);
            }
        if (threads.empty()) return kDead;
        sort_unique(threads);
        make_key({}, threads, words);
        uint32_t before = ids.size(), id = ids.intern(words);
        if (id < before) return int32_t(id);
        if (ids.size() > max_states) throw LimitExceeded("max_dfa_states", ids.size(), max_states, "a look-ahead's automaton");
        held += threads.size();
        check_held(held, max_states);
        look.matches_at_end.push_back(at_end);
        threads_of.push_back(std::move(threads));
        return int32_t(id);
    };
    std::vector<Thread> threads;
    subsets.begin();
    subsets.closure({subsets.start(), 0}, {}, threads);
    look.start = state_for(std::move(threads));
    for (size_t i = 0; i < threads_of.size(); i++)
        subsets.each_class(threads_of[i], true, [&](uint32_t, const std::vector<Thread>& targets, bool as_before) {
            if (as_before) {
                look.table.push_back(look.table.back());
                return;
            }
            std::vector<Thread> next;
            subsets.begin();
            for (Thread t : targets) subsets.closure(t, {}, next);
            look.table.push_back(state_for(std::move(next)));
        });
    return look;
}

}  // namespace derivable
