#include "automata/thompson.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "automata/nfa.hpp"
#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

constexpr uint32_t kMaxDepth = 4000;  // SAFETY: bounds the recursion of Thompson's construction below

// The byte sequences of code points lo..hi, as UTF-8 ranges: each a list of (first, last) per byte.
using Sequence = std::vector<std::pair<uint8_t, uint8_t>>;

uint32_t encode(uint32_t cp, uint8_t* out) {
    if (cp < 0x80) return out[0] = uint8_t(cp), 1;
    if (cp < 0x800) return out[0] = uint8_t(0xC0 | cp >> 6), out[1] = uint8_t(0x80 | (cp & 63)), 2;
    if (cp < 0x10000)
        return out[0] = uint8_t(0xE0 | cp >> 12), out[1] = uint8_t(0x80 | (cp >> 6 & 63)), out[2] = uint8_t(0x80 | (cp & 63)), 3;
    return out[0] = uint8_t(0xF0 | cp >> 18), out[1] = uint8_t(0x80 | (cp >> 12 & 63)), out[2] = uint8_t(0x80 | (cp >> 6 & 63)),
           out[3] = uint8_t(0x80 | (cp & 63)), 4;
}

void utf8_sequences(uint32_t lo, uint32_t hi, std::vector<Sequence>& out) {
    if (lo > hi) return;
    for (uint32_t limit : {0x7Fu, 0x7FFu, 0xFFFFu})
        if (lo <= limit && hi > limit) {
            utf8_sequences(lo, limit, out);
            utf8_sequences(limit + 1, hi, out);
            return;
        }
    // Split where the leading bytes differ and the trailing ones do not run from 80 to BF.
    if (hi >= 0x80)
        for (uint32_t bits : {6u, 12u, 18u}) {
            uint32_t low = (1u << bits) - 1;
            if ((lo & ~low) == (hi & ~low)) break;
            if (lo & low) {
                utf8_sequences(lo, lo | low, out);
                utf8_sequences((lo | low) + 1, hi, out);
                return;
            }
            if ((hi & low) != low) {
                utf8_sequences(lo, (hi & ~low) - 1, out);
                utf8_sequences(hi & ~low, hi, out);
                return;
            }
        }
    uint8_t a[4], b[4];
    uint32_t n = encode(lo, a);
    encode(hi, b);
    Sequence s;
    for (uint32_t i = 0; i < n; i++) s.emplace_back(a[i], b[i]);
    out.push_back(std::move(s));
}

}  // namespace

PatternBuilder::Node PatternBuilder::add(Tree tree) {
    for (Node item : tree.items) tree.depth = std::max(tree.depth, nodes_[item].depth + 1);
    if (tree.depth > kMaxDepth) throw LimitExceeded("nesting of a pattern", tree.depth, kMaxDepth);
    auto empty = [&](Node item) { return nodes_[item].nullable; };
    switch (tree.kind) {
        case Kind::kBytes: tree.nullable = tree.text.empty(); break;
        case Kind::kByteSet: break;
        case Kind::kGraph: tree.nullable = !tree.graph.exits.empty() && tree.graph.exits[0]; break;
        case Kind::kConcat: tree.nullable = std::all_of(tree.items.begin(), tree.items.end(), empty); break;
        case Kind::kAlt: tree.nullable = std::any_of(tree.items.begin(), tree.items.end(), empty); break;
        case Kind::kRepeat: tree.nullable = tree.min == 0 || empty(tree.items[0]); break;
        case Kind::kLook: tree.nullable = true; break;
    }
    nodes_.push_back(std::move(tree));
    return Node(nodes_.size() - 1);
}

PatternBuilder::Node PatternBuilder::bytes(std::string text) {
    Tree t{Kind::kBytes};
    t.text = std::move(text);
    return add(std::move(t));
}

PatternBuilder::Node PatternBuilder::byte_set(std::vector<std::pair<uint8_t, uint8_t>> ranges) {
    Tree t{Kind::kByteSet};
    t.ranges = std::move(ranges);
    return add(std::move(t));
}

PatternBuilder::Node PatternBuilder::chars(const std::vector<std::pair<uint32_t, uint32_t>>& ranges) {
    std::vector<Sequence> sequences;
    for (auto [lo, hi] : ranges) utf8_sequences(lo, hi, sequences);
    Tree t{Kind::kGraph};
    // A trie over ranges whose equal tails are shared: `\w` has 770 ranges but few distinct tails.
    t.graph.edges.emplace_back();
    t.graph.edges.emplace_back();
    t.graph.exits = {0, 1};
    std::map<std::vector<Sequence>, uint32_t> tails;
    tails[{Sequence{}}] = 1;
    auto grow = [&](auto&& self, uint32_t state, const std::vector<Sequence>& group) -> void {
        for (size_t i = 0; i < group.size();) {
            size_t j = i;
            std::vector<Sequence> rest;
            for (; j < group.size() && group[j].front() == group[i].front(); j++) rest.emplace_back(group[j].begin() + 1, group[j].end());
            auto [it, fresh] = tails.try_emplace(rest, uint32_t(t.graph.edges.size()));
            uint32_t to = it->second;
            if (fresh) {
                t.graph.edges.emplace_back();
                t.graph.exits.push_back(0);
                self(self, to, rest);
            }
            t.graph.edges[state].push_back({group[i].front().first, group[i].front().second, to});
            i = j;
        }
    };
    grow(grow, 0, sequences);
    return add(std::move(t));
}

