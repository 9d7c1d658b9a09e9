#include "matching/slack.hpp"

#include <algorithm>
#include <vector>

#include "costs/left_corners.hpp"
#include "support/task.hpp"

namespace derivable {

Slack::Slack(const Engine& engine, Lexemes& lexemes, WaysOn& ways) : engine_(engine), lexemes_(lexemes), ways_(ways) {
    constexpr uint64_t kMostChains = 200'000;
    constexpr uint64_t kLexeme = 2;  // a lexeme and what separates it from the next one
    if (!ways_.fewest_tokens().spells_everything()) return;
    const Productions& productions = engine_.stacks.lr().productions();
    const LeftCorners corners(productions, ways_.symbols(), kMostChains);
    per_object_ = ways_.most_pending();
    LexemeBegins::Weights first{};
    ByteSet last;
    for (Symbol s = 1; s < engine_.terminals.size(); s++) {
        if (!productions.is_used(s) && !engine_.terminals.is_ignored(s)) continue;
        engine_.access.take();
        if (engine_.spanner.lexer.recognizer(engine_.terminals.to_lexer(s)).is_empty()) continue;
        const LexemeTexts::Outline& outline = ways_.texts().outline(engine_.terminals.to_lexer(s));
        rest_ = std::max(rest_, outline.longest_rest);
        const Cost growth = engine_.terminals.is_ignored(s) ? 0 : corners.growth(s);
        if (growth >= kNoCost || rest_ >= kNone / 4) return;
        const uint64_t more = separated_ * tokens_of(growth) + kLexeme + (engine_.environments.tallies.opens(s) ? per_object_ : 0);
        for (int b = 0; b < 256; b++) {
            if (outline.first[uint8_t(b)]) first[size_t(b)] = std::max(first[size_t(b)], more);
            if (outline.last[uint8_t(b)]) last.set(uint8_t(b));
        }
    }
    engine_.access.take();
    per_token_ = engine_.spanner.begins().most(first, last);
}

uint64_t Slack::free_steps(const Parses& parses, uint64_t left) {
    if (per_token_ == kNone) return 0;
    uint64_t most = 0;
    const auto look = [&](Frontier stack, Environment environment) {
        const Cost cost = ways_.stacks().most(stack);
        const bool counts = engine_.environments.tallies.active();
        const uint64_t objects = counts ? engine_.environments.tallies.depth(environment) : 0;
        most = std::max(most, cost >= kNoCost ? kNone / 4 : separated_ * tokens_of(cost) + objects * per_object_);
    };
    for (const Parse& t : parses) {
        Lexer& lexer = engine_.access.lexer();
        look(t.stack, t.environment);
        if (lexer.is_fresh(t.lex)) continue;
        for (LexState member : lexer.singles(lexer.members(t.lex)))
            for (Symbol symbol : engine_.terminals.of(engine_.access.lexer().terminal_of(member))) {
                if (engine_.terminals.is_ignored(symbol)) continue;
                const After after = lexemes_.after(symbol, t.stack, t.environment);
                if (after.stack != kNoFrontier) look(after.stack, after.environment);
            }
    }
    constexpr uint64_t kMargin = 8;  // the end, a lexeme in progress, columns
    const uint64_t needed = most + per_token_ + rest_ + kMargin;
    return left < needed ? 0 : 1 + (left - needed) / (per_token_ + 1);
}

}  // namespace derivable
