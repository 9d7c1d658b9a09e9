#include "liveness/summaries.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "support/bits.hpp"
#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

LexState Summaries::start(Context c, Obligations obligations) {
    Bits candidates(stacks_.lr().productions().num_terminals() + 1);
    for (Symbol s : stacks_.terminals(accept_set(c))) candidates.add(s);
    return spelling_.start(candidates, obligations);
}

bool Summaries::alive(Obligations obligations, Frontier f, uint32_t depth) {
    steps_ = 0;
    Context c = context(obligations, stacks_.accepts(f), depth != 0);
    for (NodeId n : stacks_.nodes(f))
        if (alive_at(c, n, depth)) return true;
    return false;
}

// Everything about the stack below `n` that parsing on top of it can notice: what may follow each rule that is under way.
uint32_t Summaries::profile(NodeId n) {
    std::vector<uint32_t> words{stacks_.state(n).index(), accepts(n).index()};
    for (auto [production, dot] : stacks_.lr().kernel(stacks_.state(n))) {
        if (production == 0) continue;
        std::vector<uint32_t> sets;
        for (NodeId below : stacks_.pop(n, dot))
            sets.push_back(accepts(stacks_.after(below, stacks_.lr().productions()[production].head)).index());
        std::sort(sets.begin(), sets.end());
        words.insert(words.end(), sets.begin(), sets.end());
        words.push_back(~0u);
    }
    return profiles_.intern(words);
}

// Contexts that can hold after symbol `x` was parsed on top of `n`, begun in context `c`. `x` itself: not what it reaches by units.
const std::vector<Summaries::Context>& Summaries::summary(Context c, NodeId n, Symbol x) {
    uint32_t id = keys_.intern({c, profile(n), x});
    if (id == summaries_.size()) {
        summaries_.push_back({c, n, x, {}});
        changed_ = true;
    }
    return summaries_[id].after;
}

void Summaries::count(uint64_t steps) {
    if ((steps_ += steps) > max_steps_)
        throw LimitExceeded("max_liveness_steps", steps_, max_steps_, "deciding which lexemes can still follow under longest match");
}

void Summaries::solve() {
    Productions& productions = stacks_.lr().productions();
    auto add = [&](size_t i, Context c) {
        auto& after = summaries_[i].after;
        if (std::find(after.begin(), after.end(), c) == after.end()) after.push_back(c), changed_ = true;
    };
    do {
        changed_ = false;
        for (size_t i = solved_; i < summaries_.size(); i++) {
            work(100);
            count(kStepsOfSummary);
            const Context first = summaries_[i].context;
            const NodeId n = summaries_[i].node;
            const Symbol x = summaries_[i].symbol;
            if (productions.is_terminal(x)) {
                const AcceptSet before = accept_set(first);
                const bool inside = contexts_[first][2];
                std::vector<Obligations> through{obligations(first)};
                if (spelling_.is_indentation(x)) {
                    add(i, context(obligations(first), accepts(stacks_.after(n, x)), inside));
                    continue;
                }
                const AcceptSet above = x == kEnd ? before : accepts(stacks_.after(n, x));
                for (size_t j = 0; j < through.size(); j++) {
                    if (x == kEnd && lexer_.formulas.hold_at_end(through[j])) add(i, first);
                    if (spelling_.is_token(x) && lexer_.formulas.hold_at_end(through[j]))
                        add(i, context(lexer_.formulas.text_start(), above, inside));
                    LexState s = start(first, through[j]);
                    if (s == kNoState) continue;
                    spelling_.any_landing(s, [&](const Spelling::Landing& l) {
                        if (l.terminal == 0 || (inside && l.terminal == newline_)) {
                            if (std::find(through.begin(), through.end(), l.obligations) == through.end()) through.push_back(l.obligations);
                        } else if (l.terminal == x) {
                            add(i, context(l.obligations, above, inside));
                        }
                        return false;
                    });
                }
                continue;
            }
            for (uint32_t p : productions.of(x))
                for (Context c : sequence(first, n, productions[p].body, 0, !contexts_[first][2])) add(i, c);
        }
    } while (changed_);
    solved_ = summaries_.size();
}

// Contexts after the symbols body[from..] on top of `n`, as far as summaries are known.
std::vector<Summaries::Context> Summaries::sequence(Context c, NodeId n, const std::vector<Symbol>& body, size_t from, bool outside) {
    Productions& productions = stacks_.lr().productions();
    int depth = 0;
    for (size_t k = 0; k < from; k++) depth += change(body[k]);
    std::vector<std::pair<Context, NodeId>> now{{c, n}}, next;
    for (size_t k = from; k < body.size(); k++) {
        next.clear();
        const int turn = change(body[k]);
        depth += turn;
        for (auto [before, node] : now) {
            auto over = [&](Symbol s) {
                work(20);
                count(kStepsOfAsking);
                std::vector<Context> after = summary(before, node, s);
                if (after.empty()) return;
                NodeId above = s == kEnd ? node : stacks_.after(node, s);
                for (Context a : after) next.emplace_back(turn ? context(obligations(a), accept_set(a), !outside || depth > 0) : a, above);
            };
            if (productions.is_terminal(body[k])) over(body[k]);
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

bool Summaries::alive_at(Context first, NodeId n, uint32_t open) {
    LrAutomaton& lr = stacks_.lr();
    struct Item {
        Context context;
        NodeId node;
        uint32_t depth;
    };
    std::vector<Item> todo{{first, n, open}};
    std::unordered_map<uint64_t, char, MixHash> seen{{pack(first, n), 1}};
    for (size_t i = 0; i < todo.size(); i++) {
        auto [c, node, depth] = todo[i];
        work(20);
        for (auto [production, dot] : lr.kernel(stacks_.state(node))) {
            std::vector<Symbol> body = lr.productions()[production].body;
            std::vector<Context> ends;
            uint32_t around = depth;  // the whole body
            for (size_t k = 0; k < dot; k++) around -= uint32_t(change(body[k]));
            do {
                changed_ = false;
                ends = sequence(c, node, body, dot, around == 0);
                if (production == 0 && dot == 0 && lr.productions().start_nullable() && ends.empty())
                    ends = sequence(c, node, {kEnd}, 0, true);
                // SAFETY: where solve() was refused half-way, what it had begun is known here and still growing.
                if (changed_ || solved_ < summaries_.size()) solve(), changed_ = true;
            } while (changed_);
            if (ends.empty()) continue;
            if (production == 0) return true;
            const Symbol head = lr.productions()[production].head;
            const int turn = change(head);
            const uint32_t behind = around + uint32_t(turn);
            for (NodeId below : stacks_.pop(node, dot)) {
                NodeId above = stacks_.after(below, head);
                for (Context e : ends) {
                    if (turn) e = context(obligations(e), accept_set(e), behind != 0);
                    if (seen.try_emplace(pack(e, above), 1).second) todo.push_back({e, above, behind});
                }
            }
        }
    }
    return false;
}

}  // namespace derivable
