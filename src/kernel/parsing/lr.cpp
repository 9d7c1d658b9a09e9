#include "parsing/lr.hpp"

#include <algorithm>
#include <utility>

#include "support/archive.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

LrAutomaton::LrAutomaton(Productions productions) : productions_(std::move(productions)) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < productions_.size(); i++) {
        offset_.push_back(at);
        uint32_t n = uint32_t(productions_[i].body.size()) + 1;
        production_of_.insert(production_of_.end(), n, i);
        at += n;
    }
    visited_.assign(productions_.num_symbols(), 0);
    kernels_.intern({item(0, 0)});
    states_.emplace_back();
}

template <class Visit>
void LrAutomaton::each_reached(Symbol symbol, Visit visit) {
    auto reach = [&](Symbol s) {
        if (std::exchange(visited_[s], visit_) == visit_) return;
        reached_.push_back(s);
        visit(s);
    };
    reached_.clear();
    reach(symbol);
    for (size_t i = 0; i < reached_.size(); i++)
        for (Symbol u : productions_.units(reached_[i])) reach(u);
}

void LrAutomaton::expand(LrState id) {
    State state;  // SAFETY: counting may throw, so it comes when the state is complete
    uint64_t looked_at = 0;
    std::vector<uint32_t> work = kernels_[id.index()];
    visit_++;
    if (id == kStart && productions_.start_nullable()) state.items.push_back(pack(kEnd, item(0, 2))), state.shifts.push_back(kEnd);
    for (size_t i = 0; i < work.size(); i++) {
        looked_at += 4;
        const Production& p = productions_[production_of_[work[i]]];
        uint32_t dot = work[i] - offset_[production_of_[work[i]]];
        if (dot == p.body.size()) {
            const Reduction r{p.head, dot};
            if (production_of_[work[i]] != 0 && std::find(state.reductions.begin(), state.reductions.end(), r) == state.reductions.end())
                state.reductions.push_back(r);
            continue;
        }
        state.items.push_back(pack(p.body[dot], work[i] + 1));
        each_reached(p.body[dot], [&](Symbol s) {
            looked_at++;
            if (productions_.is_terminal(s)) return state.shifts.push_back(s);
            for (uint32_t q : productions_.of(s)) work.push_back(item(q, 0));
        });
    }
    std::sort(state.items.begin(), state.items.end());
    std::sort(state.shifts.begin(), state.shifts.end());
    state.shifts.erase(std::unique(state.shifts.begin(), state.shifts.end()), state.shifts.end());
    for (const Reduction& r : state.reductions) state.reads_below |= !productions_.is_in_one_place(r.head);
    state.is_complete = state.items.empty() && state.reductions.size() == 1;
    state.is_expanded = true;
    looked_at += 8 * state.items.size();
    states_[id.index()] = std::move(state);
    derivable::work(looked_at);
}

template <class Visit>
void LrAutomaton::each_behind(const State& state, Symbol next, Visit visit) {
    auto at = std::lower_bound(state.items.begin(), state.items.end(), pack(next, 0));
    for (; at != state.items.end() && Symbol(*at >> 32) == next; ++at) visit(uint32_t(*at));
}

LrState LrAutomaton::move(LrState id, Symbol symbol) {
    State& state = expanded(id);
    auto it = std::lower_bound(state.moves.begin(), state.moves.end(), symbol, [](const auto& m, Symbol s) { return m.first < s; });
    if (it != state.moves.end() && it->first == symbol) return it->second;
    std::vector<uint32_t>& kernel = words_;
    kernel.clear();
    const std::vector<Symbol>& nexts = productions_.reaching(symbol);
    // PERF: a name is reached from dozens of nonterminals. Looking for each of them among the items was a third of a move.
    constexpr size_t kSearch = 4;  // times as many as items that are looked at
    if (nexts.size() * kSearch < state.items.size()) {
        for (Symbol next : nexts) each_behind(state, next, [&](uint32_t item) { kernel.push_back(item); });
    } else {
        visit_++;
        for (Symbol next : nexts) visited_[next] = visit_;
        for (uint64_t i : state.items)
            if (visited_[i >> 32] == visit_) kernel.push_back(uint32_t(i));
    }
    std::sort(kernel.begin(), kernel.end());
    const LrState target = kernel.empty() ? kNone : LrState(kernels_.intern(kernel));
    if (target.index() == states_.size()) states_.emplace_back();
    state.moves.insert(it, {symbol, target});
    derivable::work(10 + nexts.size() + 4 * kernel.size());
    return target;
}

IdVector<LrState, LrState> LrAutomaton::forget_states(const IdVector<LrState, char>& kept) {
    IdVector<LrState, LrState> numbers(states_.size(), kNone);
    Interner kernels;
    for (uint32_t s = 0; s < numbers.size(); s++)
        if (LrState(s) == kStart || kept[LrState(s)]) numbers[LrState(s)] = LrState(kernels.intern(kernels_[s]));
    kernels_ = std::move(kernels);
    states_.clear();
    states_.resize(kernels_.size());
    return numbers;
}

