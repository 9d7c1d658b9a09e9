// Which symbols may stand next to each other, whatever the rest of the text: first, last and follow sets of the grammar without empty
// and unit productions. Computed when first asked for; about a millisecond for a programming language.
#pragma once

#include <vector>

#include "parsing/lr.hpp"
#include "support/bits.hpp"

namespace derivable {

class Adjacency {
  public:
    explicit Adjacency(LrAutomaton& lr) : lr_(lr) {}

    // Terminals that may follow a symbol in some sentential form, kEnd among them if it may be the last; and those that may begin a text.
    const Bits& follow(Symbol s) { return computed().follow_[s]; }
    const Bits& initial() { return computed().initial_; }
    // Terminals that are acceptable wherever `t` is: those that every LR state can shift that can shift `t`.
    // Null if the automaton has more states than are worth visiting.
    const Bits* company(Symbol t);
    // No stack is ever undecided about its parse: at most one of the shift and the reductions of a state goes with any terminal
    // (SLR(1)). Conservative: false also where it has not been decided.
    bool deterministic();

  private:
    Adjacency& computed();
    bool explore();  // all LR states; false if there are too many

    LrAutomaton& lr_;
    std::vector<Bits> follow_;
    Bits initial_;
    std::vector<Bits> company_;
    int explored_ = -1, deterministic_ = -1;
    const Renumbering::Told states_{lr_.numbers(), [this] { explored_ = -1; }};  // those that there will be are not all
};

}  // namespace derivable
