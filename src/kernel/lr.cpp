#include "lr.hpp"

#include <algorithm>

namespace derivable {

LrAutomaton::LrAutomaton(Productions productions) : productions_(std::move(productions)) {
    uint32_t at = 0, max_symbol = 0;
    for (uint32_t i = 0; i < productions_.size(); i++) {
        offset_.push_back(at);
        uint32_t n = uint32_t(productions_[i].body.size()) + 1;
        production_of_.insert(production_of_.end(), n, i);
        at += n;
        max_symbol = std::max(max_symbol, productions_[i].head);
        for (Symbol s : productions_[i].body) max_symbol = std::max(max_symbol, s);
    }
    visited_.assign(size_t(max_symbol) + 1, 0);
    kernels_.intern({item(0, 0)});
    states_.emplace_back();
}

void LrAutomaton::expand(uint32_t id) {
    std::vector<uint64_t> moves;  // symbol and item after it
    std::vector<Reduction> reductions;
    std::vector<uint32_t> work = kernels_[id];
    visit_++;
    if (id == kStart && productions_.start_nullable()) moves.push_back(pack(kEnd, item(0, 2)));
    for (size_t i = 0; i < work.size(); i++) {
        derivable::work(4);
        const Production& p = productions_[production_of_[work[i]]];
        uint32_t dot = work[i] - offset_[production_of_[work[i]]];
        if (dot == p.body.size()) {
            if (production_of_[work[i]] != 0) reductions.push_back({p.head, dot});
            continue;
        }
        Symbol next = p.body[dot];
        if (productions_.is_terminal(next)) {
            moves.push_back(pack(next, work[i] + 1));
            continue;
        }
        derivable::work(productions_.chain(next).size());
        for (Symbol s : productions_.chain(next)) {
            moves.push_back(pack(s, work[i] + 1));
            if (productions_.is_terminal(s)) continue;
            if (visited_[s] == visit_) continue;
            visited_[s] = visit_;
            for (uint32_t q : productions_.of(s)) work.push_back(item(q, 0));
        }
    }
    derivable::work(8 * moves.size());
    std::sort(moves.begin(), moves.end());
    moves.erase(std::unique(moves.begin(), moves.end()), moves.end());
    State& state = states_[id];
    for (const Reduction& r : reductions)
        if (std::find(state.reductions.begin(), state.reductions.end(), r) == state.reductions.end()) state.reductions.push_back(r);
    state.moves.reserve(moves.size());
    state.items.reserve(moves.size());
    for (uint32_t i = 0; i < moves.size(); i++) {
        const Symbol symbol = Symbol(moves[i] >> 32);
        if (state.moves.empty() || symbol != state.moves.back().symbol) {
            state.moves.push_back({symbol, i, i, kNone});
            if (productions_.is_terminal(symbol)) state.shifts.push_back(symbol);
        }
        state.moves.back().end = i + 1;
        state.items.push_back(uint32_t(moves[i]));
    }
    state.is_complete = state.moves.empty() && state.reductions.size() == 1;
    state.is_expanded = true;
}

uint32_t LrAutomaton::move(uint32_t id, Symbol symbol) {
    State& state = expanded(id);
    auto it = std::lower_bound(state.moves.begin(), state.moves.end(), symbol, [](const Move& m, Symbol s) { return m.symbol < s; });
    if (it == state.moves.end() || it->symbol != symbol) return kNone;
    if (it->target == kNone) {
        std::vector<uint32_t> kernel(state.items.begin() + it->begin, state.items.begin() + it->end);
        std::sort(kernel.begin(), kernel.end());
        uint32_t target = kernels_.intern(kernel);
        it->target = target;
        if (target == states_.size()) states_.emplace_back();  // invalidates `state`
        return target;
    }
    return it->target;
}

std::vector<uint32_t> LrAutomaton::forget_states(const std::vector<char>& kept) {
    std::vector<uint32_t> numbers(states_.size(), kNone);
    Interner kernels;
    for (uint32_t s = 0; s < numbers.size(); s++)
        if (s == kStart || kept[s]) numbers[s] = kernels.intern(kernels_[s]);
    kernels_ = std::move(kernels);
    states_.clear();
    states_.resize(kernels_.size());
    return numbers;
}

std::vector<Symbol> LrAutomaton::symbols(uint32_t state) {
    std::vector<Symbol> out;
    for (const Move& m : expanded(state).moves) out.push_back(m.symbol);
    return out;
}

const std::vector<std::pair<uint32_t, uint32_t>> LrAutomaton::kernel(uint32_t state) const {
    std::vector<std::pair<uint32_t, uint32_t>> out;
    for (uint32_t i : kernels_[state]) out.emplace_back(production_of_[i], i - offset_[production_of_[i]]);
    return out;
}

}  // namespace derivable
