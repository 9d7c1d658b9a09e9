// Level 1 itself: one walk through the trie of what is left of some tokens with a lexer state.
#pragma once

#include <algorithm>

#include "split_tables.hpp"

namespace derivable {

// One walk of split(). What becomes of a token is kept by outcome; beside a similar state, only differences are.
class SplitWalk {
  public:
    SplitWalk(Spanner& spanner, uint32_t residual, LexState state)
        : spanner_(spanner), tables_(*spanner.tables_), lexer_(spanner.lexer), words_(spanner.vocabulary_->words()), residual_(residual), state_(state) {
        tables_.enter();
    }
    ~SplitWalk() { tables_.leave(); }
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
            if (!beside && beside_another && scannerless_) {  // else most subtrees are known from other walks, which is better
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
                compare(*trie, root, tables_.local(s), tables_.local(o));
            else
                walk(*trie, root, tables_.local(s));
        }
        finish(base, *result);
        return result;
    }

  private:
    using Local = SplitTables::Local;
    using State = SplitTables::State;
    using Piece = SplitTables::Piece;
    static constexpr Local kDead = SplitTables::kDead;
    static constexpr uint16_t kNoWay = SplitTables::kNoWay;
    static constexpr uint32_t kBigSubtree = 4;     // nodes; below, asking costs as much as walking
    static constexpr uint32_t kWorthKeeping = 64;  // nodes

    struct Group : SplitTables::Group {
        uint32_t id;
        TokenSet added;
        std::vector<uint32_t> removed;
    };
    struct Way : SplitTables::Way {  // nodes before which a lexeme may end
        uint32_t id;
        std::vector<TrieNodes> added, removed;
    };
    // That of a number in the tables.
    template <typename T, typename Kind>
    static T& of_kind(std::vector<T>& all, uint32_t id, const Kind& kind) {
        for (T& x : all)
            if (x.id == id) return x;
        return all.emplace_back(T{kind, id, {}, {}});
    }
    Group& group(uint32_t id) { return of_kind(groups_, id, tables_.group(id)); }
    Way& way(uint32_t id) { return of_kind(ways_, id, tables_.way(id)); }

    // Subtrees, without a state to compare with.

    static std::vector<uint32_t>& list(Piece::Lists& lists, uint32_t id) {
        for (auto it = lists.rbegin(); it != lists.rend(); ++it)
            if (it->first == id) return it->second;
        return lists.emplace_back(id, std::vector<uint32_t>()).second;
    }
    static void take(Piece& into, uint32_t group, uint32_t begin, uint32_t end) {
        if (begin == end) return;
        std::vector<uint32_t>& ranges = list(into.inside, group);
        if (!ranges.empty() && ranges.back() == begin) {
            ranges.back() = end;
        } else {
            ranges.push_back(begin);
            ranges.push_back(end);
        }
    }
    static void append(Piece& into, const Piece& piece) {
        for (const auto& [group, ranges] : piece.inside)
            for (size_t k = 0; k < ranges.size(); k += 2) take(into, group, ranges[k], ranges[k + 1]);
        for (const auto& [way, nodes] : piece.exits) {
            std::vector<uint32_t>& all = list(into.exits, way);
            all.insert(all.end(), nodes.begin(), nodes.end());
        }
    }

    // A token that ends in `s`, at node i; then the ways to leave before what follows there.
    void arrive(Piece& into, const Trie& t, uint32_t i, Local s) {
        State& x = tables_[s];
        take(into, x.group, t.token_begin[i], t.token_begin[i + 1]);
        if (!x.leaves || i + 1 == t.end[i]) return;
        for (uint32_t n = i + 1; n < t.end[i]; n = t.end[n]) {
            if (scannerless_) list(into.exits, tables_.way_of(0, Lexer::kFree)).push_back(n);
            for (size_t e = 0; e < x.exits.size(); e++)
                if (uint16_t w = tables_.way_out(x, e, t.byte[n]); w != kNoWay) list(into.exits, w).push_back(n);
        }
    }

