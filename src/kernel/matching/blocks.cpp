// What a constraint does about indentation; the definition is in docs/lexing.md.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "matching/constraint.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

Constraint::After Constraint::after_lexeme(Symbol symbol, Frontier f, Environment environment, bool at_end) {
    if (indentations_.active() && symbol == indentations_.spec.newline) return after_newline(f, environment, at_end);
    if (tallies_.counts(symbol)) return after_counted(symbol, f, environment);
    Stacks::Shifted s = stacks.shift(f, symbol);
    if (!indentations_.active() || s.frontier == kNoFrontier) return {s.frontier, environment, s.hops, s.above};
    const IndentationSpec& spec = indentations_.spec;
    environment = indentations_.idle(environment);
    if (std::find(spec.open.begin(), spec.open.end(), symbol) != spec.open.end()) environment = indentations_.with_depth(environment, 1);
    if (std::find(spec.close.begin(), spec.close.end(), symbol) != spec.close.end())
        environment = indentations_.with_depth(environment, -1);
    return {s.frontier, environment, s.hops, s.above};
}

Constraint::After Constraint::after_newline(Frontier f, Environment id, bool at_end) {
    looked_at_environment_ |= kDepth;
    if (indentations_[id].depth) return {f, indentations_.idle(id), 0, 0};
    // Where no line may end, the columns of blocks are not looked at.
    int hops = 0;
    if (!stacks.contains(stacks.accepts(f, &hops), indentations_.spec.newline)) return {kNoFrontier, id, hops, 0};
    if (at_end) id = indentations_.intern({indentations_[id].level, 0, 1});  // the line that begins here is empty
    const bool ends_line = indentations_[id].phase != 0;
    const Indentations::Turn turn =
        ends_line ? indentations_.turn(id) : Indentations::Turn{Indentations::Turn::kBlock, 0, indentations_.idle(id)};
    if (ends_line) looked_at_environment_ |= kLevels;
    if (turn.kind == Indentations::Turn::kMisfit) return {kNoFrontier, id, 0, 0};
    After after{f, turn.after, 0, 0};
    auto shift = [&](Symbol symbol) {
        if (after.stack == kNoFrontier) return;
        Stacks::Shifted s = stacks.shift(after.stack, symbol);
        after.hops = std::max(after.hops, after.above + s.hops);
        after.above += s.above;
        after.stack = s.frontier;
    };
    shift(indentations_.spec.newline);
    if (turn.kind == Indentations::Turn::kDeeper) shift(indentations_.spec.indent);
    for (uint32_t i = 0; i < turn.dedents; i++) shift(indentations_.spec.dedent);
    return after;
}

// The text may end on this stack: every open block is closed.
bool Constraint::ends(Frontier f, Environment environment, int above, int& looked) {
    auto closes = [&](Frontier stack, int over) {
        looked_at_environment_ |= kLevels;
        auto shift = [&](Symbol symbol) {
            Stacks::Shifted s = stacks.shift(stack, symbol);
            looked = std::max(looked, over + s.hops);
            over += s.above;
            stack = s.frontier;
        };
        for (uint32_t level = indentations_[environment].level; level && stack != kNoFrontier; level = indentations_.level(level).outer)
            shift(indentations_.spec.dedent);
        if (stack == kNoFrontier) return false;
        int hops = 0;
        uint32_t set = stacks.accepts(stack, &hops);
        looked = std::max(looked, over + hops);
        return stacks.contains(set, kEnd);
    };
    int hops = 0;
    uint32_t set = stacks.accepts(f, &hops);
    looked = std::max(looked, above + hops);
    if (stacks.contains(set, kEnd)) return true;  // no block is open, or none need be closed (derivable.endings)
    if (stacks.contains(set, indentations_.spec.dedent) && closes(f, above)) return true;
    if (!indentations_.spec.final_newline || !stacks.contains(set, indentations_.spec.newline)) return false;
    looked_at_environment_ |= kDepth;
    if (indentations_[environment].depth) return false;
    Stacks::Shifted s = stacks.shift(f, indentations_.spec.newline);
    looked = std::max(looked, above + s.hops);
    return s.frontier != kNoFrontier && closes(s.frontier, above + s.above);
}

