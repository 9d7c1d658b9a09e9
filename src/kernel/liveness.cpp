#include "liveness.hpp"

#include <algorithm>

namespace derivable {

// How the lexeme in progress may end: by breadth-first search over lexer states.
const std::vector<Liveness::Boundary>& Liveness::boundaries(LexState s) {
    auto found = boundaries_.find(s);
    if (found != boundaries_.end()) return found->second;
    std::vector<Boundary> out;
    std::vector<LexState> work{s};
    std::unordered_map<LexState, char> seen{{s, 1}};
    std::unordered_map<uint64_t, char, MixHash> known;
    for (size_t i = 0; i < work.size(); i++) {
        for (const Lexer::Exit& e : lexer_.exits(work[i])) {
            Symbol symbol = e.terminal + 1;  // one lexer terminal per symbol under longest and basic
            Boundary b{ignored_[symbol] ? 0 : symbol, e.duties};
            if (known.try_emplace(pack(b.first, b.second), 1).second) out.push_back(b);
        }
        for (uint8_t byte : lexer_.representative_bytes()) {
            LexState next = lexer_.step(work[i], byte);
            if (next != kNoState && seen.try_emplace(next, 1).second) work.push_back(next);
        }
    }
    return boundaries_.emplace(s, std::move(out)).first->second;
}

LexState Liveness::start(uint32_t accept_set, uint32_t duties) {
    std::vector<uint32_t> candidates;
    for (Symbol s = 1; s < ignored_.size(); s++)
        if (lexer_.policy() == Policy::kBasic || ignored_[s] || stacks_.contains(accept_set, s)) candidates.push_back(to_lexer_[s]);
    return lexer_.start(candidates, duties);
}

bool Liveness::separable() {
    // With all terminals as candidates. Fewer candidates only make longer attempts, and so duties, fewer; so what can be
    // spelled with all can be spelled with fewer.
    Productions& productions = stacks_.lr().productions();
    std::vector<uint32_t> everything;
    std::vector<Symbol> wanted;
    for (Symbol s = 1; s < ignored_.size(); s++)
        if (lexer_.policy() == Policy::kBasic || ignored_[s] || productions.is_used(s)) {
            everything.push_back(to_lexer_[s]);
            if (!ignored_[s] && productions.is_used(s) && !is_token(s)) wanted.push_back(s);
        }
    std::vector<uint32_t> work = lexer_.all_pasts(64);
    const size_t free = work.size();
    if (free == 0) return false;
    std::unordered_map<uint32_t, char> seen, good;
    for (uint32_t duties : work) seen[duties] = 1;
    auto reaches_all = [&](uint32_t first) {
        std::vector<uint32_t> through{first};
        std::unordered_map<uint32_t, char> passed{{first, 1}};
        std::vector<char> have(ignored_.size(), 0);
        size_t count = 0;
        bool end = false;
        for (size_t i = 0; i < through.size(); i++) {
            end |= lexer_.duties_hold_at_end(through[i]);
            LexState s = lexer_.start(everything, through[i]);
            if (s == kNoState) continue;
            // Breadth first, stopping as soon as an ignored lexeme leads to a boundary known to be good.
            std::vector<LexState> states{s};
            std::unordered_map<LexState, char> visited{{s, 1}};
            for (size_t j = 0; j < states.size(); j++) {
                for (const Lexer::Exit& e : lexer_.exits(states[j])) {
                    Symbol symbol = e.terminal + 1;
                    if (ignored_[symbol]) {
                        if (good.count(e.duties)) return true;
                        if (passed.try_emplace(e.duties, 1).second) through.push_back(e.duties);
                    } else if (!have[symbol] && productions.is_used(symbol)) {
                        have[symbol] = 1, count++;
                    }
                }
                if (end && count == wanted.size()) return true;
                for (uint8_t byte : lexer_.representative_bytes()) {
                    LexState next = lexer_.step(states[j], byte);
                    if (next != kNoState && visited.try_emplace(next, 1).second) states.push_back(next);
                }
            }
        }
        return end && count == wanted.size();
    };
    for (size_t i = 0; i < work.size(); i++) {
        if (!reaches_all(work[i])) return false;
        good[work[i]] = 1;
        LexState s = lexer_.start(everything, work[i]);
        if (s == kNoState) return false;
        if (i < free)  // every boundary is one of a lexeme begun without duties, or keeps some that were there before
            for (const Boundary& b : boundaries(s))
                if (seen.try_emplace(b.second, 1).second) work.push_back(b.second);
        if (i < free) continue;
        // Only states that still carry duties can lead to boundaries that are new.
        std::vector<LexState> states{s};
        std::unordered_map<LexState, char> visited{{s, 1}};
        for (size_t j = 0; j < states.size(); j++) {
            if (!lexer_.owes(lexer_.duties(states[j]))) continue;
            for (const Lexer::Exit& e : lexer_.exits(states[j]))
                if (seen.try_emplace(e.duties, 1).second) work.push_back(e.duties);
            for (uint8_t byte : lexer_.representative_bytes()) {
                LexState next = lexer_.step(states[j], byte);
                if (next != kNoState && visited.try_emplace(next, 1).second) states.push_back(next);
            }
        }
    }
    return true;
}

// Everything about the stack below `n` that parsing on top of it can notice: what may follow each rule that is under way.
uint32_t Liveness::profile(NodeId n) {
    std::vector<uint32_t> words{stacks_.state(n), stacks_.accepts(n)};
    for (auto [production, dot] : stacks_.lr().kernel(stacks_.state(n))) {
        if (production == 0) continue;
        std::vector<uint32_t> sets;
        for (NodeId below : stacks_.pop(n, dot)) sets.push_back(stacks_.accepts(stacks_.after(below, stacks_.lr().productions()[production].head)));
        std::sort(sets.begin(), sets.end());
        words.insert(words.end(), sets.begin(), sets.end());
        words.push_back(~0u);
    }
    return profiles_.intern(words);
}

// Contexts that can hold after symbol `x` was parsed on top of `n`, begun in context `c`. `x` itself: not what it reaches by units.
const std::vector<Liveness::Context>& Liveness::summary(Context c, NodeId n, Symbol x) {
    uint32_t id = keys_.intern({c, profile(n), x});
    if (id == summaries_.size()) {
        summaries_.push_back({c, n, x, {}});
        changed_ = true;
    }
    return summaries_[id].after;
}

void Liveness::solve() {
    Productions& productions = stacks_.lr().productions();
    auto add = [&](size_t i, Context c) {
        auto& after = summaries_[i].after;
        if (std::find(after.begin(), after.end(), c) == after.end()) after.push_back(c), changed_ = true;
    };
    do {
        changed_ = false;
        for (size_t i = solved_; i < summaries_.size(); i++) {
            if (++work_ > max_work_)
                throw LimitExceeded("max_liveness_steps", work_, max_work_, "deciding which lexemes can still follow under longest match");
            const Context first = summaries_[i].context;
            const NodeId n = summaries_[i].node;
            const Symbol x = summaries_[i].symbol;
            if (productions.is_terminal(x)) {
                const uint32_t accepts = contexts_[first][1];
                std::vector<uint32_t> through{contexts_[first][0]};
                const uint32_t above = x == kEnd ? accepts : stacks_.accepts(stacks_.after(n, x));
                for (size_t j = 0; j < through.size(); j++) {
                    if (x == kEnd && lexer_.duties_hold_at_end(through[j])) add(i, first);
                    if (is_token(x) && lexer_.duties_hold_at_end(through[j])) add(i, context(lexer_.text_start(), above));
                    LexState s = start(accepts, through[j]);
                    if (s == kNoState) continue;
                    for (const Boundary& b : boundaries(s)) {
                        if (b.first == 0) {
                            if (std::find(through.begin(), through.end(), b.second) == through.end()) through.push_back(b.second);
                        } else if (b.first == x) {
                            add(i, context(b.second, above));
                        }
                    }
                }
                continue;
            }
            for (uint32_t p : productions.of(x))
                for (Context c : sequence(first, n, productions[p].body, 0)) add(i, c);
        }
    } while (changed_);
    solved_ = summaries_.size();
}

// Contexts after the symbols body[from..] on top of `n`, as far as summaries are known.
std::vector<Liveness::Context> Liveness::sequence(Context c, NodeId n, const std::vector<Symbol>& body, size_t from) {
    Productions& productions = stacks_.lr().productions();
    std::vector<std::pair<Context, NodeId>> now{{c, n}}, next;
    for (size_t k = from; k < body.size(); k++) {
        next.clear();
        for (auto [before, node] : now) {
            auto over = [&](Symbol s) {
                std::vector<Context> after = summary(before, node, s);
                if (after.empty()) return;
                NodeId above = s == kEnd ? node : stacks_.after(node, s);
                for (Context a : after) next.emplace_back(a, above);
            };
            if (productions.is_terminal(body[k]))
                over(body[k]);
            else
                for (Symbol s : productions.chain(body[k])) over(s);
        }
        std::sort(next.begin(), next.end());
        next.erase(std::unique(next.begin(), next.end()), next.end());
        now.swap(next);
    }
    std::vector<Context> out;
    for (auto [after, node] : now) out.push_back(after);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

bool Liveness::alive_at(Context first, NodeId n) {
    LrAutomaton& lr = stacks_.lr();
    std::vector<std::pair<Context, NodeId>> work{{first, n}};
    std::unordered_map<uint64_t, char, MixHash> seen{{pack(first, n), 1}};
    for (size_t i = 0; i < work.size(); i++) {
        auto [c, node] = work[i];
        for (auto [production, dot] : lr.kernel(stacks_.state(node))) {
            std::vector<Symbol> body = lr.productions()[production].body;
            std::vector<Context> ends;
            do {
                changed_ = false;
                ends = sequence(c, node, body, dot);
                if (production == 0 && dot == 0 && lr.productions().start_nullable() && ends.empty()) ends = sequence(c, node, {kEnd}, 0);
                if (changed_) solve(), changed_ = true;
            } while (changed_);
            if (ends.empty()) continue;
            if (production == 0) return true;
            for (NodeId below : stacks_.pop(node, dot)) {
                NodeId above = stacks_.after(below, lr.productions()[production].head);
                for (Context e : ends)
                    if (seen.try_emplace(pack(e, above), 1).second) work.emplace_back(e, above);
            }
        }
    }
    return false;
}

bool Liveness::alive(LexState s, Frontier f) {
    auto found = alive_.find(pack(s, f));
    if (found != alive_.end()) return found->second;
    bool result = false;
    std::vector<Boundary> ends = boundaries(s);
    if (lexer_.is_fresh(s)) ends.push_back({0, lexer_.text_start()});  // nothing has to end first
    for (auto [symbol, duties] : ends) {
        Frontier after = symbol == 0 ? f : stacks_.shift(f, symbol).frontier;
        if (after == kNoFrontier) continue;
        Context c = context(duties, stacks_.accepts(after));
        for (NodeId n : stacks_.nodes(after))
            if (!result && alive_at(c, n)) result = true;
        if (result) break;
    }
    return alive_[pack(s, f)] = result;
}

}  // namespace derivable
