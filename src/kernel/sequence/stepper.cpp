#include "sequence/stepper.hpp"

#include <algorithm>
#include <utility>

#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

void Stepper::add(Parses& to, Parse t, const Keep& keep) {
    Shared shared;
    add(to, std::move(t), keep, shared);
    merge(to, shared);
}

void Stepper::add(Parses& to, Parse t, const Keep& keep, Shared& shared) {
    const Lexer& lexer = engine_.spanner.lexer;
    if (t.lex == kNoState) return;
    work(1 + to.size() / 4);
    // Under basic it depends on the stack what a lexeme may become.
    if (has_slots_ && t.slot == Slots::kNone && !lexer.is_fresh(t.lex) && !lexemes_.may_be_wanted(t)) return;
    const bool sure =
        scannerless_ || ((lexer.policy() == Policy::kLongest || lexer.is_fresh(t.lex)) && engine_.liveness.always_alive(t.lex));
    if (!sure && !lexemes_.alive(t)) return;
    if (t.writing && !keep(t)) return;
    for (Parse& other : to) {
        if (other.lex != t.lex || other.environment != t.environment || other.embedded != t.embedded || other.meaning != t.meaning ||
            other.slot != t.slot || !other.wrote_as(t))
            continue;
        if (other.ground != t.ground && (other.stack == t.stack || scannerless_)) other.ground = kNoNode;
        if (other.stack == t.stack) {
            other.tokens = std::min(other.tokens, t.tokens);  // with more left, it can do whatever the other can
            return;
        }
        if (scannerless_ && other.tokens == t.tokens) {  // candidates do not depend on the stacks, so they may share a parse
            shared.emplace_back(&other - to.data(), t.stack);
            return;
        }
    }
    if (to.size() >= max_parses_) throw LimitExceeded("max_parses", to.size() + 1, max_parses_, "parses of one text");
    to.push_back(std::move(t));
}

