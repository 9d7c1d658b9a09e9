// Level 1 itself: one walk through the trie of what is left of some tokens with a lexer state.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "index/split_amendment.hpp"
#include "index/split_difference.hpp"
#include "support/byte_set.hpp"
#include "support/task.hpp"

namespace derivable {

// One walk of split(). What becomes of a token is kept by outcome; beside a similar state, only differences are.
class SplitWalk {
  public:
    SplitWalk(const SplitParts& parts, SplitTables& tables, Beside& beside, ResidualId residual, LexState state)
        : parts_(parts),
          tables_(tables),
          beside_(beside),
          residual_(residual),
          state_(state) {
        work(100);
        parts.discarded.some(200);
    }
    SplitWalk(const SplitWalk&) = delete;
    SplitWalk& operator=(const SplitWalk&) = delete;

    // Null: the neighbour is distant, but not enough so.
    std::unique_ptr<Split> run(const Neighbour& beside) {
        // SAFETY: references to residuals do not stay valid while there are walks.
        std::vector<uint32_t> branches;
        auto result = std::make_unique<Split>();
        const Residuals::Residual& residual = residuals_[residual_];
        if (!beside.on_list) branches = residual.branches;
        else
            beside.listed.each([&](uint8_t byte) {
                if (residual.bytes[byte]) branches.push_back(residual.branches[residual.bytes.rank(byte)]);
            });
        exits_before(branches, *result);
        std::vector<std::pair<uint32_t, uint8_t>> bytes;  // of the branches: what is read here is not read aside
        for (uint32_t branch : branches) bytes.emplace_back(branch, residuals_.byte(branch));
        if (beside.state != kNoState && single_) {
            if (!compare(beside, bytes, *result)) return nullptr;
        } else if (beside.state == kNoState || !amend(beside, bytes, *result)) {
            for (auto [branch, byte] : bytes)
                if (LexState s = step(state_, byte); s != kNoState)
                    for (auto [trie, root] : residuals_.roots(branch, beside_)) {
                        if (beside.on_list) walk_list(*trie, root, s);
                        else walk(outcome_, *trie, root, local(s));
                    }
            finish(*result);
        }
        count_bytes(*result);
        return result;
    }

    // Of the whole vocabulary, by the state of one member: what begins with many characters of some kinds is known, and what else may follow behind
    // them is walked. Null: there are no such characters, or there is too much else.
    std::unique_ptr<Split> run_along(Stretches& stretches) {
        const CharactersAhead::Stretch along = tables_.ahead.stretch(local(state_), stretches);
        if (!along.kinds) return nullptr;
        const Trie& t = parts_.vocabulary.trie;
        std::vector<std::pair<uint32_t, Local>> others;
        uint64_t num_nodes = 0;
        along.others.each([&](uint8_t byte) {
            const bool is_other = !(along.kinds >> byte_kind(byte) & 1);
            stretches.each(byte, along.kinds | kMore, [&](uint32_t node, size_t length) {
                if (length > along.longest() || (!is_other && length < along.longest())) return;
                const Local s = tables_.states.next(along.behind(length), byte);
                if (s != kDead) others.emplace_back(node, s), num_nodes += t.end[node] - node;
            });
            work(stretches.num_nodes(byte) / 16);
        });
        // PERF: of 262 walks with 24,000 nodes at most most take less time than the comparisons in their place did, and with 46,000 and more none.
        if (num_nodes > t.size() / 8) return nullptr;
        Draft draft;
        for (auto [node, s] : others) fill(draft, t, node, s, 0);
        covered_ = stretches.tokens(along.kinds | kMore, along.longest());
        of_kind(outcome_.inside, tables_.states[along.states[0]].group);
        for (auto& [group, ranges] : draft.inside) of_kind(outcome_.inside, group).own.push_back({&t, std::move(ranges)});
        for (auto& [way, nodes] : draft.exits) {
            std::sort(nodes.begin(), nodes.end());
            exit_nodes_.note(nodes.size());
            of_kind(outcome_.exits, way).own.push_back({&t, std::move(nodes)});
        }
        auto result = std::make_unique<Split>();
        finish(*result);
        count_bytes(*result);
        return result;
    }

  private:
    using Local = WalkStates::Local;
    using State = WalkStates::State;
    using Piece = SplitLists::Piece;
    static constexpr Local kDead = WalkStates::kDead;
    static constexpr uint16_t kNoWay = WalkStates::kNoWay;
    static constexpr uint64_t kMore = CharactersAhead::kMore;
    static constexpr uint32_t kWorthKeeping = 16;  // nodes. PERF: with 64, first passes over SynCode's Java took 3% more instructions