PatternBuilder::Node PatternBuilder::concat(std::vector<Node> items) {
    Tree t{Kind::kConcat};
    t.items = std::move(items);
    return add(std::move(t));
}

PatternBuilder::Node PatternBuilder::alt(std::vector<Node> items) {
    Tree t{Kind::kAlt};
    t.items = std::move(items);
    return add(std::move(t));
}

PatternBuilder::Node PatternBuilder::repeat(Node item, uint32_t min, int64_t max, bool lazy) {
    Tree t{Kind::kRepeat};
    t.items = {item};
    t.min = min;
    t.max = max;
    t.lazy = lazy;
    return add(std::move(t));
}

PatternBuilder::Node PatternBuilder::look(Node item, bool ahead, bool negative) {
    Tree t{Kind::kLook};
    t.items = {item};
    t.ahead = ahead;
    t.negative = negative;
    return add(std::move(t));
}

PatternBuilder::Node PatternBuilder::automaton(const Dfa& dfa) {
    if (!dfa.conditions.empty()) throw Unsupported("look-ahead", "look-ahead past the end of an operand of a set operation");
    Tree t{Kind::kGraph};
    for (uint32_t s = 0; s < dfa.num_states(); s++) {
        std::vector<Graph::Edge> edges;
        for (int b = 0; b < 256; b++) {
            int32_t to = dfa.step(s, uint8_t(b));
            if (to < 0) continue;
            if (!edges.empty() && edges.back().to == uint32_t(to) && edges.back().hi + 1 == b) edges.back().hi = uint8_t(b);
            else edges.push_back({uint8_t(b), uint8_t(b), uint32_t(to)});
        }
        t.graph.edges.push_back(std::move(edges));
        t.graph.exits.push_back(dfa.accepting[s]);
    }
    return add(std::move(t));
}

PatternBuilder::Node PatternBuilder::graph(const std::vector<std::vector<std::tuple<uint8_t, uint8_t, uint32_t>>>& edges,
                                           const std::vector<bool>& accepting) {
    if (edges.size() != accepting.size()) throw BadGrammar("a graph must say of every state whether it accepts", "");
    Tree t{Kind::kGraph};
    for (size_t s = 0; s < edges.size(); s++) {
        std::vector<Graph::Edge> out;
        for (auto [lo, hi, to] : edges[s]) {
            if (lo > hi || to >= edges.size()) throw BadGrammar("a graph has an edge to no state", "");
            out.push_back({lo, hi, to});
        }
        t.graph.edges.push_back(std::move(out));
        t.graph.exits.push_back(accepting[s]);
    }
    return add(std::move(t));
}

// Thompson's construction, backwards: every piece is built to lead to a given next state. Look-around becomes
// automata of its own on the way.
class Thompson {
  public:
    explicit Thompson(const PatternBuilder& builder) : builder_(builder) {}

    Dfa terminal(PatternBuilder::Node root, bool leftmost_first) {
        ordered_ = leftmost_first;
        Nfa nfa = thompson(root, false);
        return determinize(nfa, looks_, behinds_, leftmost_first, builder_.max_dfa_);
    }

  private:
    // With `anywhere`, the automaton of "the text so far ends with a match".
    Nfa thompson(PatternBuilder::Node root, bool anywhere) {
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
        if (++total_ > builder_.max_nfa_) throw LimitExceeded("max_nfa_states", total_, builder_.max_nfa_, "a pattern's automaton");
        nfa.states.push_back(std::move(state));
        return uint32_t(nfa.states.size() - 1);
    }

    // One round of a repeat. As in `re`, a round that has consumed nothing is the last: it leads to `after`, not to `again`.
    uint32_t round(Nfa& nfa, PatternBuilder::Node id, uint32_t again, uint32_t after) {
        uint32_t first = uint32_t(nfa.states.size());
        uint32_t body = build(nfa, id, again);
        if (!ordered_ || !builder_.nodes_[id].nullable || again == after) return body;
        // A second copy for as long as nothing is consumed; whatever consumes in it goes on at the same place of the first.
        uint32_t second = uint32_t(nfa.states.size());
        body = build(nfa, id, after);
        for (uint32_t s = second; s < nfa.states.size(); s++)
            for (Nfa::Range& r : nfa.states[s].ranges) r.to = r.to >= second ? r.to - second + first : again;
        return body;
    }

