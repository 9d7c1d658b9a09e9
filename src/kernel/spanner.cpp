#include "spanner.hpp"

#include <algorithm>

namespace derivable {

Spanner::Spanner(std::shared_ptr<const Vocabulary> vocabulary, Policy policy) : lexer(policy), vocabulary_(std::move(vocabulary)) {
    Residual all{{}, true};
    const Trie& t = vocabulary_->trie;
    for (uint32_t i = 0; i < t.size(); i = t.end[i]) {
        all.branches.push_back(uint32_t(branches_.size()));
        branches_.push_back({t.byte[i], {{&t, {i}}}, nullptr});
    }
    selections_[all.branches] = kWholeVocabulary;
    residuals_.push_back(std::move(all));
}

std::pair<const Trie*, uint32_t> Spanner::root(uint32_t branch) {
    Branch& b = branches_[branch];
    if (b.merged) return {b.merged.get(), 0};
    if (b.parts.size() == 1 && b.parts[0].nodes.size() == 1) return {b.parts[0].trie, b.parts[0].nodes[0]};
    b.merged = std::make_unique<Trie>(Trie::merge(b.parts));
    bytes_ += b.merged->size() * 11 + b.merged->tokens.size() * 4;
    return {b.merged.get(), 0};
}

uint32_t Spanner::add_residual(const std::vector<TrieNodes>& parts) {
    std::array<int32_t, 256> at;
    at.fill(-1);
    std::vector<Branch> found;
    for (const TrieNodes& part : parts)
        for (uint32_t n : part.nodes) {
            uint8_t byte = part.trie->byte[n];
            if (at[byte] < 0) at[byte] = int32_t(found.size()), found.push_back({byte, {}, nullptr});
            std::vector<TrieNodes>& into = found[size_t(at[byte])].parts;
            if (into.empty() || into.back().trie != part.trie) into.push_back({part.trie, {}});
            into.back().nodes.push_back(n);
        }
    Residual r{{}, false};
    for (int32_t i : at) {
        if (i < 0) continue;
        Branch& b = found[size_t(i)];
        bytes_ += sizeof(Branch) + 8;
        for (const TrieNodes& p : b.parts) bytes_ += sizeof(TrieNodes) + p.nodes.size() * 4;
        r.branches.push_back(uint32_t(branches_.size()));
        branches_.push_back(std::move(b));
    }
    bytes_ += sizeof(Residual);
    residuals_.push_back(std::move(r));
    return uint32_t(residuals_.size() - 1);
}

uint32_t Spanner::select(uint32_t residual, std::vector<uint32_t> branches) {
    if (branches == residuals_[residual].branches) return residual;
    auto [it, fresh] = selections_.try_emplace(branches, uint32_t(residuals_.size()));
    if (fresh) {
        bytes_ += branches.size() * 8 + 128;
        residuals_.push_back({std::move(branches), residuals_[residual].of_vocabulary});
    }
    return it->second;
}

LexState Spanner::similar(const Residual& residual, LexState state) {
    // PERF: below this many nodes a walk costs less than the comparison (a few microseconds).
    constexpr uint64_t kWorthwhile = 2000;
    if (!residual.of_vocabulary) return kNoState;
    // Where most of the tokens lead. That state must stay as it is on most of them: so does the inside of a string or a name.
    std::vector<std::pair<LexState, uint64_t>> weights;
    uint64_t alive = 0;
    auto each = [&](auto&& act) {
        for (uint32_t b : residual.branches) {
            const TrieNodes& whole = branches_[b].parts[0];
            uint32_t n = whole.nodes[0];
            act(branches_[b].byte, whole.trie->end[n] - n);
        }
    };
    each([&](uint8_t byte, uint64_t weight) {
        LexState next = step(state, byte);
        if (next == kNoState) return;
        alive += weight;
        for (auto& [s, w] : weights)
            if (s == next) {
                w += weight;
                return;
            }
        weights.emplace_back(next, weight);
    });
    if (alive < kWorthwhile) return kNoState;
    auto best = std::max_element(weights.begin(), weights.end(), [](auto a, auto b) { return a.second < b.second; });
    LexState other = best->first;
    if (other == state || best->second * 4 < alive) return kNoState;
    uint64_t same = 0;
    each([&](uint8_t byte, uint64_t weight) {
        if (step(state, byte) == other && step(other, byte) == other) same += weight;
    });
    return same * 4 < alive ? kNoState : other;
}

// One walk of split(). What becomes of a token is kept by outcome; beside a similar state, only differences are.
class SplitWalk {
  public:
    SplitWalk(Spanner& spanner, uint32_t residual, LexState state) : spanner_(spanner), lexer_(spanner.lexer), residual_(residual), state_(state) {}

