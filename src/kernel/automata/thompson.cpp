#include "automata/thompson.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "automata/code_points.hpp"
#include "automata/nfa.hpp"
#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

// Thompson's construction, backwards: every piece is built to lead to a given next state. Look-around becomes
// automata of its own on the way.
class Thompson {
  public:
    Thompson(const Pattern& pattern, uint64_t max_nfa, uint64_t max_dfa) : pattern_(pattern), max_nfa_(max_nfa), max_dfa_(max_dfa) {}

    // PERF: over characters first, bytes after: `(\S+\s+){0,99}\S+` has 2,600 states over bytes, and 200 over characters of two kinds.
    Dfa terminal(Pattern::Node root, bool leftmost_first) {
        ordered_ = leftmost_first;
        find_atoms();
        Nfa nfa = thompson(root, false);
        Dfa dfa = determinize(nfa, looks_, leftmost_first, max_dfa_);
        return atoms_ ? atoms_->spelled(dfa, max_dfa_) : dfa;
    }

  private:
    // Atoms, where all that the pattern is made of is characters, some of them past ASCII, and of few kinds.
    void find_atoms() {
        using Kind = Pattern::Kind;
        const std::vector<Pattern::Tree>& trees = pattern_.trees();
        std::deque<CodePoints> made;
        std::vector<const CodePoints*> sets;
        std::vector<std::vector<uint32_t>> sets_of(trees.size());  // of each tree; of a text, one for each character
        std::unordered_map<uint32_t, uint32_t> singles;            // sets of one character
        std::vector<uint32_t> text;
        auto add = [&](Pattern::Node id, const CodePoints* set) {
            sets_of[id].push_back(uint32_t(sets.size()));
            sets.push_back(set);
        };
        bool past_ascii = false;
        for (Pattern::Node id = 0; id < trees.size(); id++) {
            const Pattern::Tree& t = trees[id];
            // What look-ahead waits for behind a lexeme is over bytes.
            if (t.kind == Kind::kGraph || (t.kind == Kind::kLook && ordered_)) return;
            if (t.kind == Kind::kChars) {
                past_ascii = past_ascii || (!t.code_points.empty() && t.code_points.back().second >= 0x80);
                add(id, &t.code_points);
            } else if (t.kind == Kind::kByteSet) {
                if (!t.bytes.empty() && t.bytes.back().second >= 0x80) return;
                made.emplace_back(t.bytes.begin(), t.bytes.end());
                add(id, &made.back());
            } else if (t.kind == Kind::kBytes) {
                if (!decode(t.text, text)) return;
                for (uint32_t c : text) {
                    auto [known, fresh] = singles.try_emplace(c, uint32_t(sets.size()));
                    if (fresh) made.push_back({{c, c}}), sets.push_back(&made.back());
                    sets_of[id].push_back(known->second);
                }
            }
        }
        if (!past_ascii || !atoms_.emplace(sets).few()) {
            atoms_.reset();
            return;
        }
        letters_.resize(trees.size());
        for (Pattern::Node id = 0; id < trees.size(); id++)
            for (uint32_t set : sets_of[id]) {
                const auto& of_set = atoms_->of_sets()[set];
                letters_[id].insert(letters_[id].end(), of_set.begin(), of_set.end());
            }
    }

    // With `anywhere`, the automaton of "the text so far ends with a match".
    Nfa thompson(Pattern::Node root, bool anywhere) {
        Nfa nfa;
        uint32_t match = push(nfa, {Nfa::Kind::kMatch});
        nfa.start = build(nfa, root, match);
        if (anywhere) {
            uint32_t loop = push(nfa, {Nfa::Kind::kSplit}), any = push(nfa, {Nfa::Kind::kRanges});
            nfa.states[any].ranges = {{0, 255, loop}};
            nfa.states[loop].out = {nfa.start, any};
            nfa.start = loop;
        }
        return nfa;
    }

    uint32_t push(Nfa& nfa, Nfa::State state) {
        work(2);
        if (++total_ > max_nfa_) throw LimitExceeded("max_nfa_states", total_, max_nfa_, "a pattern's automaton");
        nfa.states.push_back(std::move(state));
        return uint32_t(nfa.states.size() - 1);
    }

    // One round of a repeat. As in `re`, a round that has consumed nothing is the last: it leads to `after`, not to `again`.
    uint32_t round(Nfa& nfa, Pattern::Node id, uint32_t again, uint32_t after) {
        uint32_t first = uint32_t(nfa.states.size());
        uint32_t body = build(nfa, id, again);
        if (!ordered_ || !pattern_.trees()[id].nullable || again == after) return body;
        // A second copy for as long as nothing is consumed; whatever consumes in it goes on at the same place of the first.
        uint32_t second = uint32_t(nfa.states.size());
        body = build(nfa, id, after);
        for (uint32_t s = second; s < nfa.states.size(); s++)
            for (Nfa::Range& r : nfa.states[s].ranges) r.to = r.to >= second ? r.to - second + first : again;
        return body;
    }

    uint32_t consuming(Nfa& nfa, const std::vector<std::pair<uint8_t, uint8_t>>& letters, uint32_t next) {
        Nfa::State s{Nfa::Kind::kRanges};
        for (auto [lo, hi] : letters) s.ranges.push_back({lo, hi, next});
        return push(nfa, std::move(s));
    }