    // As arrive(), in a lexeme that may be a newline: what the bytes so far do to a layout is part of the outcome.
    void arrive_in_newline(Piece& into, const Trie& t, uint32_t i, Local s, Layouts::Effect effect) {
        take(into, spanner_.column_matters ? tables_.group_of(tables_[s].lex, effect) : tables_[s].group, t.token_begin[i], t.token_begin[i + 1]);
        State& x = tables_[s];
        for (uint32_t n = i + 1; n < t.end[i]; n = t.end[n])
            for (size_t e = 0; e < x.exits.size(); e++) {
                uint16_t w = kNoWay;
                if (x.exits[e].terminal != spanner_.newline) {
                    w = tables_.way_out(x, e, t.byte[n]);
                } else if (uint32_t after = lexer_.step_duties(x.exits[e].duties, t.byte[n]); after != Lexer::kViolated) {
                    w = tables_.way_of(spanner_.newline, after == Lexer::kFree ? Lexer::kFree : x.exits[e].duties, effect);
                }
                if (w != kNoWay) list(into.exits, w).push_back(n);
            }
    }

    // What becomes of the tokens below (and at) `root`, entered in state `first`. The upper levels of big tries are made of pieces.
    void fill(Piece& into, const Trie& t, uint32_t root, Local first, uint32_t level) {
        constexpr uint32_t kLevels = 4;
        const uint16_t base = t.depth[root];
        std::vector<Local> path;
        std::vector<Layouts::Effect> effects;
        Local s = first;
        for (uint32_t i = root, end = t.end[root];;) {
            const uint32_t size = t.end[i] - i;
            if (s == kDead) {
                i = t.end[i];
            } else if (size > kBigSubtree && !(spanner_.column_matters && tables_[s].may_be_newline) && tables_.is_steady(t, i, s)) {
                take(into, tables_[s].group, t.token_begin[i], t.token_begin[t.end[i]]);
                i = t.end[i];
            } else if (i != root && level < kLevels && size >= kWorthKeeping && !tables_[s].may_be_newline) {
                append(into, piece(t, i, s, level + 1));
                i = t.end[i];
            } else {
                size_t d = size_t(t.depth[i] - base);
                if (path.size() <= d) path.resize(2 * d + 16);
                path[d] = s;
                if (tables_[s].may_be_newline) {
                    // Terminals only drop out of a lexeme: so may it have been on all of the path.
                    if (effects.size() <= d) effects.resize(2 * d + 16);
                    effects[d] = spanner_.layouts->step_effect(d ? effects[d - 1] : Layouts::kNothing, t.byte[i]);
                    arrive_in_newline(into, t, i, s, effects[d]);
                } else {
                    arrive(into, t, i, s);
                }
                i++;
            }
            if (i >= end) return;
            s = tables_.next(path[size_t(t.depth[i] - base) - 1], t.byte[i]);
        }
    }

    const Piece& piece(const Trie& t, uint32_t root, Local s, uint32_t level) {
        if (const Piece* known = tables_.find(t, root, s)) return *known;
        Piece fresh;
        fill(fresh, t, root, s, level);
        return *tables_.keep(t, root, s, std::move(fresh));
    }

    void walk(const Trie& t, uint32_t root, Local s) {
        Piece own;
        const Piece* all = &own;
        if (t.end[root] - root >= kWorthKeeping && s != kDead && !tables_[s].may_be_newline)
            all = &piece(t, root, s, 0);
        else
            fill(own, t, root, s, 0);
        for (const auto& [id, ranges] : all->inside) {
            TokenSet& added = group(id).added;
            for (size_t k = 0; k < ranges.size(); k += 2)
                for (uint32_t j = ranges[k]; j < ranges[k + 1]; j++) added.add(t.tokens[j], words_);
        }
        for (const auto& [id, nodes] : all->exits) {
            note_exits(nodes.size());
            std::vector<TrieNodes>& parts = way(id).added;
            if (parts.empty() || parts.back().trie != &t) parts.push_back({&t, {}});
            parts.back().nodes.insert(parts.back().nodes.end(), nodes.begin(), nodes.end());
        }
    }

