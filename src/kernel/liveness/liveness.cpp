#include "liveness/liveness.hpp"

#include <algorithm>

#include "support/bits.hpp"
#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

Completion& Liveness::completion(const Bits& terminals) {
    for (auto& c : completions_)
        if (c->terminals() == terminals) return *c;
    completions_.push_back(std::make_unique<Completion>(stacks_, terminals));
    return *completions_.back();
}

void Liveness::set_indentation(const IndentationSpec& indentation) {
    newline_ = indentation.newline;
    opens_.assign(stacks_.lr().productions().num_terminals() + 1, 0);
    closes_ = opens_;
    for (Symbol s : indentation.open) opens_[s] = 1;
    for (Symbol s : indentation.close) closes_[s] = 1;
    spelling_.set_indentation(indentation.newline, indentation.indent, indentation.dedent);
    summaries_.set_indentation(indentation.newline, &opens_, &closes_);
}

void Liveness::forget_stacks() {
    alive_ = {};
    decided_ = {};
    summaries_.forget_stacks();
    for (auto& c : completions_) c->forget_stacks();
}

void Liveness::forget_states() {
    adjacency_.forget_states();
    summaries_.forget_states();
    for (auto& c : completions_) c->forget_states();
}

// Whatever stack is left after this landing has a future.
bool Liveness::always_alive_after(const Landing& l) {
    uint32_t recurrent = spelling_.recurrent(l.obligations);
    if (recurrent != Spelling::kNoRecurrent && completion(spelling_.unconditional(recurrent)).always()) return true;
    // Safe pairs are for grammars without blanks; where there is a recurrent boundary they cost much and decide little.
    return spelling_.recurrent(lexer_.text_start()) == Spelling::kNoRecurrent && l.terminal != 0 &&
           completion(spelling_.spellable()).always() && spelling_.safe(l.terminal, l.obligations);
}

bool Liveness::always_alive(LexState s) {
    auto found = always_alive_.find(s);
    if (found != always_alive_.end()) return found->second;
    spelling_.allow(max_steps_);
    if (lexer_.is_fresh(s)) return always_alive_[s] = always_alive_after({0, lexer_.text_start()});  // nothing has to end first
    if (lexer_.policy() == Policy::kBasic) {
        // What it may become is not what the stack accepts: all of it must be good.
        const auto& ls = spelling_.landings(s);
        return always_alive_[s] = std::all_of(ls.begin(), ls.end(), [&](const Landing& l) {
                   return always_alive_after(l) && (newline_ == kEnd || l.terminal != newline_);
               });
    }
    std::vector<LexState> todo{s};
    std::unordered_map<LexState, char> seen{{s, 1}};
    bool result = false;
    for (size_t i = 0; i < todo.size() && !result; i++) {
        work(lexer_.representative_bytes().size());
        auto before = always_alive_.find(todo[i]);
        if (before != always_alive_.end()) {
            result = before->second;
            continue;
        }
        for (const Lexer::Exit& e : lexer_.exits(todo[i])) {
            Landing l = spelling_.landing(e);
            // A newline lexeme competes also where the parser has no use for it.
            result = result || ((newline_ == kEnd || l.terminal != newline_) && always_alive_after(l));
        }
        if (result) break;
        for (uint8_t byte : lexer_.representative_bytes()) {
            const LexState next = lexer_.step(todo[i], byte);
            if (next == kNoState) continue;
            if (before = always_alive_.find(next); before != always_alive_.end() && before->second) return always_alive_[s] = true;
            if (seen.try_emplace(next, 1).second) todo.push_back(next);
        }
    }
    return always_alive_[s] = result;
}

