// Level 1 itself: one walk through the trie of what is left of some tokens with a lexer state.
#pragma once

#include <algorithm>

#include "spanner.hpp"

namespace derivable {

// One walk of split(). What becomes of a token is kept by outcome; beside a similar state, only differences are.
//
// PERF: lexer states met on the walk get small numbers of their own with rows of 256 next states, filled as they are asked for: one load
// a node instead of the seven that the shared tables take. Subtrees whose bytes all leave a state as it is are taken whole.
class SplitWalk {
  public:
    SplitWalk(Spanner& spanner, uint32_t residual, LexState state)
        : spanner_(spanner), lexer_(spanner.lexer), words_(spanner.vocabulary_->words()), residual_(residual), state_(state) {
        if (!spanner_.spare_rows_.empty()) {
            rows_ = std::move(spanner_.spare_rows_.back());
            spanner_.spare_rows_.pop_back();
        }
        rows_.assign(256, kDead);
        states_.reserve(8);
        states_.resize(1);  // kDead comes first
    }
    ~SplitWalk() {
        // PERF: a kilobyte a state. Without fresh pages for each walk a first mask inside a key takes 40 us instead of 52 (llama-3).
        if (rows_.capacity() <= kMaxSpareRows) spanner_.spare_rows_.push_back(std::move(rows_));
    }
    SplitWalk(const SplitWalk&) = delete;
    SplitWalk& operator=(const SplitWalk&) = delete;

    std::unique_ptr<Split> run(bool beside_another) {
        // SAFETY: references to residuals do not stay valid while there are walks.
        std::vector<uint32_t> branches;
        auto result = std::make_unique<Split>();
        LexState other = kNoState;
        std::vector<uint8_t> special;
        const bool beside = scannerless_ && lexer_.beside(state_, other, special);
        if (beside && (other == kNoState || (beside_another && spanner_.residuals_[residual_].once))) {
            const std::vector<uint32_t>& all = spanner_.residuals_[residual_].branches;
            for (uint8_t byte : special) {
                auto it = std::lower_bound(all.begin(), all.end(), byte, [&](uint32_t branch, uint8_t b) { return spanner_.branches_[branch].byte < b; });
                if (it != all.end() && spanner_.branches_[*it].byte == byte) branches.push_back(*it);
            }
        } else {
            branches = spanner_.residuals_[residual_].branches;
            if (!beside && beside_another) {
                other = spanner_.alike(residual_, state_);
                distant_ = other != kNoState;
                if (!distant_) other = spanner_.similar(spanner_.residuals_[residual_], state_);
            }
        }
        exits_before(branches, *result);
        const Split* base = nullptr;
        if (other != kNoState && !(base = spanner_.find(residual_, other))) {
            // The other one is walked whole: two states may each be the most similar to the other.
            base = spanner_.is_plain(residual_, other) ? spanner_.keep(residual_, other, SplitWalk(spanner_, residual_, other).run(false))
                                                       : &spanner_.split(residual_, other);
        }
        for (uint32_t branch : branches) {
            uint8_t byte = spanner_.branches_[branch].byte;
            LexState s = spanner_.step(state_, byte);
            LexState o = base ? spanner_.step(other, byte) : kNoState;
            if (s == o) continue;
            auto [trie, root] = spanner_.root(branch);
            if (distant_ && trie->height[root] < lexer_.alike_for(s, o)) continue;
            if (base)
                compare(*trie, root, local(s), local(o));
            else
                walk(*trie, root, local(s));
        }
        finish(base, *result);
        return result;
    }

  private:
    using Local = uint32_t;
    static constexpr Local kDead = 0, kUnknown = ~0u;
    static constexpr size_t kMaxSpareRows = 1u << 20;
    static constexpr uint32_t kBigSubtree = 4;  // nodes; below, asking costs as much as walking
    static constexpr uint16_t kUnknownWay = 0xFFFF, kNoWay = 0xFFFE;

