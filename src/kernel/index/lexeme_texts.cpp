#include "index/lexeme_texts.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "support/task.hpp"

namespace derivable {

LexemeTexts::LexemeTexts(Lexer& lexer, const FewestTokens& tokens) : lexer_(lexer) {
    std::string preferred = "\"a01)]};:,.=";
    for (char c = 'b'; c <= 'z'; c++) preferred.push_back(c);
    std::array<bool, 256> taken{};
    size_t n = 0;
    auto take = [&](uint8_t b) {
        if (!std::exchange(taken[b], true)) order_[n++] = b;
    };
    for (char c : preferred) take(uint8_t(c));
    for (int b = 0x21; b < 0x7F; b++)
        if (b != '\\') take(uint8_t(b));
    for (int b = 0; b < 256; b++) take(uint8_t((b + ' ') % 256));
    constexpr size_t kLong = 64;
    uint32_t fewest = FewestTokens::kNone;
    for (char c : std::string_view("axz01 -=")) {
        const uint32_t here = tokens.of(std::string(kLong, c));
        if (here < fewest) fewest = here, filler_ = uint8_t(c);
    }
}

LexState LexemeTexts::start(TerminalId terminal) {
    starts_.reach(terminal, 0, kNoState);
    if (starts_[terminal] == kNoState) {
        const LexState s = lexer_.start({terminal}, lexer_.text_start());
        starts_[terminal] = s == kNoState ? s : *lexer_.singles(lexer_.members(s)).begin();
    }
    return starts_[terminal];
}

// Of bytes that act alike, one. `plain`: ASCII and no backslash, where any of it leads on.
template <class Visit>
void LexemeTexts::each_step(LexState single, bool plain, Visit visit) {
    const std::array<uint8_t, 256>* classes = lexer_.classes(single);
    std::array<bool, 256> seen{};
    bool some = false;
    const auto try_byte = [&](uint8_t b) {
        if (classes && std::exchange(seen[(*classes)[b]], true)) return;
        work();
        const LexState next = lexer_.step(single, b);
        if (next == kNoState) return;
        some = true;
        visit(b, next);
    };
    const auto is_plain = [](uint8_t b) { return b < 0x80 && b != '\\'; };
    for (uint8_t b : order_)
        if (!plain || is_plain(b)) try_byte(b);
    if (plain && !some)
        for (uint8_t b : order_)
            if (!is_plain(b)) try_byte(b);
}

// Breadth first, up to a state that accepts, or the way from which is known.
bool LexemeTexts::find(LexState single, bool plain) {
    constexpr size_t kMost = 1u << 15;  // states
    struct Way {
        LexState state;
        size_t from;
        uint8_t byte;
        uint32_t depth;
    };
    std::vector<Way> ways{{single, 0, 0, 0}};
    std::unordered_map<LexState, char> met{{single, 1}};
    size_t best = 0;
    uint32_t least = ~0u;
    const auto offer = [&](size_t i, uint32_t length) {
        if (length < least) least = length, best = i;
    };
    for (size_t i = 0; i < ways.size() && ways[i].depth < least && ways.size() < kMost; i++) {
        const Way way = ways[i];
        uint64_t need = 0, room = 0;
        if (lexer_.accepts_single(way.state)) {
            keep(way.state, {});
            offer(i, way.depth);
        } else if (const Step* known = steps_.find(way.state)) {
            offer(i, way.depth + known->left);
        } else if (lexer_.is_counted(way.state, need, room) && need) {
            // PERF: of a string of at least 10,000 characters each count would be a state to be looked for.
            LexState s = way.state;
            for (uint32_t left = uint32_t(need) + 1; left > 0; left--) {
                const uint8_t b = left > 1 ? filler_ : uint8_t('"');
                const LexState next = lexer_.step(s, b);
                if (next == kNoState) break;
                keep(s, {b, next, left});
                s = next;
            }
            if (lexer_.accepts_single(s)) keep(s, {}), offer(i, way.depth + uint32_t(need) + 1);
        } else {
            each_step(way.state, plain, [&](uint8_t byte, LexState next) {
                if (met.try_emplace(next, 1).second) ways.push_back({next, i, byte, way.depth + 1});
            });
        }
    }
    if (least == ~0u) return false;
    for (size_t i = best; i; i = ways[i].from) {
        const Way& before = ways[ways[i].from];
        keep(before.state, {ways[i].byte, ways[i].state, least - before.depth});
    }
    return true;
}

std::optional<std::string> LexemeTexts::shortest(LexState single) {
    if (!steps_.find(single) && !find(single, true) && !find(single, false)) return std::nullopt;
    std::string text;
    for (const Step* step = steps_.find(single); step->next != kNoState; step = steps_.find(step->next)) {
        text.push_back(char(step->byte));
        if (!steps_.find(step->next)) return std::nullopt;
    }
    work(text.size());
    return text;
}

std::vector<std::string> LexemeTexts::several(LexState single, size_t most) {
    constexpr size_t kMostTried = 1u << 12;
    std::vector<std::string> out;
    struct Way {
        LexState state;
        std::string text;
    };
    std::vector<Way> ways{{single, {}}};
    for (size_t i = 0; i < ways.size() && out.size() < most && ways.size() < kMostTried; i++) {
        if (lexer_.accepts_single(ways[i].state)) out.push_back(ways[i].text);
        for (uint8_t b : order_) {
            work();
            const LexState next = lexer_.step(ways[i].state, b);
            if (next == kNoState || b >= 0x80 || b == '\\') continue;
            ways.push_back({next, ways[i].text + char(b)});
        }
    }
    // Those that are not found so lead to where a shortest text is known.
    for (size_t i = 1; i < ways.size() && out.size() < most; i++)
        if (const std::optional<std::string> rest = shortest(ways[i].state)) {
            std::string text = ways[i].text + *rest;
            if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(std::move(text));
        }
    return out;
}

}  // namespace derivable
