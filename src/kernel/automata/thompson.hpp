// From an expression tree to a Dfa: Thompson's construction, then a subset construction that keeps what Python's `re`
// means (docs/design.md, "Terminals").
//
// The subset construction runs over *threads*, an NFA state plus the obligations (look-ahead in progress) it carries:
//
// - leftmost_first: threads are kept in order of preference, and a match cuts off everything less preferred; if the match
//   still carries obligations, the less preferred threads go on under the condition that one of them fails.
//   So laziness and the order of alternatives mean what they mean to `re`. A match may end with obligations pending.
// - otherwise: order means nothing, the language is the full regular one, and look-ahead sees the end of the
//   match as the end of the text.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "automata/dfa.hpp"

namespace derivable {

class PatternBuilder {
  public:
    PatternBuilder(uint64_t max_nfa_states, uint64_t max_dfa_states) : max_nfa_(max_nfa_states), max_dfa_(max_dfa_states) {}

    using Node = uint32_t;
    Node bytes(std::string text);
    Node byte_set(std::vector<std::pair<uint8_t, uint8_t>> ranges);
    Node chars(const std::vector<std::pair<uint32_t, uint32_t>>& ranges);  // code points, without surrogates
    Node concat(std::vector<Node> items);
    Node alt(std::vector<Node> items);
    Node repeat(Node item, uint32_t min, int64_t max, bool lazy);  // max < 0: no bound
    Node look(Node item, bool ahead, bool negative);
    Node automaton(const Dfa& dfa);  // unconditional
    // Edges (first byte, last byte, target) of each state; state 0 is where it begins.
    Node graph(const std::vector<std::vector<std::tuple<uint8_t, uint8_t, uint32_t>>>& edges, const std::vector<bool>& accepting);

    Dfa compile(Node root, bool leftmost_first);

  private:
    friend class Thompson;
    enum class Kind { kBytes, kByteSet, kGraph, kConcat, kAlt, kRepeat, kLook };
    // A fragment given as a graph: edges per state, state 0 first; `exits` are final.
    struct Graph {
        struct Edge {
            uint8_t lo, hi;
            uint32_t to;
        };
        std::vector<std::vector<Edge>> edges;
        std::vector<uint8_t> exits;
    };
    struct Tree {
        Kind kind;
        std::string text;
        std::vector<std::pair<uint8_t, uint8_t>> ranges;
        std::vector<Node> items;
        uint32_t min = 0;
        int64_t max = 0;
        bool lazy = false, ahead = false, negative = false;
        Graph graph;
        uint32_t depth = 1;
        bool nullable = false;  // may match nothing
    };
    Node add(Tree tree);

    std::vector<Tree> nodes_;
    uint64_t max_nfa_, max_dfa_;
};

}  // namespace derivable