    std::unique_ptr<Split> run() {
        const std::vector<uint32_t> branches = spanner_.residuals_[residual_].branches;
        LexState other = spanner_.similar(spanner_.residuals_[residual_], state_);
        const Split* base = nullptr;
        if (other != kNoState && !(base = spanner_.find(residual_, other))) base = &spanner_.split(residual_, other);
        auto result = std::make_unique<Split>();
        exits_before(branches, *result);
        for (uint32_t branch : branches) {
            uint8_t byte = spanner_.branches_[branch].byte;
            LexState s = spanner_.step(state_, byte);
            LexState o = base ? spanner_.step(other, byte) : kNoState;
            if (s == o) continue;
            auto [trie, root] = spanner_.root(branch);
            if (base)
                compare(*trie, root, s, o);
            else
                walk(*trie, root, s);
        }
        finish(base, *result);
        return result;
    }

  private:
    struct Group {  // tokens that end inside
        Split::Sureness sureness;
        uint32_t key;
        std::vector<uint32_t> added, removed;
    };
    struct Way {  // nodes before which a lexeme may end
        uint32_t terminal, duties;
        std::vector<TrieNodes> added;
        std::vector<uint32_t> removed;  // of the vocabulary's trie
    };
    // What a token may do in one lexer state.
    struct Outcome {
        uint32_t group;
        std::vector<Lexer::Exit> exits;
        // By exit and next byte: the way it is, or that it violates a duty.
        std::vector<std::array<uint16_t, 256>> ways;
    };
    static constexpr uint16_t kUnknownWay = 0xFFFF, kNoWay = 0xFFFE;

    uint32_t outcome(LexState s) {
        if (s == last_state_) return last_outcome_;
        auto [it, fresh] = outcome_of_.try_emplace(s, uint32_t(outcomes_.size()));
        if (fresh) {
            Outcome o;
            o.group = group_of(s);
            o.exits = lexer_.exits(s);
            if (!scannerless_) {
                o.ways.resize(o.exits.size());
                for (auto& row : o.ways) row.fill(kUnknownWay);
            }
            outcomes_.push_back(std::move(o));
        }
        last_state_ = s;
        return last_outcome_ = it->second;
    }

    uint32_t group_of(LexState s) {
        Split::Sureness sureness = Split::Sureness::kSure;
        uint32_t key = 0;
        if (!scannerless_) {
            if (!spanner_.separable || lexer_.duties(s) != Lexer::kFree) {
                sureness = Split::Sureness::kExact;
                key = s;
            } else if (lexer_.policy() == Policy::kBasic) {
                sureness = Split::Sureness::kProducible;
                key = spanner_.producible_set(s);
            }
        }
        for (uint32_t i = 0; i < groups_.size(); i++)
            if (groups_[i].sureness == sureness && groups_[i].key == key) return i;
        groups_.push_back({sureness, key, {}, {}});
        return uint32_t(groups_.size() - 1);
    }

    uint16_t way_of(uint32_t terminal, uint32_t duties) {
        for (uint32_t i = 0; i < ways_.size(); i++)
            if (ways_[i].terminal == terminal && ways_[i].duties == duties) return uint16_t(i);
        if (ways_.size() >= kNoWay) throw LimitExceeded("max_threads", ways_.size(), kNoWay, "ways to end a lexeme inside one token");
        ways_.push_back({terminal, duties, {}, {}});
        return uint16_t(ways_.size() - 1);
    }