    struct Group {  // tokens that end inside
        Split::Sureness sureness;
        uint32_t key;
        TokenSet added;
        std::vector<uint32_t> removed;
        Layouts::Effect effect = Layouts::kNothing;
    };
    struct Way {  // nodes before which a lexeme may end
        uint32_t terminal, duties;
        Layouts::Effect effect;
        std::vector<TrieNodes> added, removed;
    };
    // What a token may do in one lexer state.
    struct State {
        LexState lex;
        uint32_t group;
        bool leaves, may_be_newline;
        uint64_t steady, unsteady;  // kinds of bytes known to change nothing (the state stays, no lexeme ends), or something
        std::vector<Lexer::Exit> exits;
        // By exit and next byte: the way it is, or that it violates a duty. Empty under scannerless.
        std::vector<std::array<uint16_t, 256>> ways;
    };

    Local local(LexState s) {
        if (s == kNoState) return kDead;
        if (Local known = numbers_[s]; known != kDead) return known;
        const Local number = numbers_[s] = Local(states_.size());
        State x{s, group_of(s), false, spanner_.may_be_newline(s), 0, 0, {}, {}};
        if (scannerless_) {
            x.leaves = lexer_.accepts_single(s);
        } else {
            x.exits = lexer_.exits(s);
            x.leaves = !x.exits.empty();
            x.ways.resize(x.exits.size());
            for (auto& row : x.ways) row.fill(kUnknownWay);
        }
        states_.push_back(std::move(x));
        LexState like;
        std::vector<uint8_t> special;
        if (!scannerless_ || !lexer_.beside(s, like, special)) {
            rows_.resize(states_.size() * 256, kUnknown);
            return number;
        }
        rows_.resize(states_.size() * 256, kDead);
        if (const Local model = local(like); model != kDead)
            for (size_t b = 0; b < 256; b++) rows_[size_t(number) * 256 + b] = next(model, uint8_t(b));
        for (uint8_t b : special) rows_[size_t(number) * 256 + b] = kUnknown;
        return number;
    }

    Local next(Local from, uint8_t byte) {
        Local known = rows_[size_t(from) * 256 + byte];
        if (known != kUnknown) return known;
        Local to = local(spanner_.step(states_[from].lex, byte));
        return rows_[size_t(from) * 256 + byte] = to;
    }

    uint32_t group_of(LexState s, Layouts::Effect effect = Layouts::kNothing) {
        Split::Sureness sureness = Split::Sureness::kSure;
        uint32_t key = 0;
        if (!scannerless_) {
            if (!spanner_.sure(s)) {
                sureness = Split::Sureness::kExact;
                key = s;
            } else if (lexer_.policy() == Policy::kBasic) {
                sureness = Split::Sureness::kProducible;
                key = spanner_.producible_set(s);
            }
        }
        for (uint32_t i = 0; i < groups_.size(); i++)
            if (groups_[i].sureness == sureness && groups_[i].key == key && groups_[i].effect == effect) return i;
        groups_.push_back({sureness, key, {}, {}, effect});
        return uint32_t(groups_.size() - 1);
    }

    uint16_t way_of(uint32_t terminal, uint32_t duties, Layouts::Effect effect = Layouts::kNothing) {
        for (uint32_t i = 0; i < ways_.size(); i++)
            if (ways_[i].terminal == terminal && ways_[i].duties == duties && ways_[i].effect == effect) return uint16_t(i);
        if (ways_.size() >= kNoWay) throw LimitExceeded("ways to end a lexeme", ways_.size(), kNoWay, "one token");
        ways_.push_back({terminal, duties, effect, {}, {}});
        return uint16_t(ways_.size() - 1);
    }