const std::vector<uint8_t>& Constraint::bytes_in_newlines() {
    if (bytes_in_newlines_.empty()) {
        std::vector<uint8_t> bytes = spanner_->lexer.representative_bytes();
        for (uint8_t b : {'\n', '\r', ' ', '\t', '\f'})
            if (std::find(bytes.begin(), bytes.end(), b) == bytes.end()) bytes.push_back(b);
        bytes_in_newlines_ = std::move(bytes);
    }
    return bytes_in_newlines_;
}

// PERF: once a lexer state, not once a stack: half of the first pass over Python programs was this walk.
const Constraint::Rest& Constraint::rest_of_newline(LexState lex) {
    if (auto known = rests_.find(lex); known != rests_.end()) return known->second;
    Lexer& lexer = spanner_->lexer;
    Rest rest;  // kept when it is complete
    std::vector<LexState> todo{lex};
    for (size_t i = 0; i < todo.size(); i++) {
        work(3 * bytes_in_newlines().size());
        for (const Lexer::Exit& e : lexer.exits(todo[i]))
            if (std::none_of(rest.exits.begin(), rest.exits.end(),
                             [&](const Lexer::Exit& x) { return x.terminal == e.terminal && x.obligations == e.obligations; }))
                rest.exits.push_back(e);
        for (uint8_t byte : bytes_in_newlines()) {
            LexState next = lexer.step(todo[i], byte);
            if (next == kNoState) continue;
            std::vector<LexState>& into = spanner_->may_be_newline(next) ? todo : rest.others;
            if (std::find(into.begin(), into.end(), next) == into.end()) into.push_back(next);
        }
    }
    return rests_.emplace(lex, std::move(rest)).first->second;
}

