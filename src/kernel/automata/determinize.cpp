#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "automata/subsets.hpp"
#include "support/bits.hpp"

namespace derivable {

namespace {

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

// What an accepting state says of look-ahead that is open where its match ends.
enum class Open {
    kAtEnd,        // it sees the end of the text there
    kConditions,   // it becomes a condition
    kPreferences,  // the same, and what the match is preferred to goes on where it fails
};

// The construction of subsets, from what look-behind has seen on.
struct Construction {
    Subsets subsets;
    const Open open;
    const uint64_t max_states;
    Dfa dfa;
    Interner ids;
    std::deque<std::vector<Thread>> threads_of;  // read while it grows
    std::vector<Seen> seen_of;
    uint64_t held = 0;
    std::vector<uint32_t> words;

    Construction(const Nfa& nfa, const Looks& looks, Open open, uint64_t max_states)
        : subsets(nfa, looks, max_states),
          open(open),
          max_states(max_states) {
        dfa.classes = subsets.classes;
        dfa.num_classes = uint32_t(subsets.bytes.size());
        for (const LookAhead& look : looks.aheads) dfa.looks.push_back(look.automaton);
    }

    // A match cuts off what is less preferred; a conditional one leaves it alive where it fails, and so do several where all of them do.
    void cut(std::vector<Thread>& threads) {
        Conditions matches;
        std::vector<Thread> kept;
        std::unordered_map<uint32_t, std::vector<uint32_t>> left;  // by state, the obligations of threads left alive
        for (const Thread& t : threads) {
            if (subsets.is_match(t.state)) {
                kept.push_back(t);
                if (t.obligations == 0) break;
                matches.push_back(subsets.unpack(t.obligations));
            } else if (matches.empty()) {
                kept.push_back(t);
            } else {
                for (uint32_t obligations : subsets.none_of(t.obligations, matches)) {
                    std::vector<uint32_t>& before = left[t.state];
                    subsets.spend(10 * (1 + before.size()));
                    const bool known =
                        std::any_of(before.begin(), before.end(), [&](uint32_t o) { return subsets.includes(obligations, o); });
                    if (known) continue;
                    before.push_back(obligations);
                    kept.push_back({t.state, obligations});
                }
            }
        }
        threads = std::move(kept);
    }

    int32_t state_for(std::vector<Thread> threads, Seen seen) {
        if (open == Open::kPreferences) cut(threads);
        else sort_unique(threads);
        if (threads.empty()) return kDead;
        subsets.spend(2 + 2 * threads.size());
        make_key(seen, threads, words);
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
            else if (open == Open::kAtEnd) accepts = certain = certain || subsets.holds_at_end(t.obligations);
            else accepts = true, alternatives.push_back(subsets.unpack(t.obligations));
        }
        dfa.accepting.push_back(accepts);
        if (accepts && !certain) {
            if (open == Open::kConditions) {
                std::sort(alternatives.begin(), alternatives.end());
                alternatives.erase(std::unique(alternatives.begin(), alternatives.end()), alternatives.end());
            }
            dfa.conditions.push_back(std::move(alternatives));
            dfa.condition.push_back(uint32_t(dfa.conditions.size()));
        } else {
            dfa.condition.push_back(0);
        }
        threads_of.push_back(std::move(threads));
        seen_of.push_back(std::move(seen));
        return int32_t(id);
    }