    // Each state of a graph becomes a split (its edges, or out to `next` if it accepts); one that only accepts is `next` itself.
    uint32_t copy(Nfa& nfa, const Graph& graph, uint32_t next) {
        if (graph.edges.empty()) return push(nfa, {Nfa::Kind::kSplit});  // the empty set
        std::vector<uint32_t> ids(graph.edges.size());
        for (size_t i = 0; i < ids.size(); i++) {
            if (graph.accepting[i] && graph.edges[i].empty()) ids[i] = next;
            else ids[i] = push(nfa, {graph.accepting[i] ? Nfa::Kind::kSplit : Nfa::Kind::kRanges});
        }
        for (size_t i = 0; i < ids.size(); i++) {
            if (graph.accepting[i] && graph.edges[i].empty()) continue;
            std::vector<Nfa::Range> ranges;
            for (const auto& e : graph.edges[i]) ranges.push_back({e.lo, e.hi, ids[e.to]});
            if (graph.accepting[i]) {
                uint32_t inner = push(nfa, {Nfa::Kind::kRanges});
                nfa.states[inner].ranges = std::move(ranges);
                nfa.states[ids[i]].out = {inner, next};
            } else {
                nfa.states[ids[i]].ranges = std::move(ranges);
            }
        }
        return ids[0];
    }

    uint32_t build(Nfa& nfa, Pattern::Node id, uint32_t next) {
        using Kind = Pattern::Kind;
        const Pattern::Tree& t = pattern_.trees()[id];
        switch (t.kind) {
            case Kind::kBytes:
                if (atoms_)
                    for (size_t i = letters_[id].size(); i-- > 0;) next = consuming(nfa, {letters_[id][i]}, next);
                else
                    for (size_t i = t.text.size(); i-- > 0;) next = consuming(nfa, {{uint8_t(t.text[i]), uint8_t(t.text[i])}}, next);
                return next;
            case Kind::kByteSet: return consuming(nfa, atoms_ ? letters_[id] : t.bytes, next);
            case Kind::kChars: {
                if (atoms_) return consuming(nfa, letters_[id], next);
                auto [known, fresh] = graphs_.try_emplace(id);
                if (fresh) known->second = utf8_graph(t.code_points);
                return copy(nfa, known->second, next);
            }
            case Kind::kAny: return consuming(nfa, {{0, 255}}, next);
            case Kind::kGraph: return copy(nfa, t.graph, next);
            case Kind::kConcat:
                for (size_t i = t.items.size(); i-- > 0;) next = build(nfa, t.items[i], next);
                return next;
            case Kind::kAlt: {
                Nfa::State s{Nfa::Kind::kSplit};
                for (Pattern::Node item : t.items) s.out.push_back(build(nfa, item, next));
                return push(nfa, std::move(s));
            }
            case Kind::kRepeat: {
                auto fork = [&](uint32_t at, uint32_t into, uint32_t past) {
                    nfa.states[at].out = t.lazy ? std::vector<uint32_t>{past, into} : std::vector<uint32_t>{into, past};
                };
                uint32_t after = next;
                if (t.max < 0) {
                    next = push(nfa, {Nfa::Kind::kSplit});
                    fork(next, round(nfa, t.items[0], next, after), after);
                } else {
                    for (int64_t i = t.min; i < t.max; i++) {
                        uint32_t at = push(nfa, {Nfa::Kind::kSplit});
                        fork(at, round(nfa, t.items[0], next, after), after);
                        next = at;
                    }
                }
                for (uint32_t i = 0; i < t.min; i++) next = build(nfa, t.items[0], next);
                return next;
            }
            case Kind::kLook: {
                auto [known, fresh] = look_ids_.try_emplace({t.items[0], t.ahead});
                if (fresh) known->second = t.ahead ? ahead(t.items[0]) : behind(t.items[0]);
                const uint32_t look = known->second;
                Nfa::State s{Nfa::Kind::kLook};
                s.ahead = t.ahead;
                s.negative = t.negative;
                s.look = look;
                s.out = {next};
                return push(nfa, std::move(s));
            }
        }
        return next;
    }

    Nfa unordered(Pattern::Node item, bool anywhere) {
        bool before = std::exchange(ordered_, false);
        Nfa nfa = thompson(item, anywhere);
        ordered_ = before;
        return nfa;
    }

    // Look-around within comes first: it is met when the automaton is built.
    uint32_t ahead(Pattern::Node item) {
        Nfa nfa = unordered(item, false);
        looks_.aheads.push_back(determinize_ahead(nfa, looks_, max_dfa_));
        return uint32_t(looks_.aheads.size() - 1);
    }

    uint32_t behind(Pattern::Node item) {
        Nfa nfa = unordered(item, true);
        looks_.behinds.push_back(determinize_behind(nfa, looks_, max_dfa_));
        return uint32_t(looks_.behinds.size() - 1);
    }

    const Pattern& pattern_;
    const uint64_t max_nfa_, max_dfa_;
    std::optional<Atoms> atoms_;                                     // the automaton is one over characters
    std::vector<std::vector<std::pair<uint8_t, uint8_t>>> letters_;  // of each tree, its atoms; of a text, those of each character
    Looks looks_;
    std::unordered_map<Pattern::Node, Graph> graphs_;              // of sets of characters
    std::map<std::pair<Pattern::Node, bool>, uint32_t> look_ids_;  // by what is looked for, and whether ahead
    uint64_t total_ = 0;
    bool ordered_ = false;  // the order of alternatives means something
};

}  // namespace

Dfa compile_pattern(const Pattern& pattern, Pattern::Node root, bool leftmost_first, uint64_t max_nfa_states, uint64_t max_dfa_states) {
    return Thompson(pattern, max_nfa_states, max_dfa_states).terminal(root, leftmost_first);
}

}  // namespace derivable
