#include "matching/lexemes.hpp"

#include "support/task.hpp"

namespace derivable {

LexState Lexemes::start(uint32_t accept_set, uint32_t obligations) {
    const uint32_t past = scannerless_ ? 0 : spanner_.lexer.past(obligations);
    if (starts_.size() <= past) starts_.resize(past + 1);
    std::vector<LexState>& starts = starts_[past];
    if (starts.size() <= accept_set) starts.resize(accept_set + 1, kUnknownStart);
    if (starts[accept_set] == kUnknownStart) {
        Lexer& lexer = access_.lexer();
        std::vector<uint32_t> candidates;
        work(5 + stacks_.terminals(accept_set).size());
        if (lexer.policy() == Policy::kBasic) {
            candidates.assign(terminals_.all_to_lexer().begin() + 1, terminals_.all_to_lexer().end());
        } else {
            candidates = terminals_.everywhere();
            for (Symbol s : stacks_.terminals(accept_set))
                if (s != kEnd) candidates.push_back(terminals_.to_lexer(s));
        }
        const LexState s = lexer.start(candidates, obligations);
        starts[accept_set] = s == kNoState ? s : lexer.members(s);
    }
    const LexState s = starts[accept_set];
    return scannerless_ || s == kNoState ? s : spanner_.lexer.with_obligations(s, obligations);
}

LexState Lexemes::between(Frontier stack, Environment environment) {
    const uint32_t accepts = stacks_.accepts(stack);
    Lexer& lexer = access_.lexer();
    const LexState first = start(accepts, lexer.text_start(), environment).value;
    return lexer.fresh(first == kNoState ? lexer.none() : first);
}

Answer<bool> Lexemes::may_end(const Thread& t) {
    return stops(t, [&](Frontier f, uint32_t set, Environment environment) -> Answer<bool> {
        if (blocks_.active()) return blocks_.may_end(f, environment);
        return {stacks_.contains(set, kEnd), {}};
    });
}

Answer<bool> Lexemes::alive(Frontier stack, Environment environment, const Split::Inside& group) {
    switch (group.sureness) {
        case Split::Sureness::kSure: return {true, {}};
        case Split::Sureness::kProducible: {
            const auto [set, reach] = stacks_.accepted(stack);
            for (uint32_t lexer_terminal : spanner_.prospects.producible(group.key))
                for (Symbol s : terminals_.of(lexer_terminal))
                    if (terminals_.is_ignored(s) || stacks_.contains(set, s)) return {true, reach};
            return {false, reach};
        }
        case Split::Sureness::kExact: {
            if (spanner_.prospects.may_be_newline(group.key))
                return blocks_.alive_in_newline(group.key, stack, environments_.indentations.apply(group.effect, environment));
            return liveness_.alive(group.key, stack, environments_.brackets(environment));
        }
    }
    return {false, {}};
}

bool Lexemes::alive(const Thread& t) {
    if (scannerless_) return true;
    if (spanner_.prospects.may_be_newline(t.lex) && !spanner_.lexer.is_fresh(t.lex))
        return blocks_.alive_in_newline(t.lex, t.stack, t.environment).value;
    return liveness_.alive(t.lex, t.stack, environments_.brackets(t.environment)).value;
}

}  // namespace derivable