    template <typename T>
    using ByKind = std::vector<std::pair<uint32_t, T>>;  // by group or way
    template <typename T>
    static T& of_kind(ByKind<T>& all, uint32_t kind) {
        for (auto it = all.rbegin(); it != all.rend(); ++it)
            if (it->first == kind) return it->second;
        return all.emplace_back(kind, T()).second;
    }
    struct Draft {  // of a piece
        ByKind<std::vector<uint32_t>> inside, exits;
    };
    // PERF: a piece has a few short lists. That they grew from nothing was a fifth of the mask behind `^[a-z0-9-.]+$`'s opening quote.
    std::vector<uint32_t>& list_of(ByKind<std::vector<uint32_t>>& all, uint32_t kind) {
        std::vector<uint32_t>& list = of_kind(all, kind);
        if (list.capacity() > 0) return list;
        if (unused_.empty()) list.reserve(32);
        else list = std::move(unused_.back()), unused_.pop_back();
        return list;
    }
    void give_back(Draft& draft) {
        for (auto* lists : {&draft.inside, &draft.exits})
            for (auto& [kind, list] : *lists) {
                list.clear();
                unused_.push_back(std::move(list));
            }
    }
    void take(Draft& into, uint32_t group, uint32_t begin, uint32_t end) {
        if (begin == end) return;
        std::vector<uint32_t>& ranges = list_of(into.inside, group);
        if (!ranges.empty() && ranges.back() == begin) {
            ranges.back() = end;
        } else {
            ranges.push_back(begin);
            ranges.push_back(end);
        }
    }
    void append(Draft& into, const Piece& piece) {
        // Each is looked for among those that there are.
        work((5 + into.inside.size() / 16) * piece.inside.size() + (5 + into.exits.size() / 16) * piece.exits.size());
        for (auto [group, id] : piece.inside) {
            work(size_t(tables_.lists.items(id).end - tables_.lists.items(id).begin) / 8);
            for (const uint32_t* range = tables_.lists.items(id).begin; range != tables_.lists.items(id).end; range += 2)
                take(into, group, range[0], range[1]);
        }
        for (auto [way, id] : piece.exits) {
            std::vector<uint32_t>& all = list_of(into.exits, way);
            work(size_t(tables_.lists.items(id).end - tables_.lists.items(id).begin) / 8);
            all.insert(all.end(), tables_.lists.items(id).begin, tables_.lists.items(id).end);
        }
    }

    // A token that ends in `s`, at node i; then the ways to leave before what follows there.
    void arrive(Draft& into, const Trie& t, uint32_t i, Local s) {
        State& x = tables_.states[s];
        take(into, x.group, t.token_begin[i], t.token_begin[i + 1]);
        if (!x.leaves || i + 1 == t.end[i]) return;
        for (uint32_t n = i + 1; n < t.end[i]; n = t.end[n]) {
            work(2 + 2 * x.exits.size());
            if (single_) list_of(into.exits, tables_.states.way_of(TerminalId(), Formulas::kFree)).push_back(n);
            for (size_t e = 0; e < x.exits.size(); e++)
                if (uint16_t w = tables_.states.way_out(x, e, t.byte[n]); w != kNoWay) list_of(into.exits, w).push_back(n);
        }
    }

    // As arrive(), in a lexeme that may be a newline: what the bytes so far do to a indentation is part of the outcome.
    void arrive_in_newline(Draft& into, const Trie& t, uint32_t i, Local s, Indentations::Effect effect) {
        take(into, prospects_.column_matters() ? tables_.states.group_of(tables_.states[s].lex, effect) : tables_.states[s].group,
             t.token_begin[i], t.token_begin[i + 1]);
        State& x = tables_.states[s];
        for (uint32_t n = i + 1; n < t.end[i]; n = t.end[n])
            for (size_t e = 0; e < x.exits.size(); e++) {
                uint16_t w = kNoWay;
                if (x.exits[e].terminal != prospects_.newline()) {
                    w = tables_.states.way_out(x, e, t.byte[n]);
                } else if (const Obligations owed = lexer_.unsettled(x.exits[e].obligations, t.byte[n]); owed != Formulas::kViolated) {
                    w = tables_.states.way_of(prospects_.newline(), owed, effect);
                }
                if (w != kNoWay) list_of(into.exits, w).push_back(n);
            }
    }

