// Regions: the parts of a text between brackets, in which only some terminals can come. What stands inside of a string with interpolation
// would swallow all that stands outside, but never competes with it.
//
// The innermost bracket that is open is told by the terminals alone: an automaton with a stack reads them, pushes at an opener and pops at a
// closer (a visibly pushdown automaton, Alur & Madhusudan 2004). It is deterministic, so all parses of a text, however many, are in the same region: none of the
// terminals that are acceptable to any of them is one that no rule has there. That it fits the grammar is checked: what a symbol derives does
// the same to the stack, whatever it derives.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "liveness/brackets.hpp"
#include "parsing/productions.hpp"
#include "support/bits.hpp"
#include "support/hashing.hpp"

namespace derivable {

class Regions {
  public:
    using Set = uint64_t;  // of regions, one bit each

    // What is known of them: what can come in each; by terminal, before and after it; by production and dot, where a text may be.
    struct Parts {
        std::vector<Bits> acceptable;
        std::vector<std::vector<std::pair<uint32_t, Set>>> after;
        std::vector<std::vector<Set>> at;
    };
    explicit Regions(Parts parts) : parts_(std::move(parts)) {}
    // Null if there is but one. Cost: some milliseconds for a programming language.
    static std::unique_ptr<const Regions> find(Productions& productions, const Bits& short_terminals);

    uint32_t size() const { return uint32_t(parts_.acceptable.size()); }
    Set all() const { return (Set(2) << (size() - 1)) - 1; }
    Set initial() const { return 1; }
    // Terminals that can come there, in one parse or another; kEnd among them.
    const Bits& acceptable(uint32_t region) const { return parts_.acceptable[region]; }
    // Where a text may be behind a terminal that came in one of these.
    Set after(Set before, Symbol terminal) const;
    // Where a text may be in which so much of this body has come.
    Set at(uint32_t production, uint32_t dot) const { return parts_.at[production][dot]; }

  private:
    const Parts parts_;
};

}  // namespace derivable
