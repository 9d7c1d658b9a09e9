// The texts of the numbers between two bounds.
//
// Which literals lie below a bound is not a regular question once exponents may be of any size *and* digits may be anywhere. So the texts
// are plain decimals (`120`, `0.50`) and normalised scientific notation: one digit that is not 0, perhaps decimals, an exponent (`1.2e2`).
//
// A reader goes along both at once: it compares the digits with those of the bounds as they come, once as a plain number and once as a
// mantissa. At `e` what is left to ask is an interval of exponents. States are made as they are met, and minimised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "automata/dfa.hpp"
#include "json/decimal.hpp"

namespace derivable {

struct NumberRange {
    struct Bound {
        Decimal value;
        bool open;  // the bound itself is outside
    };
    std::optional<Bound> low, high;
    std::optional<bool> integral;           // integers only, or numbers that are none
    std::optional<bool> digits;             // written without a fraction and an exponent only, or otherwise only
    std::optional<uint32_t> most_decimals;  // of a mantissa. Without a bound `integral` must not be asked of scientific notation.
    bool scientific = true;
    bool written = false;  // with so many digits as a float is written with (see kMostWhole)

    // So few digits that its automaton has at most kSmallStates.
    bool is_small() const;
    // Some number is within. Cost: a step for each digit of the bounds, once.
    bool has_numbers() const;
    // Equal for equal ranges.
    std::string key() const;

    mutable std::optional<bool> has_numbers_;  // SAFETY: of one thread

    // Digits before the point, behind it, and of an exponent. JavaScript writes 10^20 with 21 digits and 10^21 with an exponent, and up to five zeros
    // before the 17 digits of a float; Python changes to exponents sooner.
    static constexpr int32_t kMostWhole = 21, kMostDecimals = 22, kMostPower = 3;

    static constexpr size_t kSmallDigits = 20;
    static constexpr uint64_t kSmallStates = 5'000;
};

// Throws LimitExceeded. Cost: about 0.5 us for each of its states, which are as many as the digits of the bounds, and for integers up to 500
// more.
Dfa number_range(const NumberRange& range, uint64_t max_states);

}  // namespace derivable
