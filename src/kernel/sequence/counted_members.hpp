// What lexemes mean where the keys of objects may come in any order, or items are counted; json/tallies.hpp says what is counted.
#pragma once

#include <cstdint>
#include <vector>

#include "sequence/environment.hpp"
#include "sequence/history.hpp"
#include "sequence/operation.hpp"
#include "sequence/terminals.hpp"

namespace derivable {

class CountedMembers {
  public:
    CountedMembers(Access& access, Stacks& stacks, const Terminals& terminals, Tallies& tallies)
        : access_(access),
          stacks_(stacks),
          terminals_(terminals),
          tallies_(tallies) {}

    bool active() const { return tallies_.active(); }
    bool counts(Symbol symbol) const { return tallies_.counts(symbol); }
    After after(Symbol symbol, Frontier f, Environment tally);
    // What may follow depends on the tally.
    bool asks(AcceptSet accept_set);
    // The state before a lexeme of what a stack accepts and the tally allows; `in_order`: and would be written where the order is free.
    Answer<LexState> start(AcceptSet accept_set, Environment tally, bool in_order);
    // What is left of parses if keys come in their order: of lexemes in progress, too. All, if the text has left it.
    Parses in_order(const Parses& parses);

  private:
    Access& access_;
    Stacks& stacks_;
    const Terminals& terminals_;
    Tallies& tallies_;
    IdVector<AcceptSet, char> asks_;  // 1 no, 2 yes
    FlatMap<LexState> starts_;        // by set of keys, whether in order, and accept set; and one
    const Renumbering::Told tallies_told_{tallies_.numbers(), [this] { starts_ = {}; }};
    const Renumbering::Told states_{stacks_.states(), [this] { starts_ = {}, asks_.clear(); }};
};

}  // namespace derivable
