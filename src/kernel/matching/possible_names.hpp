// Names of which no beginning is a dead end, where any text of a terminal is one but for some.
//
// Such names have no end in sight: a beginning may go on with any byte. That is so of identifiers. But where a terminal has but few texts with this
// beginning, all of them may be left out: of `a|ab`, any text but `ab`, nothing begins with `ab`.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lexing/lexer.hpp"
#include "matching/slots.hpp"
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