    // From each of some pasts. `starts`: the state of the automaton that it begins in after each of them. Once: the automaton is moved out.
    Dfa run(const std::vector<Seen>& pasts, std::vector<int32_t>& starts) {
        starts.clear();
        for (const Seen& past : pasts) {
            std::vector<Thread> threads;
            subsets.begin();
            subsets.closure({subsets.start(), 0}, past, threads);
            starts.push_back(state_for(std::move(threads), past));
        }
        Seen seen = pasts[0], seen_before;
        // PERF: of the 664,000 steps of Python's f-strings 585,000 are dead or as for the class before, and 71,000 were met already: 82 to
        // 20 ms.
        constexpr size_t kLongest = 64, kMost = 1u << 16;
        Interner leads;  // targets met before, up to so many
        std::vector<int32_t> led;
        for (size_t i = 0; i < threads_of.size(); i++)
            subsets.each_class(threads_of[i], false, [&](uint32_t c, const std::vector<Thread>& targets, bool as_before) {
                if (!seen.empty()) {
                    std::swap(seen, seen_before);
                    seen = seen_of[i];
                    subsets.step_seen(seen, subsets.bytes[c]);
                    as_before = as_before && seen == seen_before;
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
                    make_key(seen, targets, words);
                    uint32_t id = leads.intern(words);
                    if (id < led.size()) {
                        dfa.table.push_back(led[id]);
                        return;
                    }
                }
                std::vector<Thread> next;
                subsets.begin();
                for (Thread t : targets) subsets.closure(t, seen, next);
                dfa.table.push_back(state_for(std::move(next), seen));
                if (keep) led.push_back(dfa.table.back());
            });
        dfa.minimize(starts);
        return std::move(dfa);
    }
    Dfa run(const Seen& start) {
        std::vector<int32_t> starts;
        return run(std::vector<Seen>{start}, starts);
    }
};

bool looks_around(const Nfa& nfa) {
    return std::any_of(nfa.states.begin(), nfa.states.end(), [](const Nfa::State& s) { return s.kind == Nfa::Kind::kLook; });
}

}  // namespace

Dfa determinize(const Nfa& nfa, const Looks& looks, bool leftmost_first, uint64_t max_states) {
    if (!looks_around(nfa)) return determinize_plain(nfa, leftmost_first, max_states);
    const Subsets subsets(nfa, looks, max_states);
    const Open open = leftmost_first ? Open::kPreferences : Open::kAtEnd;
    if (!leftmost_first || subsets.behinds.empty())  // look-behind sees the terminal's own text only
        return Construction(nfa, looks, open, max_states).run(subsets.at_start());
    // A lexeme starts anywhere in a text, and look-behind sees what stands before: one automaton for each past it can tell apart.
    Past past;
    past.classes = subsets.classes;
    past.num_classes = uint32_t(subsets.bytes.size());
    std::vector<Seen> pasts{subsets.at_start()};
    std::map<Seen, uint32_t> ids{{pasts[0], 0}};
    auto check_pasts = [&](uint64_t states) {
        if (states > max_states)
            throw LimitExceeded("max_dfa_states", states, max_states,
                                "a pattern's automata, one for each text that its look-behind tells apart");
    };
    for (size_t i = 0; i < pasts.size(); i++) {
        check_pasts(2 * pasts.size());
        for (uint8_t byte : subsets.bytes) {
            work(5 + pasts[i].size());
            Seen next = pasts[i];
            subsets.step_seen(next, byte);
            auto [it, fresh] = ids.try_emplace(next, uint32_t(pasts.size()));
            if (fresh) pasts.push_back(std::move(next));
            past.table.push_back(it->second);
        }
    }
    // PERF: made together. They come to the same states after a few bytes: `\w+\b` took 690 ms when each was made by itself.
    std::vector<int32_t> starts;
    const Dfa all = Construction(nfa, looks, open, max_states).run(pasts, starts);
    std::map<int32_t, uint32_t> variants;
    uint64_t total = pasts.size();
    for (int32_t start : starts) {
        auto [it, fresh] = variants.try_emplace(start, uint32_t(past.variants.size()));
        if (fresh) {
            std::vector<int32_t> only{start};
            past.variants.push_back(all);
            past.variants.back().minimize(only);
            check_pasts(total += past.variants.back().num_states());
        }
        past.variant.push_back(it->second);
    }
    return Dfa::with_past(std::move(past));
}

Dfa determinize_behind(const Nfa& nfa, const Looks& looks, uint64_t max_states) {
    if (!looks_around(nfa)) return determinize_plain(nfa, false, max_states);
    Construction made(nfa, looks, Open::kConditions, max_states);
    return made.run(made.subsets.at_start());
}

}  // namespace derivable
