// What a constraint does about indentation; the definition is in docs/lexing.md.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "matching/constraint.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

Constraint::After Constraint::after_lexeme(Symbol symbol, Frontier f, Layouts::Id layout, bool at_end) {
    if (layouts_.active() && symbol == layouts_.spec.newline) return after_newline(f, layout, at_end);
    if (tallies_.counts(symbol)) return after_counted(symbol, f, layout);
    Stacks::Shifted s = stacks.shift(f, symbol);
    if (!layouts_.active() || s.frontier == kNoFrontier) return {s.frontier, layout, s.hops, s.above};
    const LayoutSpec& spec = layouts_.spec;
    layout = layouts_.idle(layout);
    if (std::find(spec.open.begin(), spec.open.end(), symbol) != spec.open.end()) layout = layouts_.with_depth(layout, 1);
    if (std::find(spec.close.begin(), spec.close.end(), symbol) != spec.close.end()) layout = layouts_.with_depth(layout, -1);
    return {s.frontier, layout, s.hops, s.above};
}

Constraint::After Constraint::after_newline(Frontier f, Layouts::Id id, bool at_end) {
    looked_at_layout_ |= kDepth;
    if (layouts_[id].depth) return {f, layouts_.idle(id), 0, 0};
    // Where no line may end, the columns of blocks are not looked at.
    int hops = 0;
    if (!stacks.contains(stacks.accepts(f, &hops), layouts_.spec.newline)) return {kNoFrontier, id, hops, 0};
    if (at_end) id = layouts_.intern({layouts_[id].level, 0, 1});  // the line that begins here is empty
    const bool ends_line = layouts_[id].phase != 0;
    const Layouts::Turn turn = ends_line ? layouts_.turn(id) : Layouts::Turn{Layouts::Turn::kBlock, 0, layouts_.idle(id)};
    if (ends_line) looked_at_layout_ |= kLevels;
    if (turn.kind == Layouts::Turn::kMisfit) return {kNoFrontier, id, 0, 0};
    After after{f, turn.after, 0, 0};
    auto shift = [&](Symbol symbol) {
        if (after.stack == kNoFrontier) return;
        Stacks::Shifted s = stacks.shift(after.stack, symbol);
        after.hops = std::max(after.hops, after.above + s.hops);
        after.above += s.above;
        after.stack = s.frontier;
    };
    shift(layouts_.spec.newline);
    if (turn.kind == Layouts::Turn::kDeeper) shift(layouts_.spec.indent);
    for (uint32_t i = 0; i < turn.dedents; i++) shift(layouts_.spec.dedent);
    return after;
}

