#include "lexing/formulas.hpp"

#include <algorithm>
#include <utility>

#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {
// Words of all formulas; of one, kMaxWords. Looks that one text may answer in several ways multiply: /a(?=.{0,40}x)|a(?=.{0,30}y)/ doubles the
// alternatives with every "a". The built-in grammars and the exactness tests get to 14, and to 40,000 in all.
constexpr size_t kMaxAllWords = 1u << 24;

// Steps that it takes to put two alternatives together.
size_t both_sizes(const std::vector<uint32_t>& x, const std::vector<uint32_t>& y) { return (x.size() + y.size()) * (x.size() + y.size()); }

void check_size(size_t words, size_t most) {
    if (words > most)
        throw LimitExceeded("obligations of a lexer", words, most, "what look-ahead and longer attempts of lexemes still ask of the text");
}
}  // namespace

// ---- what stands before ----

void Formulas::look_back() {
    std::vector<uint32_t> obligations;
    if (!automata_.looking_back().empty()) {
        uint32_t start = pasts_.intern(std::vector<uint32_t>(automata_.looking_back().size(), 0));
        obligations.push_back(add({Obligation::kPast, start, 0, 0, false}));
        text_start_ = any_of({obligations});
    }
    obligations.insert(obligations.begin(), add({Obligation::kFresh, 0, 0, 0, false}));
    std::sort(obligations.begin(), obligations.end());
    fresh_ = any_of({obligations});
}

uint32_t Formulas::past(Obligations obligations) const {
    for (uint32_t w : lists_[obligations.index()])
        if (w != kSeparator && obligations_[w].kind == Obligation::kPast) return obligations_[w].subject;
    return 0;
}

Obligations Formulas::nothing_owed(Obligations obligations) {
    return automata_.looking_back().empty() ? kFree : stands_behind(past(obligations));
}

Obligations Formulas::stands_behind(uint32_t past) {
    Obligations& formula = stands_behind_[past];
    if (formula == Obligations()) formula = only({Obligation::kPast, past, 0, 0, false});
    return formula;
}

uint32_t Formulas::step_past(uint32_t past, uint8_t byte) {
    if (const uint32_t* known = past_steps_.find(pack(past, byte))) return *known;
    std::vector<uint32_t> next = pasts_[past];
    for (size_t i = 0; i < next.size(); i++) next[i] = automata_.looking_back()[i]->step(next[i], byte);
    const uint32_t to = pasts_.intern(next);
    return past_steps_[pack(past, byte)] = to;
}

std::vector<Obligations> Formulas::all_pasts(size_t limit) {
    std::vector<Obligations> out{text_start_};
    for (size_t i = 0; i < out.size() && !automata_.looking_back().empty(); i++)
        for (uint8_t byte : kinds_.representatives()) {
            const Obligations next = step(out[i], byte);
            if (std::find(out.begin(), out.end(), next) == out.end()) out.push_back(next);
            if (out.size() > limit) return {};
        }
    return out;
}

// ---- formulas: a list of alternatives, each a sorted list of obligations followed by a separator ----

uint32_t Formulas::add(const Obligation& d) {
    uint32_t id = obligation_ids_.intern({d.kind, d.subject, d.look, d.state, d.negative});
    if (id == obligations_.size()) obligations_.push_back(d);
    return id;
}

Obligations Formulas::any_of(Alternatives alts) {
    work(10 * alts.size());
    std::sort(alts.begin(), alts.end());
    alts.erase(std::unique(alts.begin(), alts.end()), alts.end());
    if (!alts.empty() && alts[0].empty()) return kFree;
    absorb(alts);
    std::vector<uint32_t> words;
    for (auto& a : alts) {
        work(a.size());
        words.insert(words.end(), a.begin(), a.end());
        words.push_back(kSeparator);
    }
    check_size(words.size(), kMaxWords);
    const uint32_t before = lists_.size(), id = lists_.intern(words);
    if (id == before) count_words(words.size());
    return Obligations(id);
}

void Formulas::count_words(size_t words) {
    check_size(words, kMaxWords);
    check_size(words_ += words, kMaxAllWords);
}

