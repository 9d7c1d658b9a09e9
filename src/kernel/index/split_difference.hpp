// Level 1 under scannerless, beside a state that was split before: only subtrees in which the two states differ are walked, and only
// the differences are kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "index/split_tables.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

// Where tokens may be cut in many ways, counts nodes before which a lexeme may end.
class ExitNodes {
  public:
    void note(size_t count) {
        // About five times the nodes of llama-3's trie; where no token can be cut in two ways there are at most as many as nodes.
        constexpr size_t kMax = 1'500'000;
        if ((count_ += count) > kMax) throw TooAmbiguous();
    }

  private:
    size_t count_ = 0;
};

class SplitComparison {
    using Local = WalkStates::Local;
    using Difference = SplitLists::Difference;
    static constexpr Local kDead = WalkStates::kDead;

  public:
    // `distant`: only the longest tokens can tell the two states apart.
    SplitComparison(const SplitParts& parts, SplitTables& tables, Beside& beside, const Split& base, bool distant)
        : parts_(parts),
          tables_(tables),
          beside_(beside),
          words_(parts.vocabulary.words()),
          base_(base),
          distant_(distant) {}

    // More nodes were looked at than a comparison of distant states is worth: what was found is not all.
    bool gave_up() const { return distant_ && num_nodes_ > kMostNodes; }

    // Finds what differs below (and at) `root`, entered in one state or the other.
    void compare(const Trie& t, uint32_t root, Local first, Local other) {
        constexpr uint32_t kWorthKeeping = 64;  // nodes
        if (first == other || gave_up()) return;
        const bool is_kept = t.end[root] - root >= kWorthKeeping;
        const Difference* known = is_kept ? tables_.lists.find(t, root, first, other) : nullptr;
        if (known) return note(t, *known);
        Difference found;
        differ(t, root, first, other, found);
        if (gave_up()) return;
        note(t, found);
        if (is_kept) tables_.lists.keep(t, root, first, other, std::move(found));
    }

    // The same for a state that counts characters, and the one without the bound on them, before the byte of `root`.
    // PERF: a state for each count that a token may reach (of four look-aheads, 16 times as many) took 100 ms for a mask. Here the count is a
    // number, and only tokens that may meet the bound are looked at.
    void compare_counted(const Trie& t, uint32_t root, LexState first, LexState unbounded) {
        const std::shared_ptr<const CountedValues> values =
            beside_.look([&] { return parts_.lexer.automata.recognizer_of(first).strings()->counted_values(); });
        struct At {
            std::optional<CountedValues::Place> place;  // in text as it stands
            LexState state;                             // before that, or in an escape
            Local other;
        };
        auto at = [&](LexState s, Local o) {
            return At{s == kNoState ? std::nullopt : parts_.lexer.automata.ask(&JsonStrings::place, s), s, o};
        };
        auto escaped = [&](const At& from, uint8_t byte, Local o) {
            const LexState s = from.place ? parts_.lexer.alike.between_characters(first, *from.place) : from.state;
            return at(s == kNoState ? s : tables_.states.step(s, byte), o);
        };
        std::vector<At> path{beside_.look([&] { return at(first, tables_.states.local(unbounded)); })};
        const uint16_t base = t.depth[root];
        for (uint32_t i = root, end = t.end[root]; i < end;) {
            work(4);
            beside_.breathe();
            path.resize(size_t(t.depth[i] - base) + 1);
            At to = path.back();
            const uint8_t byte = t.byte[i];
            const Local o = tables_.states.next(to.other, byte);
            bool dead = false, same = o == kDead || (to.place && byte == '"');  // where values end is not counted
            if (!same && to.place && byte != '\\') {
                to.other = o;
                dead = !values->step(*to.place, byte);
                same = !dead && values->is_far(*to.place, t.height[i]);
            } else if (!same) {
                to = beside_.look([&] { return escaped(to, byte, o); });
                dead = to.state == kNoState;
                same = to.state == tables_.states[o].lex;
            }
            if (dead) compare(t, i, kDead, o);
            if (dead || same) i = t.end[i];
            else path.push_back(std::move(to)), i++;
        }
    }

