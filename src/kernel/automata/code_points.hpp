// Characters as bytes: the UTF-8 of sets of code points, and automata over characters spelled out as automata over bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "automata/dfa.hpp"

namespace derivable {

using CodePoints = std::vector<std::pair<uint32_t, uint32_t>>;  // ranges, inclusive, sorted and disjoint; surrogates take three bytes

// An automaton given by its edges; state 0 is where it begins.
struct Graph {
    struct Edge {
        uint8_t lo, hi;
        uint32_t to;
    };
    std::vector<std::vector<Edge>> edges;  // by state
    std::vector<uint8_t> accepting;
};

// The code points of a text; false if it is not UTF-8.
bool decode(std::string_view text, std::vector<uint32_t>& code_points);

// The UTF-8 of one character. Equal tails are shared: `\w` has 770 ranges but few distinct tails.
Graph utf8_graph(const CodePoints& characters);

// The letters of an automaton over characters. Characters that belong to the same ones of some sets act alike: together they are one letter,
// an *atom*. (Minterms, as D'Antoni and Veanes call them in "Minimization of symbolic automata", POPL 2014.)
class Atoms {
  public:
    static constexpr uint32_t kMost = 256;

    explicit Atoms(const std::vector<const CodePoints*>& sets);
    // There are no more than kMost: only then is there anything else.
    bool few() const { return few_; }
    // The atoms of each set, as ranges of their numbers.
    const std::vector<std::vector<std::pair<uint8_t, uint8_t>>>& of_sets() const { return of_sets_; }
    // The minimal automaton over bytes of a minimal one over atoms (which takes them for bytes).
    // Cost: states x nodes of the tree of the atoms' UTF-8 x byte classes, about a tenth of a subset construction over the bytes.
    Dfa spelled(const Dfa& over_atoms, uint64_t max_states) const;

  private:
    static constexpr uint32_t kNone = ~0u;
    struct Segment {
        uint32_t first, atom;  // from this code point to that of the next segment
    };
    std::vector<Segment> segments_;  // all code points, and what is past them
    std::vector<std::vector<std::pair<uint8_t, uint8_t>>> of_sets_;
    bool few_ = true;
};

}  // namespace derivable