void LrAutomaton::archive(Archive& a) {
    a.check(num_states() == 1);
    a.lists(kernels_, 1, [&](std::vector<uint32_t>&& kernel) {
        a.check(!kernel.empty() && std::is_sorted(kernel.begin(), kernel.end()) && kernel.back() < production_of_.size());
        states_.emplace_back();
        return kernels_.intern(std::move(kernel));
    });
    std::vector<std::vector<Symbol>> moves(num_states());
    for (uint32_t s = 0; s < moves.size(); s++) {
        for (const auto& [symbol, target] : states_[s].moves) moves[s].push_back(symbol);
        a.list(moves[s], productions_.num_symbols());
    }
    if (!a.reading()) return;
    make_moves(moves);
    a.check(num_states() == moves.size());
}

// SAFETY: in a file there may be any number of moves of large states. Those that are too many are made where they are asked for.
void LrAutomaton::make_moves(const std::vector<std::vector<Symbol>>& moves) {
    constexpr uint64_t kMostWork = 10'000'000;
    Task task(kMostWork);
    task.enter();
    try {
        for (uint32_t s = 0; s < moves.size(); s++) {
            if (moves[s].empty()) continue;
            expanded(LrState(s)).moves.reserve(moves[s].size());
            for (Symbol symbol : moves[s]) move(LrState(s), symbol);
        }
    } catch (const LimitExceeded&) {}
}

std::vector<Symbol> LrAutomaton::symbols(LrState state) {
    const std::vector<uint64_t>& items = expanded(state).items;
    std::vector<Symbol> out;
    visit_++;
    for (uint64_t i : items) each_reached(Symbol(i >> 32), [&](Symbol s) { out.push_back(s); });
    std::sort(out.begin(), out.end());
    return out;
}

// Moves that were made are mostly still known; those of all symbols are made where they were forgotten.
Symbol LrAutomaton::symbol_between(LrState from, LrState to) {
    const auto& known = states_[from.index()].moves;
    derivable::work(known.size() / 8 + 2);
    const auto move_to = std::find_if(known.begin(), known.end(), [&](const auto& m) { return m.second == to; });
    if (move_to != known.end()) return move_to->first;
    const std::vector<Symbol> all = symbols(from);
    return *std::find_if(all.begin(), all.end(), [&](Symbol s) { return move(from, s) == to; });
}

LrAutomaton::Open LrAutomaton::open(LrState id) {
    State& state = states_[id.index()];
    if (!state.knows_open) state.open = find_open(id), state.knows_open = true;
    return state.open;
}

LrAutomaton::Open LrAutomaton::find_open(LrState state) {
    const std::vector<uint32_t>& items = kernels_[state.index()];
    auto of = [&](uint32_t i) { return Open{productions_[production_of_[i]].head, i - offset_[production_of_[i]]}; };
    Open first = of(items[0]);
    for (uint32_t i : items)
        if (const Open next = of(i); production_of_[i] == 0 || next.head != first.head || next.length != first.length) return {};
    std::vector<uint32_t> rests;
    for (uint32_t i : items) {
        const std::vector<Symbol>& body = productions_[production_of_[i]].body;
        words_.assign(body.begin() + first.length, body.end());
        rests.push_back(bodies_.intern(words_));
    }
    std::sort(rests.begin(), rests.end());
    derivable::work(4 * items.size());
    first.rest = rests_.intern(rests);
    return first;
}

LrAutomaton::Items LrAutomaton::waiting(LrState id, const std::vector<Symbol>& heads) {
    const std::vector<uint32_t>& all = kernels_[id.index()];
    if (all.size() == 1) return positions(all);  // some item does
    const State& state = expanded(id);
    std::vector<uint32_t> found;
    uint64_t looked_at = 10;
    visit_++;
    reached_.clear();
    auto wait_for = [&](Symbol head) {
        if (visited_[head] == visit_) return;  // and all that reach it by units
        for (Symbol s : productions_.reaching(head))
            if (std::exchange(visited_[s], visit_) != visit_) reached_.push_back(s);
    };
    for (Symbol head : heads) wait_for(head);
    for (size_t i = 0; i < reached_.size(); i++, looked_at += 2)
        each_behind(state, reached_[i], [&](uint32_t behind) {
            const uint32_t before = behind - 1, production = production_of_[before];
            looked_at += 2;
            if (before != offset_[production] || production == 0) found.push_back(before);
            else wait_for(productions_[production].head);
        });
    std::sort(found.begin(), found.end());
    derivable::work(looked_at + 4 * found.size());
    return positions(found);
}

LrAutomaton::Items LrAutomaton::positions(const std::vector<uint32_t>& items) const {
    Items out;
    for (uint32_t i : items) out.emplace_back(production_of_[i], i - offset_[production_of_[i]]);
    return out;
}

}  // namespace derivable