    // Subtrees, for `first` against `other`: under scannerless only.

    void note_exits(size_t count) {
        // About five times the nodes of llama-3's trie; where no token can be cut in two ways there are at most as many as nodes.
        constexpr size_t kMaxExitNodes = 1'500'000;
        if ((exit_nodes_ += count) > kMaxExitNodes) throw TooAmbiguous();
    }

    void leave(uint16_t w, const Trie& t, uint32_t n, bool add) {
        note_exits(1);
        Way& x = way(w);
        std::vector<TrieNodes>& parts = add ? x.added : x.removed;
        if (parts.empty() || parts.back().trie != &t) parts.push_back({&t, {}});
        parts.back().nodes.push_back(n);
    }

    void take(const Trie& t, uint32_t begin, uint32_t end, Local s, bool add) {
        if (s == kDead || begin == end) return;
        Group& g = group(tables_[s].group);
        if (!add) {
            g.removed.insert(g.removed.end(), t.tokens.begin() + begin, t.tokens.begin() + end);
            return;
        }
        for (uint32_t k = begin; k < end; k++) g.added.add(t.tokens[k], words_);
    }

    void arrive(const Trie& t, uint32_t i, Local s, bool add, bool may_leave) {
        take(t, t.token_begin[i], t.token_begin[i + 1], s, add);
        if (s == kDead || !may_leave || !tables_[s].leaves || i + 1 == t.end[i]) return;
        for (uint32_t n = i + 1; n < t.end[i]; n = t.end[n]) leave(tables_.way_of(0, Lexer::kFree), t, n, add);
    }

    bool are_alike(Local s, Local o, uint16_t height) {
        if (s == kDead || o == kDead) return false;
        uint64_t& bytes = alike_for_[pack(s, o)];  // and one
        if (!bytes) bytes = lexer_.alike_for(tables_[s].lex, tables_[o].lex) + 1;
        return height + 1u < bytes;
    }

    // Steps in both; where they meet nothing differs below.
    void compare(const Trie& t, uint32_t root, Local first, Local other) {
        uint16_t base = t.depth[root];
        Local s = first, o = other;
        for (uint32_t i = root, end = t.end[root];;) {
            if (s == o || (distant_ && are_alike(s, o, t.height[i]))) {
                i = t.end[i];
            } else if (t.end[i] - i > kBigSubtree && tables_.is_steady(t, i, s) && tables_.is_steady(t, i, o)) {
                take(t, t.token_begin[i], t.token_begin[t.end[i]], s, true);
                take(t, t.token_begin[i], t.token_begin[t.end[i]], o, false);
                i = t.end[i];
            } else {
                size_t d = size_t(t.depth[i] - base);
                if (path_.size() <= d) path_.resize(2 * d + 16);
                if (other_path_.size() <= d) other_path_.resize(2 * d + 16);
                path_[d] = s;
                other_path_[d] = o;
                bool alike = s != kDead && o != kDead && tables_[s].leaves && tables_[o].leaves;
                arrive(t, i, s, true, !alike);
                arrive(t, i, o, false, !alike);
                i++;
            }
            if (i >= end) return;
            size_t above = size_t(t.depth[i] - base) - 1;
            s = path_[above] == kDead ? kDead : tables_.next(path_[above], t.byte[i]);
            o = other_path_[above] == kDead ? kDead : tables_.next(other_path_[above], t.byte[i]);
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
    SplitTables& tables_;
    Lexer& lexer_;
    const uint32_t words_;
    uint32_t residual_;
    LexState state_;
    const bool scannerless_ = lexer_.policy() == Policy::kScannerless;
    bool distant_ = false;  // the other state is Spanner::alike()
    FlatMap<uint64_t> alike_for_;
    std::vector<Local> path_, other_path_;
    std::vector<Group> groups_;
    std::vector<Way> ways_;
    size_t exit_nodes_ = 0;
};

}  // namespace derivable
