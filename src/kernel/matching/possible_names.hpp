// Where a slot takes any text of its terminal but for some, beginnings that only those have.
//
// Say the terminal is `a|ab`, and any text but `ab` is a name. Then `ab` can be begun and never be ended. Of an identifier any beginning may go on in more ways than
// are left out, so nothing is asked. But a terminal may have few texts with some beginning, and all of them may be left out. Such beginnings are found
// by walking the terminal's automaton and the names that are left out side by side.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lexing/lexer.hpp"
#include "sequence/slots.hpp"
#include "support/hashing.hpp"

namespace derivable {

// SAFETY: guarded by the constraint's lock.
class PossibleNames {
  public:
    // The same names without such beginnings; null: there is none. Asked about what a terminal's own recognizer takes, whatever stands around it, and
    // of names that are listed. Cost: nothing for terminals of which every beginning has any number of texts; else as many steps as there are bytes
    // in what is left out, once.
    NameSetRef of(const Lexer& lexer, TerminalId terminal, const NameSetRef& names);

  private:
    struct Known {
        NameSetRef names, possible;  // SAFETY: the names are kept, since the key has their address
    };
    // By state of the recognizer: it has a number of rests.
    const std::vector<char>& few_rests(TerminalId terminal, const Recognizer& recognizer);
    static NameSetRef found(const Recognizer& recognizer, const std::vector<char>& few_rests, const NameSetRef& names);

    std::unordered_map<uint32_t, std::vector<char>> few_rests_;
    std::unordered_map<std::vector<uint32_t>, Known, WordsHash> known_;
};

}  // namespace derivable
