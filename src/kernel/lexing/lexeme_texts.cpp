#include "lexing/lexeme_texts.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "support/task.hpp"

namespace derivable {

LexemeTexts::LexemeTexts(Lexer& lexer, const FewestTokens& tokens) : lexer_(lexer) {
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
        const LexState s = lexer_.start({terminal}, lexer_.formulas.text_start());
        starts_[terminal] = s == kNoState ? s : *lexer_.sets.singles(lexer_.members(s)).begin();
    }
    return starts_[terminal];
}

const LexemeTexts::Outline& LexemeTexts::outline(TerminalId terminal) {
    if (const auto known = outlines_.find(terminal); known != outlines_.end()) return known->second;
    Recognizer recognizer = lexer_.automata.recognizer(terminal);
    const auto [first, last] = recognizer.outer_bytes();
    return outlines_[terminal] = {first, last, recognizer.longest_rest()};
}

void LexemeTexts::add_followers(TerminalId terminal, TerminalId rival, const ByteSet& of, Followers& followers) {
    constexpr size_t kMost = 1u << 12;             // states
    std::unordered_map<uint32_t, ByteSet> behind;  // by state: bytes that lead there
    std::vector<LexState> open;
    std::vector<TerminalId> both{terminal, rival};
    std::sort(both.begin(), both.end());
    both.erase(std::unique(both.begin(), both.end()), both.end());
    // Where something looks behind, what stands before is part of a state.
    const bool is_told = lexer_.kinds.are_known() && lexer_.formulas.text_start() == Formulas::kFree;
    const LexState first = is_told ? lexer_.start(both, Formulas::kFree) : kNoState;
    if (first != kNoState) open.push_back(first);
    for (size_t i = 0; i < open.size() && open.size() <= kMost; i++) {
        work(lexer_.kinds.representatives().size());
        for (uint8_t byte : lexer_.kinds.representatives()) {
            const LexState next = lexer_.step(open[i], byte);
            if (next == kNoState) continue;
            const auto [known, is_new] = behind.try_emplace(next.index());
            known->second.set(byte);
            if (is_new) open.push_back(next);
        }
    }
    if (open.empty() || open.size() > kMost) {
        const ByteSet& last = outline(terminal).last;
        for (size_t b = 0; b < 256; b++)
            if (last[uint8_t(b)]) followers[b] |= of;
        return;
    }
    Followers by_kind{};
    for (const auto& [state, bytes] : behind) {
        ByteSet may;
        work(lexer_.kinds.representatives().size());
        for (const Lexer::Exit& exit : lexer_.exits(LexState(state)))
            if (exit.terminal == terminal)
                for (uint8_t byte : lexer_.kinds.representatives())
                    if (lexer_.unsettled(exit.obligations, byte) != Formulas::kViolated) may.set(byte);
        for (uint8_t byte : lexer_.kinds.representatives())
            if (bytes[byte]) by_kind[byte] |= may;
    }
    for (size_t b = 0; b < 256; b++)
        for (size_t next = 0; next < 256; next++)
            if (of[uint8_t(next)] && by_kind[lexer_.kinds.like(uint8_t(b))][lexer_.kinds.like(uint8_t(next))])
                followers[b].set(uint8_t(next));
}

// The text completes the lexeme; it is kept for all states on its way.
bool LexemeTexts::keep_along(LexState single, const std::string& text) {
    std::vector<LexState> way{single};
    for (char c : text) {
        way.push_back(lexer_.step(way.back(), uint8_t(c)));
        if (way.back() == kNoState) return false;
    }
    if (!lexer_.automata.accepts(way.back())) return false;
    // SAFETY: from the end on, so that whatever is kept leads to it also where there is no memory for more.
    keep(way.back(), {});
    for (size_t i = text.size(); i-- > 0;) keep(way[i], {uint8_t(text[i]), way[i + 1]});
    work(2 * text.size());
    return true;
}

bool LexemeTexts::find_by_rule(LexState single) {
    TerminalAutomata& automata = lexer_.automata;
    const std::optional<std::string> text = automata.at(automata.automaton_of(single)).shortest_rest(automata.state_of(single), filler_);
    return text && keep_along(single, *text);
}

// Breadth first, up to a state that accepts, or one from which a way is known. `plain`: with ASCII and no backslash, where any of it leads on.
bool LexemeTexts::search(LexState single, bool plain) {
    constexpr size_t kMost = 1u << 12;  // states
    struct Way {
        LexState state;
        std::string text;
    };
    std::vector<Way> ways{{single, {}}};
    std::unordered_map<LexState, char> met{{single, 1}};
    const auto is_plain = [](uint8_t b) { return b < 0x80 && b != '\\'; };
    for (size_t i = 0; i < ways.size() && ways.size() < kMost; i++) {
        if (i && (lexer_.automata.accepts(ways[i].state) || steps_.find(ways[i].state) || find_by_rule(ways[i].state)))
            return keep_along(single, ways[i].text + *shortest(ways[i].state));
        bool some = false;
        for (const bool others : {false, true})
            for (uint8_t b : ShortestRests::order()) {
                if ((plain && is_plain(b) == others) || (!plain && others) || (others && some)) continue;
                work(2);
                const LexState next = lexer_.step(ways[i].state, b);
                if (next == kNoState) continue;
                some = true;
                if (met.try_emplace(next, 1).second) ways.push_back({next, ways[i].text + char(b)});
            }
    }
    return false;
}

std::optional<std::string> LexemeTexts::shortest(LexState single) {
    if (!steps_.find(single)) {
        if (lexer_.automata.accepts(single)) keep(single, {});
        else if (!find_by_rule(single) && !search(single, true) && !search(single, false)) return std::nullopt;
    }
    std::string text;
    for (Step step = *steps_.find(single); step.next != kNoState; step = *steps_.find(step.next)) text.push_back(char(step.byte));
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
        if (lexer_.automata.accepts(ways[i].state)) out.push_back(ways[i].text);
        for (uint8_t b : ShortestRests::order()) {
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