    // The base's outcome with what was found.
    void finish(Split& result) {
        finish_inside(result);
        result.exits_once = base_.exits_once && exits_added_.empty();
        for (uint32_t i = base_.exits_before; i < base_.exits.size(); i++) {
            Split::Exit exit = base_.exits[i];
            if (!base_.exits_once) {
                relist(exit);
            } else {
                for (const TrieNodes& p : exits_removed_)
                    for (uint32_t n : p.nodes)
                        exit.except.insert(exit.except.end(), p.trie->tokens.begin() + p.trie->token_begin[n],
                                           p.trie->tokens.begin() + p.trie->token_begin[p.trie->end[n]]);
            }
            result.exits.push_back(std::move(exit));
        }
        if (!exits_added_.empty())
            result.exits.push_back({TerminalId(), Formulas::kFree, parts_.residuals.add(exits_added_, false), Indentations::kNothing, {}});
    }

  private:
    // Steps in both from `root`; where they meet nothing differs below.
    // PERF: of the nodes that are met most are children below which nothing differs, from a pair of states that is there all the time (any
    // character but a few leads back). They are told by the kinds of their bytes, without a step.
    void differ(const Trie& t, uint32_t root, Local first, Local other, Difference& found) {
        uint16_t base = t.depth[root];
        Local s = first, o = other;
        for (uint32_t i = root, end = t.end[root]; !gave_up();) {
            work(4);
            num_nodes_++;
            beside_.breathe();
            if (s != o && t.end[i] - i > CharactersAhead::kBigSubtree) {
                s = tables_.states.for_subtree(s, t.height[i]);
                o = tables_.states.for_subtree(o, t.height[i]);
            }
            if (s == o || (distant_ && are_alike(s, o, t.height[i]))) {
                i = t.end[i];
            } else if (t.end[i] - i > CharactersAhead::kBigSubtree && (tables_.ahead.agree(t, i, s, o) || take_whole(t, i, s, o, found))) {
                i = t.end[i];
            } else {
                if (s == kDead || o == kDead) {
                    take(t, t.token_begin[i], t.token_begin[i + 1], s, found.added);
                    take(t, t.token_begin[i], t.token_begin[i + 1], o, found.removed);
                }
                if (i + 1 < t.end[i]) enter(t, i, size_t(t.depth[i] - base), s, o, found);
                i++;
            }
            size_t above = 0;
            for (; i < end; i = t.end[i]) {
                above = size_t(t.depth[i] - base) - 1;
                if (t.kinds(i) & ~same_[above]) break;
                work(1);
            }
            if (i >= end) return;
            s = path_[above] == kDead ? kDead : tables_.states.next(path_[above], t.byte[i]);
            o = other_path_[above] == kDead ? kDead : tables_.states.next(other_path_[above], t.byte[i]);
        }
    }

    void note(const Trie& t, const Difference& found) {
        work(found.size());
        for (uint32_t token : found.added) added_.add(token, words_);
        removed_.insert(removed_.end(), found.removed.begin(), found.removed.end());
        note_exits(t, found.exits_added, exits_added_);
        note_exits(t, found.exits_removed, exits_removed_);
    }
    void note_exits(const Trie& t, const std::vector<uint32_t>& nodes, std::vector<TrieNodes>& parts) {
        if (nodes.empty()) return;
        exit_nodes_.note(nodes.size());
        if (parts.empty() || parts.back().trie != &t) parts.push_back({&t, {}});
        parts.back().nodes.insert(parts.back().nodes.end(), nodes.begin(), nodes.end());
    }
    // What stands below node i is looked at next.
    void enter(const Trie& t, uint32_t i, size_t depth, Local s, Local o, Difference& found) {
        if (path_.size() <= depth) {
            path_.resize(2 * depth + 16);
            other_path_.resize(path_.size());
            same_.resize(path_.size());
        }
        path_[depth] = s;
        other_path_[depth] = o;
        same_[depth] = tables_.ahead.agreeing_kinds(t, i, s, o);
        const bool leaves = s != kDead && tables_.states[s].leaves, other_leaves = o != kDead && tables_.states[o].leaves;
        if (leaves != other_leaves) leave(t, i, leaves ? found.exits_added : found.exits_removed);
    }
    void take(const Trie& t, uint32_t begin, uint32_t end, Local s, std::vector<uint32_t>& tokens) {
        if (s != kDead) tokens.insert(tokens.end(), t.tokens.begin() + begin, t.tokens.begin() + end);
    }

