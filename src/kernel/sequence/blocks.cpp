#include "sequence/blocks.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

After Blocks::after(Symbol symbol, Frontier f, Environment environment, bool at_end) {
    const IndentationSpec& spec = indentations_.spec;
    if (symbol == spec.newline) return after_newline(f, environment, at_end);
    const Stacks::Shifted s = stacks_.shift(f, symbol);
    if (s.frontier == kNoFrontier) return {s.frontier, environment, s.reach, s.above};
    environment = indentations_.idle(environment);
    if (std::find(spec.open.begin(), spec.open.end(), symbol) != spec.open.end()) environment = indentations_.with_depth(environment, 1);
    if (std::find(spec.close.begin(), spec.close.end(), symbol) != spec.close.end())
        environment = indentations_.with_depth(environment, -1);
    return {s.frontier, environment, s.reach, s.above};
}

After Blocks::after_newline(Frontier f, Environment id, bool at_end) {
    const IndentationSpec& spec = indentations_.spec;
    Reach reach{0, true};
    if (indentations_[id].depth) return {f, indentations_.idle(id), reach, 0};
    // Where no line may end, the columns of blocks are not looked at.
    const Answer<AcceptSet> accepts = stacks_.accepted(f);
    if (!stacks_.contains(accepts.value, spec.newline)) return {kNoFrontier, id, reach | accepts.reach, 0};
    if (at_end) id = indentations_.intern({indentations_[id].level, 0, 1});  // the line that begins here is empty
    const bool ends_line = indentations_[id].phase != 0;
    const Indentations::Turn turn =
        ends_line ? indentations_.turn(id) : Indentations::Turn{Indentations::Turn::kBlock, 0, indentations_.idle(id)};
    reach.blocks = true;  // also where the lexeme has no line feed: at the same lexer state others have one
    if (turn.kind == Indentations::Turn::kMisfit) return {kNoFrontier, id, reach, 0};
    After after{f, turn.after, reach, 0};
    auto shift = [&](Symbol symbol) {
        if (after.stack == kNoFrontier) return;
        const Stacks::Shifted s = stacks_.shift(after.stack, symbol);
        after.reach |= s.reach.below(after.above);
        after.above += s.above;
        after.stack = s.frontier;
    };
    shift(spec.newline);
    if (turn.kind == Indentations::Turn::kDeeper) shift(spec.indent);
    for (uint32_t i = 0; i < turn.dedents; i++) shift(spec.dedent);
    after.line_end = turn.kind == Indentations::Turn::kDeeper ? kIndent : turn.dedents ? kDedents + turn.dedents : kLineEnd;
    if (!at_end && spanner_.prospects.column_matters()) only_if_goes_on(after);
    return after;
}

// Columns bring an indent or a dedent with the newline or not at all: a stack that waits for these only may still end. Elsewhere the lexeme can go
// on to another line, so nothing is asked.
void Blocks::only_if_goes_on(After& after) {
    if (after.stack == kNoFrontier) return;
    const Answer<AcceptSet> accepts = stacks_.accepted(after.stack);
    after.reach |= accepts.reach.below(after.above);
    const auto& all = stacks_.terminals(accepts.value);
    if (std::any_of(all.begin(), all.end(), [&](Symbol s) { return s != indentations_.spec.indent && s != indentations_.spec.dedent; }))
        return;
    const Answer<bool> ends = may_end(after.stack, after.environment);
    after.reach |= ends.reach.below(after.above);
    if (!ends.value) after.stack = kNoFrontier;
}

Answer<bool> Blocks::may_end(Frontier f, Environment environment) {
    const IndentationSpec& spec = indentations_.spec;
    auto [set, reach] = stacks_.accepted(f);
    if (stacks_.contains(set, kEnd)) return {true, reach};  // no block is open, or none need be closed (derivable.endings)
    if (stacks_.contains(set, spec.dedent)) {
        const Answer<bool> closed = closes(f, environment);
        reach |= closed.reach;
        if (closed.value) return {true, reach};
    }
    if (!spec.final_newline || !stacks_.contains(set, spec.newline)) return {false, reach};
    reach.brackets = true;
    if (indentations_[environment].depth) return {false, reach};
    const Stacks::Shifted s = stacks_.shift(f, spec.newline);
    reach |= s.reach;
    if (s.frontier == kNoFrontier) return {false, reach};
    const Answer<bool> closed = closes(s.frontier, environment);
    return {closed.value, reach | closed.reach.below(s.above)};
}

Answer<bool> Blocks::closes(Frontier f, Environment environment) {
    Reach reach{0, false, true};
    int above = 0;
    for (uint32_t level = indentations_[environment].level; level && f != kNoFrontier; level = indentations_.level(level).outer) {
        const Stacks::Shifted s = stacks_.shift(f, indentations_.spec.dedent);
        reach |= s.reach.below(above);
        above += s.above;
        f = s.frontier;
    }
    if (f == kNoFrontier) return {false, reach};
    const Answer<AcceptSet> accepts = stacks_.accepted(f);
    return {stacks_.contains(accepts.value, kEnd), reach | accepts.reach.below(above)};
}

