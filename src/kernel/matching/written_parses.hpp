// Parses as every process knows them that has compiled the same grammar for the same vocabulary (docs/design/matching.md, "State that travels").
#pragma once

#include "matching/constraint.hpp"
#include "support/packed.hpp"

namespace derivable {

// SAFETY: both within an operation on the constraint.
void write_parses(Constraint& constraint, const Parses& parses, PackedWriter& out);
// Throws BadState where no text leads to such parses, as far as that is seen; and LimitExceeded.
Parses read_parses(Constraint& constraint, PackedReader& in);

void write_witness(const Witness& witness, PackedWriter& out);
// ... which completes these parses.
Witness read_witness(Constraint& constraint, const Parses& parses, PackedReader& in);

}  // namespace derivable
