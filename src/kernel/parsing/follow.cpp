#include "parsing/follow.hpp"

#include <utility>

#include "support/task.hpp"

namespace derivable {

namespace {
constexpr uint32_t kMaxStates = 20'000;  // of the LR automaton, for questions about all of them
}

Adjacency& Adjacency::computed() {
    if (!follow_.empty()) return *this;
    Productions& ps = lr_.productions();
    const uint32_t terminals = ps.num_terminals() + 1, symbols = ps[0].head;
    work(uint64_t(symbols) * (terminals / 64 + 1) + 20 * uint64_t(ps.size()));
    std::vector<Bits> first(symbols, Bits(terminals));  // terminals that can begin a symbol
    for (Symbol s = 0; s < terminals; s++) first[s].add(s);
    for (bool grew = true; grew;) {
        grew = false;
        for (uint32_t i = 1; i < ps.size(); i++) grew |= first[ps[i].head].add_all(first[ps[i].body.front()]);
        for (Symbol s = terminals; s < symbols; s++)
            for (Symbol u : ps.chain(s))
                if (u != s) grew |= first[s].add_all(first[u]);
    }
    follow_.assign(symbols, Bits(terminals));
    for (uint32_t i = 0; i < ps.size(); i++)
        for (size_t k = 0; k + 1 < ps[i].body.size(); k++) follow_[ps[i].body[k]].add_all(first[ps[i].body[k + 1]]);
    for (bool grew = true; grew;) {
        grew = false;
        for (uint32_t i = 1; i < ps.size(); i++) grew |= follow_[ps[i].body.back()].add_all(follow_[ps[i].head]);
        for (Symbol s = terminals; s < symbols; s++)
            for (Symbol u : ps.chain(s))
                if (u != s) grew |= follow_[u].add_all(follow_[s]);
    }
    initial_ = first[ps[0].body[0]];
    if (ps.start_nullable()) initial_.add(kEnd);
    return *this;
}

bool Adjacency::explore() {
    if (explored_ >= 0) return explored_;
    for (uint32_t q = 0; q < lr_.num_states(); q++) {
        for (Symbol s : lr_.symbols(LrState(q))) lr_.move(LrState(q), s);
        if (lr_.num_states() > kMaxStates) return (explored_ = 0) != 0;
    }
    return (explored_ = 1) != 0;
}

const Bits* Adjacency::company(Symbol t) {
    if (company_.empty()) {
        if (!explore()) return nullptr;
        const uint32_t terminals = lr_.productions().num_terminals() + 1;
        std::vector<char> met(terminals, 0);
        std::vector<Bits> company(terminals, Bits(terminals));  // kept when it is complete
        for (uint32_t q = 0; q < lr_.num_states(); q++) {
            work(10);
            Bits here(terminals);
            for (Symbol s : lr_.shifts(LrState(q))) here.add(s);
            for (Symbol s : lr_.shifts(LrState(q))) {
                if (met[s]) company[s].keep(here);
                else company[s] = here, met[s] = 1;
            }
        }
        company_ = std::move(company);
    }
    return &company_[t];
}

bool Adjacency::deterministic() {
    if (deterministic_ >= 0) return deterministic_;
    if (!explore()) return (deterministic_ = 0) != 0;
    for (uint32_t q = 0; q < lr_.num_states(); q++) {
        Bits taken(lr_.productions().num_terminals() + 1);
        for (Symbol s : lr_.shifts(LrState(q))) taken.add(s);
        for (const LrAutomaton::Reduction& r : lr_.reductions(LrState(q))) {
            if (taken.meets(follow(r.head))) return (deterministic_ = 0) != 0;
            taken.add_all(follow(r.head));
        }
    }
    return (deterministic_ = 1) != 0;
}

}  // namespace derivable
