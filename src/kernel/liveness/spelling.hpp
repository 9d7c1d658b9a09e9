// What can be spelled after a lexeme has ended, whatever the parser says: the lexical half of the search for dead ends.
//
// Everything here rests on one observation. Fewer candidates only make longer attempts, and so obligations, fewer: if a text is cut into
// the terminals t1 t2 ... with many candidates, then also with few, as long as each ti is among them; and what can be spelled under some
// obligations can be spelled under weaker ones. So what can be spelled against *all* candidates can be spelled wherever the parser wants
// it.
//
// A *recurrent boundary* is one (the obligations after a lexeme; typically those after a blank) with its *unconditional* terminals: each
// can be spelled there, whatever else is acceptable, in a way that leads back to the recurrent boundary through ignored lexemes. At a
// boundary that reaches a recurrent boundary, any sequence of its unconditional terminals can be spelled, and the text may end.
//
// Grammars without ignored lexemes have no such meeting place. There the pairs (last terminal, obligations) are judged: a pair is
// *safe* if every terminal that may follow the last one can be spelled, leading to a safe pair again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lexing/lexer.hpp"
#include "parsing/follow.hpp"
#include "support/arena.hpp"
#include "support/bits.hpp"
#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

class Archive;

class Spelling {
  public:
    Spelling(Lexer& lexer, Adjacency& adjacency, Productions& productions, const std::vector<TerminalId>& to_lexer,
             const std::vector<char>& ignored)
        : lexer_(lexer),
          adjacency_(adjacency),
          productions_(productions),
          to_lexer_(to_lexer),
          ignored_(ignored) {}

    struct Landing {
        Symbol terminal;          // that ended; 0: an ignored one
        Obligations obligations;  // after it
        bool operator<(const Landing& o) const { return terminal != o.terminal ? terminal < o.terminal : obligations < o.obligations; }
        bool operator==(const Landing& o) const { return terminal == o.terminal && obligations == o.obligations; }
    };
    // Of all symbols of its terminal. Which of them are acceptable the stack tells.
    template <class Visit>
    bool each_landing(const Lexer::Exit& e, Visit visit) {
        return any_symbol(e.terminal, [&](Symbol s) { return visit(Landing{ignored_[s] ? 0 : s, e.obligations}); });
    }
    bool wins(Symbol t, const Lexer::Exit& e) const { return to_lexer_[t] == e.terminal; }
    // These symbols are another one to the lexer: what one of them wins, all win. SAFETY: all terminals of the lexer are this grammar's.
    void set_alike(const std::vector<Symbol>& others) {
        Bits is_other(to_lexer_.size());
        for (Symbol s : others) is_other.add(s);
        symbols_.assign(to_lexer_.size(), {});
        for (Symbol s = 1; s < to_lexer_.size(); s++)
            if (!is_other.has(s)) symbols_[to_lexer_[s].index()].push_back(s);
        for (Symbol s : others) symbols_[to_lexer_[s].index()].push_back(s);
    }
    // Stops, and says yes, when `ask` does.
    template <class Ask>
    bool any_symbol(TerminalId terminal, Ask ask) const {
        if (symbols_.empty()) return ask(symbol(terminal));
        const std::vector<Symbol>& all = symbols_[terminal.index()];
        return std::any_of(all.begin(), all.end(), ask);
    }
    // Terminals without text are tokens by their id. Like the end, they can stand wherever nothing is owed.
    bool is_token(Symbol terminal) const { return terminal != kEnd && lexer_.automata.recognizer(to_lexer_[terminal]).is_empty(); }
    // The newline terminal of a grammar with indentation competes everywhere. INDENT and DEDENT have no text and owe nothing: the column
    // of a newline lexeme brings them, and any column can be had.
    void set_indentation(Symbol newline, Symbol indent, Symbol dedent) { newline_ = newline, indent_ = indent, dedent_ = dedent; }
    bool is_indentation(Symbol t) const { return t != kEnd && (t == indent_ || t == dedent_); }
    // 0: an ignored one.
    Symbol symbol_of(TerminalId terminal) const {
        const Symbol s = symbol(terminal);
        return ignored_[s] ? 0 : s;
    }
    // Before a lexeme of this terminal and no other, nothing owed.
    LexState alone(Symbol terminal) { return lexer_.start({to_lexer_[terminal]}, lexer_.formulas.text_start()); }
    // How the lexeme in progress may end, each way once. Stops, and says yes, when `ask` does, which need not be asked about terminals (0: ignored ones) for
    // which `keep` says no. O(lexer states reachable from `s`), which are looked at once.
    //
    // PERF: a lexeme whose rounds are counted may be in a million states. So nothing is kept of it, and no more states are looked at than it takes.
    template <class Ask>
    bool any_landing(LexState s, Ask ask, const std::function<bool(Symbol)>& keep = [](Symbol) { return true; }) {
        if (s == kNoState) return false;
        if (lexer_.sets.counts_rounds(lexer_.members(s))) return any_landing_of_counted(s, ask, keep);
        const std::vector<Landing>& all = landings(s);
        return std::any_of(all.begin(), all.end(), ask);
    }
    // Of the next lexeme (or token that is taken) if these terminals are acceptable.
    template <class Ask>
    bool any_next(const Bits& acceptable, Obligations obligations, Ask ask) {
        if (any_landing(start(acceptable, obligations), ask)) return true;
        const std::vector<Landing> tokens = next_tokens(acceptable, obligations);
        return std::any_of(tokens.begin(), tokens.end(), ask);
    }
    struct Span {
        const LexState* first = nullptr;
        uint32_t size = 0;
        const LexState* begin() const { return first; }
        const LexState* end() const { return first + size; }
    };
    // The states that a lexeme in progress may be in one byte further, each once.
    Span successors(LexState s);
    // The state before a lexeme, all of `candidates` (ignored ones are added; under basic, all terminals) competing.
    LexState start(const Bits& candidates, Obligations obligations);

