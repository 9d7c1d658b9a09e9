// The lexer's numbers: of its states, and of what they are made of.
//
// A state is one member (a terminal's automaton in some state of it), a set of several members, or either of these with obligations. The two uppermost
// bits of its number say which.
#pragma once

#include <cstdint>

#include "support/ids.hpp"

namespace derivable {

enum class Policy : uint8_t { kScannerless, kLongest, kBasic };

using LexState = Id<struct LexStateTag>;
using TerminalId = Id<struct TerminalTag>;      // of the lexer: several symbols of a grammar may be one
using Obligations = Id<struct ObligationsTag>;  // a formula
constexpr LexState kNoState{};

struct StateNumber {
    static constexpr uint32_t kSetBit = 1u << 30, kPairBit = 1u << 31;
    static bool is_single(LexState s) { return s.index() < kSetBit; }
    static bool is_pair(LexState s) { return s.index() & kPairBit; }
    static uint32_t of(LexState s) { return s.index() & ~(kPairBit | kSetBit); }  // among those of its kind
};

}  // namespace derivable
