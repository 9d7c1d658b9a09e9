#include "masks/plain_mask.hpp"

#include "support/task.hpp"

namespace derivable {

std::vector<uint32_t> PlainMask::run(const Parse& parse) {
    words_.assign(vocabulary_.words(), 0);
    visit({kRoot}, parse, 0);
    return std::move(words_);
}

// The parser: which of the tokens that the lexer has sorted may follow, and how a lexeme that has ended goes on.
void PlainMask::visit(const Residual& residual, const Parse& parse, uint64_t ended) {
    Split sorted;
    for (uint32_t node : residual) split(node, parse.lex, parse.environment, false, sorted);

    for (const auto& [in_progress, tokens] : sorted.inside) {
        const auto [state, environment] = in_progress;
        const Parse inside{state, parse.stack, environment};
        if (!lexemes_.alive(inside)) continue;
        if (engine_.slots.active() && !lexemes_.may_be_wanted(inside)) continue;  // only as a name, which is another parse
        for (uint32_t token : tokens) words_[token >> 5] |= 1u << (token & 31);
    }

    for (const auto& [exit, left] : sorted.exits) {
        const auto [terminal, obligations, environment, within] = exit;
        if (ended + within > lookahead_) continue;
        auto go_on = [&, obligations = obligations, within = within, &left = left](const After& after) {
            if (after.stack == kNoFrontier) return;
            const AcceptSet accepts = engine_.stacks.accepts(after.stack);
            const LexState start = lexemes_.start(accepts, obligations, after.environment).value;
            if (start != kNoState) visit(left, {start, after.stack, after.environment}, ended + within);
        };
        for (Symbol symbol : engine_.terminals.of(terminal)) {
            if (engine_.terminals.is_ignored(symbol)) go_on(lexemes_.after_ignored(parse.stack, environment));
            go_on(lexemes_.after(symbol, parse.stack, environment));
        }
    }
}

// The lexer: walks what stands below a node, one byte after the other, and notes how the lexeme in progress may have ended before each.
void PlainMask::split(uint32_t node, LexState state, Environment environment, bool within, Split& into) {
    Lexer& lexer = engine_.access.lexer();
    for (const Lexer::Exit& e : lexer.exits(state)) into.exits[{e.terminal, e.obligations, environment, within}].push_back(node);
    each_child(node, [&](uint32_t child) {
        work();
        const Trie& trie = vocabulary_.trie;
        const LexState next = lexer.step(state, trie.byte[child]);
        if (next == kNoState) return;
        const Environment behind = lexemes_.environment_in(next, environment, trie.byte[child]);
        for (uint32_t k = trie.token_begin[child]; k < trie.token_begin[child + 1]; k++)
            into.inside[{next, behind}].push_back(trie.tokens[k]);
        split(child, next, behind, true, into);
    });
}

template <class Visit>
void PlainMask::each_child(uint32_t node, Visit visit) const {
    const Trie& trie = vocabulary_.trie;
    const uint32_t end = node == kRoot ? trie.size() : trie.end[node];
    for (uint32_t child = node + 1; child < end; child = trie.end[child]) visit(child);  // kRoot + 1 is 0
}

}  // namespace derivable
