#include "liveness/liveness.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "support/bits.hpp"
#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

Completion& Liveness::completion(const Bits& terminals) {
    for (auto& c : completions_)
        if (c->terminals() == terminals) return *c;
    completions_.push_back(std::make_unique<Completion>(stacks_, dots(), terminals));
    return *completions_.back();
}

const Dots& Liveness::dots() {
    if (!dots_) dots_ = std::make_unique<const Dots>(stacks_.lr().productions());
    return *dots_;
}

namespace {
// The rules close the brackets that they open, but the productions made of them need not: of `"[" item* "]"` the bracket is in a list with the items. What
// a nonterminal opens or closes is the same in all that it derives.
void balance(Productions& productions, std::vector<char>& opens, std::vector<char>& closes) {
    std::vector<char> known(opens.size(), 0);
    std::fill(known.begin(), known.begin() + productions.num_terminals() + 1, 1);
    auto settle = [&](Symbol head, const std::vector<Symbol>& body) {
        if (known[head] || !std::all_of(body.begin(), body.end(), [&](Symbol s) { return known[s]; })) return false;
        int change = 0;
        for (Symbol s : body) change += opens[s] - closes[s];
        opens[head] = char(std::max(change, 0)), closes[head] = char(std::max(-change, 0));
        known[head] = 1;
        return true;
    };
    for (bool changed = true; changed;) {
        changed = false;
        work(10 * productions.size());
        for (Symbol s = productions.num_terminals() + 1; s < productions.num_symbols(); s++)
            for (Symbol u : productions.units(s)) changed |= settle(s, {u});
        for (uint32_t i = 1; i < productions.size(); i++) changed |= settle(productions[i].head, productions[i].body);
    }
}
}  // namespace

void Liveness::set_indentation(const IndentationSpec& indentation) {
    newline_ = indentation.newline;
    Productions& productions = stacks_.lr().productions();
    opens_.assign(std::max(productions.num_symbols(), productions[0].head + 1), 0);
    closes_ = opens_;
    for (Symbol s : indentation.open) opens_[s] = 1;
    for (Symbol s : indentation.close) closes_[s] = 1;
    balance(productions, opens_, closes_);
    spelling_.set_indentation(indentation.newline, indentation.indent, indentation.dedent);
    summaries_.set_indentation(indentation.newline, &opens_, &closes_);
}

// Whatever stack is left after this landing has a future.
bool Liveness::always_alive_after(const Landing& l, Regions::Set where) {
    uint32_t recurrent = spelling_.recurrent(l.obligations);
    if (recurrent != Spelling::kNoRecurrent && completion(spelling_.unconditional(recurrent)).always()) return true;
    if (SafeRegions* const regions = safe_regions()) {
        const Regions::Set after = l.terminal ? regions->regions().after(where, l.terminal) : where;
        if (const Bits* terminals = regions->safe_for(after, l.obligations); terminals && completion(*terminals).always()) return true;
    }
    // Safe pairs are for grammars without blanks; where there is a recurrent boundary they cost much and decide little.
    return spelling_.recurrent(lexer_.formulas.text_start()) == Spelling::kNoRecurrent && l.terminal != 0 &&
           completion(spelling_.spellable()).always() && spelling_.safe(l.terminal, l.obligations);
}

bool Liveness::always_alive(LexState s) {
    constexpr size_t kPatience = 256;  // states of lexemes that are counted
    auto found = always_alive_.find(s);
    if (found != always_alive_.end()) return found->second;
    spelling_.allow(max_steps_);
    if (lexer_.is_fresh(s)) return always_alive_[s] = always_alive_after({0, lexer_.formulas.text_start()}, 1);  // nothing has to end first
    const Regions::Set where = regions_of(s);
    // All ends of a lexeme that is counted are too many to be looked at; each stack asks for one that will do.
    const bool counts = lexer_.sets.counts_rounds(lexer_.members(s));
    if (lexer_.policy() == Policy::kBasic) {
        if (counts) return always_alive_[s] = false;
        // What it may become is not what the stack accepts: all of it must be good.
        return always_alive_[s] = !spelling_.any_landing(
                   s, [&](const Landing& l) { return !always_alive_after(l, where) || (newline_ != kEnd && l.terminal == newline_); });
    }
    std::vector<LexState> todo{s};
    std::unordered_map<LexState, char> seen{{s, 1}};
    bool result = false;
    for (size_t i = 0; i < todo.size() && !result && !(counts && i > kPatience); i++) {
        work(lexer_.kinds.representatives().size());
        auto before = always_alive_.find(todo[i]);
        if (before != always_alive_.end()) {
            result = before->second;
            continue;
        }
        for (const Lexer::Exit& e : lexer_.exits(todo[i])) {
            // A newline lexeme competes also where the parser has no use for it.
            result = result || spelling_.each_landing(e, [&](const Landing& l) {
                return (newline_ == kEnd || l.terminal != newline_) && always_alive_after(l, where);
            });
        }
        if (result) break;
        for (uint8_t byte : lexer_.kinds.representatives()) {
            const LexState next = lexer_.step(todo[i], byte);
            if (next == kNoState) continue;
            if (before = always_alive_.find(next); before != always_alive_.end() && before->second) return always_alive_[s] = true;
            if (seen.try_emplace(next, 1).second) todo.push_back(next);
        }
    }
    return always_alive_[s] = result;
}

