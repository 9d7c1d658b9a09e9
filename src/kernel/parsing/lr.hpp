// The LR(0) automaton, built on demand.
//
// States are sets of items; a state is expanded when the parser first stands in it, so a schema with thousands of
// properties never pays for states that no text visits. Unit productions do not occur: moving over X moves over every
// symbol from which X is reached by units. There are no look-ahead sets: what a stack accepts is computed exactly, once per
// stack node, and remembered there (parsing/stacks.hpp).
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "parsing/productions.hpp"
#include "support/hashing.hpp"
#include "support/ids.hpp"

namespace derivable {

class Archive;

using LrState = Id<struct LrStateTag>;

class LrAutomaton {
  public:
    explicit LrAutomaton(Productions productions);

    struct Reduction {
        Symbol head;
        uint32_t length;
        bool operator==(const Reduction& o) const { return head == o.head && length == o.length; }
    };
    static constexpr LrState kNone{}, kStart{0};

    // The state after moving over a symbol; kNone if no item allows it.
    LrState move(LrState state, Symbol symbol);
    const std::vector<Reduction>& reductions(LrState state) { return expanded(state).reductions; }
    // Nothing is possible but one reduction.
    bool is_complete(LrState state) { return expanded(state).is_complete; }
    // Where some reduction leads depends on the state below what it takes off the stack.
    bool reads_below(LrState state) { return expanded(state).reads_below; }
    // Terminals that can be shifted directly, sorted; the end of the text counts as one.
    const std::vector<Symbol>& shifts(LrState state) { return expanded(state).shifts; }
    // Head and length so far of the items that a state was made from, where those are the same; length 0 where they differ. Then what a stack
    // accepts before that head is completed depends on nothing but what is left of their bodies: equal numbers, equal bodies.
    struct Open {
        Symbol head = 0;
        uint32_t length = 0;
        uint32_t rest = 0;
    };
    // Worked out once.
    Open open(LrState state);
    // A symbol over which one state leads to another; there is one.
    Symbol symbol_between(LrState from, LrState to);
    // Every symbol that can be moved over.
    std::vector<Symbol> symbols(LrState state);
    // Before states are numbered anew, and sets of terminals (Stacks).
    Renumbering& numbers() { return numbers_; }
    // Forgets all states but the start and those for which `kept` is not 0, and numbers those anew in their order. Returns the new numbers.
    IdVector<LrState, LrState> forget_states(const IdVector<LrState, char>& kept);
    // States as they are numbered, read where there is none but the start, with the moves that were made. PERF: a tenth of masks behind stacks that are
    // new to a loaded constraint; of Python's 950 states they take about a millisecond.
    void archive(Archive& a);
    uint32_t num_states() const { return uint32_t(states_.size()); }
    Productions& productions() { return productions_; }
    // (production, dot) of the items a state was made from.
    using Items = std::vector<std::pair<uint32_t, uint32_t>>;
    Items kernel(LrState state) const { return positions(kernels_[state.index()]); }
    // Those of them that wait for one of some nonterminals: what is behind the dot is one, or begins with one. Some item does, for each.
    Items waiting(LrState state, const std::vector<Symbol>& heads);

  private:
    // PERF: which items a move takes along is worked out when it is made. All moves of a state at once take the square of the length of a
    // chain of units (an object's optional keys are one), and few are made.
    struct State {
        bool is_expanded = false, is_complete = false, knows_open = false, reads_below = false;
        Open open;
        std::vector<Reduction> reductions;
        std::vector<Symbol> shifts;
        std::vector<uint64_t> items;                    // next symbol and the item after it, sorted
        std::vector<std::pair<Symbol, LrState>> moves;  // made so far, sorted by symbol; where to, or kNone
    };
    State& expanded(LrState state) {
        if (!states_[state.index()].is_expanded) expand(state);
        return states_[state.index()];
    }
    void expand(LrState state);
    Open find_open(LrState state);
    void make_moves(const std::vector<std::vector<Symbol>>& moves);  // by state
    Items positions(const std::vector<uint32_t>& items) const;
    // An item is a position in the concatenation of all bodies, each followed by one end position.
    uint32_t item(uint32_t production, uint32_t dot) const { return offset_[production] + dot; }

    Productions productions_;
    std::vector<uint32_t> offset_, production_of_;
    Interner bodies_, rests_;  // what is left of items, and sets of that
    std::vector<uint32_t> words_;
    Interner kernels_;
    std::deque<State> states_;  // grows while references into it are held
    template <class Visit>
    static void each_behind(const State& state, Symbol next, Visit visit);  // items behind a symbol
    template <class Visit>
    void each_reached(Symbol symbol, Visit visit);  // itself and by units, but what was visited since visit_ was raised

    std::vector<uint32_t> visited_;  // by symbol: the expansion that last visited it
    uint32_t visit_ = 0;
    std::vector<Symbol> reached_;
    Renumbering numbers_;
};

}  // namespace derivable