    // The way of leaving through exit `e` before `byte`; kNoWay if a duty is violated.
    uint16_t way(Outcome& o, size_t e, uint8_t byte) {
        uint16_t& known = o.ways[e][byte];
        if (known != kUnknownWay) return known;
        Lexer::Exit exit = o.exits[e];
        uint32_t after = lexer_.step_duties(exit.duties, byte);
        // If the first byte settles the duties they need not be carried along.
        return known = after == Lexer::kViolated ? kNoWay : way_of(exit.terminal, after == Lexer::kFree ? Lexer::kFree : exit.duties);
    }

    // A token that ends in `s`, at node i; then the ways to leave before what follows there.
    void arrive(const Trie& t, uint32_t i, LexState s, bool add) {
        Outcome& o = outcomes_[outcome(s)];
        if (t.token_begin[i] != t.token_begin[i + 1]) {
            Group& g = groups_[o.group];
            auto& into = add ? g.added : g.removed;
            into.insert(into.end(), t.tokens.begin() + t.token_begin[i], t.tokens.begin() + t.token_begin[i + 1]);
        }
        if (o.exits.empty() || i + 1 == t.end[i]) return;
        auto leave = [&](uint16_t w, uint32_t n) {
            std::vector<TrieNodes>& parts = ways_[w].added;
            if (!add) {
                ways_[w].removed.push_back(n);
            } else {
                if (parts.empty() || parts.back().trie != &t) parts.push_back({&t, {}});
                parts.back().nodes.push_back(n);
            }
        };
        if (scannerless_) {
            uint16_t w = way_of(0, Lexer::kFree);
            for (uint32_t n = i + 1; n < t.end[i]; n = t.end[n]) leave(w, n);
        } else {
            for (uint32_t n = i + 1; n < t.end[i]; n = t.end[n])
                for (size_t e = 0; e < o.exits.size(); e++)
                    if (uint16_t w = way(o, e, t.byte[n]); w != kNoWay) leave(w, n);
        }
    }

    void walk(const Trie& t, uint32_t root, LexState first) {
        if (path_.empty()) path_.resize(256);
        uint16_t base = t.depth[root];
        LexState s = first;
        for (uint32_t i = root, end = t.end[root];;) {
            if (s == kNoState) {
                i = t.end[i];
            } else {
                size_t d = size_t(t.depth[i] - base);
                if (path_.size() <= d) path_.resize(2 * d);
                path_[d] = s;
                arrive(t, i, s, true);
                i++;
            }
            if (i >= end) return;
            s = spanner_.step(path_[size_t(t.depth[i] - base) - 1], t.byte[i]);
        }
    }

    // As walk(), for `first` against `other`, by steps in both; where they meet nothing differs below.
    void compare(const Trie& t, uint32_t root, LexState first, LexState other) {
        uint16_t base = t.depth[root];
        LexState s = first, o = other;
        std::vector<std::pair<LexState, LexState>> path(16);
        for (uint32_t i = root, end = t.end[root];;) {
            if (s == o) {
                i = t.end[i];
            } else {
                size_t d = size_t(t.depth[i] - base);
                if (path.size() <= d) path.resize(2 * d);
                path[d] = {s, o};
                if (s != kNoState) arrive(t, i, s, true);
                if (o != kNoState) arrive(t, i, o, false);
                i++;
            }
            if (i >= end) return;
            auto [from_s, from_o] = path[size_t(t.depth[i] - base) - 1];
            s = from_s == kNoState ? kNoState : spanner_.step(from_s, t.byte[i]);
            o = from_o == kNoState ? kNoState : spanner_.step(from_o, t.byte[i]);
        }
    }

    // The lexeme may have ended before the token began.
    void exits_before(const std::vector<uint32_t>& branches, Split& result) {
        if (scannerless_) {
            if (!lexer_.exits(state_).empty()) result.exits.push_back({0, Lexer::kFree, residual_});
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
            for (auto& [key, selected] : found) result.exits.push_back({key.first, key.second, spanner_.select(residual_, std::move(selected))});
        }
        result.exits_before = uint32_t(result.exits.size());
    }