// Whether a lexeme that may be a newline can be completed: breadth first over what may still be read of it. Where it cannot always go on to
// another line, its column is followed too; else any column can still be had.
bool Constraint::alive_in_newline(LexState lex, Frontier f, Environment environment, int* hops) {
    Lexer& lexer = spanner_->lexer;
    int looked = 0;
    uint32_t accepts = stacks.accepts(f, &looked);
    const int begun = looked;
    const bool newline = indentations_[environment].depth || stacks.contains(accepts, indentations_.spec.newline);
    const bool columns = newline && spanner_->column_matters && !indentations_[environment].depth;
    if (!columns) environment = indentations_.idle(environment);
    uint32_t& question = newline_questions_[pack(lex, environment)];
    if (!question) question = ++num_newline_questions_;
    const uint64_t key = pack(question, f);
    const NewlineAnswer* found = newline_alive_.find(key);
    if (!found) {
        bool result = false;
        const uint8_t before = looked_at_environment_;
        looked_at_environment_ = columns ? kDepth | kLevels : kDepth;
        auto goes_on = [&](Symbol symbol, uint32_t obligations, Environment at) {
            if (result || (symbol == indentations_.spec.newline && !newline)) return;
            After after = ignored_[symbol] ? After{f, at, 0, 0} : after_lexeme(symbol, f, at);
            int below = 0;
            result = after.stack != kNoFrontier &&
                     liveness_.alive_after(obligations, after.stack, indentations_[after.environment].depth, &below);
            below = std::max(after.hops, after.above + below);
            looked = result ? std::max(begun, below) : std::max(looked, below);
        };
        auto end = [&](const Lexer::Exit& e, Environment at) {
            Symbol symbol = *symbols_of(e.terminal).first;
            if (symbol == indentations_.spec.newline && newline && !columns && !indentations_[at].depth) {
                const uint32_t level = indentations_[at].level;
                // What a deeper line or one of the same block leads to is the same wherever the block is.
                auto goes_on_at = [&](Indentations::Level l, uint32_t more) {
                    const uint8_t so_far = looked_at_environment_;
                    goes_on(symbol, e.obligations, indentations_.intern({level, 0, 1, l.column + more, l.alternate + more}));
                    looked_at_environment_ = so_far;
                };
                goes_on_at(indentations_.level(level), 1);
                goes_on_at(indentations_.level(level), 0);
                if (!result) looked_at_environment_ |= kLevels;
                for (uint32_t l = level; l && !result;) goes_on_at(indentations_.level(l = indentations_.level(l).outer), 0);
            } else {
                goes_on(symbol, e.obligations, at);
            }
            if (!result && lexer.obligations_hold_at_end(e.obligations)) {  // nothing may come after it but the end
                After last = ignored_[symbol] ? After{f, at, 0, 0} : after_lexeme(symbol, f, at, true);
                looked = std::max(looked, last.hops);
                result = last.stack != kNoFrontier && ends(last.stack, last.environment, last.above, looked);
            }
        };
        auto becomes_other = [&](LexState next) {
            int below = 0;
            result = liveness_.always_alive(next) || liveness_.alive(next, f, indentations_[environment].depth, &below);
            looked = std::max(looked, below);
        };
        if (!columns) {
            const Rest& rest = rest_of_newline(lex);
            for (size_t i = 0; i < rest.exits.size() && !result; i++) end(rest.exits[i], environment);
            for (size_t i = 0; i < rest.others.size() && !result; i++) becomes_other(rest.others[i]);
        }
        std::vector<std::pair<LexState, Environment>> todo;
        std::unordered_map<uint64_t, char, MixHash> seen;
        if (columns) todo.emplace_back(lex, environment);
        for (size_t i = 0; i < todo.size() && !result; i++) {
            work(3 * bytes_in_newlines().size());
            auto [state, at] = todo[i];
            const std::vector<Lexer::Exit> exits = lexer.exits(state);
            for (size_t k = 0; k < exits.size() && !result; k++) end(exits[k], at);
            for (uint8_t byte : bytes_in_newlines()) {
                LexState next = result ? kNoState : lexer.step(state, byte);
                if (next == kNoState) continue;
                if (!spanner_->may_be_newline(next)) {
                    becomes_other(next);
                    continue;
                }
                Environment then = indentations_.step(at, byte);
                if (indentations_.is_deepest(at) && indentations_[then].phase == 1 && indentations_[then].column > indentations_[at].column)
                    then = at;
                if (seen.try_emplace(pack(next, then), 1).second) todo.emplace_back(next, then);
            }
        }
        found = &(newline_alive_[key] = {result, looked_at_environment_, looked});
        looked_at_environment_ = before;
    }
    looked_at_environment_ |= found->looked_at_environment;
    if (hops) *hops = std::max({*hops, found->hops, looked});
    return found->alive;
}

// Wherever a newline lexeme has got, it can go on to another line. Then its column so far decides nothing.
bool Constraint::newline_goes_on() {
    Lexer& lexer = spanner_->lexer;
    LexState start = lexer.start({spanner_->newline}, lexer.text_start());
    if (start == kNoState) return false;
    std::vector<LexState> all{lexer.members(start)};
    std::unordered_map<LexState, char> seen{{all[0], 1}};
    std::vector<std::pair<LexState, LexState>> steps;  // by any byte but the line feed
    std::unordered_map<LexState, char> goes_on;        // a line feed is possible from here, and then any number of blanks
    for (size_t i = 0; i < all.size(); i++)
        for (int b = 0; b < 256; b++) {
            LexState next = lexer.step(all[i], uint8_t(b));
            if (next == kNoState) continue;
            if (b == '\n') {
                LexState blank = next;
                bool any = true;
                std::unordered_map<LexState, char> blanks;
                while (any && blanks.try_emplace(blank, 1).second) {
                    any = lexer.accepts(blank);
                    blank = lexer.step(blank, ' ');
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

// The part of a environment that masks are kept by.
uint64_t Constraint::environment_key(const Thread& t, uint8_t looked) const {
    return looked & kLevels ? 2ULL << 32 | t.environment : looked & kDepth ? 1ULL << 32 | indentations_[t.environment].depth : 0;
}

}  // namespace derivable
