#include "matching/stepper.hpp"

#include <utility>

#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

void Stepper::add(Threads& to, Thread t, const Keep& keep) {
    const Lexer& lexer = spanner_.lexer;
    if (t.lex == kNoState) return;
    work(1 + to.size() / 4);
    // Under basic it depends on the stack what a lexeme may become.
    const bool sure = scannerless_ || ((lexer.policy() == Policy::kLongest || lexer.is_fresh(t.lex)) && liveness_.always_alive(t.lex));
    if (!sure && !lexemes_.alive(t)) return;
    if (t.writing && !keep(t)) return;
    for (Thread& other : to) {
        if (other.lex != t.lex || other.environment != t.environment) continue;
        if (other.writing != t.writing && !(other.writing && t.writing && *other.writing == *t.writing)) continue;
        if (other.stack == t.stack) return;
        if (scannerless_) {  // candidates do not depend on the parse, so the parses may share a thread
            other.stack = stacks_.merge(other.stack, t.stack);
            return;
        }
    }
    if (to.size() >= max_parses_) throw LimitExceeded("max_parses", to.size() + 1, max_parses_, "parses of one text");
    to.push_back(std::move(t));
}

void Stepper::step(const Threads& from, uint8_t byte, Threads& stays, Threads* leaves, const Keep& keep, bool in_order) {
    Indentations& indentations = environments_.indentations;
    // A byte further in a lexeme that may still be a newline, or in any other.
    auto add_to = [&](Threads& to, LexState lex, Frontier stack, Environment environment, WritingRef writing) {
        if (lex == kNoState) return;
        if (indentations.active())
            environment = spanner_.prospects.may_be_newline(lex) ? indentations.step(environment, byte) : indentations.idle(environment);
        if (writing && !Writing::step(writing, byte)) return;
        add(to, {lex, stack, environment, std::move(writing)}, keep);
    };
    for (const Thread& t : from) {
        work(2);
        Lexer& lexer = access_.lexer();
        add_to(stays, lexer.step(t.lex, byte), t.stack, t.environment, t.writing);
        if (!leaves) continue;
        for (const Lexer::Exit& e : access_.lexer().exits(t.lex)) {
            const uint32_t obligations = lexer.step_obligations(e.obligations, byte);
            if (obligations == Lexer::kViolated) continue;
            auto begin = [&](Frontier f, Environment environment, Symbol after = kEnd) {
                LexState s = lexemes_.start(stacks_.accepts(f), e.obligations, environment, in_order).value;
                if (s == kNoState) return;
                access_.take();
                s = lexer.step(lexer.members(s), byte);
                if (s != kNoState)
                    add_to(*leaves, lexer.with_obligations(s, obligations), f, environment,
                           terminals_.opens_distinct(after) ? Writing::distinct_array(t.writing) : t.writing);
            };
            for (Symbol symbol : terminals_.of(e.terminal)) {
                const bool ignored = terminals_.is_ignored(symbol);
                if (ignored) begin(t.stack, indentations.idle(t.environment));
                if (ignored && !scannerless_) continue;
                access_.rest();
                const After after = lexemes_.after(symbol, t.stack, t.environment);
                if (after.stack != kNoFrontier) begin(stacks_.minimal(after.stack), after.environment, symbol);
            }
        }
    }
    // Where several lexemes met in one thread.
    if (scannerless_ && leaves)
        for (Thread& t : *leaves) t.stack = stacks_.minimal(t.stack);
}

ByteSet Stepper::likely_bytes(const Threads& threads) {
    ByteSet all;
    auto add = [&](LexState s) {
        if (s == kNoState) return;
        const ByteSet some = access_.lexer().bytes(spanner_.lexer.members(s));
        for (size_t w = 0; w < all.words.size(); w++) all.words[w] |= some.words[w];
    };
    for (const Thread& t : threads) {
        add(t.lex);
        for (const Lexer::Exit& e : access_.lexer().exits(t.lex))
            for (Symbol symbol : terminals_.of(e.terminal)) {
                if (terminals_.is_ignored(symbol)) add(lexemes_.start(stacks_.accepts(t.stack), e.obligations, t.environment).value);
                access_.rest();
                const After after = lexemes_.after(symbol, t.stack, t.environment);
                if (after.stack != kNoFrontier) add(lexemes_.start(stacks_.accepts(after.stack), e.obligations, after.environment).value);
            }
    }
    return all;
}

}  // namespace derivable