    void leave(uint16_t w, const Trie& t, uint32_t n, bool add) {
        // About five times the nodes of llama-3's trie; where no token can be cut in two ways there are at most as many as nodes.
        constexpr size_t kMaxExitNodes = 1'500'000;
        if (++exit_nodes_ > kMaxExitNodes) throw TooAmbiguous();
        std::vector<TrieNodes>& parts = add ? ways_[w].added : ways_[w].removed;
        if (parts.empty() || parts.back().trie != &t) parts.push_back({&t, {}});
        parts.back().nodes.push_back(n);
    }

    // The way of leaving through exit `e` before `byte`; kNoWay if a duty is violated.
    uint16_t way(State& x, size_t e, uint8_t byte) {
        uint16_t& known = x.ways[e][byte];
        if (known != kUnknownWay) return known;
        Lexer::Exit exit = x.exits[e];
        uint32_t after = lexer_.step_duties(exit.duties, byte);
        // If the first byte settles the duties they need not be carried along.
        return known = after == Lexer::kViolated ? kNoWay : way_of(exit.terminal, after == Lexer::kFree ? Lexer::kFree : exit.duties);
    }

    // Whatever is below node i ends where node i does.
    bool is_steady(const Trie& t, uint32_t i, Local s) {
        if (s == kDead) return true;
        if (t.below[i] & states_[s].unsteady) return false;
        for (uint64_t unknown = t.below[i] & ~states_[s].steady; unknown; unknown &= unknown - 1) {
            uint64_t kind = unknown & -unknown;
            for (uint8_t b : bytes_of_kind(uint8_t(__builtin_ctzll(kind)))) {
                bool stays = next(s, b) == s;
                State& x = states_[s];
                for (size_t e = 0; stays && e < x.exits.size(); e++) stays = !scannerless_ && way(x, e, b) == kNoWay;
                if (!stays) {
                    x.unsteady |= kind;
                    return false;
                }
            }
            states_[s].steady |= kind;
        }
        return true;
    }

    void take(const Trie& t, uint32_t begin, uint32_t end, uint32_t group, bool add) {
        Group& g = groups_[group];
        if (!add) {
            g.removed.insert(g.removed.end(), t.tokens.begin() + begin, t.tokens.begin() + end);
            return;
        }
        for (uint32_t k = begin; k < end; k++) g.added.add(t.tokens[k], words_);
    }

    void take_all(const Trie& t, uint32_t i, Local s, bool add) {
        if (s != kDead) take(t, t.token_begin[i], t.token_begin[t.end[i]], states_[s].group, add);
    }

    // As arrive(), in a lexeme that may be a newline: what the bytes so far do to a layout is part of the outcome.
    void arrive_in_newline(const Trie& t, uint32_t i, Local s, Layouts::Effect effect) {
        uint32_t group = spanner_.column_matters ? group_of(states_[s].lex, effect) : states_[s].group;
        for (uint32_t k = t.token_begin[i]; k < t.token_begin[i + 1]; k++) groups_[group].added.add(t.tokens[k], words_);
        State& x = states_[s];
        for (uint32_t n = i + 1; n < t.end[i]; n = t.end[n])
            for (size_t e = 0; e < x.exits.size(); e++) {
                uint16_t w = kNoWay;
                if (x.exits[e].terminal != spanner_.newline) {
                    w = way(x, e, t.byte[n]);
                } else if (uint32_t after = lexer_.step_duties(x.exits[e].duties, t.byte[n]); after != Lexer::kViolated) {
                    w = way_of(spanner_.newline, after == Lexer::kFree ? Lexer::kFree : x.exits[e].duties, effect);
                }
                if (w != kNoWay) leave(w, t, n, true);
            }
    }

