// What matching stands on, by reference: made by the constraint, which outlives all that has it.
#pragma once

#include "index/spanner.hpp"
#include "liveness/liveness.hpp"
#include "parsing/stacks.hpp"
#include "sequence/environment.hpp"
#include "sequence/operation.hpp"
#include "sequence/slots.hpp"
#include "sequence/terminals.hpp"

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