const std::vector<uint8_t>& Blocks::bytes_in_newlines() {
    if (bytes_in_newlines_.empty()) {
        std::vector<uint8_t> bytes = lexer_.kinds.representatives();
        for (uint8_t b : {'\n', '\r', ' ', '\t', '\f'})
            if (std::find(bytes.begin(), bytes.end(), b) == bytes.end()) bytes.push_back(b);
        bytes_in_newlines_ = std::move(bytes);
    }
    return bytes_in_newlines_;
}

// PERF: once a lexer state, not once a stack: half of the first pass over Python programs was this walk.
const Blocks::Rest& Blocks::rest_of_newline(LexState lex) {
    if (auto known = rests_.find(lex); known != rests_.end()) return known->second;
    Rest rest;  // kept when it is complete
    std::vector<LexState> todo{lex};
    for (size_t i = 0; i < todo.size(); i++) {
        for (const Lexer::Exit& e : lexer_.exits(todo[i]))
            if (std::none_of(rest.exits.begin(), rest.exits.end(),
                             [&](const Lexer::Exit& x) { return x.terminal == e.terminal && x.obligations == e.obligations; }))
                rest.exits.push_back(e);
        for (LexState next : lexer_.successors(todo[i])) {
            std::vector<LexState>& into = spanner_.prospects.may_be_newline(next) ? todo : rest.others;
            if (std::find(into.begin(), into.end(), next) == into.end()) into.push_back(next);
        }
    }
    // PERF: what is owed behind the others may be the beginning of a recurrent boundary of its own, and each of those takes some milliseconds to find.
    // Where they came first, masks of `python` met max_step_work (benchmarks/styles.py).
    std::stable_partition(rest.exits.begin(), rest.exits.end(),
                          [&](const Lexer::Exit& e) { return liveness_.reaches_main(e.obligations); });
    return rests_.emplace(lex, std::move(rest)).first->second;
}

// Breadth first over what may still be read of a lexeme that may be a newline. Where it cannot always go on to another line, its column is
// followed too; else any column can still be had.
class Blocks::NewlineSearch {
  public:
    NewlineSearch(Blocks& blocks, Frontier f, Reach begun, bool newline, bool columns)
        : b_(blocks),
          indentations_(blocks.indentations_),
          frontier_(f),
          begun_(begun),
          newline_(newline),
          columns_(columns),
          reach_(begun | Reach{0, true, columns}) {}

    Answer<bool> run(LexState lex, Environment environment) {
        environment_ = environment;
        columns_ ? with_columns(lex) : without_columns(lex);
        return {found_, reach_};
    }

  private:
    void without_columns(LexState lex) {
        const Rest& rest = b_.rest_of_newline(lex);
        for (size_t i = 0; i < rest.exits.size() && !found_; i++) end(rest.exits[i], environment_);
        for (size_t i = 0; i < rest.others.size() && !found_; i++) become_other(rest.others[i]);
    }

    void with_columns(LexState lex) {
        std::vector<std::pair<LexState, Environment>> todo{{lex, environment_}};
        std::unordered_map<uint64_t, char, MixHash> seen;
        for (size_t i = 0; i < todo.size() && !found_; i++) {
            work(3 * b_.bytes_in_newlines().size());
            auto [state, at] = todo[i];
            const std::vector<Lexer::Exit> exits = b_.lexer_.exits(state);
            for (size_t k = 0; k < exits.size() && !found_; k++) end(exits[k], at);
            for (uint8_t byte : b_.bytes_in_newlines()) {
                const LexState next = found_ ? kNoState : b_.lexer_.step(state, byte);
                if (next == kNoState) continue;
                if (!b_.spanner_.prospects.may_be_newline(next)) {
                    become_other(next);
                    continue;
                }
                Environment then = indentations_.step(at, byte);
                if (indentations_.is_deepest(at) && indentations_[then].phase == 1 && indentations_[then].column > indentations_[at].column)
                    then = at;
                if (seen.try_emplace(pack(next, then), 1).second) todo.emplace_back(next, then);
            }
        }
    }