Liveness::Verdict Liveness::judge(uint32_t obligations, Frontier f, int& hops) {
    uint32_t recurrent = spelling_.recurrent(obligations);
    int beyond = 0;  // what was looked at in vain
    if (recurrent != Spelling::kNoRecurrent && recurrent != Spelling::kMainRecurrent) {
        // One lexeme further everything may be as usual (behind a line break, for example, no other can follow).
        // PERF: asked first, because it looks less far down. That, and that only what an answer needed counts as looked at, spared first
        // passes over thirty Python programs 8% of their nodes.
        int looked = 0;
        for (Symbol t : stacks_.terminals(stacks_.accepts(f, &looked))) {
            if (t == kEnd || !spelling_.into_main(recurrent).has(t)) continue;
            Stacks::Shifted after = stacks_.shift(f, t);
            int below = 0;
            const bool completes = completion(spelling_.unconditional(Spelling::kMainRecurrent)).completes(after.frontier, &below);
            below = std::max(after.hops, after.above + below);
            if (completes) {
                hops = std::max({hops, looked, below});
                return Verdict::kAlive;
            }
            beyond = std::max(beyond, below);
        }
        beyond = std::max(beyond, looked);
    }
    if (recurrent != Spelling::kNoRecurrent && completion(spelling_.unconditional(recurrent)).completes(f, &hops)) return Verdict::kAlive;
    hops = std::max(hops, beyond);
    if (!completion(spelling_.possible(obligations)).completes(f, &hops)) return Verdict::kDead;
    if (recurrent != Spelling::kNoRecurrent || !completion(spelling_.spellable()).always()) return Verdict::kUnknown;
    // One lexeme further everything may be safe.
    int looked = 0;
    uint32_t accepts = stacks_.accepts(f, &looked);
    hops = std::max(hops, looked);
    Bits candidates(stacks_.lr().productions().num_terminals() + 1);
    for (Symbol t : stacks_.terminals(accepts)) candidates.add(t);
    std::vector<uint32_t> through{obligations};
    for (size_t i = 0; i < through.size(); i++) {
        if (candidates.has(kEnd) && lexer_.obligations_hold_at_end(through[i])) return Verdict::kAlive;
        for (const Landing& l : spelling_.next(candidates, through[i])) {
            if (l.terminal != 0) {
                if (candidates.has(l.terminal) && spelling_.safe(l.terminal, l.obligations)) return Verdict::kAlive;
            } else if (std::find(through.begin(), through.end(), l.obligations) == through.end()) {
                through.push_back(l.obligations);
            }
        }
    }
    return Verdict::kUnknown;
}

// Breadth first over what can really come next. `patience`: how many boundaries to look behind.
Liveness::Verdict Liveness::search(uint32_t obligations, Frontier f, uint32_t depth, uint64_t patience, int& hops) {
    struct Item {
        uint32_t obligations;
        Frontier stack;
        uint32_t depth;
        int above;
    };
    std::vector<Item> todo{{obligations, f, depth, 0}};
    std::unordered_map<uint64_t, char, MixHash> seen{{pack(obligations, f), 1}};
    for (size_t i = 0; i < todo.size(); i++) {
        if (i >= patience) return Verdict::kUnknown;
        work(50);
        const Item x = todo[i];
        Bits candidates(stacks_.lr().productions().num_terminals() + 1);
        int looked = 0;
        for (Symbol t : stacks_.terminals(stacks_.accepts(x.stack, &looked))) candidates.add(t);
        hops = std::max(hops, x.above + looked);
        if (candidates.has(kEnd) && lexer_.obligations_hold_at_end(x.obligations)) return Verdict::kAlive;
        for (const Landing& l : spelling_.next(candidates, x.obligations)) {
            Stacks::Shifted after{x.stack, 0, 0};
            uint32_t inside = x.depth;
            if (l.terminal != 0) after = stacks_.shift(x.stack, l.terminal);
            hops = std::max(hops, x.above + after.hops);
            if (l.terminal == newline_ && newline_ != kEnd && after.frontier == kNoFrontier) {
                looked_at_depth_ = true;
                if (inside) after = {x.stack, 0, 0};  // between brackets it is dropped
            } else if (newline_ != kEnd) {
                inside += opens_[l.terminal] - closes_[l.terminal];
            }
            if (after.frontier == kNoFrontier || !seen.try_emplace(pack(l.obligations, after.frontier), 1).second) continue;
            looked = 0;
            Verdict v = judge(l.obligations, after.frontier, looked);
            hops = std::max(hops, x.above + after.above + looked);
            if (v == Verdict::kAlive) return v;
            if (v == Verdict::kUnknown) todo.push_back({l.obligations, after.frontier, inside, x.above + after.above});
        }
    }
    return Verdict::kDead;
}