// ---- what is said twice ----
//
// A look-ahead that is begun anew with every lexeme owes nearly the same each time: /a+(?!.{0,30}z)/ forbids a `z` among the next 30, 28, 25
// characters. The first says it all. PERF: without, formulas are as many as sets of distances: 335 MB, and 28 calls of 5,000,000 units
// a mask.

// Who keeps obligation `a` keeps `b`. False in doubt.
bool Formulas::implies(uint32_t a, uint32_t b) {
    if (a == b) return true;
    const Obligation p = obligations_[a], q = obligations_[b];
    if (p.kind != q.kind || p.negative != q.negative) return false;
    if (p.kind == Obligation::kLonger) {
        const Singles all = sets_.singles(LexState(p.subject)), some = sets_.singles(LexState(q.subject));
        return some.size() < all.size() && std::includes(all.begin(), all.end(), some.begin(), some.end());
    }
    return p.kind == Obligation::kLook && (p.negative ? matches_less(b, a) : matches_less(a, b));
}

// Whatever the look-ahead of obligation `a` matches, that of `b` does. False in doubt.
bool Formulas::matches_less(uint32_t a, uint32_t b) {
    constexpr size_t kPatience = 1'000;
    if (const bool* known = matches_less_.find(pack(a, b))) return *known;
    const Obligation p = obligations_[a], q = obligations_[b];
    const LookDfa &less = look(p), &more = look(q);
    std::vector<std::pair<int32_t, int32_t>> todo{{int32_t(p.state), int32_t(q.state)}};
    FlatMap<char> seen;
    bool result = true;
    for (size_t i = 0; i < todo.size() && result; i++) {
        const auto [x, y] = todo[i];
        result = i < kPatience && (!less.matches_at_end[size_t(x)] || more.matches_at_end[size_t(y)]);
        for (uint8_t byte : kinds_.representatives()) {
            if (!result) break;
            const int32_t next = less.step(uint32_t(x), byte), other = more.step(uint32_t(y), byte);
            if (next == kDead || other == kMatched || (next == other && &less == &more)) continue;
            result = next >= 0 && other >= 0;
            char& fresh = seen[pack(uint32_t(next), uint32_t(other))];
            if (result && !std::exchange(fresh, 1)) todo.emplace_back(next, other);
        }
        work(5 + kinds_.representatives().size());
    }
    return matches_less_[pack(a, b)] = result;
}

// Leaves out of a conjunction what the rest of it implies. False: it contradicts itself.
bool Formulas::reduce(std::vector<uint32_t>& all) {
    for (uint32_t i : all)
        for (uint32_t j : all) {
            const Obligation &p = obligations_[i], &q = obligations_[j];
            if (p.kind == Obligation::kLook && q.kind == Obligation::kLook && !p.negative && q.negative && matches_less(i, j)) return false;
        }
    for (size_t i = all.size(); i-- > 0;) {
        const uint32_t one = all[i];
        if (std::any_of(all.begin(), all.end(), [&](uint32_t other) { return other != one && implies(other, one); }))
            all.erase(all.begin() + long(i));
    }
    return true;
}

// Leaves out alternatives that say more than another one.
void Formulas::absorb(Alternatives& alternatives) {
    constexpr size_t kMost = 256;
    if (alternatives.size() < 2 || alternatives.size() > kMost) return;
    auto says_more = [&](const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
        return std::all_of(b.begin(), b.end(),
                           [&](uint32_t j) { return std::any_of(a.begin(), a.end(), [&](uint32_t i) { return implies(i, j); }); });
    };
    for (size_t i = alternatives.size(); i-- > 0;) {
        work(10 * alternatives.size());
        for (size_t j = 0; j < alternatives.size(); j++)
            if (i != j && says_more(alternatives[i], alternatives[j])) {
                alternatives.erase(alternatives.begin() + long(i));
                break;
            }
    }
}

Obligations Formulas::only(const Obligation& d) {
    const uint32_t obligation = add(d);
    Obligations& formula = only_[obligation];
    if (formula == Obligations()) formula = any_of({std::vector<uint32_t>{obligation}});
    return formula;
}

Formulas::Alternatives Formulas::alternatives(Obligations formula) const {
    Alternatives out;
    std::vector<uint32_t> current;
    for (uint32_t w : lists_[formula.index()]) {
        if (w == kSeparator) out.push_back(std::move(current)), current.clear();
        else current.push_back(w);
    }
    return out;
}

