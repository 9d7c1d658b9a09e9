// What any text of a large grammar meets before long, worked out at compile time.
#include <algorithm>
#include <utility>

#include "matching/constraint.hpp"

namespace derivable {

// Visits a few situations that between them accept nearly all terminals: the beginnings of statements, of members, of operands, what may stand
// behind an operand.
//
// PERF: the first name of a text, the first body, the first operand were its longest stalls, for most of what a new lexer state asks about names,
// keywords and operators it asks as every other does. Thirty programs, llama-3: Java 4.4 to 1.6 ms, Go 4.5 to 1.9, Python 5.9 to 2.4, for 10 to 17 ms
// at compile time.
void Constraint::warm() {
    constexpr size_t kMostPlaces = 128, kMostVisited = 8, kWorthwhile = 3;  // terminals
    Lexer& lexer = this->lexer();
    struct Place {
        Frontier stack;
        Environment environment;
        uint32_t accepts;
        size_t before;    // the place from which it was reached,
        Symbol terminal;  // by this
    };
    std::vector<Place> places{{stacks.bottom(), kNoEnvironment, stacks.accepts(stacks.bottom()), 0, kEnd}};
    std::vector<char> seen(places[0].accepts + 1, 0);
    seen[places[0].accepts] = 1;
    for (size_t i = 0; i < places.size() && places.size() < kMostPlaces; i++) {
        const Place from = places[i];
        const std::vector<Symbol> terminals = stacks.terminals(from.accepts);
        for (Symbol t : terminals) {
            // Lines are not followed here: what stands in blocks stands behind a colon, too.
            if (t == kEnd || (indentations_.active() &&
                              (t == indentations_.spec.newline || t == indentations_.spec.indent || t == indentations_.spec.dedent)))
                continue;
            const After after = after_lexeme(t, from.stack, from.environment);
            if (after.stack == kNoFrontier) continue;
            const uint32_t accepts = stacks.accepts(after.stack);
            if (seen.size() <= accepts) seen.resize(accepts + 1, 0);
            if (!std::exchange(seen[accepts], 1)) places.push_back({after.stack, after.environment, accepts, i, t});
        }
    }
    const uint32_t past = lexer.nothing_owed(lexer.step_obligations(lexer.text_start(), ' '));
    auto start = [&](const Place& p) { return lexeme_start(p.accepts, past); };
    auto visit = [&](const Place& p, uint8_t byte) {
        Threads threads;
        step({{start(p), p.stack, p.environment}}, byte, threads);
        for (const Thread& t : threads) row(t);
    };
    std::vector<char> covered(to_lexer_.size(), 0);
    auto gain = [&](const Place& p) {
        const std::vector<Symbol>& terminals = stacks.terminals(p.accepts);
        return std::count_if(terminals.begin(), terminals.end(), [&](Symbol t) { return !covered[t]; });
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
        for (uint8_t byte : lexer.representative_bytes()) {
            const LexState s = lexer.step(start(before), byte);
            if (s == kNoState) continue;
            const std::vector<Lexer::Exit>& exits = lexer.exits(s);
            if (std::none_of(exits.begin(), exits.end(), [&](const Lexer::Exit& e) { return e.terminal == to_lexer_[best.terminal]; }))
                continue;
            visit(before, byte);
            break;
        }
    }
}

}  // namespace derivable
