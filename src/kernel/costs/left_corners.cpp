#include "costs/left_corners.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <unordered_map>
#include <utility>

#include "support/task.hpp"

namespace derivable {

LeftCorners::LeftCorners(const Productions& productions, const SymbolCosts& costs, uint64_t most)
    : productions_(productions),
      costs_(costs),
      chains_(productions.num_symbols() + 1, kNoCost),
      growth_(productions.num_symbols() + 1, 0) {
    const uint32_t n = productions_.num_symbols();
    std::vector<char> waited(n + 1, 0);
    waited[productions_[0].body[0]] = 1;
    for (uint32_t i = 1; i < productions_.size(); i++)
        for (size_t k = 1; k < productions_[i].body.size(); k++) waited[productions_[i].body[k]] = 1;
    for (Symbol s = 0; s < n; s++)
        if (waited[s] && !productions_.is_terminal(s) && !find_chains(s, most)) {
            std::fill(growth_.begin(), growth_.end(), kNoCost);
            return;
        }
    // What begins a body pays for its rest; and so does what it may itself begin with.
    for (uint32_t i = 1; i < productions_.size(); i++) {
        const Production& p = productions_[i];
        if (chains_[p.head] < kNoCost) growth_[p.body[0]] = std::max(growth_[p.body[0]], sum(costs_.rest(i, 1), chains_[p.head]));
    }
    std::vector<Symbol> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](Symbol a, Symbol b) { return growth_[a] > growth_[b]; });
    std::vector<char> done(n, 0);
    for (Symbol s : order) {
        std::vector<Symbol> todo{s};
        const Cost growth = growth_[s];
        const auto reach = [&](Symbol u) {
            if (!done[u]) todo.push_back(u);
        };
        while (!todo.empty()) {
            const Symbol x = todo.back();
            todo.pop_back();
            if (std::exchange(done[x], 1)) continue;
            growth_[x] = growth;
            if (productions_.is_terminal(x)) continue;
            work(2 + productions_.units(x).size() + productions_.of(x).size());
            for (Symbol u : productions_.units(x)) reach(u);
            for (uint32_t i : productions_.of(x)) reach(productions_[i].body[0]);
        }
    }
}

// Dijkstra's algorithm over what a symbol may begin with.
bool LeftCorners::find_chains(Symbol from, uint64_t& left) {
    using Offer = std::pair<Cost, Symbol>;
    std::priority_queue<Offer, std::vector<Offer>, std::greater<>> offers;
    std::unordered_map<Symbol, Cost> known;
    offers.push({0, from});
    while (!offers.empty()) {
        const auto [cost, s] = offers.top();
        offers.pop();
        if (!known.try_emplace(s, cost).second) continue;
        chains_[s] = chains_[s] == kNoCost ? cost : std::max(chains_[s], cost);
        if (productions_.is_terminal(s)) continue;
        const uint64_t looks = 1 + productions_.units(s).size() + productions_.of(s).size();
        work(8 * looks);
        if (looks > left) return false;
        left -= looks;
        for (Symbol u : productions_.units(s)) offers.push({cost, u});
        for (uint32_t i : productions_.of(s)) offers.push({sum(cost, costs_.rest(i, 1)), productions_[i].body[0]});
    }
    return true;
}

}  // namespace derivable