    void finish(const Split* base, Split& result) {
        uint32_t words = spanner_.vocabulary_->words();
        auto keep = [&](Split::Inside inside) {
            spanner_.bytes_ += inside.tokens.bytes() + 48;
            result.inside.push_back(std::move(inside));
        };
        if (base)
            for (const Split::Inside& b : base->inside) {
                auto g = std::find_if(groups_.begin(), groups_.end(), [&](const Group& x) { return x.sureness == b.sureness && x.key == b.key; });
                if (g == groups_.end()) {
                    keep(b);
                } else {
                    TokenSet tokens = b.tokens.edited(g->removed, g->added, words);
                    if (tokens.count()) keep({b.sureness, b.key, std::move(tokens)});
                    g->added.clear();
                }
            }
        for (Group& g : groups_)
            if (!g.added.empty()) keep({g.sureness, g.key, TokenSet(std::move(g.added), words)});

        if (base)
            for (uint32_t i = base->exits_before; i < base->exits.size(); i++) {
                const Split::Exit& b = base->exits[i];
                auto w = std::find_if(ways_.begin(), ways_.end(), [&](const Way& x) { return x.terminal == b.terminal && x.duties == b.duties; });
                if (w == ways_.end()) {
                    result.exits.push_back(b);
                    continue;
                }
                std::vector<uint32_t> before, nodes;
                for (uint32_t branch : spanner_.residuals_[b.residual].branches)
                    for (const TrieNodes& p : spanner_.branches_[branch].parts) before.insert(before.end(), p.nodes.begin(), p.nodes.end());
                std::sort(before.begin(), before.end());
                std::sort(w->removed.begin(), w->removed.end());
                std::set_difference(before.begin(), before.end(), w->removed.begin(), w->removed.end(), std::back_inserter(nodes));
                for (const TrieNodes& p : w->added) nodes.insert(nodes.end(), p.nodes.begin(), p.nodes.end());
                std::sort(nodes.begin(), nodes.end());
                if (nodes == before)
                    result.exits.push_back(b);
                else if (!nodes.empty())
                    result.exits.push_back({b.terminal, b.duties, spanner_.add_residual({{&spanner_.vocabulary_->trie, std::move(nodes)}})});
                w->added.clear();
            }
        for (Way& w : ways_)
            if (!w.added.empty()) result.exits.push_back({w.terminal, w.duties, spanner_.add_residual(w.added)});
        spanner_.bytes_ += sizeof(Split) + result.exits.size() * sizeof(Split::Exit) + 64;
    }

    Spanner& spanner_;
    Lexer& lexer_;
    uint32_t residual_;
    LexState state_;
    const bool scannerless_ = lexer_.policy() == Policy::kScannerless;
    std::vector<LexState> path_;
    std::vector<Group> groups_;
    std::vector<Way> ways_;
    std::vector<Outcome> outcomes_;
    std::unordered_map<LexState, uint32_t, MixHash> outcome_of_;
    LexState last_state_ = kNoState;
    uint32_t last_outcome_ = 0;
};

const Split& Spanner::split(uint32_t residual, LexState state) {
    if (const Split* known = find(residual, state)) return *known;
    std::unique_ptr<Split> result = SplitWalk(*this, residual, state).run();
    return *(splits_[pack(residual, state)] = std::move(result));
}

uint32_t Spanner::producible_set(LexState s) {
    LexState m = lexer.members(s);
    auto found = producible_.find(m);
    if (found != producible_.end()) return found->second;
    std::vector<LexState> work{m};
    std::unordered_map<LexState, char> seen{{m, 1}};
    std::vector<uint32_t> winners;
    for (size_t i = 0; i < work.size(); i++) {
        for (const Lexer::Exit& e : lexer.exits(work[i])) winners.push_back(e.terminal);
        for (uint8_t b : lexer.representative_bytes()) {
            LexState next = lexer.step(work[i], b);
            if (next != kNoState && seen.try_emplace(next, 1).second) work.push_back(next);
        }
    }
    std::sort(winners.begin(), winners.end());
    winners.erase(std::unique(winners.begin(), winners.end()), winners.end());
    return producible_[m] = producible_sets_.intern(winners);
}

}  // namespace derivable
