#include "liveness/completion.hpp"

#include <algorithm>
#include <unordered_map>

#include "support/task.hpp"

namespace derivable {

Completion::Completion(Stacks& stacks, Bits terminals) : stacks_(stacks), terminals_(std::move(terminals)) {
    Productions& ps = stacks_.lr().productions();
    const uint32_t symbols = ps[0].head + 1;
    work(10 * uint64_t(ps.size()) + symbols);
    productive_.assign(symbols, 0);
    for (Symbol s = 1; s <= ps.num_terminals(); s++) productive_[s] = terminals_.has(s);
    productive_[kEnd] = 1;
    auto derives = [&](Symbol s) {
        for (Symbol u : ps.chain(s))
            if (productive_[u]) return true;
        return productive_[s] != 0;
    };
    for (bool grew = true; grew;) {
        grew = false;
        work(2 * uint64_t(ps.size()) + symbols);
        for (uint32_t i = 1; i < ps.size(); i++)
            if (!productive_[ps[i].head] && std::all_of(ps[i].body.begin(), ps[i].body.end(), [&](Symbol s) { return productive_[s]; }))
                productive_[ps[i].head] = 1, grew = true;
        for (Symbol s = ps.num_terminals() + 1; s + 1 < symbols; s++)
            if (!productive_[s] && derives(s)) productive_[s] = 1, grew = true;
    }
    for (uint32_t i = 0; i < ps.size(); i++) {
        std::vector<char> ok(ps[i].body.size() + 1, 1);
        for (size_t k = ps[i].body.size(); k-- > 0;) ok[k] = ok[k + 1] && productive_[ps[i].body[k]];
        for (size_t k = i == 0 ? 0 : 1; k < ok.size(); k++) always_ &= ok[k] != 0 || optional(i, k);
        suffixes_.push_back(std::move(ok));
    }
    if (ps.start_nullable()) suffixes_[0][0] = 1;
    if (always_) return;
    // Greatest fixpoint: a symbol is taken out if something that cannot come must come after it somewhere.
    fine_after_.assign(symbols, 1);
    for (bool shrank = true; shrank;) {
        shrank = false;
        work(5 * uint64_t(ps.size()));
        for (uint32_t i = 0; i < ps.size(); i++)
            for (size_t k = 0; k < ps[i].body.size(); k++)
                if (!optional(i, k + 1) && (!suffixes_[i][k + 1] || !fine_after_[ps[i].head])) {
                    Symbol s = ps[i].body[k];
                    if (fine_after_[s]) fine_after_[s] = 0, shrank = true;
                    for (Symbol u : ps.chain(s))
                        if (fine_after_[u]) fine_after_[u] = 0, shrank = true;
                }
    }
}

bool Completion::optional(uint32_t production, size_t dot) {
    Productions& ps = stacks_.lr().productions();
    const Production& p = ps[production];
    // Where nothing is behind the dot, A is complete, and what is behind A must come.
    if (production == 0 || dot == 0 || dot == p.body.size()) return false;
    if (dot == 1) {
        const std::vector<Symbol>& chain = ps.chain(p.head);
        return std::find(chain.begin(), chain.end(), p.body[0]) != chain.end();
    }
    const std::vector<uint32_t>& others = ps.of(p.head);
    return std::any_of(others.begin(), others.end(), [&](uint32_t i) {
        return ps[i].body.size() == dot && std::equal(ps[i].body.begin(), ps[i].body.end(), p.body.begin());
    });
}

bool Completion::fine(LrState state) {
    fine_.reach(state, stacks_.lr().num_states(), -1);
    if (fine_[state] < 0) {
        int8_t fine = 0;
        for (auto [production, dot] : stacks_.lr().kernel(state))
            if (suffixes_[production][dot] && (production == 0 || fine_after_[stacks_.lr().productions()[production].head])) fine = 1;
        fine_[state] = fine;
    }
    return fine_[state];
}

// Breadth first along "finish one of the rules under way", until what is left is known to be fine.
Answer<bool> Completion::completes_node(NodeId n) {
    struct Step {
        NodeId node;
        int above;
        size_t from;
    };
    std::vector<Step> todo{{n, 0, 0}};
    std::unordered_map<NodeId, char> seen{{n, 1}};
    int looked = 0;
    for (size_t i = 0; i < todo.size(); i++) {
        work(10);
        const Step x = todo[i];
        const Answer<bool>* known = known_.find(x.node);
        if (known && !known->value) {
            looked = std::max(looked, x.above + known->reach.hops);
            continue;
        }
        const LrState state = stacks_.state(x.node);
        bool alive = known || fine(state);
        if (!alive)
            for (auto [production, dot] : stacks_.lr().kernel(state)) {
                if (!suffixes_[production][dot]) continue;
                if (production == 0) {
                    alive = true;
                    break;
                }
                looked = std::max(looked, x.above + int(dot));
                for (NodeId below : stacks_.pop(x.node, dot)) {
                    NodeId y = stacks_.after(below, stacks_.lr().productions()[production].head);
                    if (seen.try_emplace(y, 1).second) todo.push_back({y, x.above + int(dot) - 1, i});
                }
            }
        if (!alive) continue;
        // Only the way here was needed.
        looked = std::max(i ? x.above + 1 : 0, known ? x.above + known->reach.hops : 0);
        for (size_t k = i;; k = todo[k].from) {
            known_[todo[k].node] = {true, {std::max(0, looked - todo[k].above)}};
            if (k == 0) break;
        }
        return {true, {looked}};
    }
    for (const Step& x : todo) known_[x.node] = {false, {std::max(0, looked - x.above)}};
    return {false, {looked}};
}

Answer<bool> Completion::completes(Frontier f) {
    if (always_) return {true, {}};
    if (const Answer<bool>* known = known_.find(f)) return *known;  // one node, asked about before
    Answer<bool> any{false, {}};
    for (NodeId n : stacks_.nodes(f)) {
        const auto [completes, reach] = completes_node(n);
        any = {completes, any.reach | reach};
        if (completes) break;
    }
    return any;
}

}  // namespace derivable
