// The texts of listed numbers: automata for all of them, made from the sorted texts, equal ends shared.
//
// A number has two texts here, plain (`120`, `0.5`) and with an exponent (`1.2e2`, `5e-1`), and both are digits, perhaps a point and
// decimals, to which zeros may be added once there is a point. So one tree of digits serves both: at the end of a number's plain digits the
// text may stop, at the end of its mantissa the exponent may follow.
#pragma once

#include <string>
#include <vector>

namespace derivable {

// As `derivable.expr.Graph` has them: state 0 is where it begins.
struct TextGraph {
    struct Edge {
        uint8_t byte;
        uint32_t to;
    };
    std::vector<std::vector<Edge>> edges;
    std::vector<bool> accepting;
};

// Every plain and normalised scientific literal of exactly these numbers (given as JSON writes them), in automata of about `most`
// characters of numbers each. Throws LimitExceeded where a number has more than `longest` digits when it is written out. Cost: the digits.
std::vector<TextGraph> listed_numbers(const std::vector<std::string>& literals, size_t most, uint64_t longest);

}  // namespace derivable
