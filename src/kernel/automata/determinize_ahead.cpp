// The automaton of a look-ahead. It says whether a match begins here as soon as that is known.
#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "automata/subsets.hpp"

namespace derivable {

namespace {

// Where look-behind stands in it, the automaton goes on from what that has seen: one beginning for each `Seen`.
class Ahead {
  public:
    Ahead(const Nfa& nfa, const Looks& looks, uint64_t max_states) : subsets_(nfa, looks, max_states), max_states_(max_states) {
        look_.classes = subsets_.classes;
        look_.num_classes = uint32_t(subsets_.bytes.size());
    }

    LookAhead made() {
        std::vector<Seen> pasts = begin();
        for (size_t i = 0; i < threads_of_.size(); i++) add_row(i);
        minimize();
        LookAhead out;
        if (std::any_of(starts_.begin(), starts_.end(), [&](int32_t start) { return start != starts_[0]; })) {
            out.behinds = subsets_.behinds;
            for (size_t i = 0; i < pasts.size(); i++) out.starts.emplace(std::move(pasts[i]), starts_[i]);
            leave_out_behinds(out);
        }
        look_.start = starts_[0];
        out.automaton = std::move(look_);
        return out;
    }

  private:
    // The states that it begins in, for each text that look-behind can tell apart.
    std::vector<Seen> begin() {
        std::vector<Seen> pasts{subsets_.at_start()};
        std::map<Seen, char> known{{pasts[0], 1}};
        for (size_t i = 0; i < pasts.size(); i++) {
            if (pasts.size() > max_states_)
                throw LimitExceeded("max_dfa_states", pasts.size(), max_states_,
                                    "a look-ahead's beginnings, one for each text that its look-behind tells apart");
            std::vector<Thread> threads;
            subsets_.begin();
            subsets_.closure({subsets_.start(), 0}, pasts[i], threads);
            starts_.push_back(state_for(std::move(threads), pasts[i]));
            for (uint8_t byte : subsets_.bytes) {
                if (subsets_.behinds.empty()) break;
                work(5 + pasts[i].size());
                Seen next = pasts[i];
                subsets_.step_seen(next, byte);
                if (known.emplace(next, 1).second) pasts.push_back(std::move(next));
            }
        }
        return pasts;
    }

    void add_row(size_t state) {
        Seen seen = seen_of_[state], seen_before;
        subsets_.each_class(threads_of_[state], true, [&](uint32_t c, const std::vector<Thread>& targets, bool as_before) {
            if (!seen.empty()) {
                std::swap(seen, seen_before);
                seen = seen_of_[state];
                subsets_.step_seen(seen, subsets_.bytes[c]);
                as_before = as_before && seen == seen_before;
            }
            if (as_before) {
                look_.table.push_back(look_.table.back());
                return;
            }
            std::vector<Thread> next;
            subsets_.begin();
            for (Thread t : targets) subsets_.closure(t, seen, next);
            look_.table.push_back(state_for(std::move(next), seen));
        });
    }

    int32_t state_for(std::vector<Thread> threads, const Seen& seen) {
        bool at_end = false;
        for (const Thread& t : threads)
            if (subsets_.is_match(t.state)) {
                if (t.obligations == 0) return kMatched;
                at_end = at_end || subsets_.holds_at_end(t.obligations);
            }
        if (threads.empty()) return kDead;
        sort_unique(threads);
        make_key(seen, threads, words_);
        uint32_t before = ids_.size(), id = ids_.intern(words_);
        if (id < before) return int32_t(id);
        if (ids_.size() > max_states_) throw LimitExceeded("max_dfa_states", ids_.size(), max_states_, "a look-ahead's automaton");
        held_ += threads.size();
        check_held(held_, max_states_);
        look_.matches_at_end.push_back(at_end);
        threads_of_.push_back(std::move(threads));
        seen_of_.push_back(seen);
        return int32_t(id);
    }

    // As an automaton of the texts before which a match begins: "matched" is a state like any other, which never ends.
    void minimize() {
        const int32_t matched = int32_t(look_.matches_at_end.size());
        Dfa dfa;
        dfa.classes = look_.classes;
        dfa.num_classes = look_.num_classes;
        auto plain = [&](int32_t state) { return state == kMatched ? matched : state; };
        for (int32_t to : look_.table) dfa.table.push_back(plain(to));
        dfa.table.insert(dfa.table.end(), dfa.num_classes, matched);
        dfa.accepting = look_.matches_at_end;
        dfa.accepting.push_back(1);
        dfa.condition.assign(dfa.accepting.size(), 0);
        for (int32_t& start : starts_) start = plain(start);
        dfa.minimize(starts_);

        const uint32_t n = dfa.num_states(), k = dfa.num_classes;
        std::vector<int32_t> number(n);
        look_.matches_at_end.clear();
        for (uint32_t s = 0; s < n; s++) {
            const auto row = dfa.table.begin() + long(s) * k;
            const bool always = dfa.accepting[s] && std::all_of(row, row + k, [&](int32_t to) { return to == int32_t(s); });
            number[s] = always ? kMatched : int32_t(look_.matches_at_end.size());
            if (!always) look_.matches_at_end.push_back(dfa.accepting[s]);
        }
        look_.classes = dfa.classes;
        look_.num_classes = k;
        look_.table.clear();
        auto numbered = [&](int32_t state) { return state < 0 ? kDead : number[size_t(state)]; };
        for (uint32_t s = 0; s < n; s++)
            for (uint32_t c = 0; c < k && number[s] >= 0; c++) look_.table.push_back(numbered(dfa.table[size_t(s) * k + c]));
        for (int32_t& start : starts_) start = numbered(start);
    }

    // Look-behind that makes no difference to where the automaton begins.
    static void leave_out_behinds(LookAhead& look) {
        for (size_t i = look.behinds.size(); i-- > 0;) {
            std::map<Seen, int32_t> fewer;
            bool differs = false;
            for (const auto& [seen, start] : look.starts) {
                Seen others = seen;
                others.erase(others.begin() + long(i));
                differs = differs || fewer.emplace(std::move(others), start).first->second != start;
            }
            if (differs) continue;
            look.starts = std::move(fewer);
            look.behinds.erase(look.behinds.begin() + long(i));
        }
    }

    Subsets subsets_;
    const uint64_t max_states_;
    LookDfa look_;
    std::vector<int32_t> starts_;  // by past
    Interner ids_;
    std::deque<std::vector<Thread>> threads_of_;  // read while it grows
    std::deque<Seen> seen_of_;
    uint64_t held_ = 0;
    std::vector<uint32_t> words_;
};

}  // namespace

LookAhead determinize_ahead(const Nfa& nfa, const Looks& looks, uint64_t max_states) { return Ahead(nfa, looks, max_states).made(); }

}  // namespace derivable
