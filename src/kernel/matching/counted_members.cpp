// What a constraint does about keys in any order; json/tallies.hpp says what is counted.
#include <algorithm>
#include <vector>

#include "matching/constraint.hpp"
#include "support/task.hpp"

namespace derivable {

Constraint::After Constraint::after_counted(Symbol symbol, Frontier f, Environment tally) {
    const Stacks::Shifted s = stacks.shift(f, symbol);
    if (s.frontier == kNoFrontier) return {s.frontier, tally, s.hops, 0};
    if (tallies_.asks(symbol)) look_at_tally(tally);
    if (!tallies_.allows(symbol, tally, false)) return {kNoFrontier, tally, s.hops, 0};
    return {s.frontier, tallies_.after(symbol, tally), s.hops, s.above};
}

bool Constraint::asks_tally(uint32_t accept_set) {
    if (asks_tally_.size() <= accept_set) asks_tally_.resize(accept_set + 1);
    char& known = asks_tally_[accept_set];
    if (!known) {
        const std::vector<Symbol>& all = stacks.terminals(accept_set);
        known = std::any_of(all.begin(), all.end(), [&](Symbol s) { return tallies_.asks(s); }) ? 2 : 1;
    }
    return known == 2;
}

LexState Constraint::start_by_tally(uint32_t accept_set, Environment tally) {
    look_at_tally(tally);
    const uint64_t key = pack(tallies_.held(tally) << 1 | forcing_, accept_set);
    const LexState* known = starts_by_tally_.find(key);
    if (known && *known) return *known - 1;
    std::vector<uint32_t> candidates = ignored_lexer_;
    work(5 + stacks.terminals(accept_set).size());
    for (Symbol s : stacks.terminals(accept_set))
        if (s != kEnd && tallies_.allows(s, tally, forcing_)) candidates.push_back(to_lexer_[s]);
    Lexer& lexer = this->lexer();
    LexState state = candidates.empty() ? kNoState : lexer.start(candidates, lexer.text_start());
    if (state != kNoState) state = lexer.members(state);
    starts_by_tally_[key] = state + 1;  // no state counts as not known
    return state;
}

// What is left of threads if keys come in their order: of lexemes in progress, too. All, if the text has left it.
Threads Constraint::in_order(const Threads& threads) {
    if (!tallies_.ordered()) return threads;
    Threads out;
    for (Thread t : threads) {
        const uint32_t accepts = stacks.accepts(t.stack);
        if (asks_tally(accepts) && !spanner_->lexer.is_fresh(t.lex))
            t.lex = lexer().members_if(t.lex, [&](LexState single) {
                for (Symbol s : symbols_of(spanner_->lexer.terminal_of(single)))
                    if (stacks.contains(accepts, s) && tallies_.allows(s, t.environment, true)) return true;
                return false;
            });
        if (t.lex != kNoState) out.push_back(std::move(t));
    }
    return out.empty() ? threads : out;
}

void Constraint::step_in_order(const Threads& from, uint8_t byte, Threads& to) {
    struct Forcing {
        bool& flag;
        explicit Forcing(bool& f) : flag(f) { flag = true; }
        ~Forcing() { flag = false; }
    };
    if (!tallies_.ordered()) return step(from, byte, to);
    Forcing forcing(forcing_);
    step(from, byte, to);
}

// The part of a tally that masks are kept by. No word of a stack's signature is one.
uint64_t Constraint::tally_key(Environment tally, uint8_t looked) const {
    return looked & kTallies ? 4ULL << 32 | tally : 3ULL << 32 | tallies_.held(tally);
}

}  // namespace derivable
