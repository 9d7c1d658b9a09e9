#include "index/lexeme_rests.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "support/task.hpp"

namespace derivable {

const std::vector<LexemeRest>& LexemeRests::of(ResidualId residual, LexState single) {
    // A string that may end here and only has room for so many characters more completes as any string does.
    const auto counted = lexer_.automata.ask(&JsonStrings::counted, single);
    if (counted && counted->first == 0) single = lexer_.alike.between_characters_of_any_string(single);
    auto& known = known_[pack(residual, single)];
    if (known) return *known;
    std::vector<LexemeRest> rests = make(residual, single);
    for (const LexemeRest& rest : rests) bytes_ += rest.tokens.bytes() + rest.text.size() + 64;
    known = std::make_unique<const std::vector<LexemeRest>>(std::move(rests));
    return *known;
}

std::vector<LexemeRest> LexemeRests::make(ResidualId residual, LexState single) {
    const LexState alike = lexer_.alike.canonical(single);
    const auto counted = lexer_.automata.ask(&JsonStrings::counted, single), others = lexer_.automata.ask(&JsonStrings::counted, alike);
    if (alike != single && counted && others) return with_need(of(residual, alike), counted->first, others->first);
    const LexState unbounded = lexer_.alike.without_bound(single);
    const LexState whole = unbounded == kNoState ? kNoState : lexer_.alike.equal(unbounded);
    const std::optional<CountedValues::Place> place = lexer_.automata.ask(&JsonStrings::place, single);
    const bool is_bounded = residual == Residuals::kWholeVocabulary && whole != kNoState && whole != single && place;
    return is_bounded ? within(of(residual, whole), single, place->room) : walk(residual, single);
}

// PERF: each number of characters that must still come, beyond what a token holds, was a walk of the whole vocabulary, 10 to 20 ms (llama-3).
// SAFETY: where the numbers differ no token reaches either, so each rest ends with the quotation mark and has the characters before it.
std::vector<LexemeRest> LexemeRests::with_need(const std::vector<LexemeRest>& all, uint64_t need, uint64_t others) {
    std::vector<LexemeRest> out = all;
    if (need == others) return out;
    for (LexemeRest& rest : out) {
        const size_t quote = rest.text.size() - 1;
        if (need > others) rest.text.insert(quote, need - others, char(texts_.filler()));
        else rest.text.erase(quote - (others - need), others - need);
    }
    return out;
}

// PERF: each number of characters was a walk of the whole vocabulary. Now it is asked only of tokens for which there may be no room.
std::vector<LexemeRest> LexemeRests::within(const std::vector<LexemeRest>& all, LexState single, uint64_t room) {
    const auto characters = [](std::string_view text) {
        return uint64_t(std::count_if(text.begin(), text.end(), [](char c) { return CountedValues::begins_character(uint8_t(c)); }));
    };
    std::vector<LexemeRest> out;
    std::vector<uint32_t> doubtful;
    for (const LexemeRest& rest : all) {
        const uint64_t more = characters(rest.text) - 1;  // but for the quotation mark
        out.push_back({rest.text, {}});
        if (more == 0) {
            out.back().tokens = rest.tokens;
            continue;
        }
        rest.tokens.each([&](uint32_t token) {
            if (characters(vocabulary_.bytes[token]) + more <= room) out.back().tokens.add(token, vocabulary_.words());
            else doubtful.push_back(token);
        });
        work(rest.tokens.count() + 1);
    }
    for (uint32_t token : doubtful) {
        LexState s = single;
        for (char c : vocabulary_.bytes[token])
            if ((s = lexer_.step(s, uint8_t(c))) == kNoState) break;
        const std::optional<std::string> text = s == kNoState ? std::nullopt : texts_.shortest(s);
        if (!text) continue;
        auto at = std::find_if(out.begin(), out.end(), [&](const LexemeRest& rest) { return rest.text == *text; });
        if (at == out.end()) at = out.insert(out.end(), {*text, {}});
        at->tokens.add(token, vocabulary_.words());
    }
    for (LexemeRest& rest : out) rest.tokens.pack();
    return out;
}

std::vector<LexemeRest> LexemeRests::walk(ResidualId residual, LexState single) {
    constexpr uint32_t kUnknown = ~0u, kNowhere = ~0u - 1;
    struct State {
        LexState state;
        uint32_t rest = kUnknown;
        uint64_t back = 0, away = 0;  // kinds of bytes that lead back to it, and those of which some does not
        // Once it was met again. PERF: where characters are counted beside a large automaton most are met once, and each row is 1 KB.
        std::unique_ptr<std::array<uint32_t, 256>> next;
    };
    std::deque<State> states;  // grows while one is looked at
    FlatMap<uint32_t> numbers;
    const auto number = [&](LexState s) {
        if (const uint32_t* known = numbers.find(s)) {
            State& again = states[*known];
            if (!again.next) again.next = std::make_unique<std::array<uint32_t, 256>>(), again.next->fill(kUnknown);
            return *known;
        }
        states.emplace_back().state = s;
        return numbers[s] = uint32_t(states.size() - 1);
    };
    const auto step = [&](uint32_t from, uint8_t byte) {
        const State& s = states[from];
        if (s.next && (*s.next)[byte] != kUnknown) return (*s.next)[byte];
        work(2);
        const LexState to = lexer_.step(s.state, byte);
        const uint32_t next = to == kNoState ? kNowhere : number(lexer_.alike.equal(to));
        if (s.next) (*s.next)[byte] = next;
        return next;
    };
    std::vector<LexemeRest> rests;
    std::unordered_map<std::string, uint32_t> rest_ids;
    const auto rest_of = [&](uint32_t s) {
        if (states[s].rest != kUnknown) return states[s].rest;
        const std::optional<std::string> text = texts_.shortest(states[s].state);
        if (!text) return states[s].rest = kNowhere;
        const auto [known, is_new] = rest_ids.try_emplace(*text, uint32_t(rests.size()));
        if (is_new) rests.push_back({*text, {}});
        return states[s].rest = known->second;
    };
    // Whatever is below a node leads back to where its byte has led.
    const auto stays = [&](uint32_t s, uint64_t kinds) {
        constexpr uint64_t kMore = 1ULL << byte_kind(0x80);
        if (kinds & ~(kMore - 1)) return false;
        for (uint64_t unknown = kinds & ~(states[s].back | states[s].away); unknown; unknown &= unknown - 1) {
            const std::vector<uint8_t>& bytes = bytes_of_kind(uint8_t(__builtin_ctzll(unknown)));
            const bool all = std::all_of(bytes.begin(), bytes.end(), [&](uint8_t b) { return step(s, b) == s; });
            (all ? states[s].back : states[s].away) |= unknown & -unknown;
        }
        return !(kinds & states[s].away);
    };
    Beside beside(nullptr);
    const std::vector<uint32_t> branches = residuals_[residual].branches;
    std::vector<uint32_t> path;
    const uint32_t first = number(single);
    for (uint32_t branch : branches) {
        if (step(first, residuals_.byte(branch)) == kNowhere) continue;
        for (auto [trie, root] : residuals_.roots(branch, beside)) {
            const uint16_t top = trie->depth[root];
            for (uint32_t node = root; node < trie->end[root];) {
                work();
                path.resize(size_t(trie->depth[node] - top));
                const uint32_t s = step(path.empty() ? first : path.back(), trie->byte[node]);
                if (s == kNowhere) {
                    node = trie->end[node];
                    continue;
                }
                path.push_back(s);
                const uint32_t behind = stays(s, trie->below[node]) ? trie->end[node] : node + 1;
                if (trie->token_begin[node] < trie->token_begin[behind])
                    if (const uint32_t rest = rest_of(s); rest != kNowhere)
                        for (uint32_t k = trie->token_begin[node]; k < trie->token_begin[behind]; k++)
                            rests[rest].tokens.add(trie->tokens[k], vocabulary_.words());
                node = behind;
            }
        }
    }
    for (LexemeRest& rest : rests) rest.tokens.pack();
    return rests;
}

}  // namespace derivable