    // A token that ends in `s`, at node i; then the ways to leave before what follows there.
    void arrive(const Trie& t, uint32_t i, Local s, bool add, bool may_leave = true) {
        State& x = states_[s];
        take(t, t.token_begin[i], t.token_begin[i + 1], x.group, add);
        if (!may_leave || !x.leaves || i + 1 == t.end[i]) return;
        uint16_t only = scannerless_ ? way_of(0, Lexer::kFree) : kNoWay;
        for (uint32_t n = i + 1; n < t.end[i]; n = t.end[n]) {
            if (scannerless_) {
                leave(only, t, n, add);
                continue;
            }
            for (size_t e = 0; e < x.exits.size(); e++)
                if (uint16_t w = way(x, e, t.byte[n]); w != kNoWay) leave(w, t, n, add);
        }
    }

    void walk(const Trie& t, uint32_t root, Local first) {
        uint16_t base = t.depth[root];
        Local s = first;
        for (uint32_t i = root, end = t.end[root];;) {
            if (s == kDead) {
                i = t.end[i];
            } else if (t.end[i] - i > kBigSubtree && !(spanner_.column_matters && states_[s].may_be_newline) && is_steady(t, i, s)) {
                take_all(t, i, s, true);
                i = t.end[i];
            } else {
                size_t d = size_t(t.depth[i] - base);
                if (path_.size() <= d) path_.resize(2 * d + 16);
                path_[d] = s;
                if (states_[s].may_be_newline) {
                    // Terminals only drop out of a lexeme: so may it have been on all of the path.
                    if (effects_.size() <= d) effects_.resize(2 * d + 16);
                    effects_[d] = spanner_.layouts->step_effect(d ? effects_[d - 1] : Layouts::kNothing, t.byte[i]);
                    arrive_in_newline(t, i, s, effects_[d]);
                } else {
                    arrive(t, i, s, true);
                }
                i++;
            }
            if (i >= end) return;
            s = next(path_[size_t(t.depth[i] - base) - 1], t.byte[i]);
        }
    }

    bool are_alike(Local s, Local o, uint16_t height) {
        if (s == kDead || o == kDead) return false;
        uint64_t& bytes = alike_for_[pack(s, o)];  // and one
        if (!bytes) bytes = lexer_.alike_for(states_[s].lex, states_[o].lex) + 1;
        return height + 1u < bytes;
    }

    // As walk(), for `first` against `other`, by steps in both; where they meet nothing differs below.
    void compare(const Trie& t, uint32_t root, Local first, Local other) {
        uint16_t base = t.depth[root];
        Local s = first, o = other;
        for (uint32_t i = root, end = t.end[root];;) {
            if (s == o || (distant_ && are_alike(s, o, t.height[i]))) {
                i = t.end[i];
            } else if (t.end[i] - i > kBigSubtree && is_steady(t, i, s) && is_steady(t, i, o)) {
                take_all(t, i, s, true);
                take_all(t, i, o, false);
                i = t.end[i];
            } else {
                size_t d = size_t(t.depth[i] - base);
                if (path_.size() <= d) path_.resize(2 * d + 16);
                if (other_path_.size() <= d) other_path_.resize(2 * d + 16);
                path_[d] = s;
                other_path_[d] = o;
                bool alike = scannerless_ && s != kDead && o != kDead && states_[s].leaves && states_[o].leaves;
                if (s != kDead) arrive(t, i, s, true, !alike);
                if (o != kDead) arrive(t, i, o, false, !alike);
                i++;
            }
            if (i >= end) return;
            size_t above = size_t(t.depth[i] - base) - 1;
            s = path_[above] == kDead ? kDead : next(path_[above], t.byte[i]);
            o = other_path_[above] == kDead ? kDead : next(other_path_[above], t.byte[i]);
        }
    }

    // Nearly all branches: then the whole residual, which other states split too, without the tokens of the others. False if that is
    // not worth it.
    bool without(const std::vector<uint32_t>& branches, const std::vector<uint32_t>& selected, std::vector<uint32_t>& except) const {
        const Spanner::Residual& r = spanner_.residuals_[residual_];
        if (!r.of_vocabulary || !r.once || selected.size() * 4 < branches.size() * 3) return false;
        for (uint32_t b : branches) {
            if (std::binary_search(selected.begin(), selected.end(), b)) continue;
            const TrieNodes& whole = spanner_.branches_[b].parts[0];
            uint32_t n = whole.nodes[0];
            except.insert(except.end(), whole.trie->tokens.begin() + whole.trie->token_begin[n], whole.trie->tokens.begin() + whole.trie->token_begin[whole.trie->end[n]]);
        }
        return except.size() <= 16'384;
    }

