#include "sequence/lexemes.hpp"

#include "support/task.hpp"

namespace derivable {

LexState Lexemes::start(AcceptSet accept_set, Obligations obligations) {
    const uint32_t past = scannerless_ ? 0 : engine_.spanner.lexer.formulas.past(obligations);
    if (starts_.size() <= past) starts_.resize(past + 1);
    IdVector<AcceptSet, LexState>& starts = starts_[past];
    starts.reach(accept_set, 0, kUnknownStart);
    if (starts[accept_set] == kUnknownStart) {
        Lexer& lexer = engine_.access.lexer();
        std::vector<TerminalId> candidates;
        work(5 + engine_.stacks.terminals(accept_set).size());
        if (lexer.policy() == Policy::kBasic) {
            candidates.assign(engine_.terminals.all_to_lexer().begin() + 1, engine_.terminals.all_to_lexer().end());
        } else {
            candidates = engine_.terminals.everywhere();
            for (Symbol s : engine_.stacks.terminals(accept_set))
                if (s != kEnd && !(scannerless_ && engine_.terminals.is_slot(s))) candidates.push_back(engine_.terminals.to_lexer(s));
        }
        const LexState s = lexer.start(candidates, obligations);
        starts[accept_set] = s == kNoState ? s : lexer.members(s);
    }
    const LexState s = starts[accept_set];
    return scannerless_ || s == kNoState ? s : engine_.spanner.lexer.with_obligations(s, obligations);
}

LexState Lexemes::between(Frontier stack, Environment environment) {
    const AcceptSet accepts = engine_.stacks.accepts(stack);
    Lexer& lexer = engine_.access.lexer();
    const LexState first = start(accepts, lexer.formulas.text_start(), environment).value;
    return lexer.fresh(first == kNoState ? lexer.none() : first);
}

bool Lexemes::may_be_wanted(const Parse& t) {
    Prospects& prospects = engine_.spanner.prospects;
    if (!prospects.has_unwanted(t.lex)) return true;
    const AcceptSet accepts = engine_.stacks.accepts(t.stack);
    return prospects.any_producible(prospects.producible_set(t.lex), [&](TerminalId terminal) {
        const Terminals::Symbols all = engine_.terminals.of(terminal);
        return std::any_of(all.begin(), all.end(),
                           [&](Symbol s) { return engine_.terminals.is_ignored(s) || engine_.stacks.contains(accepts, s); });
    });
}

bool Lexemes::step_name(Parse& t, uint8_t byte) {
    const Symbol slot = engine_.slots.symbol(t.slot);
    t.slot = engine_.slots.step(t.slot, byte);
    return t.slot != Slots::kNone && step_lexeme_of(slot, t, byte);
}

const ByteSet& Lexemes::first_bytes(Symbol slot) {
    if (const auto known = first_bytes_.find(slot); known != first_bytes_.end()) return known->second;
    engine_.access.take();
    const auto [first, last] = engine_.spanner.lexer.automata.recognizer(engine_.terminals.to_lexer(slot)).outer_bytes();
    return first_bytes_[slot] = first;
}

bool Lexemes::step_lexeme_of(Symbol slot, Parse& t, uint8_t byte) {
    const TerminalId terminal = engine_.terminals.to_lexer(slot);
    Lexer& lexer = engine_.access.lexer();
    t.lex = lexer.step(t.lex, byte);
    if (t.lex == kNoState) return false;
    t.environment = environment_in(t.lex, t.environment, byte);
    const Singles members = lexer.sets.singles(lexer.members(t.lex));
    return std::any_of(members.begin(), members.end(), [&](LexState single) { return lexer.automata.terminal_of(single) == terminal; });
}

Answer<bool> Lexemes::may_end(const Parse& t) {
    if (t.slot != Slots::kNone) {
        bool may = false;
        each_end_of_name(t, true, [&](Frontier f, Environment environment, Meaning::State meaning, Obligations) {
            const bool ends =
                blocks_.active() ? blocks_.may_end(f, environment).value : engine_.stacks.contains(engine_.stacks.accepts(f), kEnd);
            may = may || (ends && engine_.slots.may_end(meaning));
        });
        return {may, {}};
    }
    if (has_slots_ && !engine_.slots.may_end(t.meaning)) return {false, {}};
    return stops(t, [&](Frontier f, AcceptSet set, Environment environment) -> Answer<bool> {
        if (blocks_.active()) return blocks_.may_end(f, environment);
        return {engine_.stacks.contains(set, kEnd), {}};
    });
}

Answer<bool> Lexemes::alive(Frontier stack, Environment environment, const Split::Inside& group) {
    switch (group.sureness) {
        case Split::Sureness::kSure: return {true, {}};
        case Split::Sureness::kProducible: {
            const auto [set, reach] = engine_.stacks.accepted(stack);
            auto fits = [&, accepted = set](TerminalId terminal) {
                const Terminals::Symbols all = engine_.terminals.of(terminal);
                return std::any_of(all.begin(), all.end(),
                                   [&](Symbol s) { return engine_.terminals.is_ignored(s) || engine_.stacks.contains(accepted, s); });
            };
            return {engine_.spanner.prospects.any_producible(group.key, fits), reach};
        }
        case Split::Sureness::kExact: {
            const LexState state(group.key);
            if (engine_.spanner.prospects.may_be_newline(state))
                return blocks_.alive_in_newline(state, stack, engine_.environments.indentations.apply(group.effect, environment));
            return engine_.liveness.alive(state, stack, engine_.environments.brackets(environment));
        }
    }
    return {false, {}};
}

// An inner text can always be completed.
bool Lexemes::alive(const Parse& t) {
    if (scannerless_) return true;
    if (t.slot != Slots::kNone) return true;
    if (t.embedded) {
        const After behind = after(t.embedded->symbol(), t.stack, t.environment);
        if (behind.stack == kNoFrontier) return false;
        const Parse next{between(behind.stack, behind.environment), behind.stack, behind.environment};
        return alive(next) || may_end(next).value;
    }
    if (engine_.spanner.prospects.may_be_newline(t.lex) && !engine_.spanner.lexer.is_fresh(t.lex))
        return blocks_.alive_in_newline(t.lex, t.stack, t.environment).value;
    return engine_.liveness.alive(t.lex, t.stack, engine_.environments.brackets(t.environment)).value;
}

}  // namespace derivable
