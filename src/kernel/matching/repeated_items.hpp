// Tokens that would repeat an item of an array of distinct items.
#pragma once

#include <cstdint>

#include "matching/runs.hpp"

namespace derivable {

// Takes them out of a parse's mask. Two walks find all of them: one along what the earlier items hold where the writing stands, for the value in
// progress; and one over the tokens with a comma, behind which another item may begin.
void take_repeated(Runs& runs, Access& access, const Terminals& terminals, const Vocabulary& vocabulary, const Parse& t, uint32_t* words);

}  // namespace derivable
