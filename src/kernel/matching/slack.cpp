#include "matching/slack.hpp"

#include <algorithm>
#include <vector>

#include "costs/left_corners.hpp"
#include "support/task.hpp"

namespace derivable {

Slack::Slack(const Engine& engine, Lexemes& lexemes, const Vocabulary& vocabulary, WaysOn& ways)
    : engine_(engine),
      lexemes_(lexemes),
      vocabulary_(vocabulary),
      ways_(ways) {
    constexpr uint64_t kMostChains = 200'000;
    constexpr uint64_t kLexeme = 2;  // a lexeme and what separates it from the next one
    if (!ways_.fewest_tokens().spells_everything()) return;
    const Productions& productions = engine_.stacks.lr().productions();
    const LeftCorners corners(productions, ways_.symbols(), kMostChains);
    per_object_ = ways_.most_pending();
    std::array<uint64_t, 256> first{};
    std::array<bool, 256> last{};
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
            last[size_t(b)] |= outline.last[uint8_t(b)];
        }
    }
    per_token_ = growth_of_tokens(first, last);
}

// The most that the lexemes of one token add. Where a lexeme may begin is told by two bytes.
uint64_t Slack::growth_of_tokens(const std::array<uint64_t, 256>& first, const std::array<bool, 256>& last) const {
    const Trie& trie = vocabulary_.trie;
    uint64_t most = 0;
    std::vector<uint64_t> sums{0};  // before each depth
    std::vector<uint8_t> bytes;
    work(trie.size());
    for (uint32_t i = 0; i < trie.size(); i++) {
        const size_t depth = trie.depth[i];
        sums.resize(depth + 1), bytes.resize(depth);
        const bool may_begin = depth == 0 || last[bytes[depth - 1]];
        sums.push_back(sums.back() + (may_begin ? first[trie.byte[i]] : 0));
        bytes.push_back(trie.byte[i]);
        most = std::max(most, sums.back());
    }
    return most;
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