    uint32_t build(Nfa& nfa, PatternBuilder::Node id, uint32_t next) {
        using Kind = PatternBuilder::Kind;
        const PatternBuilder::Tree& t = builder_.nodes_[id];
        switch (t.kind) {
            case Kind::kBytes:
                for (size_t i = t.text.size(); i-- > 0;) {
                    Nfa::State s{Nfa::Kind::kRanges};
                    s.ranges = {{uint8_t(t.text[i]), uint8_t(t.text[i]), next}};
                    next = push(nfa, std::move(s));
                }
                return next;
            case Kind::kByteSet: {
                Nfa::State s{Nfa::Kind::kRanges};
                for (auto [lo, hi] : t.ranges) s.ranges.push_back({lo, hi, next});
                return push(nfa, std::move(s));
            }
            case Kind::kGraph: {
                if (t.graph.edges.empty()) return push(nfa, {Nfa::Kind::kSplit});  // the empty set
                // Each graph state becomes a split (its edges, or out to `next` if it is an exit); single exits are `next` itself.
                std::vector<uint32_t> ids(t.graph.edges.size());
                for (size_t i = 0; i < ids.size(); i++) {
                    if (t.graph.exits[i] && t.graph.edges[i].empty()) ids[i] = next;
                    else ids[i] = push(nfa, {t.graph.exits[i] ? Nfa::Kind::kSplit : Nfa::Kind::kRanges});
                }
                for (size_t i = 0; i < ids.size(); i++) {
                    if (t.graph.exits[i] && t.graph.edges[i].empty()) continue;
                    std::vector<Nfa::Range> ranges;
                    for (const auto& e : t.graph.edges[i]) ranges.push_back({e.lo, e.hi, ids[e.to]});
                    if (t.graph.exits[i]) {
                        uint32_t inner = push(nfa, {Nfa::Kind::kRanges});
                        nfa.states[inner].ranges = std::move(ranges);
                        nfa.states[ids[i]].out = {inner, next};
                    } else {
                        nfa.states[ids[i]].ranges = std::move(ranges);
                    }
                }
                return ids[0];
            }
            case Kind::kConcat:
                for (size_t i = t.items.size(); i-- > 0;) next = build(nfa, t.items[i], next);
                return next;
            case Kind::kAlt: {
                Nfa::State s{Nfa::Kind::kSplit};
                for (PatternBuilder::Node item : t.items) s.out.push_back(build(nfa, item, next));
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
                if (!look_ids_.count(id)) {
                    uint32_t index = t.ahead ? ahead(t.items[0]) : behind(t.items[0]);
                    look_ids_[id] = index;
                }
                Nfa::State s{Nfa::Kind::kLook};
                s.ahead = t.ahead;
                s.negative = t.negative;
                s.look = look_ids_[id];
                s.out = {next};
                return push(nfa, std::move(s));
            }
        }
        return next;
    }

    // Whether a look-around of the given kind stands in a tree.
    bool contains_look(PatternBuilder::Node id, bool ahead) const {
        const PatternBuilder::Tree& t = builder_.nodes_[id];
        if (t.kind == PatternBuilder::Kind::kLook && t.ahead == ahead) return true;
        return std::any_of(t.items.begin(), t.items.end(), [&](PatternBuilder::Node item) { return contains_look(item, ahead); });
    }

    Nfa unordered(PatternBuilder::Node item, bool anywhere) {
        bool before = std::exchange(ordered_, false);
        Nfa nfa = thompson(item, anywhere);
        ordered_ = before;
        return nfa;
    }

    uint32_t ahead(PatternBuilder::Node item) {
        if (contains_look(item, false)) throw Unsupported("look-behind", "a look-behind inside a look-ahead");
        Nfa nfa = unordered(item, false);
        looks_.push_back(determinize_look(nfa, looks_, builder_.max_dfa_));
        return uint32_t(looks_.size() - 1);
    }

    uint32_t behind(PatternBuilder::Node item) {
        if (contains_look(item, false) || contains_look(item, true)) throw Unsupported("look-behind", "look-around inside a look-behind");
        Nfa nfa = unordered(item, true);
        behinds_.push_back(determinize(nfa, {}, {}, false, builder_.max_dfa_));
        return uint32_t(behinds_.size() - 1);
    }

    const PatternBuilder& builder_;
    std::vector<LookDfa> looks_;
    std::vector<Dfa> behinds_;
    std::unordered_map<PatternBuilder::Node, uint32_t> look_ids_;
    uint64_t total_ = 0;
    bool ordered_ = false;  // the order of alternatives means something
};

Dfa PatternBuilder::compile(Node root, bool leftmost_first) { return Thompson(*this).terminal(root, leftmost_first); }

}  // namespace derivable