    LexState step(LexState s, uint8_t byte) {
        return beside_.look([&] { return tables_.states.step(s, byte); });
    }
    Local local(LexState s) {
        return beside_.look([&] { return tables_.states.local(s); });
    }

    // PERF: walks of one terminal seldom get to a node in a state that nothing leads back to: where characters are counted, as in
    // `[0-9a-f]{8}`, keeping what becomes of subtrees was half of a mask. Those of many terminals do: without their pieces, masks of Python
    // took twice as long.
    bool may_be_kept(Local s) { return !tables_.states[s].may_be_newline && (!single_ || tables_.states.recurs(s)); }

    // What becomes of the tokens below (and at) `root`, entered in state `first`. The upper levels of big tries are made of pieces.
    void fill(Draft& into, const Trie& t, uint32_t root, Local first, uint32_t level) {
        constexpr uint32_t kLevels = 4;
        // SAFETY: by depth, for the pieces within it, too: what stands behind one of them lies below no node of it.
        std::vector<Local>& path = path_;
        std::vector<Indentations::Effect>& effects = effects_;
        Local s = first, same = kDead;
        for (uint32_t i = root, end = t.end[root];;) {
            work(2);
            beside_.breathe();
            const uint32_t size = t.end[i] - i;
            if (size > CharactersAhead::kBigSubtree) s = tables_.states.for_subtree(s, t.height[i]);
            if (s == kDead) {
                i = t.end[i];
            } else if (size > CharactersAhead::kBigSubtree && !(prospects_.column_matters() && tables_.states[s].may_be_newline) &&
                       (same = tables_.ahead.steady(t, i, s)) != WalkStates::kUnknown) {
                take(into, tables_.states[same].group, t.token_begin[i], t.token_begin[t.end[i]]);
                i = t.end[i];
            } else if (i != root && level < kLevels && size >= kWorthKeeping && may_be_kept(s)) {
                append(into, piece(t, i, s, level + 1));
                i = t.end[i];
            } else {
                const size_t d = t.depth[i];
                if (path.size() <= d) path.resize(2 * d + 16);
                path[d] = s;
                if (tables_.states[s].may_be_newline) {
                    // Terminals only drop out of a lexeme: so may it have been on all of the path.
                    if (effects.size() <= d) effects.resize(2 * d + 16);
                    effects[d] = prospects_.step_effect(i != root ? effects[d - 1] : Indentations::kNothing, t.byte[i]);
                    arrive_in_newline(into, t, i, s, effects[d]);
                } else {
                    arrive(into, t, i, s);
                }
                i++;
            }
            Local above = kDead;
            for (; i < end; i = t.end[i]) {
                above = path[t.depth[i] - 1u];
                if (t.kinds(i) & ~tables_.ahead.steady_kinds(above)) break;
                work(1);
                take(into, tables_.states[above].group, t.token_begin[i], t.token_begin[t.end[i]]);
            }
            if (i >= end) return;
            s = tables_.states.next(above, t.byte[i]);
        }
    }

    const Piece& piece(const Trie& t, uint32_t root, Local s, uint32_t level) {
        if (const Piece* known = tables_.lists.find(t, root, s)) return *known;
        work(20);
        Draft draft;
        fill(draft, t, root, s, level);
        Piece piece;
        for (const auto& [group, ranges] : draft.inside) piece.inside.emplace_back(group, tables_.lists.list(t, ranges, false));
        for (const auto& [way, nodes] : draft.exits) piece.exits.emplace_back(way, tables_.lists.list(t, nodes, true));
        give_back(draft);
        return tables_.lists.keep(t, root, s, std::move(piece));
    }

    void walk(SplitLists::Outcome& into, const Trie& t, uint32_t root, Local s) {
        s = tables_.states.for_subtree(s, t.height[root]);
        if (t.end[root] - root >= kWorthKeeping && may_be_kept(s)) {
            const Piece& whole = piece(t, root, s, 0);
            for (auto [group, id] : whole.inside) of_kind(into.inside, group).kept.push_back(id);
            for (auto [way, id] : whole.exits) {
                of_kind(into.exits, way).kept.push_back(id);
                exit_nodes_.note(size_t(tables_.lists.items(id).end - tables_.lists.items(id).begin));
            }
            return;
        }
        Draft draft;
        fill(draft, t, root, s, 0);
        for (auto& [group, ranges] : draft.inside) of_kind(into.inside, group).own.push_back({&t, std::move(ranges)});
        for (auto& [way, nodes] : draft.exits) {
            exit_nodes_.note(nodes.size());
            of_kind(into.exits, way).own.push_back({&t, std::move(nodes)});
        }
    }

