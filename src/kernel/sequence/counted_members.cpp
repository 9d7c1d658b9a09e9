#include "sequence/counted_members.hpp"

#include <algorithm>

#include "support/task.hpp"

namespace derivable {

After CountedMembers::after(Symbol symbol, Frontier f, Environment tally) {
    const Stacks::Shifted s = stacks_.shift(f, symbol);
    if (s.frontier == kNoFrontier) return {s.frontier, tally, s.reach, 0};
    Reach reach = s.reach;
    if (tallies_.asks(symbol)) reach.tally = tallies_.depth(tally);
    if (!tallies_.allows(symbol, tally, false)) return {kNoFrontier, tally, reach, 0};
    return {s.frontier, tallies_.after(symbol, tally), reach, s.above};
}

bool CountedMembers::asks(AcceptSet accept_set) {
    asks_.reach(accept_set);
    char& known = asks_[accept_set];
    if (!known) {
        const std::vector<Symbol>& all = stacks_.terminals(accept_set);
        known = std::any_of(all.begin(), all.end(), [&](Symbol s) { return tallies_.asks(s); }) ? 2 : 1;
    }
    return known == 2;
}

Answer<LexState> CountedMembers::start(AcceptSet accept_set, Environment tally, bool in_order) {
    const Reach reach{0, false, false, tallies_.depth(tally)};
    const uint64_t key = pack(tallies_.alike_held(tallies_.held(tally)) << 1 | in_order, accept_set);
    const LexState* known = starts_.find(key);
    if (known) return {*known, reach};
    std::vector<TerminalId> candidates = terminals_.everywhere();
    work(5 + stacks_.terminals(accept_set).size());
    for (Symbol s : stacks_.terminals(accept_set))
        if (s != kEnd && tallies_.allows(s, tally, in_order)) candidates.push_back(terminals_.to_lexer(s));
    Lexer& lexer = access_.lexer();
    LexState state = candidates.empty() ? kNoState : lexer.start(candidates, lexer.formulas.text_start());
    if (state != kNoState) state = lexer.members(state);
    starts_[key] = state;
    return {state, reach};
}

Parses CountedMembers::in_order(const Parses& parses) {
    if (!tallies_.ordered()) return parses;
    Parses out;
    for (Parse t : parses) {
        const AcceptSet accepts = stacks_.accepts(t.stack);
        Lexer& lexer = access_.lexer();
        if (asks(accepts) && !lexer.is_fresh(t.lex))
            t.lex = lexer.sets.keep_if(t.lex, [&](LexState single) {
                for (Symbol s : terminals_.of(lexer.automata.terminal_of(single)))
                    if (stacks_.contains(accepts, s) && tallies_.allows(s, t.environment, true)) return true;
                return false;
            });
        if (t.lex != kNoState) out.push_back(std::move(t));
    }
    return out.empty() ? parses : out;
}

}  // namespace derivable