// The text may end on this stack: every open block is closed.
bool Constraint::ends(Frontier f, Layouts::Id layout, int above, int& looked) {
    auto closes = [&](Frontier stack, int over) {
        looked_at_layout_ |= kLevels;
        auto shift = [&](Symbol symbol) {
            Stacks::Shifted s = stacks.shift(stack, symbol);
            looked = std::max(looked, over + s.hops);
            over += s.above;
            stack = s.frontier;
        };
        for (uint32_t level = layouts_[layout].level; level && stack != kNoFrontier; level = layouts_.level(level).outer) shift(layouts_.spec.dedent);
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
    if (stacks.contains(set, layouts_.spec.dedent) && closes(f, above)) return true;
    if (!layouts_.spec.final_newline || !stacks.contains(set, layouts_.spec.newline)) return false;
    looked_at_layout_ |= kDepth;
    if (layouts_[layout].depth) return false;
    Stacks::Shifted s = stacks.shift(f, layouts_.spec.newline);
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
            if (std::none_of(rest.exits.begin(), rest.exits.end(), [&](const Lexer::Exit& x) { return x.terminal == e.terminal && x.duties == e.duties; })) rest.exits.push_back(e);
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
bool Constraint::alive_in_newline(LexState lex, Frontier f, Layouts::Id layout, int* hops) {
    Lexer& lexer = spanner_->lexer;
    int looked = 0;
    uint32_t accepts = stacks.accepts(f, &looked);
    const int begun = looked;
    const bool newline = layouts_[layout].depth || stacks.contains(accepts, layouts_.spec.newline);
    const bool columns = newline && spanner_->column_matters && !layouts_[layout].depth;
    if (!columns) layout = layouts_.idle(layout);
    uint32_t& question = newline_questions_[pack(lex, layout)];
    if (!question) question = ++num_newline_questions_;
    const uint64_t key = pack(question, f);
    const NewlineAnswer* found = newline_alive_.find(key);
    if (!found) {
        bool result = false;
        const uint8_t before = looked_at_layout_;
        looked_at_layout_ = columns ? kDepth | kLevels : kDepth;
        auto goes_on = [&](Symbol symbol, uint32_t duties, Layouts::Id at) {
            if (result || (symbol == layouts_.spec.newline && !newline)) return;
            After after = ignored_[symbol] ? After{f, at, 0, 0} : after_lexeme(symbol, f, at);
            int below = 0;
            result = after.stack != kNoFrontier && liveness_.alive_after(duties, after.stack, layouts_[after.layout].depth, &below);
            below = std::max(after.hops, after.above + below);
            looked = result ? std::max(begun, below) : std::max(looked, below);
        };
        auto end = [&](const Lexer::Exit& e, Layouts::Id at) {
            Symbol symbol = *symbols_of(e.terminal).first;
            if (symbol == layouts_.spec.newline && newline && !columns && !layouts_[at].depth) {
                const uint32_t level = layouts_[at].level;
                // What a deeper line or one of the same block leads to is the same wherever the block is.
                auto goes_on_at = [&](Layouts::Level l, uint32_t more) {
                    const uint8_t so_far = looked_at_layout_;
                    goes_on(symbol, e.duties, layouts_.intern({level, 0, 1, l.column + more, l.alternate + more}));
                    looked_at_layout_ = so_far;
                };
                goes_on_at(layouts_.level(level), 1);
                goes_on_at(layouts_.level(level), 0);
                if (!result) looked_at_layout_ |= kLevels;
                for (uint32_t l = level; l && !result;) goes_on_at(layouts_.level(l = layouts_.level(l).outer), 0);
            } else {
                goes_on(symbol, e.duties, at);
            }
            if (!result && lexer.duties_hold_at_end(e.duties)) {  // nothing may come after it but the end
                After last = ignored_[symbol] ? After{f, at, 0, 0} : after_lexeme(symbol, f, at, true);
                looked = std::max(looked, last.hops);
                result = last.stack != kNoFrontier && ends(last.stack, last.layout, last.above, looked);
            }
        };
        auto becomes_other = [&](LexState next) {
            int below = 0;
            result = liveness_.sure(next) || liveness_.alive(next, f, layouts_[layout].depth, &below);
            looked = std::max(looked, below);
        };
        if (!columns) {
            const Rest& rest = rest_of_newline(lex);
            for (size_t i = 0; i < rest.exits.size() && !result; i++) end(rest.exits[i], layout);
            for (size_t i = 0; i < rest.others.size() && !result; i++) becomes_other(rest.others[i]);
        }
        std::vector<std::pair<LexState, Layouts::Id>> todo;
        std::unordered_map<uint64_t, char, MixHash> seen;
        if (columns) todo.emplace_back(lex, layout);
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
                Layouts::Id then = layouts_.step(at, byte);
                if (layouts_.is_deepest(at) && layouts_[then].phase == 1 && layouts_[then].column > layouts_[at].column) then = at;
                if (seen.try_emplace(pack(next, then), 1).second) todo.emplace_back(next, then);
            }
        }
        found = &(newline_alive_[key] = {result, looked_at_layout_, looked});
        looked_at_layout_ = before;
    }
    looked_at_layout_ |= found->looked_at_layout;
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

// The part of a layout that masks are kept by.
uint64_t Constraint::layout_key(const Thread& t, uint8_t looked) const {
    return looked & kLevels ? 2ULL << 32 | t.layout : looked & kDepth ? 1ULL << 32 | layouts_[t.layout].depth : 0;
}

}  // namespace derivable
