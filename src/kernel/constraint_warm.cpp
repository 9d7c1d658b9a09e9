// What any text of a large grammar meets before long, worked out at compile time.
#include "span_walk.hpp"

namespace derivable {

// Visits a few situations that between them accept nearly all terminals: the beginnings of statements, of members, of operands, what may stand behind an operand.
//
// PERF: the first name of a text, the first body, the first operand were its longest stalls, for most of what a new lexer state asks about names, keywords and
// operators it asks as every other does. Thirty programs, llama-3: Java 4.4 to 1.6 ms,
// Go 4.5 to 1.9, Python 5.9 to 2.4, for 10 to 17 ms at compile time.
void Constraint::warm() {
    constexpr size_t kMostPlaces = 128, kMostVisited = 8, kWorthwhile = 3;  // terminals
    Lexer& lexer = spanner_->lexer;
    struct Place {  // behind a terminal, by what may follow
        Frontier stack, before;
        Symbol terminal;
        uint32_t accepts;
    };
    const uint32_t first = stacks.accepts(stacks.bottom());
    std::vector<Place> places{{stacks.bottom(), kNoFrontier, kEnd, first}};
    std::vector<char> seen(first + 1, 0);
    seen[first] = 1;
    for (size_t i = 0; i < places.size() && places.size() < kMostPlaces; i++) {
        const Place from = places[i];
        const std::vector<Symbol> terminals = stacks.terminals(from.accepts);
        for (Symbol t : terminals) {
            // Layouts are not followed here: what stands in blocks stands behind a colon, too.
            if (t == kEnd || (layouts_.active() && (t == layouts_.spec.newline || t == layouts_.spec.indent || t == layouts_.spec.dedent))) continue;
            const Frontier after = stacks.shift(from.stack, t).frontier;
            if (after == kNoFrontier) continue;
            const uint32_t accepts = stacks.accepts(after);
            if (seen.size() <= accepts) seen.resize(accepts + 1, 0);
            if (!std::exchange(seen[accepts], 1)) places.push_back({after, from.stack, t, accepts});
        }
    }
    const uint32_t past = lexer.settled(lexer.step_duties(lexer.text_start(), ' '));
    std::vector<char> covered(to_lexer_.size(), 0);
    auto gain = [&](const Place& p) {
        const std::vector<Symbol>& terminals = stacks.terminals(p.accepts);
        return size_t(std::count_if(terminals.begin(), terminals.end(), [&](Symbol t) { return !covered[t]; }));
    };
    for (size_t i = 0; i < kMostVisited; i++) {
        const Place& best = *std::max_element(places.begin(), places.end(), [&](const Place& a, const Place& b) { return gain(a) < gain(b); });
        if (gain(best) < kWorthwhile) break;
        for (Symbol t : stacks.terminals(best.accepts)) covered[t] = 1;
        // Behind a blank, and where the lexeme before has just begun.
        if (const LexState s = lexeme_start(best.accepts, past); s != kNoState) {
            const LexState blank = lexer.step(s, ' ');
            if (blank != kNoState) row({blank, best.stack});
        }
        if (best.before == kNoFrontier) continue;
        const LexState start = lexeme_start(stacks.accepts(best.before), past);
        for (uint8_t byte : lexer.representative_bytes()) {
            const LexState s = lexer.step(start, byte);
            if (s == kNoState) continue;
            const std::vector<Lexer::Exit>& exits = lexer.exits(s);
            if (std::none_of(exits.begin(), exits.end(), [&](const Lexer::Exit& e) { return e.terminal == to_lexer_[best.terminal]; })) continue;
            row({s, best.before});
            break;
        }
    }
}

}  // namespace derivable