// SAFETY: it begins anew when it was broken off. So it may take no more than this, and not be broken off by callers for ever.
std::unique_ptr<const Regions> Liveness::find_regions() {
    constexpr uint64_t kMostWork = 20'000'000;
    constexpr uint32_t kMaxAttempts = 3;
    if (++regions_attempts_ > kMaxAttempts) return nullptr;
    Productions& productions = stacks_.lr().productions();
    Task task(kMostWork);
    task.enter();
    try {
        return Regions::find(productions, short_terminals(spelling_, productions.num_terminals()));
    } catch (const LimitExceeded&) {
        if (task.left()) throw;
        return nullptr;
    }
}

SafeRegions* Liveness::safe_regions() {
    if (looked_for_regions_) return safe_regions_.get();
    const uint32_t main = spelling_.recurrent(lexer_.formulas.text_start());
    const bool may_help = lexer_.policy() == Policy::kLongest && newline_ == kEnd &&
                          (main == Spelling::kNoRecurrent || !completion(spelling_.unconditional(main)).always());
    if (may_help) {
        const Bits& terminals = spelling_.spellable();
        const size_t stuck = completion(terminals).num_stuck();
        if (std::unique_ptr<const Regions> found = find_regions())
            safe_regions_ = std::make_unique<SafeRegions>(lexer_, spelling_, std::move(found), terminals, [this, stuck](const Bits& fewer) {
                return Completion(stacks_, dots(), fewer).num_stuck() <= stuck;
            });
    }
    looked_for_regions_ = true;
    return safe_regions_.get();
}

Regions::Set Liveness::regions_of(LexState s) {
    SafeRegions* const found = safe_regions();
    if (!found) return 0;
    const Regions& regions = found->regions();
    Regions::Set out = regions.all();
    for (LexState single : lexer_.sets.singles(lexer_.members(s))) {
        const TerminalId terminal = lexer_.automata.terminal_of(single);
        for (uint32_t r = 0; spelling_.symbol_of(terminal) != 0 && r < regions.size(); r++)
            if (!spelling_.any_symbol(terminal, [&](Symbol t) { return regions.acceptable(r).has(t); })) out &= ~(Regions::Set(1) << r);
    }
    return out;
}

// All that it was made from may be in progress, so the text is where all of that says.
Regions::Set Liveness::regions_of(LrState state) {
    regions_of_.reach(state, stacks_.lr().num_states(), 0);
    if (!regions_of_[state]) {
        const Regions& regions = safe_regions_->regions();
        Regions::Set out = regions.all();
        for (auto [production, dot] : stacks_.lr().kernel(state)) out &= regions.at(production, dot);
        regions_of_[state] = out;
    }
    return regions_of_[state];
}

Answer<bool> Liveness::is_safe(Obligations obligations, Frontier f) {
    SafeRegions* const regions = safe_regions();
    if (!regions) return {false, {}};
    Regions::Set where = regions->regions().all();
    for (NodeId n : stacks_.nodes(f)) where &= regions_of(stacks_.state(n));
    const Bits* terminals = regions->safe_for(where, obligations);
    return terminals ? completion(*terminals).completes(f) : Answer<bool>{false, {}};
}

// The text may end behind this lexeme.
Answer<bool> Liveness::may_end_behind(const Landing& l, Frontier f) {
    if (newline_ != kEnd || !lexer_.formulas.hold_at_end(l.obligations)) return {false, {}};
    const Stacks::Shifted after = stacks_.shift(f, l.terminal);
    if (after.frontier == kNoFrontier) return {false, {}};
    const auto [ends, reach] = stacks_.accepted(after.frontier);
    return {stacks_.contains(ends, kEnd), after.reach | reach.below(after.above)};
}