    // The lexeme may have ended before the token began.
    void exits_before(const std::vector<uint32_t>& branches, Split& result) {
        if (scannerless_) {
            if (lexer_.accepts_single(state_)) result.exits.push_back({0, Lexer::kFree, residual_, Layouts::kNothing, {}});
        } else {
            std::vector<std::pair<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>>> found;
            for (const Lexer::Exit& e : std::vector<Lexer::Exit>(lexer_.exits(state_)))
                for (uint32_t branch : branches) {
                    uint32_t after = lexer_.step_duties(e.duties, spanner_.branches_[branch].byte);
                    if (after == Lexer::kViolated) continue;
                    std::pair<uint32_t, uint32_t> key{e.terminal, after == Lexer::kFree ? Lexer::kFree : e.duties};
                    auto it = std::find_if(found.begin(), found.end(), [&](auto& x) { return x.first == key; });
                    if (it == found.end()) it = found.insert(found.end(), {key, {}});
                    it->second.push_back(branch);
                }
            for (auto& [key, selected] : found) {
                Split::Exit exit{key.first, key.second, residual_, Layouts::kNothing, {}};
                if (!without(branches, selected, exit.except)) {
                    exit.except.clear();
                    exit.residual = spanner_.select(residual_, std::move(selected));
                }
                result.exits.push_back(std::move(exit));
            }
        }
        result.exits_before = uint32_t(result.exits.size());
    }

    void finish(const Split* base, Split& result) {
        auto keep = [&](Split::Inside inside) {
            if (!inside.base && !inside.tokens.count()) return;
            if (inside.removed.size() > words_ / 4) {  // PERF: taking so many out costs more, each time, than a set without them
                std::vector<uint32_t> row(words_, 0);
                inside.or_into(row.data());
                inside = {inside.sureness, inside.key, TokenSet::of(row), inside.effect, nullptr, {}};
            }
            inside.tokens.pack();
            spanner_.bytes_ += inside.bytes();
            result.inside.push_back(std::move(inside));
        };
        if (base)
            for (const Split::Inside& b : base->inside) {
                auto g = std::find_if(groups_.begin(), groups_.end(), [&](const Group& x) { return x.sureness == b.sureness && x.key == b.key; });
                const Split::Inside* whole = &b;
                while (whole->base && whole->removed.empty() && !whole->tokens.count()) whole = whole->base;
                Split::Inside inside{b.sureness, b.key, {}, b.effect, whole, {}};
                if (g != groups_.end()) {
                    inside.tokens = std::move(g->added);
                    inside.removed = std::move(g->removed);
                    groups_.erase(g);
                }
                keep(std::move(inside));
            }
        for (Group& g : groups_) keep({g.sureness, g.key, std::move(g.added), g.effect, nullptr, {}});

        result.exits_once = base ? base->exits_once : spanner_.residuals_[residual_].once && std::all_of(ways_.begin(), ways_.end(), is_antichain);
        if (base)
            for (uint32_t i = base->exits_before; i < base->exits.size(); i++) {
                Split::Exit exit = base->exits[i];
                auto w = std::find_if(ways_.begin(), ways_.end(), [&](const Way& x) { return x.terminal == exit.terminal && x.duties == exit.duties; });
                if (w != ways_.end()) {
                    if (!scannerless_) cancel(*w);
                    if (!base->exits_once) {
                        relist(*w, exit);
                    } else {
                        for (const TrieNodes& p : w->removed)
                            for (uint32_t n : p.nodes)
                                exit.except.insert(exit.except.end(), p.trie->tokens.begin() + p.trie->token_begin[n], p.trie->tokens.begin() + p.trie->token_begin[p.trie->end[n]]);
                    }
                }
                result.exits.push_back(std::move(exit));
            }
        for (Way& w : ways_) {
            if (w.added.empty()) continue;
            if (base) result.exits_once = false;
            result.exits.push_back({w.terminal, w.duties, spanner_.add_residual(w.added, !base && result.exits_once), w.effect, {}});
        }
        spanner_.bytes_ += sizeof(Split) + 64;
        for (const Split::Exit& e : result.exits) spanner_.bytes_ += sizeof(Split::Exit) + e.except.size() * 4;
    }

