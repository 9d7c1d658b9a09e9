#include "lexing/lexer.hpp"

#include <algorithm>
#include <utility>

#include "support/archive.hpp"
#include "support/packed.hpp"
#include "support/task.hpp"

namespace derivable {

TerminalId Lexer::add(const Recognizer& recognizer, uint32_t rank, uint32_t kind) {
    const TerminalId id = automata.add(recognizer, rank, kind);
    if (recognizer.past()) formulas.look_back();
    return id;
}

LexState Lexer::start(const std::vector<TerminalId>& terminals, Obligations obligations) {
    std::vector<uint32_t> singles;
    singles.reserve(terminals.size());
    const bool looks_back = !automata.looking_back().empty();
    const std::vector<uint32_t> nothing, &past = looks_back ? formulas.states_of(formulas.past(obligations)) : nothing;
    for (TerminalId t : terminals) {
        const uint32_t a = automata.automaton(t, past);
        if (!automata.at(a).is_empty()) singles.push_back(automata.state(a, 0).index());
    }
    std::sort(singles.begin(), singles.end());
    singles.erase(std::unique(singles.begin(), singles.end()), singles.end());
    if (singles.empty()) return kNoState;
    return with_obligations(sets.of(singles), obligations);
}

LexState Lexer::any_lexeme(Obligations obligations) {
    const uint32_t before = formulas.past(obligations);
    if (std::exchange(any_of_, automata.num_terminals()) != automata.num_terminals()) any_lexeme_.clear();
    if (any_lexeme_.size() <= before) any_lexeme_.resize(before + 1, kUnknown);
    if (any_lexeme_[before] == kUnknown) {
        std::vector<TerminalId> all;
        for (uint32_t t = 0; t < automata.num_terminals(); t++) all.emplace_back(t);
        const LexState first = start(all, obligations);
        any_lexeme_[before] = first == kNoState ? first : members(first);
    }
    return with_obligations(any_lexeme_[before], obligations);
}

LexState Lexer::with_obligations(LexState m, Obligations obligations) {
    if (obligations == Formulas::kFree || m == kNoState) return m;
    uint32_t& id = pair_ids_[pack(m, obligations)];
    if (id == 0) {
        pairs_.push_back({m, obligations, Pair::kUnjudged});
        bytes_ += 40;
        id = uint32_t(pairs_.size());
    }
    return LexState(StateNumber::kPairBit | (id - 1));
}

LexState Lexer::step_slow(LexState s, uint8_t byte) {
    if (!StateNumber::is_pair(s)) return sets.step(s, byte);
    const Pair p = pairs_[StateNumber::of(s)];
    const LexState m = sets.step(p.members, byte);
    if (m == kNoState) return kNoState;
    const Obligations obligations = formulas.step(p.obligations, byte);
    return obligations == Formulas::kViolated ? kNoState : stepped(m, obligations, byte);
}

// A name directly behind a keyword would have been one longer name, so a state within its first character has no future. But it cannot end there either, and
// only is_dead() sees what its last byte will break. A blank of Unicode may begin with the same byte, so every byte of a character is looked at.
LexState Lexer::stepped(LexState m, Obligations obligations, uint8_t byte) {
    constexpr uint8_t kOfSeveral = 0x80;  // bytes of a character, from here on
    const LexState next = with_obligations(m, obligations);
    return byte >= kOfSeveral && is_dead(next) ? kNoState : next;
}

// PERF: with Unicode names there are over a thousand such states, each of which `Liveness` would have to decide on every stack. First pass
// over Java programs, llama-3: 67 to 46 us a mask; its p99.9 10.6 to 3.8 ms.
bool Lexer::is_dead(LexState s) {
    if (!StateNumber::is_pair(s)) return false;
    const uint32_t pair = StateNumber::of(s);
    if (pairs_[pair].fate == Pair::kUnjudged) {
        const bool dead = formulas.is_broken_by(pairs_[pair].members, pairs_[pair].obligations);
        pairs_[pair].fate = dead ? Pair::kDead : Pair::kOpen;
    }
    return pairs_[pair].fate == Pair::kDead;
}

std::vector<LexState> Lexer::successors(LexState s) {
    const LexState m = members(s);
    const Obligations owed = obligations(s);
    sets.step_with_all(m);
    work((owed == Formulas::kFree ? 1 : 4) * kinds.representatives().size());
    std::vector<LexState> found;
    std::pair<LexState, Obligations> last{kNoState, Formulas::kViolated};
    for (uint8_t byte : kinds.representatives()) {
        const LexState next_members = sets.step(m, byte);
        if (next_members == kNoState) continue;
        const std::pair next{next_members, formulas.step(owed, byte)};
        if (next.second == Formulas::kViolated || next == last) continue;
        last = next;
        const LexState to = stepped(next.first, next.second, byte);
        if (to != kNoState && std::find(found.begin(), found.end(), to) == found.end()) found.push_back(to);
    }
    return found;
}

ByteSet Lexer::apart(LexState a, LexState b, const ByteSet& of) {
    ByteSet all = sets.apart(members(a), members(b), of);
    const Obligations owed = obligations(a), other = obligations(b);
    if (owed == other) return all;
    ByteSet asked, differ;  // one of each kind
    of.each([&](uint8_t byte) {
        const uint8_t kind = kinds.like(byte);
        if (!asked[kind] && !all[byte] && formulas.step(owed, kind) != formulas.step(other, kind)) differ.set(kind);
        asked.set(kind);
        if (differ[kind]) all.set(byte);
    });
    return all;
}

// PERF: behind `\n` no lexeme begins with `\r`, for `\r\n` would have made the line break a longer one. Tokens such as `\n\r\n` were asked
// for in vain in every mask that allows a line break, and so deep that the mask was kept for that text alone.
Obligations Lexer::unsettled(Obligations obligations, uint8_t byte) {
    if (policy() == Policy::kScannerless) return obligations;  // terminals of other grammars may be added
    byte = kinds.like(byte);
    const uint64_t key = pack(obligations, byte);
    if (const Obligations* known = unsettled_.find(key)) return *known;
    const LexState first = any_lexeme(obligations), next = first == kNoState ? first : step(first, byte);
    const bool may_begin = next != kNoState && !is_dead(next);
    // SAFETY: before it has a place, for that may be refused (and GCC 12 makes the place first where a condition is assigned to it).
    const Obligations left = may_begin ? formulas.without_settled(obligations, byte) : Formulas::kViolated;
    return unsettled_[key] = left;
}

const std::vector<Lexer::Option>& Lexer::options(LexState m) {
    auto found = options_.find(m);
    if (found != options_.end()) return found->second;
    std::vector<LexState> accepted;
    for (LexState single : sets.singles(m))
        if (automata.accepts(single)) accepted.push_back(single);
    auto rank = [this](LexState single) { return automata.rank(automata.terminal_of(single)); };
    std::stable_sort(accepted.begin(), accepted.end(), [&](LexState x, LexState y) { return rank(x) < rank(y); });
    std::vector<Option> out;
    Obligations better_fail = Formulas::kFree;
    for (LexState single : accepted) {
        const Conditions* c = automata.recognizer_of(single).conditions(automata.state_of(single));
        const uint32_t a = automata.automaton_of(single);
        out.push_back({automata.terminal_of(single), c ? formulas.all_of(better_fail, formulas.conditions(a, *c, false)) : better_fail});
        if (!c) break;
        better_fail = formulas.all_of(better_fail, formulas.conditions(a, *c, true));
    }
    bytes_ += 64 + out.size() * sizeof(Option);
    return options_.emplace(m, std::move(out)).first->second;
}

const std::vector<Lexer::Exit>& Lexer::exits(LexState s) {
    Exits& exits = exits_at(s);
    if (exits.known) return exits.list;
    const LexState m = members(s);
    work(5 + sets.singles(m).size());
    std::vector<Exit> out;
    if (policy() == Policy::kScannerless) {
        for (LexState single : sets.singles(m))
            if (automata.accepts(single)) out.push_back({automata.terminal_of(single), Formulas::kFree});
    } else {
        const Obligations before = is_fresh(s) ? formulas.text_start() : obligations(s);
        for (const Option& o : options(m)) {
            Obligations after = formulas.all_of(before, o.condition);
            if (sets.has_next(m)) after = formulas.all_of(after, formulas.no_longer(m));
            if (after != Formulas::kViolated) out.push_back({o.terminal, after});
        }
    }
    bytes_ += out.size() * sizeof(Exit);
    exits.known = true;
    return exits.list = std::move(out);
}

std::vector<std::pair<TerminalId, uint32_t>> Lexer::describe(LexState s) const {
    std::vector<std::pair<TerminalId, uint32_t>> out;
    for (LexState single : sets.singles(members(s))) out.emplace_back(automata.terminal_of(single), automata.state_of(single));
    return out;
}

// ---- states written down, and read again ----

void Lexer::archive(Archive& a) {
    for (size_t number : {size_t(policy()), size_t(automata.num_terminals()), size_t(automata.num_states())})
        a.same(number, "its index is of another lexer");
    formulas.archive_pasts(a);
    sets.archive(a);
    formulas.archive(a);
    const uint32_t num_pairs = a.count(pairs_.size(), 3);
    if (a.reading()) pair_ids_.reserve(num_pairs), pairs_.reserve(num_pairs);
    for (uint32_t i = 0; i < num_pairs; i++) {
        Pair pair = a.reading() ? Pair{} : pairs_[i];
        a.number(pair.members);
        a.below(pair.obligations, formulas.size());
        a.below(pair.fate, Pair::kDead + 1);
        if (!a.reading()) continue;
        a.check(sets.has(pair.members) && pair.obligations > Formulas::kFree);
        a.check(with_obligations(pair.members, pair.obligations) == LexState(StateNumber::kPairBit | i));
        pairs_[i].fate = pair.fate;
    }
    if (a.reading()) prepare_first_bytes();
}

// PERF: every first byte is asked whether any lexeme begins with it, and every member whether it goes on with what is left of some tokens; by and by,
// that was 130,000 instructions of the first masks.
void Lexer::prepare_first_bytes() {
    const LexState any = any_lexeme(formulas.text_start());
    if (any == kNoState || !kinds.are_known()) return;
    sets.step_with_all(members(any));
    for (LexState single : sets.singles(members(any))) sets.bytes(single);
}

namespace {
enum Owing : uint8_t { kNothing, kTextStart, kFormula };  // kTextStart: nothing has been read yet
constexpr uint64_t kOwings = 3;
}  // namespace

void Lexer::write(PackedWriter& out, LexState s, const TerminalAutomata::NumberOf& number) const {
    const Obligations owed = obligations(s);
    const Owing owing = owed == Formulas::kFree ? kNothing : owed == formulas.fresh() ? kTextStart : kFormula;
    const Singles all = sets.singles(members(s));
    out.put(all.size() * kOwings + owing);
    for (LexState single : all) sets.write(out, single, number);
    if (owing == kFormula) formulas.write(out, owed, number);
}

LexState Lexer::read(PackedReader& in, const TerminalAutomata::TerminalOf& terminal) {
    const uint64_t head = in.next();
    const LexState m = sets.read(in, head / kOwings, terminal);
    switch (Owing(head % kOwings)) {
        case kNothing:  // SAFETY: wherever a lexeme is in progress, what stands before is owed if anything looks at that
            in.check(automata.looking_back().empty() || policy() == Policy::kScannerless || m == none());
            break;
        case kTextStart: return fresh(m);
        case kFormula: in.check(policy() != Policy::kScannerless); return with_obligations(m, formulas.read(in, terminal));
    }
    return m;
}

}  // namespace derivable
