#include "masks/context.hpp"

#include <algorithm>
#include <utility>

namespace derivable {
namespace {

constexpr uint64_t kSeed = 0x9E3779B97F4A7C15ull;

// Steele, Lea & Flood's SplitMix64: every bit of what goes in changes half of those that come out.
uint64_t mixed(uint64_t hash, uint64_t word) {
    uint64_t z = hash ^ (word + kSeed + (hash << 6) + (hash >> 2));
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

uint64_t mixed(uint64_t hash, const std::vector<uint64_t>& sorted) {
    for (uint64_t word : sorted) hash = mixed(hash, word);
    return mixed(hash, sorted.size());
}

}  // namespace

std::vector<std::pair<Symbol, uint32_t>> named_lexeme(Lexer& lexer, const Terminals& terminals, LexState lex) {
    std::vector<std::pair<Symbol, uint32_t>> out;
    for (auto [terminal, state] : lexer.describe(lex))
        for (Symbol s : terminals.of(terminal)) out.emplace_back(s, lexer.automata.recognizer(terminal).has_table() ? state : 0);
    return out;
}

uint64_t context(Lexer& lexer, const Terminals& terminals, Stacks& stacks, const Parses& of, int64_t hops) {
    std::vector<uint64_t> parses;
    for (const Parse& t : of) {
        std::vector<uint64_t> lexeme, states;
        for (auto [terminal, state] : named_lexeme(lexer, terminals, t.lex)) lexeme.push_back(uint64_t(terminal) << 32 | state);
        std::sort(lexeme.begin(), lexeme.end());
        uint64_t hash = mixed(kSeed, lexeme);
        if (t.embedded) hash = mixed(hash, t.embedded->context(hops));
        stacks.each_level(t.stack, hops, [&](const std::vector<NodeId>& level) {
            states.clear();
            for (NodeId n : level) {
                uint64_t state = kSeed;
                for (auto [production, dot] : stacks.lr().kernel(stacks.state(n))) state = mixed(state, uint64_t(production) << 32 | dot);
                states.push_back(state);
            }
            std::sort(states.begin(), states.end());
            states.erase(std::unique(states.begin(), states.end()), states.end());
            hash = mixed(hash, states);
        });
        parses.push_back(hash);
    }
    std::sort(parses.begin(), parses.end());
    return mixed(kSeed, parses);
}

}  // namespace derivable
