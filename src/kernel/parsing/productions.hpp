// Productions in the form the parser wants: no empty right-hand sides, unit productions apart.
//
// Only the language matters to a mask, never the parse tree, so the grammar is first rewritten:
//
// - symbols that derive nothing, or cannot be reached, are dropped;
// - what is repeated behind a symbol becomes a list with it (parsing/lists.hpp);
// - empty productions are removed (right-hand sides with many nullable symbols are split first, so the size stays linear);
// - unit productions A -> X are kept apart as a relation: the LR automaton steps over whole chains of them at once.
//
// Every remaining production has at least two symbols, so a reduction always makes the stack shorter: no cycles, however
// ambiguous or (hidden-)left-recursive the grammar.
#pragma once

#include <cstdint>
#include <vector>

#include "support/errors.hpp"

namespace derivable {

using Symbol = uint32_t;

// Terminals come first: 0 is the end of the text, 1..num_terminals are the grammar's, the rest are nonterminals.
constexpr Symbol kEnd = 0;

struct Production {
    Symbol head;
    std::vector<Symbol> body;
};

// Which heads follow from which bodies: the least set of symbols with `holds(symbol)` such that a head is in it when all symbols of one of its bodies
// are. Linear in the size of the grammar.
std::vector<char> least_fixpoint(const std::vector<Production>& productions, std::vector<char> holds);

class Productions {
  public:
    // `bodies` as given by the front end: anything goes. Throws BadGrammar if the start derives no terminal string.
    Productions(uint32_t num_terminals, uint32_t num_nonterminals, Symbol start, std::vector<Production> given);

    uint32_t num_terminals() const { return num_terminals_; }
    bool is_terminal(Symbol s) const { return s <= num_terminals_; }
    bool start_nullable() const { return start_nullable_; }
    // Production 0 is  start' -> start END.
    const Production& operator[](uint32_t i) const { return productions_[i]; }
    uint32_t size() const { return uint32_t(productions_.size()); }
    // Productions (of two symbols or more) by head.
    const std::vector<uint32_t>& of(Symbol nonterminal) const { return by_head_[nonterminal - num_terminals_ - 1]; }
    // The symbol itself and all it reaches by unit productions, or all that reach it.
    const std::vector<Symbol>& chain(Symbol s) { return closure(s, units_, chains_); }
    const std::vector<Symbol>& reaching(Symbol s) { return closure(s, users_, reaching_); }
    // What it reaches by one of them.
    const std::vector<Symbol>& units(Symbol s) const { return units_[s]; }
    uint32_t num_symbols() const { return uint32_t(units_.size()); }
    // It stands in one place of all bodies, by units or itself, but for the beginning of its own (L -> L w). Then moving over it leads to one LR
    // state, wherever that can be done: from that place, and the beginnings of those that are begun there.
    bool is_in_one_place(Symbol s);
    // The terminal occurs in some reachable production.
    bool is_used(Symbol terminal) const { return used_[terminal]; }
    // Symbols given to the constructor that derive no terminal string (for error messages).
    const std::vector<Symbol>& unproductive() const { return unproductive_; }

  private:
    uint32_t num_terminals_;
    bool start_nullable_ = false;
    std::vector<Production> productions_;
    std::vector<std::vector<uint32_t>> by_head_;
    using Relation = std::vector<std::vector<Symbol>>;  // by symbol
    const std::vector<Symbol>& closure(Symbol s, const Relation& step, Relation& known);
    // Without duplicates.
    void keep_reached(Symbol start, std::vector<Production> full, const Relation& units, const std::vector<char>& productive);

    Relation units_, users_, chains_, reaching_;
    std::vector<uint32_t> visited_;  // by symbol: the closure that last visited it
    std::vector<Symbol> closed_;     // of the closure that is being made
    uint32_t visit_ = 0;
    std::vector<uint32_t> places_;  // by symbol: in bodies, but at the beginning of its own
    std::vector<char> used_;
    std::vector<Symbol> unproductive_;
};

}  // namespace derivable
