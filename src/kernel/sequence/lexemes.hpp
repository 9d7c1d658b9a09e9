// What lexemes do to a parse: how the next one may begin, and what stack and environment are behind one that has ended.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sequence/blocks.hpp"
#include "sequence/counted_members.hpp"
#include "sequence/engine.hpp"
#include "sequence/history.hpp"

namespace derivable {

constexpr uint64_t kNoLookahead = ~0ULL;  // any number of lexemes may end inside a token

class Lexemes {
  public:
    explicit Lexemes(const Engine& engine)
        : engine_(engine),
          blocks_(engine.stacks, engine.spanner, engine.liveness, engine.terminals, engine.environments.indentations),
          members_(engine.access, engine.stacks, engine.terminals, engine.environments.tallies) {}

    Blocks& blocks() { return blocks_; }
    CountedMembers& members() { return members_; }

    // The state before a lexeme that is a name, of a slot that a stack accepts; `plain`: start(), for one that is none.
    LexState start_of_slot(Symbol slot, LexState plain) {
        return scannerless_ ? engine_.access.lexer().start({engine_.terminals.to_lexer(slot)}, Formulas::kFree) : plain;
    }
    // Calls begin(parse) for each name that may begin on this stack, before its first byte, which is one of these; `plain` as above.
    template <class Begin>
    void names(const Parse& t, LexState plain, const ByteSet& first, Begin begin);
    // With which the lexemes of a slot begin.
    const ByteSet& first_bytes(Symbol slot);
    // The parser wants some terminal that the lexeme in progress may become, as no name.
    bool may_be_wanted(const Parse& t);
    // One byte further in a name; false: there is none, or the terminal has no such text.
    bool step_name(Parse& t, uint8_t byte);
    // ... in its lexeme, whatever the names are.
    bool step_lexeme_of(Symbol slot, Parse& t, uint8_t byte);
    // Calls visit(stack, environment, meaning, obligations) for each way in which the name in progress may have ended. `at_end`: with the text; `before`:
    // and that byte follows.
    template <class Visit>
    void each_end_of_name(const Parse& t, bool at_end, Visit visit, std::optional<uint8_t> before = {});
    // The state before a lexeme of what a stack accepts, under obligations.
    LexState start(AcceptSet accept_set, Obligations obligations);
    // ... and the environment allows; `in_order`: keys of objects come in the order of the schema's text.
    Answer<LexState> start(AcceptSet accept_set, Obligations obligations, Environment environment, bool in_order = false) {
        if (members_.active() && members_.asks(accept_set)) return members_.start(accept_set, environment, in_order);
        return {start(accept_set, obligations), {}};
    }
    // Where a text begins, and behind a token that was taken as a terminal.
    LexState between(Frontier stack, Environment environment);
    // `at_end`: the text ends with the lexeme.
    After after(Symbol symbol, Frontier f, Environment environment, bool at_end = false) {
        if (blocks_.active()) return blocks_.after(symbol, f, environment, at_end);
        if (members_.counts(symbol)) return members_.after(symbol, f, environment);
        const Stacks::Shifted s = engine_.stacks.shift(f, symbol);
        return {s.frontier, environment, s.reach, s.above};
    }
    // A lexeme that is dropped leaves the stack as it is.
    After after_ignored(Frontier f, Environment environment) { return {f, engine_.environments.indentations.idle(environment), {}, 0}; }

    // In a lexeme in progress, behind one more byte of it.
    Environment environment_in(LexState lexeme, Environment environment, uint8_t byte) {
        Indentations& indentations = engine_.environments.indentations;
        if (!indentations.active()) return environment;
        return engine_.spanner.prospects.may_be_newline(lexeme) ? indentations.step(environment, byte) : indentations.idle(environment);
    }

    // Calls `at(stack, accept set, environment)` for every stack on which the text may stop here and owe nothing, until it answers yes.
    template <class At>
    Answer<bool> stops(const Parse& t, At at);
    // Calls begin(parse) for each inner text that may begin here, before its first byte.
    template <class Begin>
    void inner_texts(const Parse& t, Begin begin);
    // The text may end.
    Answer<bool> may_end(const Parse& t);
    // A token that ends inside the lexeme in progress can be completed. SAFETY: of a split of this grammar's spanner.
    Answer<bool> alive(Frontier stack, Environment environment, const Split::Inside& group);
    // A parse has a future.
    bool alive(const Parse& t);