    // All below node i ends inside in each of the two, or nothing does.
    bool take_whole(const Trie& t, uint32_t i, Local s, Local o, Difference& found) {
        if (tables_.ahead.steady(t, i, s) == WalkStates::kUnknown || tables_.ahead.steady(t, i, o) == WalkStates::kUnknown) return false;
        if (s == kDead || o == kDead) {
            take(t, t.token_begin[i], t.token_begin[t.end[i]], s, found.added);
            take(t, t.token_begin[i], t.token_begin[t.end[i]], o, found.removed);
        }
        return true;
    }

    static void leave(const Trie& t, uint32_t i, std::vector<uint32_t>& nodes) {
        for (uint32_t n = i + 1; n < t.end[i]; n = t.end[n]) nodes.push_back(n);
    }

    bool are_alike(Local s, Local o, uint16_t height) {
        if (s == kDead || o == kDead) return false;
        uint64_t& bytes = alike_for_[pack(s, o)];  // and one
        if (!bytes) bytes = beside_.look([&] { return parts_.lexer.alike.alike_for(tables_.states[s].lex, tables_.states[o].lex); }) + 1;
        return height + 1u < bytes;
    }

    void finish_inside(Split& result) {
        Split::Inside inside{Split::Sureness::kSure, 0, nullptr, Indentations::kNothing, nullptr, std::move(removed_)};
        if (!base_.inside.empty()) {
            inside.base = &base_.inside[0];
            while (inside.base->base && inside.base->removed.empty() && !inside.base->tokens) inside.base = inside.base->base;
        }
        if (!inside.base && !added_.count()) return;
        if (inside.removed.size() > words_ / 4) {  // PERF: taking so many out costs more, each time, than a set without them
            std::vector<uint32_t> row(words_, 0);
            inside.or_into(row.data());
            added_.or_into(row.data());
            added_ = TokenSet::of(row);
            inside.base = nullptr;
            inside.removed.clear();
        }
        added_.pack();
        parts_.bytes += added_.bytes();
        if (added_.count()) inside.tokens = std::make_shared<const TokenSet>(std::move(added_));
        result.inside.push_back(std::move(inside));
    }

    // An exit with a list of nodes of its own: the base's, without those removed.
    void relist(Split::Exit& exit) {
        if (exits_removed_.empty()) return;
        for (TrieNodes& r : exits_removed_) std::sort(r.nodes.begin(), r.nodes.end());
        std::vector<TrieNodes> parts;
        for (uint32_t branch : parts_.residuals[exit.residual].branches)
            for (const TrieNodes& p : parts_.residuals.parts(branch, beside_)) {
                auto gone = [&](uint32_t n) {
                    return std::any_of(exits_removed_.begin(), exits_removed_.end(), [&](const TrieNodes& r) {
                        return r.trie == p.trie && std::binary_search(r.nodes.begin(), r.nodes.end(), n);
                    });
                };
                parts.push_back({p.trie, {}});
                std::copy_if(p.nodes.begin(), p.nodes.end(), std::back_inserter(parts.back().nodes), [&](uint32_t n) { return !gone(n); });
            }
        exit.residual = parts_.residuals.add(parts, false);
    }

    const SplitParts& parts_;
    SplitTables& tables_;
    Beside& beside_;
    const uint32_t words_;
    const Split& base_;
    const bool distant_;
    // PERF: where the longest tokens that tell two states apart are not so long, as in `[0-9A-Z]{12}`, that was 50,000 nodes. A walk along them
    // takes 6,000 (CharactersAhead::stretch).
    static constexpr size_t kMostNodes = 4'000;
    size_t num_nodes_ = 0;
    FlatMap<uint64_t> alike_for_;
    std::vector<Local> path_, other_path_;
    std::vector<uint64_t> same_;  // on the path: kinds of bytes, see CharactersAhead::agreeing_kinds()
    // Tokens that end inside, and nodes before which the lexeme may end: of this state only, and of the other only.
    TokenSet added_;
    std::vector<uint32_t> removed_;
    std::vector<TrieNodes> exits_added_, exits_removed_;
    ExitNodes exit_nodes_;
};

}  // namespace derivable