    // Through a subtree that is entered in state `s`, where it would be `other` off a list of strings: visits nodes on the list, and the
    // first ones off it where the two differ. PERF: a name is left soon: no tables of next states, as other walks use them, are made
    // (docs/design.md).
    template <typename Visit>  // (node, state, other state, on the list)
    void follow_list(const Trie& t, uint32_t root, LexState s, LexState other, Visit&& visit) {
        struct Step {
            uint32_t node;
            LexState state, other;
        };
        std::vector<Step> todo{{root, s, other}};
        while (!todo.empty()) {
            const Step x = todo.back();
            todo.pop_back();
            work(6);
            beside_.breathe();
            if (x.state == x.other) continue;
            ByteSet listed;
            const bool on_list =
                x.state != kNoState && beside_.look([&] { return lexer_.automata.ask(&JsonStrings::on_list, x.state, listed); });
            visit(x.node, x.state, x.other, on_list);
            if (!on_list) continue;
            const auto first = long(todo.size());
            t.each_child(x.node, listed, [&](uint32_t child, uint8_t byte) {
                todo.push_back({child, step(x.state, byte), x.other == kNoState ? kNoState : step(x.other, byte)});
            });
            std::reverse(todo.begin() + first, todo.end());
        }
    }

    void walk_list(const Trie& t, uint32_t root, LexState s) {
        Draft draft;
        follow_list(t, root, s, kNoState, [&](uint32_t node, LexState x, LexState, bool on_list) {
            if (on_list) take(draft, tables_.states.group_of(x), t.token_begin[node], t.token_begin[node + 1]);
            else walk(outcome_, t, node, local(x));
        });
        for (auto& [group, ranges] : draft.inside) of_kind(outcome_.inside, group).own.push_back({&t, std::move(ranges)});
    }

    bool compare(const Neighbour& with, const std::vector<std::pair<uint32_t, uint8_t>>& bytes, Split& result) {
        SplitComparison comparison(parts_, tables_, beside_, *with.split, with.distant);
        const bool by_tables = !with.unbounded && !with.on_list;
        const Local first = by_tables ? local(state_) : kDead, other = by_tables ? local(with.state) : kDead;
        for (auto [branch, byte] : bytes) {
            if (with.unbounded) {
                for (auto [trie, root] : residuals_.roots(branch, beside_)) comparison.compare_counted(*trie, root, state_, with.state);
            } else if (with.on_list) {
                const LexState s = step(state_, byte), o = step(with.state, byte);
                if (s == o) continue;
                for (auto [trie, root] : residuals_.roots(branch, beside_))
                    follow_list(*trie, root, s, o, [&, t = trie](uint32_t node, LexState x, LexState y, bool listed) {
                        if (!listed) comparison.compare(*t, node, local(x), local(y));
                    });
            } else {
                // PERF: by the tables, which ask for one byte of each class: all of them were a fourteenth of such walks.
                const Local s = tables_.states.next(first, byte), o = tables_.states.next(other, byte);
                if (s == o) continue;
                const uint64_t alike =
                    with.distant ? beside_.look([&] { return lexer_.alike.alike_for(tables_.states[s].lex, tables_.states[o].lex); }) : 0;
                for (auto [trie, root] : residuals_.roots(branch, beside_))
                    if (trie->height[root] >= alike) comparison.compare(*trie, root, s, o);
            }
        }
        beside_.end();
        if (comparison.gave_up()) return false;
        comparison.finish(result);
        return true;
    }

    // The neighbour's split, with what is behind the bytes that lead to other states. False if that has to be walked with the rest.
    bool amend(const Neighbour& with, const std::vector<std::pair<uint32_t, uint8_t>>& bytes, Split& result) {
        SplitLists::Outcome gone, come;
        std::vector<uint32_t> walked;
        for (auto [branch, byte] : bytes) {
            if (!with.apart[byte]) continue;
            const LexState s = step(state_, byte), o = step(with.state, byte);
            if (s == o) continue;
            walked.push_back(branch);
            for (auto [trie, root] : residuals_.roots(branch, beside_)) {
                if (s != kNoState) walk(come, *trie, root, local(s));
                if (o != kNoState) walk(gone, *trie, root, local(o));
            }
        }
        return SplitAmendment(parts_, tables_, beside_, residual_, state_, *with.split).run(gone, come, walked, result);
    }

