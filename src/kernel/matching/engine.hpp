// What matching stands on, by reference: made by the constraint, which outlives all that has it.
#pragma once

#include "index/spanner.hpp"
#include "liveness/liveness.hpp"
#include "matching/environment.hpp"
#include "matching/operation.hpp"
#include "matching/slots.hpp"
#include "matching/terminals.hpp"
#include "parsing/stacks.hpp"

namespace derivable {

struct Engine {
    Access& access;
    Spanner& spanner;
    Stacks& stacks;
    Liveness& liveness;
    const Terminals& terminals;
    Environments& environments;
    Slots& slots;
};

}  // namespace derivable