    // No node lies below another.
    static bool is_antichain(const Way& w) {
        for (const TrieNodes& p : w.added)
            for (size_t i = 0; i + 1 < p.nodes.size(); i++)
                if (p.nodes[i + 1] < p.trie->end[p.nodes[i]]) return false;
        return true;
    }

    // Takes nodes that both states leave at out of the lists.
    static void cancel(Way& w) {
        for (TrieNodes& a : w.added)
            for (TrieNodes& r : w.removed) {
                if (a.trie != r.trie) continue;
                std::vector<uint32_t> both;
                std::sort(a.nodes.begin(), a.nodes.end());
                std::sort(r.nodes.begin(), r.nodes.end());
                std::set_intersection(a.nodes.begin(), a.nodes.end(), r.nodes.begin(), r.nodes.end(), std::back_inserter(both));
                auto drop = [&](std::vector<uint32_t>& nodes) {
                    nodes.erase(std::remove_if(nodes.begin(), nodes.end(), [&](uint32_t n) { return std::binary_search(both.begin(), both.end(), n); }), nodes.end());
                };
                drop(a.nodes);
                drop(r.nodes);
            }
        auto empty = [](const TrieNodes& p) { return p.nodes.empty(); };
        w.added.erase(std::remove_if(w.added.begin(), w.added.end(), empty), w.added.end());
        w.removed.erase(std::remove_if(w.removed.begin(), w.removed.end(), empty), w.removed.end());
    }

    // An exit with a list of nodes of its own: the base's, without those removed.
    void relist(Way& w, Split::Exit& exit) {
        if (w.removed.empty()) return;
        for (TrieNodes& r : w.removed) std::sort(r.nodes.begin(), r.nodes.end());
        std::vector<TrieNodes> parts;
        for (uint32_t branch : spanner_.residuals_[exit.residual].branches)
            for (const TrieNodes& p : spanner_.branches_[branch].parts) {
                auto gone = [&](uint32_t n) {
                    return std::any_of(w.removed.begin(), w.removed.end(), [&](const TrieNodes& r) { return r.trie == p.trie && std::binary_search(r.nodes.begin(), r.nodes.end(), n); });
                };
                parts.push_back({p.trie, {}});
                std::copy_if(p.nodes.begin(), p.nodes.end(), std::back_inserter(parts.back().nodes), [&](uint32_t n) { return !gone(n); });
            }
        exit.residual = spanner_.add_residual(parts, false);
    }

    Spanner& spanner_;
    Lexer& lexer_;
    const uint32_t words_;
    uint32_t residual_;
    LexState state_;
    const bool scannerless_ = lexer_.policy() == Policy::kScannerless;
    std::vector<State> states_;
    FlatMap<Local> numbers_;
    bool distant_ = false;  // the other state is Spanner::alike()
    FlatMap<uint64_t> alike_for_;
    std::vector<Local> rows_;  // [state][byte]
    std::vector<Local> path_, other_path_;
    std::vector<Layouts::Effect> effects_;
    std::vector<Group> groups_;
    std::vector<Way> ways_;
    size_t exit_nodes_ = 0;
};

}  // namespace derivable
