#include "matching/slack.hpp"

#include <algorithm>
#include <vector>

#include "costs/left_corners.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {
constexpr uint64_t kLexeme = 2;  // a lexeme and what separates it from the next one
constexpr uint64_t kMargin = 8;  // the end, a lexeme in progress, columns
}  // namespace

Slack::Slack(const Engine& engine, Lexemes& lexemes, WaysOn& ways) : engine_(engine), lexemes_(lexemes), ways_(ways) { find_per_token(); }

// Inner texts begin behind lexemes of this grammar, one behind each.
void Slack::find_per_token() {
    constexpr uint64_t kMostChains = 200'000;
    if (!ways_.fewest_tokens().spells_everything()) return;
    const Productions& productions = engine_.stacks.lr().productions();
    const LeftCorners corners(productions, ways_.symbols(), kMostChains);
    per_object_ = ways_.most_pending();
    const uint64_t inner = most_of_inner(corners);
    if (inner >= kNone / 4) return;
    LexemeBegins::Weights first{};
    ByteSet last;
    for (Symbol s = 1; s < engine_.terminals.size(); s++) {
        if (!productions.is_used(s) && !engine_.terminals.is_ignored(s)) continue;
        engine_.access.take();
        if (engine_.spanner.lexer.recognizer(engine_.terminals.to_lexer(s)).is_empty()) continue;
        const LexemeTexts::Outline& outline = ways_.texts().outline(engine_.terminals.to_lexer(s));
        rest_ = std::max(rest_, outline.longest_rest * ways_.longest_spelling());
        const Cost growth = engine_.terminals.is_ignored(s) ? 0 : corners.growth(s);
        if (growth >= kNoCost || rest_ >= kNone / 4) return;
        const uint64_t more = separated_ * tokens_of(growth) + kLexeme + (engine_.environments.tallies.opens(s) ? per_object_ : 0) + inner;
        for (int b = 0; b < 256; b++) {
            if (outline.first[uint8_t(b)]) first[size_t(b)] = std::max(first[size_t(b)], more);
            if (outline.last[uint8_t(b)]) last.set(uint8_t(b));
        }
    }
    engine_.access.take();
    per_token_ = engine_.spanner.begins().most(first, last) + inner;
}

uint64_t Slack::most_of_inner(const LeftCorners& corners) const {
    uint64_t most = 0;
    for (const auto& language : engine_.terminals.languages()) {
        if (!engine_.stacks.lr().productions().is_used(language->symbol())) continue;
        const EmbeddedText::Slack slack = language->begin()->slack();
        const Cost growth = corners.growth(language->symbol());
        if (slack.per_token == kNone || growth >= kNoCost) return kNone;
        most = std::max(most, separated_ * tokens_of(growth) + kLexeme + slack.needed + slack.per_token);
    }
    return most;
}

EmbeddedText::Slack Slack::of(const Parses& parses) {
    if (per_token_ == kNone) return {};
    uint64_t most = 0, inner = 0, per_token = 0;
    const auto look = [&](Frontier stack, Environment environment) {
        const Cost cost = ways_.stacks().most(stack);
        const bool counts = engine_.environments.tallies.active();
        const uint64_t objects = counts ? engine_.environments.tallies.depth(environment) : 0;
        most = std::max(most, cost >= kNoCost ? kNone / 4 : separated_ * tokens_of(cost) + objects * per_object_);
    };
    for (const Parse& t : parses) {
        if (t.embedded) {
            const After after = lexemes_.after(t.embedded->symbol(), t.stack, t.environment);
            if (after.stack != kNoFrontier) look(after.stack, after.environment);
            const EmbeddedText::Slack slack = t.embedded->slack();
            if (slack.per_token == kNone) return {};
            inner = std::max(inner, slack.needed), per_token = std::max(per_token, slack.per_token);
            continue;
        }
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
    return {most + inner + rest_ + kMargin, per_token_ + per_token};
}

uint64_t Slack::free_steps(const Parses& parses, uint64_t left) {
    const EmbeddedText::Slack slack = of(parses);
    if (slack.per_token == kNone) return 0;
    const uint64_t needed = slack.needed + slack.per_token;
    return left < needed ? 0 : 1 + (left - needed) / (slack.per_token + 1);
}

}  // namespace derivable