Answer<Liveness::Verdict> Liveness::judge(Obligations obligations, Frontier f, bool inside) {
    const uint32_t recurrent = spelling_.recurrent(obligations);
    Reach in_vain;
    if (recurrent != Spelling::kNoRecurrent && recurrent != Spelling::kMainRecurrent) {
        // PERF: between brackets a newline lexeme is dropped, so it leads there on any stack. That was found out by a search, from a lexer
        // state that was new each time: a sixth of the largest masks of Python programs by a loaded constraint.
        if (inside && newline_ != kEnd && spelling_.into_main(recurrent).has(newline_)) {
            const Answer<bool> completes = completion(spelling_.unconditional(Spelling::kMainRecurrent)).completes(f);
            in_vain |= completes.reach | Reach{0, true};
            if (completes.value) return {Verdict::kAlive, in_vain};
        }
        // One lexeme further everything may be as usual (behind a line break, for example, no other can follow).
        // PERF: asked first, because it looks less far down. That, and that only what an answer needed counts as looked at, spared first
        // passes over thirty Python programs 8% of their nodes.
        const auto [accepts, reach] = stacks_.accepted(f);
        for (Symbol t : stacks_.terminals(accepts)) {
            if (t == kEnd || !spelling_.into_main(recurrent).has(t)) continue;
            const Stacks::Shifted after = stacks_.shift(f, t);
            const Answer<bool> completes = completion(spelling_.unconditional(Spelling::kMainRecurrent)).completes(after.frontier);
            const Reach looked = after.reach | completes.reach.below(after.above);
            if (completes.value) return {Verdict::kAlive, reach | looked};
            in_vain |= looked;
        }
        in_vain |= reach;
    }
    Reach looked;
    if (recurrent != Spelling::kNoRecurrent) {
        const Answer<bool> completes = completion(spelling_.unconditional(recurrent)).completes(f);
        looked = completes.reach;
        if (completes.value) return {Verdict::kAlive, looked};
    }
    const Answer<bool> safe = is_safe(obligations, f);
    if (safe.value) return {Verdict::kAlive, safe.reach};
    looked |= safe.reach;
    // The text may end here. PERF: asked before what else may come. Behind a lexeme that is counted all its longer attempts are followed to find that out.
    const Answer<AcceptSet> accepts = stacks_.accepted(f);
    if (stacks_.contains(accepts.value, kEnd) && lexer_.formulas.hold_at_end(obligations)) return {Verdict::kAlive, accepts.reach};
    const Answer<bool> possible = completion(spelling_.possible(obligations)).completes(f);
    looked |= in_vain | possible.reach;
    if (!possible.value) return {Verdict::kDead, looked};
    // Safe pairs are for grammars without blanks, as in always_alive_after().
    const bool has_recurrent = spelling_.recurrent(lexer_.formulas.text_start()) != Spelling::kNoRecurrent;
    if (has_recurrent || recurrent != Spelling::kNoRecurrent || !completion(spelling_.spellable()).always())
        return {Verdict::kUnknown, looked};
    // One lexeme further everything may be safe.
    looked |= accepts.reach;
    Bits candidates(stacks_.lr().productions().num_terminals() + 1);
    for (Symbol t : stacks_.terminals(accepts.value)) candidates.add(t);
    std::vector<Obligations> through{obligations};
    std::vector<Landing> next;
    Reach reach;
    // Known as safe, or the end. PERF: what is safe takes thousands of pairs to find out: twelve look-aheads beside each other more than a hundred calls.
    // Asked of each way to end as it is found, for those of a lexeme that is counted may have no end.
    auto is_alive = [&](const Landing& l) {
        work(10);
        if (spelling_.is_known_as_safe(l.terminal, l.obligations)) return true;
        const Answer<bool> ends = may_end_behind(l, f);
        if (ends.value) reach = ends.reach;
        return ends.value;
    };
    for (size_t i = 0; i < through.size(); i++) {
        if (candidates.has(kEnd) && lexer_.formulas.hold_at_end(through[i])) return {Verdict::kAlive, looked};
        const bool found = spelling_.any_next(candidates, through[i], [&](const Landing& l) {
            if (l.terminal == 0) {
                if (std::find(through.begin(), through.end(), l.obligations) == through.end()) through.push_back(l.obligations);
            } else if (candidates.has(l.terminal)) {
                if (is_alive(l)) return true;
                next.push_back(l);
            }
            return false;
        });
        if (found) return {Verdict::kAlive, looked | reach};
    }
    for (const Landing& l : next)
        if (spelling_.safe(l.terminal, l.obligations)) return {Verdict::kAlive, looked};
    return {Verdict::kUnknown, looked};
}