  private:
    static constexpr LexState kUnknownStart{~0u - 2};

    const Engine engine_;
    Blocks blocks_;
    CountedMembers members_;
    const bool has_slots_ = engine_.slots.active();
    const bool scannerless_ = engine_.spanner.lexer.policy() == Policy::kScannerless;
    std::vector<IdVector<AcceptSet, LexState>> starts_;  // by past: members
    std::unordered_map<Symbol, ByteSet> first_bytes_;    // of slots
    const Renumbering::Told states_{engine_.stacks.states(), [this] { starts_.clear(); }};
};

template <class Begin>
void Lexemes::names(const Parse& t, LexState plain, const ByteSet& first, Begin begin) {
    for (Symbol slot : engine_.slots.symbols()) {
        if (!engine_.stacks.contains(engine_.stacks.accepts(t.stack), slot)) continue;
        // PERF: before Python is asked. Behind an alias eight slots of SQL may stand, and none of them begins with a comma.
        if (!first.meets(first_bytes(slot))) continue;
        Parse name = t;
        name.slot = engine_.slots.begin(t.meaning, slot);
        if (name.slot == Slots::kNone) continue;
        name.lex = start_of_slot(slot, plain);
        if (name.lex != kNoState) begin(std::move(name));
    }
}

template <class Visit>
void Lexemes::each_end_of_name(const Parse& t, bool at_end, Visit visit, std::optional<uint8_t> before) {
    if (!engine_.slots.is_name(t.slot)) return;
    const Symbol slot = engine_.slots.symbol(t.slot);
    Lexer& lexer = engine_.access.lexer();
    const std::vector<Lexer::Exit> exits = lexer.exits(t.lex);
    for (const Lexer::Exit& e : exits) {
        if (e.terminal != engine_.terminals.to_lexer(slot)) continue;
        if (at_end && !scannerless_ && !lexer.formulas.hold_at_end(e.obligations)) continue;
        if (before && lexer.formulas.step(e.obligations, *before) == Formulas::kViolated) continue;
        const Meaning::State meaning = engine_.slots.read(t.meaning, t.slot);
        if (meaning == Meaning::kNone) return;
        const After next = after(slot, t.stack, t.environment, at_end);
        if (next.stack != kNoFrontier) visit(engine_.stacks.minimal(next.stack), next.environment, meaning, e.obligations);
    }
}

template <class At>
Answer<bool> Lexemes::stops(const Parse& t, At at) {
    Lexer& lexer = engine_.access.lexer();
    Reach looked;
    auto stop = [&](Frontier f, Environment environment, int above) {
        const auto [set, reach] = engine_.stacks.accepted(f);
        const Answer<bool> answer = at(f, set, environment);
        looked |= (reach | answer.reach).below(above);
        return answer.value;
    };
    if (t.embedded) {
        if (!t.embedded->may_end()) return {false, {}};
        const After next = after(t.embedded->symbol(), t.stack, t.environment, true);
        const bool yes = next.stack != kNoFrontier && stop(engine_.stacks.minimal(next.stack), next.environment, next.above);
        return {yes, looked | next.reach};
    }
    if (lexer.is_fresh(t.lex)) {
        const bool yes = stop(t.stack, t.environment, 0);
        return {yes, looked};
    }
    for (const Lexer::Exit& e : lexer.exits(t.lex)) {
        if (!scannerless_ && !lexer.formulas.hold_at_end(e.obligations)) continue;
        for (Symbol symbol : engine_.terminals.of(e.terminal)) {
            work(2);
            if (engine_.terminals.is_ignored(symbol) && stop(t.stack, after_ignored(t.stack, t.environment).environment, 0))
                return {true, looked};
            const After next = after(symbol, t.stack, t.environment, true);
            looked |= next.reach;
            if (next.stack != kNoFrontier && stop(next.stack, next.environment, next.above)) return {true, looked};
        }
    }
    return {false, looked};
}

template <class Begin>
void Lexemes::inner_texts(const Parse& t, Begin begin) {
    for (const auto& language : engine_.terminals.languages())
        stops(t, [&](Frontier f, AcceptSet set, Environment environment) -> Answer<bool> {
            if (engine_.stacks.contains(set, language->symbol())) {
                Parse inside{engine_.access.lexer().none(), f, environment, t.writing};
                inside.embedded = language->begin();
                begin(std::move(inside));
            }
            return {false, {}};
        });
}

}  // namespace derivable