    static constexpr uint32_t kNoRecurrent = ~0u;
    // The best recurrent boundary that can be reached after `obligations`; kNoRecurrent if no terminal at all is sure to be spelled.
    uint32_t recurrent(Obligations obligations) { return recurrent(obligations, 0); }
    static constexpr uint32_t kMainRecurrent = 0;
    // The main one can be reached.
    bool reaches_main(Obligations obligations) {
        return recurrent(lexer_.formulas.text_start()) == kMainRecurrent && reaches(obligations, recurrents_[kMainRecurrent]);
    }
    const Bits& unconditional(uint32_t recurrent) const { return recurrents_[recurrent].unconditional; }
    const Bits& into_main(uint32_t recurrent) const { return recurrents_[recurrent].into_main; }
    // Whether a terminal may be the next to be spelled after `obligations`, with nothing to compete but ignored ones: false if it never can, true in
    // doubt (an ignored lexeme may come first and settle what is owed).
    bool may_be_next(Symbol terminal, Obligations obligations);
    // ... some ignored one.
    bool may_be_ignored(Obligations obligations);
    // Terminals that may be spelled at some time after `obligations`: no fewer than can, perhaps more.
    const Bits& possible(Obligations obligations);

    // Every terminal that may follow `last` (but for those that nothing can spell) can be spelled, and so on for ever.
    bool safe(Symbol last, Obligations obligations);
    bool is_known_as_safe(Symbol last, Obligations obligations) const {
        const auto found = safe_.find(pack(last, obligations));
        return found != safe_.end() && found->second;
    }
    // Terminals that some text can spell, in some company that the grammar may put them in.
    const Bits& spellable();
    // What was found out, by the numbers of a lexer that is saved, too; read where nothing was found out yet.
    void archive(Archive& a);
    // Bytes that lexing may be tried on before the next call; then it throws LimitExceeded.
    void allow(uint64_t steps) { until_ = steps_ + steps, allowed_ = steps; }

