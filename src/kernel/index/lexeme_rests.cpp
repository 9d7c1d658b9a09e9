#include "index/lexeme_rests.hpp"

#include <array>
#include <optional>
#include <utility>

#include "support/task.hpp"

namespace derivable {

const std::vector<LexemeRest>& LexemeRests::of(ResidualId residual, LexState single) {
    // A string that may end here and only has room for so many characters more completes as any string does.
    uint64_t need, room;
    if (lexer_.is_counted(single, need, room) && need == 0) single = lexer_.between_characters_of_any_string();
    auto& known = known_[pack(residual, single)];
    if (!known) {
        known = std::make_unique<const std::vector<LexemeRest>>(walk(residual, single));
        for (const LexemeRest& rest : *known) bytes_ += rest.tokens.bytes() + rest.text.size() + 64;
    }
    return *known;
}

std::vector<LexemeRest> LexemeRests::walk(ResidualId residual, LexState single) {
    constexpr uint32_t kUnknown = ~0u, kNowhere = ~0u - 1;
    const bool is_canonical = lexer_.policy() == Policy::kScannerless;
    struct State {
        LexState state;
        uint32_t rest = kUnknown;
        std::array<uint32_t, 256> next;
    };
    std::deque<State> states;  // grows while one is looked at
    FlatMap<uint32_t> numbers;
    const auto number = [&](LexState s) {
        if (const uint32_t* known = numbers.find(s)) return *known;
        states.push_back({s});
        states.back().next.fill(kUnknown);
        return numbers[s] = uint32_t(states.size() - 1);
    };
    const auto step = [&](uint32_t from, uint8_t byte) {
        uint32_t& next = states[from].next[byte];
        if (next == kUnknown) {
            work(2);
            const LexState to = is_canonical ? lexer_.step_canonical(states[from].state, byte) : lexer_.step(states[from].state, byte);
            next = to == kNoState ? kNowhere : number(to);
        }
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
                if (trie->token_begin[node] < trie->token_begin[node + 1])
                    if (const uint32_t rest = rest_of(s); rest != kNowhere)
                        for (uint32_t k = trie->token_begin[node]; k < trie->token_begin[node + 1]; k++)
                            rests[rest].tokens.add(trie->tokens[k], vocabulary_.words());
                node++;
            }
        }
    }
    for (LexemeRest& rest : rests) rest.tokens.pack();
    return rests;
}

}  // namespace derivable
