#include "spanner.hpp"

#include <algorithm>

namespace derivable {

uint32_t Spanner::add_residual(const Trie& source, std::vector<uint32_t> nodes, bool whole_roots) {
    if (whole_roots) {
        // The lexeme ended before the token began: a selection of the vocabulary's first bytes, the same for many states.
        auto [it, fresh] = by_roots_.try_emplace(nodes, uint32_t(residuals_.size()));
        if (fresh) {
            bytes_ += nodes.size() * 8 + 64;
            residuals_.push_back({nullptr, std::move(nodes), nullptr, {}});
        }
        return it->second;
    }
    bytes_ += nodes.size() * 4 + 128;
    residuals_.push_back({nullptr, {}, &source, std::move(nodes)});
    return uint32_t(residuals_.size() - 1);
}

void Spanner::merge_pending(Residual& r) {
    if (!r.source) return;
    r.own = std::make_unique<Trie>(Trie::merge(*r.source, std::move(r.pending)));
    r.source = nullptr;
    r.pending = {};
    bytes_ += r.own->size() * 11 + r.own->tokens.size() * 4;
    for (uint32_t i = 0; i < r.own->size(); i = r.own->end[i]) r.roots.push_back(i);
}

const Split& Spanner::split(uint32_t residual, LexState state) {
    auto found = splits_.find(pack(residual, state));
    if (found != splits_.end()) return *found->second;

    merge_pending(residuals_[residual]);
    auto result = std::make_unique<Split>();
    const Trie* t = &trie(residuals_[residual]);
    const std::vector<uint32_t> roots = residuals_[residual].roots;
    const bool scannerless = lexer.policy() == Policy::kScannerless;

    // Tokens and exit nodes by outcome. Keys: (sureness, key) and (terminal, duties).
    std::unordered_map<uint64_t, std::vector<uint32_t>, MixHash> inside, exits;
    std::unordered_map<LexState, std::vector<uint32_t>*> inside_of;
    auto bucket = [&](LexState s) -> std::vector<uint32_t>& {
        if (scannerless) return inside[pack(uint32_t(Split::Sureness::kSure), 0)];
        auto [it, fresh] = inside_of.try_emplace(s, nullptr);
        if (fresh) {
            Split::Sureness sureness = Split::Sureness::kSure;
            uint32_t key = 0;
            if (!scannerless) {
                if (!separable || lexer.duties(s) != Lexer::kFree) {
                    sureness = Split::Sureness::kExact;
                    key = s;
                } else if (lexer.policy() == Policy::kBasic) {
                    sureness = Split::Sureness::kProducible;
                    key = producible_set(s);
                }
            }
            it->second = &inside[pack(uint32_t(sureness), key)];
        }
        return *it->second;
    };
    // The lexeme may end in `s`, before the nodes first, end[first], ... below `last`.
    auto leave = [&](LexState s, uint32_t first, uint32_t last, std::unordered_map<uint64_t, std::vector<uint32_t>, MixHash>& into) {
        for (const Lexer::Exit& e : lexer.exits(s))
            for (uint32_t n = first; n < last; n = t->end[n]) {
                uint32_t after = lexer.step_duties(e.duties, t->byte[n]);
                if (after == Lexer::kViolated) continue;
                // If the first byte settles the duties they need not be carried along.
                into[pack(e.terminal, after == Lexer::kFree ? Lexer::kFree : e.duties)].push_back(n);
            }
    };

    std::unordered_map<uint64_t, std::vector<uint32_t>, MixHash> root_exits;
    for (uint32_t r : roots) leave(state, r, r + 1, root_exits);

    std::vector<LexState> path{state};
    LexState last_state = kNoState;
    std::vector<uint32_t>* last_bucket = nullptr;
    std::unordered_map<LexState, bool> accepts;
    LexState last_asked = kNoState;
    bool last_answer = false;
    for (uint32_t r : roots) {
        uint16_t base = t->depth[r];
        for (uint32_t i = r; i < t->end[r];) {
            uint32_t d = uint32_t(t->depth[i] - base);
            LexState s = lexer.step(path[d], t->byte[i]);
            if (s == kNoState) {
                i = t->end[i];
                continue;
            }
            if (path.size() <= d + 1) path.resize(d + 2);
            path[d + 1] = s;
            if (t->token_begin[i] != t->token_begin[i + 1]) {
                if (s != last_state && (!scannerless || !last_bucket)) last_bucket = &bucket(s);
                last_state = s;
                last_bucket->insert(last_bucket->end(), t->tokens.begin() + t->token_begin[i], t->tokens.begin() + t->token_begin[i + 1]);
            }
            if (i + 1 < t->end[i]) {
                if (s != last_asked) {
                    auto [it, fresh] = accepts.try_emplace(s, false);
                    if (fresh) it->second = lexer.accepts(s);
                    last_asked = s, last_answer = it->second;
                }
                if (last_answer) leave(s, i + 1, t->end[i], exits);
            }
            i++;
        }
    }

    for (auto& [key, tokens] : inside) {
        result->inside.push_back({Split::Sureness(key >> 32), uint32_t(key), TokenSet(std::move(tokens), vocabulary_->words())});
        bytes_ += result->inside.back().tokens.bytes() + 48;
    }
    // Residuals are numbered in a fixed order so that equal runs make equal indexes.
    for (int whole = 1; whole >= 0; whole--) {
        auto& from = whole ? root_exits : exits;
        std::vector<uint64_t> keys;
        for (auto& [key, nodes] : from) keys.push_back(key);
        std::sort(keys.begin(), keys.end());
        for (uint64_t key : keys) {
            bool vocabulary_roots = whole && !residuals_[residual].own;
            uint32_t rest = add_residual(*t, std::move(from[key]), vocabulary_roots);
            result->exits.push_back({uint32_t(key >> 32), uint32_t(key), rest});
        }
    }
    bytes_ += sizeof(Split) + result->exits.size() * sizeof(Split::Exit) + 64;
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
