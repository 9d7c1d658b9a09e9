#include "matching/prewarm.hpp"

#include <algorithm>
#include <utility>

namespace derivable {

void prewarm(Lexer& lexer, Stacks& stacks, const Terminals& terminals, const Environments& environments, Lexemes& lexemes, Runs& runs,
             Masks& masks) {
    constexpr size_t kMostPlaces = 128, kMostVisited = 8, kWorthwhile = 3;  // terminals
    const Indentations& indentations = environments.indentations;
    struct Place {
        Frontier stack;
        Environment environment;
        AcceptSet accepts;
        size_t before;    // the place from which it was reached,
        Symbol terminal;  // by this
    };
    std::vector<Place> places{{stacks.bottom(), kNoEnvironment, stacks.accepts(stacks.bottom()), 0, kEnd}};
    IdVector<AcceptSet, char> seen;
    seen.reach(places[0].accepts);
    seen[places[0].accepts] = 1;
    for (size_t i = 0; i < places.size() && places.size() < kMostPlaces; i++) {
        const Place from = places[i];
        const std::vector<Symbol> accepted = stacks.terminals(from.accepts);
        for (Symbol t : accepted) {
            // Lines are not followed here: what stands in blocks stands behind a colon, too.
            if (t == kEnd || (indentations.active() &&
                              (t == indentations.spec.newline || t == indentations.spec.indent || t == indentations.spec.dedent)))
                continue;
            const After after = lexemes.after(t, from.stack, from.environment);
            if (after.stack == kNoFrontier) continue;
            const AcceptSet accepts = stacks.accepts(after.stack);
            seen.reach(accepts);
            if (!std::exchange(seen[accepts], 1)) places.push_back({after.stack, after.environment, accepts, i, t});
        }
    }
    const Obligations past = lexer.formulas.nothing_owed(lexer.formulas.step(lexer.formulas.text_start(), ' '));
    auto start = [&](const Place& p) { return lexemes.start(p.accepts, past); };
    auto visit = [&](const Place& p, uint8_t byte) {
        Parses parses;
        runs.step({{start(p), p.stack, p.environment}}, byte, parses);
        for (const Parse& t : parses) masks.row(t);
    };
    std::vector<char> covered(terminals.size(), 0);
    auto gain = [&](const Place& p) {
        const std::vector<Symbol>& accepted = stacks.terminals(p.accepts);
        return std::count_if(accepted.begin(), accepted.end(), [&](Symbol t) { return !covered[t]; });
    };
    for (size_t i = 0; i < kMostVisited; i++) {
        const Place& best =
            *std::max_element(places.begin(), places.end(), [&](const Place& a, const Place& b) { return gain(a) < gain(b); });
        if (size_t(gain(best)) < kWorthwhile) break;
        for (Symbol t : stacks.terminals(best.accepts)) covered[t] = 1;
        if (start(best) == kNoState) continue;
        visit(best, ' ');
        // And where the lexeme before may have ended with its first byte.
        const Place& before = places[best.before];
        if (best.terminal == kEnd || start(before) == kNoState) continue;
        for (uint8_t byte : lexer.kinds.representatives()) {
            const LexState s = lexer.step(start(before), byte);
            if (s == kNoState) continue;
            const std::vector<Lexer::Exit>& exits = lexer.exits(s);
            if (std::none_of(exits.begin(), exits.end(),
                             [&](const Lexer::Exit& e) { return e.terminal == terminals.to_lexer(best.terminal); }))
                continue;
            visit(before, byte);
            break;
        }
    }
}

}  // namespace derivable