// PERF: one after the other the stacks of 1,000 alternatives that meet take the square of that: 8 ms of an advance.
void Stepper::merge(Parses& to, Shared& shared) {
    std::stable_sort(shared.begin(), shared.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Frontier> all;
    for (size_t i = 0, j; i < shared.size(); i = j) {
        Frontier& stack = to[shared[i].first].stack;
        all.assign(1, stack);
        for (j = i; j < shared.size() && shared[j].first == shared[i].first; j++) all.push_back(shared[j].second);
        stack = engine_.stacks.merge(all);
    }
}

// Of a parse, after a terminal.
NodeId Stepper::ground_of(const Parse& t, Frontier after, bool opens) const {
    if (t.writing) return engine_.stacks.depth_of(t.ground, after) ? t.ground : kNoNode;
    return opens && StackGraph::is_one(after) ? StackGraph::only(after) : kNoNode;
}

void Stepper::step(const Parses& from, uint8_t byte, Parses& stays, Parses* leaves, const Keep& keep, bool in_order) {
    Indentations& indentations = engine_.environments.indentations;
    Shared stayed, left;
    // A byte further in a lexeme that may still be a newline, or in any other.
    auto add_to = [&](Parses& to, LexState lex, Frontier stack, Environment environment, WritingRef writing, NodeId ground, uint32_t tokens,
                      Meaning::State meaning) {
        if (lex == kNoState) return;
        environment = lexemes_.environment_in(lex, environment, byte);
        if (writing && !Writing::step(writing, byte)) return;
        add(to, {lex, stack, environment, std::move(writing), ground, tokens, {}, meaning}, keep, &to == leaves ? left : stayed);
    };
    for (const Parse& t : from) {
        work(2);
        if (engine_.terminals.embeds()) step_inside(t, byte, stays, leaves, keep);
        if (t.slot != Slots::kNone) {
            step_name(t, byte, stays, leaves, keep);
            continue;
        }
        if (t.embedded) continue;
        Lexer& lexer = engine_.access.lexer();
        add_to(stays, lexer.step(t.lex, byte), t.stack, t.environment, t.writing, t.ground, t.tokens, t.meaning);
        if (!leaves) continue;
        for (const Lexer::Exit& e : engine_.access.lexer().exits(t.lex)) {
            const Obligations obligations = lexer.formulas.step(e.obligations, byte);
            if (obligations == Formulas::kViolated) continue;
            auto begin = [&](Frontier f, Environment environment, NodeId ground, bool opens, LineEnd line_end) {
                const Meaning::State meaning = has_slots_ ? engine_.slots.read_line_end(t.meaning, line_end) : t.meaning;
                if (has_slots_) {
                    Parse here{kNoState, f, environment};
                    here.meaning = meaning;
                    this->begin(here, e.obligations, byte, false, *leaves, keep);
                }
                LexState s = lexemes_.start(engine_.stacks.accepts(f), e.obligations, environment, in_order).value;
                if (s == kNoState) return;
                engine_.access.take();
                s = lexer.step(lexer.members(s), byte);
                if (s != kNoState)
                    add_to(*leaves, lexer.with_obligations(s, obligations), f, environment,
                           opens ? Writing::distinct_array(t.writing) : t.writing, ground, 0, meaning);
            };
            for (Symbol symbol : engine_.terminals.of(e.terminal)) {
                const bool ignored = engine_.terminals.is_ignored(symbol);
                if (ignored) begin(t.stack, indentations.idle(t.environment), t.ground, false, kNoLineEnd);
                if (ignored && !scannerless_) continue;
                engine_.access.rest();
                const After after = lexemes_.after(symbol, t.stack, t.environment);
                if (after.stack == kNoFrontier) continue;
                const Frontier f = engine_.stacks.minimal(after.stack);
                const bool opens = engine_.terminals.opens_distinct(symbol);
                begin(f, after.environment, ground_of(t, f, opens), opens, after.line_end);
            }
        }
    }
    merge(stays, stayed);
    if (leaves) merge(*leaves, left);
    // Where several lexemes met in one parse.
    if (scannerless_ && leaves)
        for (Parse& t : *leaves) t.stack = engine_.stacks.minimal(t.stack);
}

void Stepper::begin(const Parse& t, Obligations obligations, uint8_t byte, bool is_plain, Parses& to, const Keep& keep) {
    const LexState plain = lexemes_.start(engine_.stacks.accepts(t.stack), obligations, t.environment).value;
    ByteSet first;
    first.set(byte);
    lexemes_.names(t, plain, first, [&](Parse name) {
        if (lexemes_.step_name(name, byte)) add(to, std::move(name), keep);
    });
    if (!is_plain || plain == kNoState) return;
    Parse begun = t;
    begun.lex = engine_.access.lexer().step(plain, byte);
    if (begun.lex == kNoState) return;
    begun.environment = lexemes_.environment_in(begun.lex, begun.environment, byte);
    add(to, std::move(begun), keep);
}

void Stepper::step_name(const Parse& t, uint8_t byte, Parses& stays, Parses* leaves, const Keep& keep) {
    Parse further = t;
    if (lexemes_.step_name(further, byte)) add(stays, std::move(further), keep);
    if (!leaves) return;
    lexemes_.each_end_of_name(
        t, false,
        [&](Frontier f, Environment environment, Meaning::State meaning, Obligations obligations) {
            Parse behind{kNoState, f, environment};
            behind.meaning = meaning;
            begin(behind, obligations, byte, true, *leaves, keep);
        },
        byte);
}

// Over the borders of inner texts, and within them: what goes on, what begins with the byte, and what has ended before it.
void Stepper::step_inside(const Parse& t, uint8_t byte, Parses& stays, Parses* leaves, const Keep& keep) {
    const auto add_inside = [&](Parses& to, Parse inside) {
        if (!(inside.embedded = inside.embedded->step(byte))) return;
        if (!inside.writing || Writing::step(inside.writing, byte)) add(to, std::move(inside), keep);
    };
    if (t.embedded) add_inside(stays, t);
    if (!leaves) return;
    lexemes_.inner_texts(t, [&](Parse inside) { add_inside(*leaves, std::move(inside)); });
    if (!t.embedded) return;
    lexemes_.stops(t, [&](Frontier f, AcceptSet, Environment environment) -> Answer<bool> {
        Parse behind{lexemes_.between(f, environment), f, environment, t.writing};
        behind.ground = ground_of(t, f, false);
        behind.lex = engine_.access.lexer().step(behind.lex, byte);
        if (behind.lex == kNoState) return {false, {}};
        behind.environment = lexemes_.environment_in(behind.lex, environment, byte);
        if (!behind.writing || Writing::step(behind.writing, byte)) add(*leaves, std::move(behind), keep);
        return {false, {}};
    });
}

std::vector<LexState> Stepper::lexer_states(const Parses& parses) {
    std::vector<LexState> all;
    auto add = [&](LexState s) {
        if (s != kNoState && std::find(all.begin(), all.end(), s) == all.end()) all.push_back(s);
    };
    for (const Parse& t : parses) {
        add(t.lex);
        for (const Lexer::Exit& e : engine_.access.lexer().exits(t.lex))
            for (Symbol symbol : engine_.terminals.of(e.terminal)) {
                if (engine_.terminals.is_ignored(symbol))
                    add(lexemes_.start(engine_.stacks.accepts(t.stack), e.obligations, t.environment).value);
                engine_.access.rest();
                const After after = lexemes_.after(symbol, t.stack, t.environment);
                if (after.stack != kNoFrontier)
                    add(lexemes_.start(engine_.stacks.accepts(after.stack), e.obligations, after.environment).value);
            }
    }
    return all;
}

ByteSet Stepper::likely_bytes(const std::vector<LexState>& lexer_states) {
    ByteSet all;
    if (engine_.terminals.embeds() || has_slots_) all.words.fill(~0ULL);  // inner texts and names may begin and go on with any
    for (LexState s : lexer_states) {
        const ByteSet some = engine_.access.lexer().sets.bytes(engine_.spanner.lexer.members(s));
        for (size_t w = 0; w < all.words.size(); w++) all.words[w] |= some.words[w];
    }
    return all;
}

}  // namespace derivable