// SAFETY: on wide stacks a look behind one boundary may take as long as ten thousand elsewhere: 1,000 of them were more than 20 s.
Answer<Liveness::Verdict> Liveness::search(Obligations obligations, Frontier f, uint32_t depth, uint64_t patience, Order order) {
    constexpr uint64_t kWorkPerLook = 1'000;
    Answer<Verdict> found{Verdict::kUnknown, {Reach::kDeep, newline_ != kEnd}};
    done_within(std::min(patience, Task::kUnbounded / kWorkPerLook) * kWorkPerLook,
                [&] { found = look_behind_boundaries(obligations, f, depth, patience, order); });
    return found;
}

// Over what can really come next: in its order, or the lowest stacks first.
//
// PERF: in its order a search opens more and more brackets before it closes those that there are. Of `start: start start | "(" start ")" | A | B` with
// /a+/ and /[ab]+/ masks took 26 calls of 0.6 s, until 20 million steps were not enough; with the lowest first 7 ms.
Answer<Liveness::Verdict> Liveness::look_behind_boundaries(Obligations obligations, Frontier f, uint32_t depth, uint64_t patience,
                                                           Order order) {
    struct Item {
        Obligations obligations;
        Frontier stack;
        uint32_t depth;
        int above;
    };
    std::vector<Item> todo{{obligations, f, depth, 0}};
    std::unordered_map<uint64_t, char, MixHash> seen{{pack(obligations, f), 1}};
    using Place = std::pair<int32_t, size_t>;  // height, index
    std::priority_queue<Place, std::vector<Place>, std::greater<Place>> next;
    next.emplace(0, 0);
    Reach looked;
    for (uint64_t i = 0; !next.empty(); i++) {
        if (i >= patience) return {Verdict::kUnknown, looked};
        work(50);
        const Item x = todo[next.top().second];
        next.pop();
        Bits candidates(stacks_.lr().productions().num_terminals() + 1);
        const auto [accepts, reach] = stacks_.accepted(x.stack);
        for (Symbol t : stacks_.terminals(accepts)) candidates.add(t);
        looked |= reach.below(x.above);
        if (candidates.has(kEnd) && lexer_.formulas.hold_at_end(x.obligations)) return {Verdict::kAlive, looked};
        const bool found = spelling_.any_next(candidates, x.obligations, [&](const Landing& l) {
            Stacks::Shifted after{x.stack, {}, 0};
            uint32_t inside = x.depth;
            if (l.terminal != 0) after = stacks_.shift(x.stack, l.terminal);
            looked |= after.reach.below(x.above);
            if (l.terminal == newline_ && newline_ != kEnd && after.frontier == kNoFrontier) {
                looked.brackets = true;
                if (inside) after = {x.stack, {}, 0};  // between brackets it is dropped
            } else if (newline_ != kEnd) {
                inside += opens_[l.terminal] - closes_[l.terminal];
            }
            if (after.frontier == kNoFrontier || !seen.try_emplace(pack(l.obligations, after.frontier), 1).second) return false;
            const auto [verdict, below] = judge(l.obligations, after.frontier, inside != 0);
            looked |= below.below(x.above + after.above);
            if (verdict != Verdict::kUnknown) return verdict == Verdict::kAlive;
            next.emplace(order == Order::kLowestFirst ? stacks_.height(after.frontier) : 0, todo.size());
            todo.push_back({l.obligations, after.frontier, inside, x.above + after.above});
            return false;
        });
        if (found) return {Verdict::kAlive, looked};
    }
    return {Verdict::kDead, looked};
}

// None of what the stack accepts can come next, whatever competes: so behind a comment where no line may end. PERF: else all that a lexeme may become
// is followed, from a state that is new with each set of terminals, 40 us.
Answer<bool> Liveness::ends_at_once(Obligations obligations, Frontier f, uint32_t depth) {
    auto [accepts, reach] = stacks_.accepted(f);
    reach.brackets = newline_ != kEnd;
    auto may_come = [&](Symbol t) { return t == kEnd ? lexer_.formulas.hold_at_end(obligations) : spelling_.may_be_next(t, obligations); };
    const std::vector<Symbol>& all = stacks_.terminals(accepts);
    const bool comes = std::any_of(all.begin(), all.end(), may_come) || (depth && newline_ != kEnd && may_come(newline_)) ||
                       spelling_.may_be_ignored(obligations);
    return {!comes, reach};
}

