#include "liveness/completion.hpp"

#include <algorithm>
#include <unordered_map>

#include "support/task.hpp"

namespace derivable {

namespace {

bool is_optional(Productions& ps, uint32_t production, size_t dot) {
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

}  // namespace

Dots::Dots(Productions& ps) {
    for (uint32_t i = 0; i < ps.size(); i++) {
        first.push_back(uint32_t(optional.size()));
        for (size_t k = 0; k <= ps[i].body.size(); k++) optional.push_back(is_optional(ps, i, k));
    }
    work(2 * optional.size());
}

Completion::Completion(Stacks& stacks, const Dots& dots, Bits terminals) : stacks_(stacks), dots_(dots), terminals_(std::move(terminals)) {
    const Productions& ps = stacks_.lr().productions();
    find_productive();
    suffixes_.assign(dots_.optional.size(), 1);
    for (uint32_t i = 0; i < ps.size(); i++) {
        for (size_t k = ps[i].body.size(); k-- > 0;)
            suffixes_[dots_.at(i, k)] = suffixes_[dots_.at(i, k + 1)] && productive_[ps[i].body[k]];
        for (size_t k = i == 0 ? 0 : 1; k <= ps[i].body.size(); k++)
            num_stuck_ += !suffixes_[dots_.at(i, k)] && !dots_.optional[dots_.at(i, k)];
    }
    if (ps.start_nullable()) suffixes_[dots_.at(0, 0)] = 1;
    if (!always()) find_fine();
}

void Completion::find_productive() {
    Productions& ps = stacks_.lr().productions();
    productive_.assign(ps[0].head + 1, 0);
    auto derived = [&](Symbol s) {
        for (Symbol u : ps.reaching(s)) productive_[u] = 1;
    };
    derived(kEnd);
    for (Symbol s = 1; s <= ps.num_terminals(); s++)
        if (terminals_.has(s)) derived(s);
    std::vector<uint32_t> open;
    for (uint32_t i = 1; i < ps.size(); i++) open.push_back(i);
    for (size_t before = 0; before != open.size();) {
        before = open.size();
        work(4 * before);
        open.erase(std::remove_if(open.begin(), open.end(),
                                  [&](uint32_t i) {
                                      if (productive_[ps[i].head]) return true;
                                      if (!std::all_of(ps[i].body.begin(), ps[i].body.end(), [&](Symbol s) { return productive_[s]; }))
                                          return false;
                                      derived(ps[i].head);
                                      return true;
                                  }),
                   open.end());
    }
}

// Greatest fixpoint: a symbol is taken out if something that cannot come must come after it somewhere.
void Completion::find_fine() {
    Productions& ps = stacks_.lr().productions();
    fine_after_.assign(productive_.size(), 1);
    std::vector<Symbol> out;
    std::vector<char> is_known(productive_.size(), 0);
    auto take_out = [&](Symbol s) {
        if (std::exchange(is_known[s], 1)) return;
        for (Symbol u : ps.chain(s))
            if (std::exchange(fine_after_[u], 0)) out.push_back(u);
    };
    auto look = [&](uint32_t production, auto must_come) {  // at what is behind each of its symbols
        for (size_t k = 0; k < ps[production].body.size(); k++) {
            const uint32_t after = dots_.at(production, k + 1);
            if (!dots_.optional[after] && must_come(after)) take_out(ps[production].body[k]);
        }
    };
    work(5 * uint64_t(ps.size()));
    for (uint32_t i = 0; i < ps.size(); i++) look(i, [&](uint32_t after) { return !suffixes_[after]; });
    while (!out.empty()) {
        const Symbol s = out.back();
        out.pop_back();
        if (ps.is_terminal(s)) continue;
        work(10 * ps.of(s).size());
        for (uint32_t i : ps.of(s)) look(i, [](uint32_t) { return true; });
    }
}

bool Completion::fine(LrState state) {
    fine_.reach(state, stacks_.lr().num_states(), -1);
    if (fine_[state] < 0) {
        int8_t fine = 0;
        for (auto [production, dot] : stacks_.lr().kernel(state))
            if (suffixes_[dots_.at(production, dot)] && (production == 0 || fine_after_[stacks_.lr().productions()[production].head]))
                fine = 1;
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
                if (!suffixes_[dots_.at(production, dot)]) continue;
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
    if (always()) return {true, {}};
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
