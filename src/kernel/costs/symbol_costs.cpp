#include "costs/symbol_costs.hpp"

#include <functional>
#include <queue>
#include <utility>

#include "support/task.hpp"

namespace derivable {

SymbolCosts::SymbolCosts(const Productions& productions, const std::vector<Cost>& terminals)
    : productions_(productions),
      costs_(std::max<size_t>(productions.num_symbols(), productions[0].head + 1), kNoCost),
      behind_(terminals.size(), kNoCost),
      first_(costs_.size(), kEnd) {
    const uint32_t num_symbols = productions_.num_symbols();
    std::vector<std::vector<uint32_t>> uses(costs_.size());  // in productions, once for each place
    std::vector<std::vector<Symbol>> users(costs_.size());   // by units
    std::vector<uint32_t> missing(productions_.size());
    std::vector<Cost> sums(productions_.size(), 0);
    uint64_t places = 0;
    for (uint32_t i = 1; i < productions_.size(); i++) {
        missing[i] = uint32_t(productions_[i].body.size());
        for (Symbol s : productions_[i].body) uses[s].push_back(i);
        places += missing[i];
    }
    for (Symbol s = 0; s < num_symbols; s++)
        for (Symbol u : productions_.units(s)) users[u].push_back(s);
    work(4 * places + num_symbols);
    using Offer = std::pair<Cost, Symbol>;
    std::priority_queue<Offer, std::vector<Offer>, std::greater<>> offers;
    const auto offer = [&](Symbol s, Cost cost, Symbol first) {
        if (cost < costs_[s]) costs_[s] = cost, first_[s] = first, offers.push({cost, s});
    };
    for (Symbol s = 0; s < terminals.size(); s++) offer(s, terminals[s], s);
    std::vector<char> settled(costs_.size(), 0);
    while (!offers.empty()) {
        const auto [cost, s] = offers.top();
        offers.pop();
        if (std::exchange(settled[s], 1)) continue;
        work(2 + uses[s].size() + users[s].size());
        for (Symbol user : users[s]) offer(user, cost, s);
        for (uint32_t i : uses[s]) {
            sums[i] = sum(sums[i], cost);
            if (--missing[i] == 0) offer(productions_[i].head, sums[i], productions_[i].body[0]);
        }
    }
    for (uint32_t i = 1; i < productions_.size(); i++) {
        const std::vector<Symbol>& body = productions_[i].body;
        Cost rest = 0;
        for (size_t k = body.size(); k-- > 0;) {
            if (body[k] < behind_.size()) behind_[body[k]] = std::min(behind_[body[k]], rest);
            rest = sum(rest, costs_[body[k]]);
        }
    }
}

Cost SymbolCosts::rest(uint32_t production, uint32_t dot) const {
    const std::vector<Symbol>& body = productions_[production].body;
    Cost all = 0;
    for (size_t k = dot; k < body.size(); k++) all = sum(all, costs_[body[k]]);
    return all;
}

Symbol SymbolCosts::first(Symbol s) const {
    while (!productions_.is_terminal(s)) s = first_[s];
    return s;
}

}  // namespace derivable