  private:
    using States = std::unordered_set<LexState>;
    struct Recurrent {
        Obligations obligations;
        Bits unconditional;
        Bits into_main;  // terminals that can be spelled here, whatever else is acceptable, and lead to the main recurrent boundary
        std::unordered_map<Obligations, bool> reached_from;
        // By past: bytes with which an ignored lexeme may begin that leads here, if nothing is owed before it.
        std::unordered_map<uint32_t, std::vector<uint8_t>> ways_in;
        // States of ignored lexemes that do not lead here. PERF: what is owed mostly comes to the same after a byte or two: 75 boundaries
        // of Python took 130 us each to be found not to lead to one recurrent boundary.
        States in_vain;
    };
    // Under longest and basic there is one, unless some are alike (set_alike); then it is the first.
    Symbol symbol(TerminalId terminal) const { return symbols_.empty() ? terminal.index() + 1 : symbols_[terminal.index()].front(); }
    using Pair = uint64_t;  // (last terminal, obligations)
    void count_step() {
        work(8);  // a state met for the first time is an entry of two tables: some 100 ns
        if (++steps_ > until_)
            throw LimitExceeded("max_liveness_steps", steps_ - until_ + allowed_, allowed_,
                                "deciding which lexemes can still follow under longest match");
    }
    // Calls `visit(landing)` for the ways a lexeme begun in `s` may end, breadth first, following only states in which a terminal is in
    // progress for which `keep` (of an ignored one: of 0) says yes, that were not `seen` and are not `in_vain`; stops when `visit` returns
    // true, and then returns true.
    template <class Keep, class Visit>
    bool walk(LexState s, Keep keep, Visit visit, States& seen, const States& in_vain);
    template <class Keep, class Visit>
    bool walk(LexState s, Keep keep, Visit visit) {
        States seen;
        return walk(s, keep, visit, seen, {});
    }
    const std::vector<Landing>& landings(LexState s);  // sorted: where little is owed, any text can follow
    bool any_landing_of_counted(LexState s, const std::function<bool(const Landing&)>& ask, const std::function<bool(Symbol)>& keep);
    std::vector<Landing> next_tokens(const Bits& acceptable, Obligations obligations);
    template <class End>
    bool spell_alone(Symbol t, Obligations obligations, End end);
    LexState everything(Obligations obligations);  // all terminals compete
    const Bits& wanted();                          // terminals that the rules use
    bool only_newline_follows(Symbol t);
    template <class Returns>
    bool leads_back_with_newline(Symbol t, Obligations at, Returns returns);
    std::vector<Obligations> through_ignored(Obligations obligations, size_t at_most);
    uint32_t recurrent(Obligations obligations, uint32_t depth);
    bool reaches(Obligations obligations, Recurrent& recurrent);
    bool reaches_at_once(Obligations obligations, Recurrent& recurrent);
    uint32_t make_recurrent(Obligations obligations, uint32_t depth);
    bool can_settle(Obligations obligations);
    Bits unconditional_at(Recurrent& recurrent, uint32_t depth);
    void judge(Pair pair);

    Lexer& lexer_;
    Adjacency& adjacency_;
    Productions& productions_;
    const std::vector<TerminalId>& to_lexer_;
    const std::vector<char>& ignored_;

    std::vector<std::vector<Symbol>> symbols_;  // by terminal of the lexer; empty if there is one for each
    Symbol newline_ = kEnd, indent_ = kEnd, dedent_ = kEnd;
    Bits wanted_, spellable_;
    std::unordered_map<LexState, std::vector<Landing>> landings_;
    // PERF: walks for one recurrent boundary and the next go through the same states: a saved Python grammar's first mask took 19.1 ms, and
    // now 14.0.
    FlatMap<Span> successors_;
    Arena<LexState> successor_lists_;
    std::deque<Recurrent> recurrents_;  // grows while one of them is asked
    std::unordered_map<Obligations, uint32_t> recurrent_of_;
    std::vector<LexState> everything_;  // by past: members; kNoState if not asked for yet
    std::unordered_map<Obligations, Bits> possible_;
    FlatMap<bool> may_be_next_;  // by terminal and obligations
    std::unordered_map<Pair, bool, MixHash> safe_;
    uint64_t steps_ = 0, until_ = ~0ULL, allowed_ = 0;
};

}  // namespace derivable
