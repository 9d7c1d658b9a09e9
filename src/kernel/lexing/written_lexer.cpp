// Lexer states as every process knows them: their members, each a terminal of the grammar and a state of its automaton, and what they owe.
#include <algorithm>
#include <utility>

#include "lexing/lexer.hpp"
#include "support/packed.hpp"

namespace derivable {

namespace {
enum Owing : uint8_t { kNothing, kTextStart, kFormula };  // kTextStart: nothing has been read yet
constexpr uint64_t kOwings = 3;
}  // namespace

void Lexer::write(PackedWriter& out, LexState s, const NumberOf& number) const {
    const Obligations owed = obligations(s);
    const Owing owing = owed == kFree ? kNothing : owed == fresh_ ? kTextStart : kFormula;
    const Singles all = singles(members(s));
    out.put(all.size() * kOwings + owing);
    for (LexState single : all) write_single(out, single, number);
    if (owing == kFormula) write_obligations(out, owed, number);
}

LexState Lexer::read(PackedReader& in, const TerminalOf& terminal) {
    const uint64_t head = in.next();
    const LexState m = read_members(in, head / kOwings, terminal);
    switch (Owing(head % kOwings)) {
        case kNothing:  // SAFETY: wherever a lexeme is in progress, what stands before is owed if anything looks at that
            in.check(looking_back_.empty() || policy_ == Policy::kScannerless || m == none());
            break;
        case kTextStart: return fresh(m);
        case kFormula: in.check(policy_ != Policy::kScannerless); return with_obligations(m, read_obligations(in, terminal));
    }
    return m;
}

// ---- members ----

void Lexer::write_automaton(PackedWriter& out, uint32_t automaton, const NumberOf& number) const {
    const TerminalId id = automata_[automaton].terminal;
    out.put(number(id));
    if (terminals_[id].looks_back != ~0u) out.put(automaton - terminals_[id].first);
}

uint32_t Lexer::read_automaton(PackedReader& in, const TerminalOf& terminal) {
    const Terminal& t = terminals_[terminal(in.next())];
    const uint32_t automaton = t.first + (t.looks_back == ~0u ? 0 : in.below(looking_back_[t.looks_back]->variants.size()));
    in.check(!automata_[automaton].recognizer.is_empty());
    if (automata_[automaton].recognizer.awaits_table()) single(automaton, 0);
    return automaton;
}

void Lexer::write_single(PackedWriter& out, LexState single, const NumberOf& number) const {
    write_automaton(out, single_automaton_[single], number);
    recognizer_of(single).write(out, single_state_[single]);
}

LexState Lexer::read_members(PackedReader& in, uint64_t count, const TerminalOf& terminal) {
    std::vector<uint32_t> all;
    for (; count > 0; count--) {  // SAFETY: each takes a byte
        const uint32_t automaton = read_automaton(in, terminal);
        all.push_back(single(automaton, automata_[automaton].recognizer.read(in)).index());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return intern_set(all);
}

// ---- what is owed: a list of alternatives, each a list of obligations ----

void Lexer::write_obligations(PackedWriter& out, Obligations formula, const NumberOf& number) const {
    const std::vector<std::vector<uint32_t>> all = alternatives(formula);
    out.put(all.size());
    for (const std::vector<uint32_t>& some : all) {
        out.put(some.size());
        for (uint32_t one : some) write_obligation(out, obligation_table_[one], number);
    }
}

void Lexer::write_obligation(PackedWriter& out, const Obligation& d, const NumberOf& number) const {
    out.put(d.kind);
    switch (d.kind) {
        case Obligation::kFresh: break;
        case Obligation::kPast:
            for (uint32_t state : pasts_[d.subject]) out.put(state);
            break;
        case Obligation::kLonger: {
            const Singles all = singles(LexState(d.subject));
            out.put(all.size());
            for (LexState single : all) write_single(out, single, number);
            break;
        }
        case Obligation::kLook:
            write_automaton(out, d.subject, number);
            out.put(d.look), out.put(d.state), out.put(d.negative);
            break;
    }
}

// SAFETY: where look-behind reaches past lexemes, each alternative holds what stands before, and all of them the same.
Obligations Lexer::read_obligations(PackedReader& in, const TerminalOf& terminal) {
    std::vector<std::vector<uint32_t>> all(in.count());
    in.check(!all.empty());
    std::vector<uint32_t> pasts;
    size_t words = 0;
    for (std::vector<uint32_t>& some : all) {
        const size_t count = in.count();
        words += count + 1;
        in.check(count > 0 && words <= kMaxWords);  // any_of() takes the square of that
        for (size_t i = 0; i < count; i++) {
            const Obligation d = read_obligation(in, terminal);
            if (d.kind == Obligation::kPast) pasts.push_back(d.subject);
            some.push_back(add_obligation(d));
        }
        std::sort(some.begin(), some.end());
        some.erase(std::unique(some.begin(), some.end()), some.end());
    }
    in.check(pasts.size() == (looking_back_.empty() ? 0 : all.size()));
    in.check(std::all_of(pasts.begin(), pasts.end(), [&](uint32_t past) { return past == pasts[0]; }));
    return any_of(std::move(all));
}

Lexer::Obligation Lexer::read_obligation(PackedReader& in, const TerminalOf& terminal) {
    Obligation d{};
    d.kind = decltype(d.kind)(in.below(Obligation::kLook + 1));
    in.check(d.kind != Obligation::kFresh);  // which is never owed with something else
    if (d.kind == Obligation::kPast) {
        std::vector<uint32_t> past;
        for (const Past* of : looking_back_) past.push_back(in.below(of->variant.size()));
        in.check(!past.empty());
        d.subject = pasts_.intern(past);
    } else if (d.kind == Obligation::kLonger) {
        const size_t count = in.count();
        in.check(count > 0);
        d.subject = read_members(in, count, terminal).index();
    } else {
        d.subject = read_automaton(in, terminal);
        d.look = in.below(UINT32_MAX), d.state = in.below(UINT32_MAX), d.negative = in.flag();
        in.check(is_obligation(d));
    }
    return d;
}

}  // namespace derivable
