// All values that JSON string literals can have, as automata over characters: of UTF-8, a lone surrogate as three bytes.
#pragma once

#include "automata/dfa.hpp"

namespace derivable {

// Which values with lone surrogates are among them.
enum class Lone {
    kAll,
    kSpelled,  // where no high one stands before a low one, for so a pair is spelled
    kNone
};
const Dfa& all_values(Lone lone);

}  // namespace derivable