Answer<bool> Liveness::decide(Obligations obligations, Frontier f, uint32_t depth) {
    if (const Answer<bool>* known = decided_.find(pack(obligations, f))) return *known;
    if (const auto [ends, reach] = ends_at_once(obligations, f, depth); ends) return decided_[pack(obligations, f)] = {false, reach};
    constexpr uint64_t kQuick = 64, kPatient = 1'000;
    Answer<Verdict> found = search(obligations, f, depth, kQuick, Order::kNearestFirst);
    auto is_exact = [&] { return lexer_.policy() == Policy::kBasic || adjacency_.deterministic(); };  // what summaries say
    // PERF: what closes soonest is mostly found before summaries are: of a grammar such as HCL2's they are too many.
    if (found.value == Verdict::kUnknown && !is_exact()) found = search(obligations, f, depth, kPatient, Order::kLowestFirst);
    if (found.value == Verdict::kUnknown) {
        found.reach |= {Reach::kDeep, newline_ != kEnd};
        if (!summaries_.alive(obligations, f, depth)) found.value = Verdict::kDead;
        else if (is_exact()) found.value = Verdict::kAlive;
        else found.value = search(obligations, f, depth, max_steps_ / kStepsPerLook, Order::kLowestFirst).value;
    }
    if (found.value == Verdict::kUnknown)
        throw LimitExceeded("max_liveness_steps", max_steps_ + 1, max_steps_,
                            "deciding which lexemes can still follow under longest match");
    return decided_[pack(obligations, f)] = {found.value == Verdict::kAlive, found.reach};
}

Answer<bool> Liveness::alive_after(Obligations obligations, Frontier f, uint32_t depth) {
    spelling_.allow(max_steps_);
    const auto [verdict, reach] = judge(obligations, f, depth != 0);
    if (verdict != Verdict::kUnknown) return {verdict == Verdict::kAlive, reach};
    const Answer<bool> decided = decide(obligations, f, depth);
    return {decided.value, reach | decided.reach};
}

Answer<bool> Liveness::alive(LexState s, Frontier f, uint32_t depth) {
    if (const Answer<bool>* known = alive_.find(pack(s, f))) return *known;
    const Answer<bool> found = find_alive(s, f, depth);
    return alive_[pack(s, f)] = found;
}

Answer<bool> Liveness::find_alive(LexState s, Frontier f, uint32_t depth) {
    spelling_.allow(max_steps_);
    struct Open {
        Obligations obligations;
        Frontier stack;
        uint32_t depth;
        int above;
    };
    std::vector<Open> open;
    Reach looked;
    auto completes = [&](const Landing& l) {
        Stacks::Shifted after{f, {}, 0};
        uint32_t inside = depth;
        if (l.terminal != 0) {
            if (newline_ != kEnd) inside += opens_[l.terminal] - closes_[l.terminal];
            after = stacks_.shift(f, l.terminal);
            if (after.frontier == kNoFrontier) {
                looked |= after.reach;
                return false;
            }
        }
        const auto [verdict, below] = judge(l.obligations, after.frontier, inside != 0);
        const Reach reach = after.reach | below.below(after.above);
        if (verdict == Verdict::kAlive) looked = reach;  // only the way here was needed
        else looked |= reach;
        if (verdict == Verdict::kUnknown) open.push_back({l.obligations, after.frontier, inside, after.above});
        return verdict == Verdict::kAlive;
    };
    // At the beginning of a text nothing has to end first. PERF: 748,000 steps to find all landings from there were 9 of the 36 ms that a
    // saved Python grammar took to its first mask.
    if (lexer_.is_fresh(s) && completes({0, lexer_.formulas.text_start()})) return {true, looked};
    // PERF: of a lexeme that is counted all rounds would be followed, to find that the stack takes none.
    auto may_be_taken = [&](Symbol t) {
        if (t == 0 || (newline_ != kEnd && t == newline_)) return true;
        const Stacks::Shifted after = stacks_.shift(f, t);
        if (after.frontier == kNoFrontier) looked |= after.reach;
        return after.frontier != kNoFrontier;
    };
    if (spelling_.any_landing(s, completes, may_be_taken)) return {true, looked};
    for (const Open& o : open) {
        const auto [alive, reach] = decide(o.obligations, o.stack, o.depth);
        looked |= reach.below(o.above);
        if (alive) return {true, looked};
    }
    return {false, looked};
}

}  // namespace derivable
