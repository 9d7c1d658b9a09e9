#include "sequence/lexeme_bounds.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

void LexemeBounds::prepare() {
    for (Symbol s = 1; s < engine_.terminals.size(); s++) {
        const TerminalId terminal = engine_.terminals.to_lexer(s);
        const uint32_t bound = engine_.terminals.max_tokens(terminal);
        if (bound == kAnyNumber) continue;
        engine_.access.take();
        const uint64_t least = rest(engine_.spanner.rests().texts().start(terminal));
        if (least > bound)
            throw LimitExceeded("tokens of a part", least, bound, "the shortest text of a part, a token for each of its bytes");
        // Behind the last token it must end.
        far_ = std::min(far_, bound - std::min<uint64_t>(bound, std::max<uint64_t>(1, longest_rest(terminal))));
    }
}

uint64_t LexemeBounds::rest(LexState single) {
    if (engine_.access.lexer().automata.accepts(single)) return 0;
    const std::optional<std::string> text = engine_.spanner.rests().texts().shortest(engine_.access.lexer().alike.equal(single));
    return text ? text->size() : ~0ULL;
}

uint64_t LexemeBounds::longest_rest(TerminalId terminal) const { return engine_.spanner.rests().texts().outline(terminal).longest_rest; }

template <class Judge>
bool LexemeBounds::some_member(LexState lex, Judge judge) const {
    Lexer& lexer = engine_.access.lexer();
    const Singles members = lexer.sets.singles(lexer.members(lex));
    return std::any_of(members.begin(), members.end(), [&](LexState single) {
        const TerminalId terminal = lexer.automata.terminal_of(single);
        const uint32_t bound = engine_.terminals.max_tokens(terminal);
        return bound != kAnyNumber && judge(single, terminal, bound);
    });
}

bool LexemeBounds::is_bounded(LexState lex) {
    if (const bool* known = bounded_.find(lex)) return *known;
    return bounded_[lex] = some_member(lex, [](LexState, TerminalId, uint32_t) { return true; });
}

bool LexemeBounds::ends(LexState single, TerminalId terminal, uint32_t bound, uint32_t tokens) {
    return tokens >= bound || (longest_rest(terminal) > bound - tokens && rest(single) > bound - tokens);
}

bool LexemeBounds::count_far(Parses& parses) {
    for (const Parse& t : parses)
        if (t.tokens + 1 > far_ || (t.tokens && !is_bounded(t.lex))) return false;
    for (Parse& t : parses)
        if (is_bounded(t.lex) && !engine_.access.lexer().is_fresh(t.lex)) t.tokens++;
    return true;
}

void LexemeBounds::end_token(Parses& parses, const Stepper::Keep& keep) {
    if (!active() || count_far(parses)) return;
    const Parses all = std::move(parses);
    parses.clear();
    for (Parse t : all) {
        Lexer& lexer = engine_.access.lexer();
        if (lexer.is_fresh(t.lex)) {
            stepper_.add(parses, std::move(t), keep);
            continue;
        }
        const uint32_t tokens = t.tokens + 1;
        const auto ends_now = [&](LexState single, TerminalId terminal, uint32_t bound) { return ends(single, terminal, bound, tokens); };
        if (some_member(t.lex, ends_now)) {
            std::vector<TerminalId> ended;
            const LexState left = lexer.sets.keep_if(lexer.members(t.lex), [&](LexState single) {
                const TerminalId terminal = lexer.automata.terminal_of(single);
                const uint32_t bound = engine_.terminals.max_tokens(terminal);
                if (bound == kAnyNumber || !ends_now(single, terminal, bound)) return true;
                if (tokens >= bound && lexer.automata.accepts(single)) ended.push_back(terminal);
                return false;
            });
            for (TerminalId terminal : ended) end_lexeme(t, terminal, parses, keep);
            t.lex = left;
            if (left == kNoState) continue;
        }
        t.tokens = is_bounded(t.lex) ? tokens : 0;
        stepper_.add(parses, std::move(t), keep);
    }
}

void LexemeBounds::end_lexeme(const Parse& t, TerminalId terminal, Parses& parses, const Stepper::Keep& keep) {
    const auto go_on = [&](Frontier stack, Environment environment) {
        stepper_.add(parses, {lexemes_.between(stack, environment), stack, environment, t.writing}, keep);
    };
    for (Symbol symbol : engine_.terminals.of(terminal)) {
        if (engine_.terminals.is_ignored(symbol)) go_on(t.stack, t.environment);
        const After after = lexemes_.after(symbol, t.stack, t.environment);
        if (after.stack != kNoFrontier) go_on(engine_.stacks.minimal(after.stack), after.environment);
    }
}

bool LexemeBounds::may_refuse(const Parses& parses) const {
    if (!active()) return false;
    if (!far_) return true;
    return std::any_of(parses.begin(), parses.end(), [&](const Parse& t) {
        return t.tokens + 1 > far_ && some_member(t.lex, [&](LexState, TerminalId terminal, uint32_t bound) {
                   return longest_rest(terminal) + t.tokens + 1 > bound;
               });
    });
}

}  // namespace derivable