bool Liveness::decide(uint32_t obligations, Frontier f, uint32_t depth, int& hops) {
    const Answer* found = decided_.find(pack(obligations, f));
    if (!found) {
        constexpr uint64_t kQuick = 64;
        int looked = 0;
        const bool before = looked_at_depth_;
        looked_at_depth_ = false;
        Verdict v = search(obligations, f, depth, kQuick, looked);
        if (v == Verdict::kUnknown) {
            looked = kDeep;
            looked_at_depth_ = newline_ != kEnd;
            if (!summaries_.alive(obligations, f, depth)) v = Verdict::kDead;
            else if (lexer_.policy() == Policy::kBasic || adjacency_.deterministic()) v = Verdict::kAlive;
            else v = search(obligations, f, depth, max_steps_ / kStepsPerLook, looked);
        }
        if (v == Verdict::kUnknown)
            throw LimitExceeded("max_liveness_steps", max_steps_ + 1, max_steps_,
                                "deciding which lexemes can still follow under longest match");
        found = &(decided_[pack(obligations, f)] = {v == Verdict::kAlive, looked, looked_at_depth_});
        looked_at_depth_ = before;
    }
    looked_at_depth_ |= found->looked_at_depth;
    hops = std::max(hops, found->hops);
    return found->alive;
}

bool Liveness::alive_after(uint32_t obligations, Frontier f, uint32_t depth, int* hops) {
    int looked = 0;
    looked_at_depth_ = false;
    spelling_.allow(max_steps_);
    Verdict v = judge(obligations, f, looked);
    bool result = v == Verdict::kUnknown ? decide(obligations, f, depth, looked) : v == Verdict::kAlive;
    if (hops) *hops = std::max(*hops, looked);
    return result;
}

bool Liveness::alive(LexState s, Frontier f, uint32_t depth, int* hops) {
    const Answer* found = alive_.find(pack(s, f));
    looked_at_depth_ = false;
    if (!found) {
        spelling_.allow(max_steps_);
        bool result = false;
        int looked = 0;
        struct Open {
            uint32_t obligations;
            Frontier stack;
            uint32_t depth;
            int above;
        };
        std::vector<Open> open;
        auto completes = [&](const Landing& l) {
            Frontier after = f;
            uint32_t inside = depth;
            int above = 0, below = 0, hops_of_shift = 0;
            if (l.terminal != 0) {
                if (newline_ != kEnd) inside += opens_[l.terminal] - closes_[l.terminal];
                Stacks::Shifted shifted = stacks_.shift(f, l.terminal);
                looked = std::max(looked, hops_of_shift = shifted.hops);
                above = shifted.above, after = shifted.frontier;
                if (after == kNoFrontier) return false;
            }
            const Verdict v = judge(l.obligations, after, below);
            if (v == Verdict::kAlive) looked = hops_of_shift;
            looked = std::max(looked, above + below);
            if (v == Verdict::kUnknown) open.push_back({l.obligations, after, inside, above});
            return v == Verdict::kAlive;
        };
        auto some_landing_completes = [&] {
            const std::vector<Landing>& landings = spelling_.landings(s);
            return std::any_of(landings.begin(), landings.end(), completes);
        };
        // At the beginning of a text nothing has to end first. PERF: 748,000 steps to find all landings from there were 9 of the 36 ms that a saved Python grammar took to its
        // first mask.
        result = (lexer_.is_fresh(s) && completes({0, lexer_.text_start()})) || some_landing_completes();
        if (!result)
            for (const Open& o : open) {
                int below = 0;
                result = decide(o.obligations, o.stack, o.depth, below);
                looked = std::max(looked, o.above + below);
                if (result) break;
            }
        found = &(alive_[pack(s, f)] = {result, looked, looked_at_depth_});
    }
    looked_at_depth_ = found->looked_at_depth;
    if (hops) *hops = found->hops;
    return found->alive;
}

}  // namespace derivable