Obligations Formulas::all_of(Obligations a, Obligations b) {
    if (a == kFree || a == b) return b;
    if (b == kFree) return a;
    if (a == kViolated || b == kViolated) return kViolated;
    auto known = conjunctions_.find(pack(a, b));
    if (known != conjunctions_.end()) return known->second;
    Alternatives out;
    size_t words = 0;
    for (const auto& x : alternatives(a))
        for (const auto& y : alternatives(b)) {
            work(10 + both_sizes(x, y));
            std::vector<uint32_t> both = x;
            both.insert(both.end(), y.begin(), y.end());
            std::sort(both.begin(), both.end());
            both.erase(std::unique(both.begin(), both.end()), both.end());
            if (!reduce(both)) continue;
            check_size(words += both.size(), kMaxWords);
            out.push_back(std::move(both));
        }
    return conjunctions_[pack(a, b)] = any_of(std::move(out));
}

Obligations Formulas::conditions(uint32_t automaton, const Conditions& c, bool negated) {
    auto obligation = [&](const Lookahead& o, bool flip) {
        return add({Obligation::kLook, automaton, o.look, o.state, o.negative != flip});
    };
    if (!negated) {
        Alternatives alts;
        for (const Condition& all : c) {
            std::vector<uint32_t> one;
            for (const Lookahead& o : all) one.push_back(obligation(o, false));
            std::sort(one.begin(), one.end());
            alts.push_back(std::move(one));
        }
        return any_of(std::move(alts));
    }
    Obligations result = kFree;  // every alternative has an obligation that fails
    for (const Condition& all : c) {
        Alternatives alts;
        for (const Lookahead& o : all) alts.push_back({obligation(o, true)});
        result = all_of(result, any_of(std::move(alts)));
    }
    return result;
}

Obligations Formulas::no_match(LexState members) {
    if (const Obligations* known = no_match_.find(members)) return *known;
    Obligations result = kFree;
    for (LexState single : sets_.singles(members)) {
        if (!automata_.accepts(single)) continue;
        const Conditions* c = automata_.recognizer_of(single).conditions(automata_.state_of(single));
        result = c ? all_of(result, conditions(automata_.automaton_of(single), *c, true)) : kViolated;
        if (!c) break;
    }
    if (sets_.has_next(members)) result = all_of(result, no_longer(members));
    return no_match_[members] = result;
}

Obligations Formulas::step(const Obligation& d, uint8_t byte) {
    switch (d.kind) {
        case Obligation::kFresh: return kFree;
        case Obligation::kPast: return stands_behind(step_past(d.subject, byte));
        case Obligation::kLonger: {
            const LexState next = sets_.step(LexState(d.subject), byte);
            return next == kNoState ? kFree : no_match(next);
        }
        case Obligation::kLook: {
            int32_t next = look(d).step(d.state, byte);
            if (next >= 0) return only({Obligation::kLook, d.subject, d.look, uint32_t(next), d.negative});
            return (next == kMatched) != d.negative ? kFree : kViolated;
        }
    }
    return kFree;
}

Obligations Formulas::step(Obligations formula, uint8_t byte) {
    if (formula == kViolated || formula == kFree) return formula;
    byte = kinds_.like(byte);
    const uint64_t key = pack(formula, byte);
    if (const Obligations* known = steps_.find(key)) return *known;
    Obligations all = kFree, result = kViolated;
    std::vector<Obligations> stepped;             // the alternatives, where there are several
    const auto& words = lists_[formula.index()];  // a list stays where it is while others are added
    for (size_t i = 0; i < words.size(); i++) {
        if (words[i] == kSeparator) {
            if (i + 1 < words.size() || !stepped.empty()) stepped.push_back(all);
            result = std::exchange(all, kFree);
        } else {
            const Obligation d = obligations_[words[i]];  // a copy: stepping may add obligations
            work(10);                                     // what is known of both is looked up in large tables
            all = all_of(all, step(d, byte));
        }
    }
    work(20);
    if (!stepped.empty()) {
        Alternatives out;
        for (Obligations one : stepped)
            for (auto& a : alternatives(one)) out.push_back(std::move(a));
        result = any_of(std::move(out));
    }
    steps_[key] = result;
    bytes_ += 48;
    return result;
}