    // The lexeme ends here, and another one follows, or the end.
    void end(const Lexer::Exit& e, Environment at) {
        const Symbol symbol = *b_.terminals_.of(e.terminal).begin();
        if (symbol == indentations_.spec.newline && newline_ && !columns_ && !indentations_[at].depth) {
            const uint32_t level = indentations_[at].level;
            // What a deeper line or one of the same block leads to is the same wherever the block is.
            auto go_on_at = [&](Indentations::Level l, uint32_t more) {
                const Reach before = reach_;
                go_on(symbol, e.obligations, indentations_.intern({level, 0, 1, l.column + more, l.alternate + more}));
                reach_ = before.beside() | Reach{reach_.hops};
            };
            go_on_at(indentations_.level(level), std::max(indentations_.spec.step, 1u));
            go_on_at(indentations_.level(level), 0);
            if (!found_) reach_.blocks = true;
            for (uint32_t l = level; l && !found_;) go_on_at(indentations_.level(l = indentations_.level(l).outer), 0);
        } else {
            go_on(symbol, e.obligations, at);
        }
        if (found_ || !b_.lexer_.formulas.hold_at_end(e.obligations)) return;
        const After last = after(symbol, at, true);
        reach_ |= last.reach;
        if (last.stack == kNoFrontier) return;
        const Answer<bool> may_end = b_.may_end(last.stack, last.environment);
        reach_ |= may_end.reach.below(last.above);
        found_ = may_end.value;
    }

    void go_on(Symbol symbol, Obligations obligations, Environment at) {
        if (found_ || (symbol == indentations_.spec.newline && !newline_)) return;
        const After next = after(symbol, at, false);
        Reach reach = next.reach;
        if (next.stack != kNoFrontier) {
            const Answer<bool> alive = b_.liveness_.alive_after(obligations, next.stack, indentations_[next.environment].depth);
            found_ = alive.value;
            reach |= alive.reach.below(next.above);
        }
        // Of the stack only the way here was needed.
        reach_ = found_ ? begun_ | reach | reach_.beside() : reach_ | reach;
    }

    void become_other(LexState next) {
        if (found_ || (found_ = b_.liveness_.always_alive(next))) return;
        const Answer<bool> alive = b_.liveness_.alive(next, frontier_, indentations_[environment_].depth);
        found_ = alive.value;
        reach_ |= alive.reach;
    }

    After after(Symbol symbol, Environment at, bool at_end) {
        return b_.terminals_.is_ignored(symbol) ? After{frontier_, at, {}, 0} : b_.after(symbol, frontier_, at, at_end);
    }

    Blocks& b_;
    Indentations& indentations_;
    Frontier frontier_;
    Environment environment_ = kNoEnvironment;
    Reach begun_;
    bool newline_, columns_;  // it may stand here; its column is followed
    Reach reach_;
    bool found_ = false;
};

Answer<bool> Blocks::alive_in_newline(LexState lex, Frontier f, Environment environment) {
    const auto [accepts, begun] = stacks_.accepted(f);
    const bool inside = indentations_[environment].depth != 0;
    const bool newline = inside || stacks_.contains(accepts, indentations_.spec.newline);
    const bool columns = newline && spanner_.prospects.column_matters() && !inside;
    if (!columns) environment = indentations_.idle(environment);
    uint32_t& question = newline_questions_[pack(lex, environment)];
    if (!question) question = ++num_newline_questions_;
    const uint64_t key = pack(question, f);
    if (const Answer<bool>* known = newline_alive_.find(key)) return {known->value, known->reach | begun};
    return newline_alive_[key] = NewlineSearch(*this, f, begun, newline, columns).run(lex, environment);
}

bool Blocks::newline_goes_on(TerminalId newline) {
    std::vector<LexState> all;
    std::unordered_map<LexState, char> seen;
    // What stands before a lexeme may tell which it can be.
    constexpr size_t kMaxPasts = 64;
    for (Obligations past : lexer_.formulas.all_pasts(kMaxPasts))
        if (const LexState start = lexer_.start({newline}, past); start != kNoState && seen.try_emplace(lexer_.members(start), 1).second)
            all.push_back(lexer_.members(start));
    if (all.empty()) return false;
    std::vector<std::pair<LexState, LexState>> steps;  // by any byte but the line feed
    std::unordered_map<LexState, char> goes_on;        // a line feed is possible from here, and then any number of blanks
    for (size_t i = 0; i < all.size(); i++)
        for (int b = 0; b < 256; b++) {
            LexState next = lexer_.step(all[i], uint8_t(b));
            if (next == kNoState) continue;
            if (b == '\n') {
                LexState blank = next;
                bool any = true;
                std::unordered_map<LexState, char> blanks;
                while (any && blanks.try_emplace(blank, 1).second) {
                    any = lexer_.accepts(blank);
                    blank = lexer_.step(blank, ' ');
                    any &= blank != kNoState;
                }
                if (any) goes_on[all[i]] = 1;
            } else {
                steps.emplace_back(all[i], next);
            }
            if (seen.try_emplace(next, 1).second) all.push_back(next);
        }
    for (bool grew = true; grew;) {
        grew = false;
        for (auto [from, to] : steps)
            if (!goes_on.count(from) && goes_on.count(to)) goes_on[from] = 1, grew = true;
    }
    return std::all_of(all.begin(), all.end(), [&](LexState s) { return goes_on.count(s) != 0; });
}

}  // namespace derivable
