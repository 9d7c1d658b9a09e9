#include "budgets/budget_walk.hpp"

#include <algorithm>

#include "support/task.hpp"

namespace derivable {

static bool has(const std::vector<uint32_t>& words, uint32_t token) { return words[token >> 5] >> (token & 31) & 1; }

uint64_t BudgetWalk::run(const Parses& parses, uint32_t* words) {
    engine_.access.take();
    const Spanner::Walk walk(engine_.spanner);
    bounds_.begin(engine_.spanner.bytes());
    for (const Parse& t : parses) visit({Residuals::kWholeVocabulary, t.lex, t.stack, t.environment, 0, t.tokens}, words);
    return need_;
}

Witness BudgetWalk::behind(uint32_t token, const Parses& parses) {
    wanted_ = {token};
    std::vector<uint32_t> words(vocabulary_.words());
    if (run(parses, words.data()) == kNone || !wanted_->rest) return {};
    return witnesses_.made(WitnessText::units_of(wanted_->text), wanted_->rest, {});
}

void BudgetWalk::visit(const Item& x, uint32_t* words) {
    work(10);
    engine_.access.take();
    bounds_.count(x.depth, engine_.spanner.bytes());
    Lexer& lexer = engine_.access.lexer();
    for (LexState single : lexer.sets.singles(lexer.members(x.lex))) {
        engine_.access.pass();
        visit_member(x, single, words);
    }
}

void BudgetWalk::visit_member(const Item& x, LexState single, uint32_t* words) {
    Lexer& lexer = engine_.access.lexer();
    std::vector<After> behind;
    for (Symbol symbol : engine_.terminals.of(lexer.automata.terminal_of(single))) {
        if (engine_.terminals.is_ignored(symbol)) behind.push_back(lexemes_.after_ignored(x.stack, x.environment));
        const After after = lexemes_.after(symbol, x.stack, x.environment);
        if (after.stack != kNoFrontier) behind.push_back(after);
    }
    if (behind.empty()) return;
    engine_.access.take();
    const LexState canonical = lexer.alike.canonical(single);
    const Split& split = engine_.spanner.split(x.residual, canonical);
    work(2 + split.inside.size() + split.exits.size());
    if (!split.inside.empty()) end_inside(x, single, split, behind, words);
    for (const After& after : behind) leave(x, split, after, words);
}

// Tokens that end inside the lexeme, by its rest.
void BudgetWalk::end_inside(const Item& x, LexState single, const Split& split, const std::vector<After>& behind, uint32_t* words) {
    std::vector<Witness> witnesses;
    for (const After& after : behind) witnesses.push_back(witnesses_.at_boundary(after.stack, after.environment));
    engine_.access.take();
    Lexer& lexer = engine_.access.lexer();
    const std::vector<LexemeRest>& rests = engine_.spanner.rests().of(x.residual, lexer.alike.equal(single));
    const uint32_t bound = engine_.terminals.max_tokens(lexer.automata.terminal_of(single));
    const FewestTokens& fewest = engine_.spanner.rests().fewest_tokens();
    // A bound on the number of characters lets fewer tokens through than there are of such a rest.
    std::vector<uint32_t> inside(vocabulary_.words()), some(vocabulary_.words());
    for (const Split::Inside& group : split.inside) work(group.cost()), group.or_into(inside.data());
    for (const LexemeRest& rest : rests) {
        if (bound != kAnyNumber && rest.text.size() + x.tokens + 1 > bound) continue;  // LexemeBounds gives it up
        uint64_t need = kNone;
        const Witness* best = nullptr;
        for (const Witness& w : witnesses) {
            if (!w) continue;
            const uint32_t tokens = fewest.of(rest.text, w.bytes(fewest.longest()), w.text->counts.data() + w.at);
            if (tokens != FewestTokens::kNone && tokens + 1 < need) need = uint64_t(tokens) + 1, best = &w;
        }
        need_ = std::max(need_, need);
        if (need > left_) continue;
        work(rest.tokens.cost());
        if (wanted_ && need < wanted_->need && has(inside, wanted_->token)) {
            std::vector<uint32_t> row(vocabulary_.words());
            rest.tokens.or_into(row.data());
            if (has(row, wanted_->token)) wanted_ = {wanted_->token, need, rest.text, *best};
        }
        rest.tokens.or_into(some.data());
    }
    for (size_t w = 0; w < some.size(); w++) words[w] |= some[w] & inside[w];
    // Of some tokens no rest may be known: then nothing is said of what any may take.
    std::vector<uint32_t> known(inside.size());
    for (const LexemeRest& rest : rests) rest.tokens.or_into(known.data());
    for (size_t w = 0; w < inside.size(); w++)
        if (inside[w] & ~known[w]) need_ = kNone;
}

// What is left of tokens behind the lexeme.
void BudgetWalk::leave(const Item& x, const Split& split, const After& after, uint32_t* words) {
    const Answer<LexState> start = lexemes_.start(engine_.stacks.accepts(after.stack), Formulas::kFree, after.environment);
    if (start.value == kNoState) return;
    for (const Split::Exit& e : split.exits) {
        engine_.access.pass();
        const Item next{e.residual, start.value, after.stack, after.environment, x.depth + 1, 0};
        if (wanted_ && std::find(e.except.begin(), e.except.end(), wanted_->token) != e.except.end()) continue;
        if (e.except.empty()) visit(next, words);
        else add_except(words, e.except, [&] { visit(next, words); });
    }
}

}  // namespace derivable