bool Formulas::hold_at_end(Obligations formula) const {
    for (const auto& conj : alternatives(formula)) {
        bool all = true;
        for (uint32_t id : conj) {
            const Obligation& d = obligations_[id];
            if (d.kind == Obligation::kLook) all &= bool(look(d).matches_at_end[d.state]) != d.negative;
        }
        if (all) return true;
    }
    return false;
}

bool Formulas::is_broken_by(LexState members, Obligations formula) {
    const Singles all = sets_.singles(members);
    for (const std::vector<uint32_t>& some : alternatives(formula)) {
        const bool broken = std::any_of(some.begin(), some.end(), [&](uint32_t obligation) {
            return std::all_of(all.begin(), all.end(), [&](LexState single) { return breaks(single, obligation); });
        });
        if (!broken) return false;
    }
    return true;
}

// PERF: what a name may have been (`re` of `return`) is owed to its end, and settled by the blank or bracket behind it. Carried along it made what
// follows another place of the index for each such beginning.
Obligations Formulas::without_settled(Obligations formula, uint8_t byte) {
    if (formula == kFree) return formula;
    Alternatives left;
    for (const auto& all : alternatives(formula)) {
        std::vector<uint32_t> some;
        bool is_kept = true;
        for (uint32_t one : all) {
            const Obligation d = obligations_[one];  // a copy: stepping may add obligations
            const Obligations after = step(d, byte);
            is_kept = is_kept && after != kViolated;
            if (after != kFree) some.push_back(one);
        }
        if (is_kept) left.push_back(std::move(some));
    }
    return any_of(std::move(left));
}

// A lexeme of this member cannot end before the obligation is broken. False where that would take long to find out.
bool Formulas::breaks(LexState single, uint32_t obligation) {
    constexpr size_t kPatience = 200, kPatienceWithCounts = 8;  // of states that differ by their counts there is no end
    auto known = breaks_.find(pack(single, obligation));
    if (known != breaks_.end()) return known->second;
    const Obligation d = obligations_[obligation];
    if (d.kind != Obligation::kLonger && d.kind != Obligation::kLook) return breaks_[pack(single, obligation)] = false;
    Recognizer& member = automata_.at(automata_.automaton_of(single));
    const uint32_t from = automata_.state_of(single);
    const std::vector<uint8_t>& bytes = kinds_.representatives();
    enum Fate { kKept, kOpen, kBroken };
    auto certain = [&](uint32_t start, auto&& step) {
        std::vector<std::pair<uint32_t, uint32_t>> todo{{from, start}};
        if (member.accepts(from)) return false;
        FlatMap<char> seen;
        for (size_t i = 0; i < todo.size(); i++) {
            auto [state, other] = todo[i];
            if (i > (member.has_table() ? kPatience : kPatienceWithCounts)) return false;
            work(10 + bytes.size());
            for (uint8_t byte : bytes) {
                int32_t next = member.step(state, byte), other_next = 0;
                if (next < 0) continue;
                Fate fate = step(other, byte, other_next);
                if (fate == kKept || (fate == kOpen && member.accepts(uint32_t(next)))) return false;
                if (fate == kOpen && !std::exchange(seen[pack(uint32_t(next), uint32_t(other_next))], 1))
                    todo.emplace_back(uint32_t(next), uint32_t(other_next));
            }
        }
        return true;
    };
    bool result = false;
    if (d.kind == Obligation::kLook) {
        const LookDfa& ahead = look(d);
        result = certain(d.state, [&](uint32_t state, uint8_t byte, int32_t& next) {
            next = ahead.step(state, byte);
            return next >= 0 ? kOpen : (next == kMatched) == d.negative ? kBroken : kKept;
        });
    } else {
        for (LexState attempt : sets_.singles(LexState(d.subject))) {
            Recognizer& longer = automata_.at(automata_.automaton_of(attempt));
            result = result || certain(automata_.state_of(attempt), [&](uint32_t state, uint8_t byte, int32_t& next) {
                         next = longer.step(state, byte);
                         return next < 0 ? kKept : longer.accepts(uint32_t(next)) && !longer.conditions(uint32_t(next)) ? kBroken : kOpen;
                     });
        }
    }
    return breaks_[pack(single, obligation)] = result;
}

}  // namespace derivable
