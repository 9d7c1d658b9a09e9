#include "liveness/spelling.hpp"

#include <algorithm>
#include <utility>

#include "support/characters.hpp"

namespace derivable {

namespace {
constexpr size_t kMaxCandidates = 6;  // boundaries tried as a recurrent boundary
constexpr size_t kMaxRecurrents = 64;
constexpr size_t kPatience = 16;            // terminals tried at a recurrent boundary that do not lead back
constexpr uint32_t kMaxRecurrentDepth = 3;  // recurrent boundaries that were only made because another one leads to them
constexpr size_t kMaxPasts = 64;
auto only(Symbol t) {
    return [t](Symbol s) { return s == t; };
}
bool is_ignored(Symbol s) { return s == 0; }
}  // namespace

const Bits& Spelling::wanted() {
    if (wanted_.words().empty()) {
        wanted_ = Bits(ignored_.size());
        for (Symbol s = 1; s < ignored_.size(); s++)
            if (!ignored_[s] && productions_.is_used(s)) wanted_.add(s);
    }
    return wanted_;
}

bool Spelling::only_newline_follows(Symbol t) {
    if (newline_ == kEnd) return false;
    const Bits& follow = adjacency_.follow(t);
    for (Symbol s = 0; s < ignored_.size(); s++)
        if (follow.has(s) != (s == newline_)) return false;
    return true;
}

LexState Spelling::start(const Bits& candidates, Obligations obligations) {
    std::vector<TerminalId> list;
    for (Symbol s = 1; s < ignored_.size(); s++)
        if (lexer_.policy() == Policy::kBasic || ignored_[s] || candidates.has(s) || s == newline_) list.push_back(to_lexer_[s]);
    return lexer_.start(list, obligations);
}

LexState Spelling::everything(Obligations obligations) {
    uint32_t past = lexer_.formulas.past(obligations);
    if (everything_.size() <= past) everything_.resize(past + 1, kNoState);
    if (everything_[past] == kNoState) {
        LexState s = start(wanted(), obligations);
        if (s == kNoState) return s;
        everything_[past] = lexer_.members(s);
    }
    return lexer_.with_obligations(everything_[past], obligations);
}

template <class Keep, class Visit>
bool Spelling::walk(LexState s, Keep keep, Visit visit, States& seen, const States& in_vain) {
    if (s == kNoState || in_vain.count(s) || !seen.insert(s).second) return false;
    auto kept = [&](LexState x) {
        const Singles members = lexer_.sets.singles(lexer_.members(x));
        return std::any_of(members.begin(), members.end(), [&](LexState single) {
            return any_symbol(lexer_.automata.terminal_of(single), [&](Symbol t) { return keep(ignored_[t] ? 0 : t); });
        });
    };
    std::vector<LexState> work{s};
    for (size_t i = 0; i < work.size(); i++) {
        for (const Lexer::Exit& e : lexer_.exits(work[i])) {
            derivable::work(10);
            if (each_landing(e, visit)) return true;
        }
        for (LexState next : successors(work[i])) {
            count_step();
            if (!seen.count(next) && !in_vain.count(next) && kept(next)) seen.insert(next), work.push_back(next);
        }
    }
    return false;
}

Spelling::Span Spelling::successors(LexState s) {
    if (const Span* known = successors_.find(s)) return *known;
    steps_ += lexer_.kinds.representatives().size() - 1;
    count_step();
    const std::vector<LexState> found = lexer_.successors(s);
    LexState* first = successor_lists_.add(found.size());
    std::copy(found.begin(), found.end(), first);
    return successors_[s] = {first, uint32_t(found.size())};
}

const std::vector<Spelling::Landing>& Spelling::landings(LexState s) {
    auto found = landings_.find(s);
    if (found != landings_.end()) return found->second;
    std::vector<Landing> out;
    std::unordered_map<uint64_t, char, MixHash> known;
    walk(
        s, [](Symbol) { return true; },
        [&](Landing l) {
            if (known.try_emplace(pack(l.terminal, l.obligations), 1).second) out.push_back(l);
            return false;
        });
    std::sort(out.begin(), out.end());
    return landings_.emplace(s, std::move(out)).first->second;
}

// Behind a shortest rest of each terminal first. PERF: a walk tries all bytes at each state. Of a lexeme that counts `\w` they lead to 70 states, 10 kB, and of
// `(?:\w{1,20} ){1,60}` under basic 20 words took the 335 MB that a constraint may.
bool Spelling::any_landing_of_counted(LexState s, const std::function<bool(const Landing&)>& ask, const std::function<bool(Symbol)>& keep) {
    constexpr size_t kLong = 256;
    std::unordered_set<uint64_t, MixHash> asked;
    auto ask_once = [&](const Landing& l) { return asked.insert(pack(l.terminal, l.obligations)).second && ask(l); };
    const Singles members = lexer_.sets.singles(lexer_.members(s));
    for (LexState single : std::vector<LexState>(members.begin(), members.end())) {  // SAFETY: a copy, for steps make sets
        if (!any_symbol(lexer_.automata.terminal_of(single), [&](Symbol t) { return keep(ignored_[t] ? 0 : t); })) continue;
        const std::optional<std::string> rest =
            lexer_.automata.at(lexer_.automata.automaton_of(single)).shortest_rest(lexer_.automata.state_of(single), 'a');
        if (!rest || rest->size() > kLong) continue;
        LexState at = s;
        for (size_t i = 0; i < rest->size() && at != kNoState; i++) at = lexer_.step(at, uint8_t((*rest)[i]));
        if (at == kNoState) continue;
        for (const Lexer::Exit& e : std::vector<Lexer::Exit>(lexer_.exits(at)))
            if (each_landing(e, ask_once)) return true;
    }
    return walk(s, keep, ask_once);
}

std::vector<Spelling::Landing> Spelling::next_tokens(const Bits& acceptable, Obligations obligations) {
    std::vector<Landing> out;
    for (Symbol t = 1; t < ignored_.size(); t++) {
        if (!is_token(t) || !acceptable.has(t)) continue;
        if (is_indentation(t)) out.push_back({t, obligations});
        else if (lexer_.formulas.hold_at_end(obligations)) out.push_back({t, lexer_.formulas.text_start()});
    }
    return out;
}

// ---- recurrent boundaries ----

// Boundaries that ignored lexemes lead to from here, nearest first, without `obligations` itself.
std::vector<Obligations> Spelling::through_ignored(Obligations obligations, size_t at_most) {
    std::vector<Obligations> through{obligations};
    for (size_t i = 0; i < through.size() && through.size() <= at_most; i++)
        walk(everything(through[i]), is_ignored, [&](Landing l) {
            if (l.terminal == 0 && std::find(through.begin(), through.end(), l.obligations) == through.end())
                through.push_back(l.obligations);
            return through.size() > at_most;
        });
    through.erase(through.begin());
    return through;
}

// A byte that settles all that is owed, and begins an ignored lexeme that leads to the recurrent boundary where nothing is owed.
//
// PERF: most obligations are longer attempts that the next blank puts an end to; then nothing has to be walked. First pass over Java
// programs, llama-3: 102 to 93 us a mask.
bool Spelling::reaches_at_once(Obligations obligations, Recurrent& recurrent) {
    const Obligations free = lexer_.formulas.nothing_owed(obligations);
    auto ways = recurrent.ways_in.find(lexer_.formulas.past(obligations));
    if (ways == recurrent.ways_in.end()) {
        std::vector<uint8_t> bytes;
        for (uint8_t byte : lexer_.kinds.representatives()) {
            LexState s = lexer_.step(everything(free), byte);
            if (walk(s, is_ignored, [&](Landing l) { return l.terminal == 0 && l.obligations == recurrent.obligations; }))
                bytes.push_back(byte);
        }
        ways = recurrent.ways_in.emplace(lexer_.formulas.past(obligations), std::move(bytes)).first;
    }
    return std::any_of(ways->second.begin(), ways->second.end(),
                       [&](uint8_t byte) { return lexer_.formulas.step(obligations, byte) == lexer_.formulas.step(free, byte); });
}

bool Spelling::reaches(Obligations obligations, Recurrent& recurrent) {
    const Obligations goal = recurrent.obligations;
    if (obligations == goal) return true;
    auto& known = recurrent.reached_from;
    auto it = known.find(obligations);
    if (it != known.end()) return it->second;
    if (reaches_at_once(obligations, recurrent)) return known[obligations] = true;
    std::vector<Obligations> through{obligations};
    std::unordered_map<Obligations, char> seen{{obligations, 1}};
    States states;
    bool result = false;
    for (size_t i = 0; i < through.size() && !result; i++)
        result = walk(
            everything(through[i]), is_ignored,
            [&](Landing l) {
                if (l.terminal != 0) return false;
                if (l.obligations == goal) return true;
                auto before = known.find(l.obligations);
                if (before != known.end() && before->second) return true;
                if (seen.try_emplace(l.obligations, 1).second) through.push_back(l.obligations);
                return false;
            },
            states, recurrent.in_vain);
    if (result) return known[obligations] = true;
    for (Obligations d : through) known[d] = false;
    recurrent.in_vain.merge(states);
    return false;
}

// Some text of characters settles what is owed; true in doubt. (What is cut off within a character settles most, but hardly any terminal
// can be spelled so.)
bool Spelling::can_settle(Obligations obligations) {
    constexpr size_t kMostKinds = 100;
    std::vector<std::pair<Obligations, Utf8State>> work{{obligations, kBetween}};
    for (size_t i = 0; i < work.size(); i++) {
        const auto [owed, place] = work[i];
        if (!lexer_.formulas.owes(owed) || work.size() > kMostKinds) return true;
        for (uint8_t byte : lexer_.kinds.representatives()) {
            const std::pair next{lexer_.formulas.step(owed, byte), character_step(place, byte)};
            if (next.first != Formulas::kViolated && next.second != kNowhere && std::find(work.begin(), work.end(), next) == work.end())
                work.push_back(next);
        }
    }
    return false;
}

// Behind a terminal a line must end, and they lead back together: there is no text with one and not the other.
template <class Returns>
bool Spelling::leads_back_with_newline(Symbol t, Obligations at, Returns returns) {
    std::vector<Obligations> behind;
    walk(everything(at), only(t), [&](Landing l) {
        if (l.terminal == t) behind.push_back(l.obligations);
        return behind.size() >= kMaxCandidates;
    });
    return std::any_of(behind.begin(), behind.end(), [&](Obligations o) {
        return walk(everything(o), only(newline_), [&](Landing l) { return l.terminal == newline_ && returns(l.obligations); });
    });
}

Bits Spelling::unconditional_at(Recurrent& recurrent, uint32_t depth) {
    Bits unconditional(ignored_.size());
    const Obligations at = recurrent.obligations;
    const bool main = recurrents_.empty();
    if (!lexer_.formulas.hold_at_end(at)) return unconditional;
    const bool near_main = !main && (lexer_.formulas.owes(recurrents_[kMainRecurrent].obligations) || can_settle(at));
    bool by_main = false;
    auto returns = [&](Obligations obligations) {
        if (reaches(obligations, recurrent)) return true;
        if (!near_main || !reaches(obligations, recurrents_[kMainRecurrent])) return false;
        return by_main = true;
    };
    for (Symbol t = 1; t < ignored_.size(); t++)
        if (is_token(t) && wanted().has(t) && returns(lexer_.formulas.text_start())) unconditional.add(t);
    // PERF: only lexemes that are still open are followed: compiling Python 188 to 165 ms, its first mask 40 to 34 (llama-3).
    auto open = [&](Symbol t) { return wanted().has(t) && !(unconditional.has(t) && (!near_main || recurrent.into_main.has(t))); };
    Bits in_vain(ignored_.size());
    size_t num_in_vain = 0, num_unconditional = 0;
    walk(everything(at), open, [&](Landing l) {
        if (l.terminal == 0 || !wanted().has(l.terminal)) return false;
        if (!unconditional.has(l.terminal)) {
            if (returns(l.obligations)) unconditional.add(l.terminal), num_unconditional++;
            else if (!in_vain.has(l.terminal)) in_vain.add(l.terminal), num_in_vain++;
            // Nothing leads back here, it seems.
            if (num_unconditional == 0 && num_in_vain > kPatience) return true;
        }
        if (near_main && !recurrent.into_main.has(l.terminal) && reaches(l.obligations, recurrents_[kMainRecurrent]))
            recurrent.into_main.add(l.terminal);
        return unconditional == wanted() && (!near_main || recurrent.into_main == wanted());
    });
    // Terminals that lose against others are looked at in the company in which they really stand.
    if (lexer_.policy() == Policy::kLongest)
        for (Symbol t = 1; t < ignored_.size(); t++) {
            if (unconditional.has(t) || !wanted().has(t)) continue;
            // Alone it is spelled most easily.
            Bits alone(ignored_.size());
            alone.add(t);
            if (!walk(start(alone, at), only(t), [&](Landing l) { return l.terminal == t && returns(l.obligations); })) continue;
            std::vector<const Bits*> companies;
            auto add = [&](const Bits& b) {
                if (b.has(t) && std::none_of(companies.begin(), companies.end(), [&](const Bits* c) { return *c == b; }))
                    companies.push_back(&b);
            };
            add(adjacency_.initial());
            for (Symbol s = 1; s < ignored_.size(); s++)
                if (wanted().has(s)) add(adjacency_.follow(s));
            bool all = !companies.empty();
            for (const Bits* company : companies)
                all = all && walk(start(*company, at), only(t), [&](Landing l) { return l.terminal == t && returns(l.obligations); });
            if (all) unconditional.add(t);
        }
    for (Symbol t = 1; t < ignored_.size(); t++)
        if (wanted().has(t) && !unconditional.has(t) && only_newline_follows(t) && leads_back_with_newline(t, at, returns))
            unconditional.add(t);
    if (by_main) unconditional.keep(recurrents_[kMainRecurrent].unconditional);
    if (main || depth >= kMaxRecurrentDepth) return unconditional;
    // Terminals that lead away for good, but to another recurrent boundary that is no worse.
    std::vector<uint32_t> others;
    for (Symbol t = 1; t < ignored_.size(); t++) {
        if (unconditional.has(t) || !wanted().has(t)) continue;
        Bits more = unconditional;
        more.add(t);
        size_t tried = 0;
        bool found = walk(everything(at), only(t), [&](Landing l) {
            if (l.terminal != t || ++tried > kMaxCandidates) return false;
            uint32_t other = this->recurrent(l.obligations, depth + 1);
            if (other == kNoRecurrent || !recurrents_[other].unconditional.includes(more)) return false;
            others.push_back(other);
            return true;
        });
        if (found && std::all_of(others.begin(), others.end(), [&](uint32_t o) { return recurrents_[o].unconditional.includes(more); }))
            unconditional = more;
    }
    return unconditional;
}

uint32_t Spelling::make_recurrent(Obligations obligations, uint32_t depth) {
    if (recurrents_.size() >= kMaxRecurrents) return kNoRecurrent;
    auto count = [](const Bits& b) {
        size_t n = 0;
        for (uint64_t w : b.words()) n += size_t(__builtin_popcountll(w));
        return n;
    };
    std::vector<Obligations> candidates = through_ignored(obligations, kMaxCandidates);
    candidates.push_back(obligations);
    Recurrent best{lexer_.formulas.text_start(), Bits(ignored_.size()), Bits(ignored_.size()), {}, {}};
    size_t best_count = 0;
    for (Obligations candidate : candidates) {
        Recurrent made{candidate, Bits(ignored_.size()), Bits(ignored_.size()), {}, {}};
        made.unconditional = unconditional_at(made, depth);
        size_t n = count(made.unconditional);
        if (n > best_count) best_count = n, best = std::move(made);
        if (best_count * 4 >= count(wanted()) * (recurrents_.empty() ? 3 : 2)) break;  // good enough
    }
    if (best_count == 0 || recurrents_.size() >= kMaxRecurrents) return kNoRecurrent;
    recurrents_.push_back(std::move(best));
    return uint32_t(recurrents_.size() - 1);
}

uint32_t Spelling::recurrent(Obligations obligations, uint32_t depth) {
    if (std::find(ignored_.begin(), ignored_.end(), char(1)) == ignored_.end()) return kNoRecurrent;
    auto found = recurrent_of_.find(obligations);
    if (found != recurrent_of_.end()) return found->second;
    if (recurrents_.empty() && obligations != lexer_.formulas.text_start())
        recurrent(lexer_.formulas.text_start());  // the main recurrent boundary comes first
    for (uint32_t k = 0; k < recurrents_.size(); k++)
        if (reaches(obligations, recurrents_[k])) return recurrent_of_[obligations] = k;
    recurrent_of_[obligations] = kNoRecurrent;  // while it is being made
    try {
        return recurrent_of_[obligations] = make_recurrent(obligations, depth);
    } catch (...) {
        recurrent_of_.erase(obligations);
        throw;
    }
}

// ---- what may be spelled at all ----

const Bits& Spelling::spellable() {
    if (!spellable_.words().empty()) return spellable_;
    Bits found(ignored_.size());  // nothing is kept of a question that is refused half-way
    auto open = [&](Symbol t) { return t != 0 && wanted().has(t) && !found.has(t); };
    // After one text or another, if look-behind tells them apart.
    const std::vector<Obligations> pasts = lexer_.formulas.all_pasts(kMaxPasts);
    for (Symbol t = 1; t < ignored_.size(); t++)
        if (open(t) && (is_token(t) || pasts.empty())) found.add(t);
    // Most can be spelled against all. PERF: what else is acceptable takes all LR states to find out: with that asked first a saved Python
    // grammar took 24.9 instead of 19.1 ms to its first mask, Java 13.6 instead of 6.7.
    for (Obligations past : pasts)
        walk(everything(past), open, [&](Landing l) {
            if (open(l.terminal)) found.add(l.terminal);
            return found == wanted();
        });
    for (Symbol t = 1; t < ignored_.size(); t++) {
        if (!open(t)) continue;
        // At least: `t` alone, and what is acceptable wherever it is.
        const Bits* company = lexer_.policy() == Policy::kLongest ? adjacency_.company(t) : nullptr;
        Bits candidates(ignored_.size());
        if (company) candidates = *company;
        candidates.add(t);
        if (std::any_of(pasts.begin(), pasts.end(), [&](Obligations past) {
                return walk(start(candidates, past), only(t), [&](Landing l) { return l.terminal == t; });
            }))
            found.add(t);
    }
    return spellable_ = std::move(found);
}

const Bits& Spelling::possible(Obligations obligations) {
    auto found = possible_.find(obligations);
    if (found != possible_.end()) return found->second;
    const Bits& base = spellable();
    Bits out(ignored_.size());
    std::vector<Obligations> through{obligations};
    std::unordered_map<Obligations, char> passed{{obligations, 1}};
    auto pass = [&](Obligations next) {
        if (passed.try_emplace(next, 1).second) through.push_back(next);
    };
    bool paid = !lexer_.formulas.owes(obligations);  // the debts, some day
    for (size_t i = 0; i < through.size() && !paid; i++) {
        if (found = possible_.find(through[i]); found != possible_.end()) {
            out.add_all(found->second);
            continue;
        }
        for (Symbol t = 1; t < ignored_.size() && !paid; t++) {
            // Between brackets a newline lexeme is dropped, whether the rules use it or not.
            if (!ignored_[t] && t != newline_ && !base.has(t)) continue;
            if (is_indentation(t)) out.add(t);
            if (!is_token(t)) {
                paid = spell_alone(t, through[i], [&](Obligations after) {
                    if (!ignored_[t] && base.has(t)) out.add(t);
                    pass(after);
                });
            } else {
                paid = !is_indentation(t) && lexer_.formulas.hold_at_end(through[i]);
            }
        }
    }
    return possible_.emplace(obligations, paid ? base : std::move(out)).first->second;
}

bool Spelling::may_be_next(Symbol t, Obligations obligations) {
    const uint64_t key = pack(t, obligations);
    if (const bool* known = may_be_next_.find(key)) return *known;
    if (is_token(t)) return may_be_next_[key] = is_indentation(t) || lexer_.formulas.hold_at_end(obligations);
    bool ends = false;
    const bool paid = spell_alone(t, obligations, [&](Obligations) { ends = true; });
    return may_be_next_[key] = ends || paid;
}

bool Spelling::may_be_ignored(Obligations obligations) {
    for (Symbol t = 1; t < ignored_.size(); t++)
        if (ignored_[t] && may_be_next(t, obligations)) return true;
    return false;
}

// Calls `end(obligations)` for the ways in which a lexeme of `t`, and of no other terminal, may end. Only the old obligations count: new
// ones would make it less, and `possible` is to be no less than that. True as soon as nothing is owed any more: whatever lexeme
// is in progress can be completed then, and anything may follow.
//
// PERF: nearest to that first, as far as one can tell: by what is still owed. Eight look-aheads beside each other (`(?=.*a)(?=.*b)...`) have
// 2^8 sets of those that are open, and 8 letters lead through.
template <class End>
bool Spelling::spell_alone(Symbol t, Obligations obligations, End end) {
    Bits alone(ignored_.size());
    alone.add(t);
    const LexState first = start(alone, obligations);
    if (first == kNoState) return false;
    States seen{first};
    std::vector<std::vector<LexState>> open(1);  // by the size of what is owed
    auto add = [&](LexState s) {
        const size_t size = lexer_.formulas.size_of(lexer_.obligations(s));
        if (open.size() <= size) open.resize(size + 1);
        open[size].push_back(s);
    };
    add(first);
    for (size_t size = 0; size < open.size();) {
        if (open[size].empty()) {
            size++;
            continue;
        }
        const LexState s = open[size].back();
        open[size].pop_back();
        for (const Lexer::Exit& e : lexer_.exits(s))
            if (wins(t, e)) end(lexer_.obligations(s));
        for (LexState next : successors(s)) {
            count_step();
            if (!lexer_.formulas.owes(lexer_.obligations(next))) return true;
            if (!seen.insert(next).second) continue;
            add(next);
            size = std::min(size, lexer_.formulas.size_of(lexer_.obligations(next)));
        }
    }
    return false;
}

}  // namespace derivable