    // Nearly all branches: then the whole residual, which other states split too, without the tokens of the others. False if that is
    // not worth it.
    bool without(const std::vector<uint32_t>& branches, const std::vector<uint32_t>& selected, std::vector<uint32_t>& except) {
        const Residuals::Residual& r = residuals_[residual_];
        if (!r.of_vocabulary || !r.once || selected.size() * 4 < branches.size() * 3) return false;
        for (uint32_t b : branches) {
            if (std::binary_search(selected.begin(), selected.end(), b)) continue;
            const TrieNodes whole = residuals_.parts(b, beside_)[0];
            uint32_t n = whole.nodes[0];
            except.insert(except.end(), whole.trie->tokens.begin() + whole.trie->token_begin[n],
                          whole.trie->tokens.begin() + whole.trie->token_begin[whole.trie->end[n]]);
        }
        return except.size() <= 16'384;
    }

    // The lexeme may have ended before the token began.
    void exits_before(const std::vector<uint32_t>& branches, Split& result) {
        if (single_) {
            if (lexer_.automata.accepts(state_))
                result.exits.push_back({TerminalId(), Formulas::kFree, residual_, Indentations::kNothing, {}});
        } else {
            std::vector<std::pair<std::pair<TerminalId, Obligations>, std::vector<uint32_t>>> found;
            for (const Lexer::Exit& e : std::vector<Lexer::Exit>(lexer_.exits(state_)))
                for (uint32_t branch : branches) {
                    const Obligations owed = lexer_.unsettled(e.obligations, residuals_.byte(branch));
                    if (owed == Formulas::kViolated) continue;
                    const std::pair<TerminalId, Obligations> key{e.terminal, owed};
                    auto it = std::find_if(found.begin(), found.end(), [&](auto& x) { return x.first == key; });
                    if (it == found.end()) it = found.insert(found.end(), {key, {}});
                    it->second.push_back(branch);
                }
            for (auto& [key, selected] : found) {
                Split::Exit exit{key.first, key.second, residual_, Indentations::kNothing, {}};
                if (!without(branches, selected, exit.except)) {
                    exit.except.clear();
                    exit.residual = residuals_.select(residual_, std::move(selected));
                }
                result.exits.push_back(std::move(exit));
            }
        }
        result.exits_before = uint32_t(result.exits.size());
    }

    void count_bytes(const Split& result) {
        parts_.bytes += sizeof(Split) + 64 + result.inside.size() * sizeof(Split::Inside);
        for (const Split::Inside& i : result.inside) parts_.bytes += i.removed.size() * 4;
        for (const Split::Exit& e : result.exits) parts_.bytes += sizeof(Split::Exit) + e.except.size() * 4;
    }

    void finish(Split& result) {
        for (const auto& [id, lists] : outcome_.inside) {
            const WalkStates::Group& g = tables_.states.group(id);
            result.inside.push_back({g.sureness, g.key, tables_.lists.tokens(lists, covered_), g.effect, nullptr, {}});
        }
        beside_.end();
        result.exits_once = residuals_[residual_].once && std::all_of(outcome_.exits.begin(), outcome_.exits.end(),
                                                                      [&](const auto& x) { return tables_.lists.is_antichain(x.second); });
        for (const auto& [id, lists] : outcome_.exits) {
            const WalkStates::Way& w = tables_.states.way(id);
            result.exits.push_back({w.terminal, w.obligations, tables_.lists.residual(lists, result.exits_once), w.effect, {}});
        }
    }

    const SplitParts& parts_;
    SplitTables& tables_;
    Beside& beside_;
    Lexer& lexer_ = parts_.lexer;
    Prospects& prospects_ = parts_.prospects;
    Residuals& residuals_ = parts_.residuals;
    ResidualId residual_;
    LexState state_;
    const bool single_ = tables_.states.single();
    SplitLists::Outcome outcome_;
    std::vector<uint32_t> covered_;  // a bitmask of tokens that end inside, beside the outcome's; or nothing
    ExitNodes exit_nodes_;
    // Of the nodes above the one that a walk is at.
    std::vector<Local> path_;
    std::vector<Indentations::Effect> effects_;
    std::vector<std::vector<uint32_t>> unused_;  // with the room that they had
};

}  // namespace derivable
