// A regular expression over bytes and characters, as a tree that automata are made from (automata/thompson.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automata/code_points.hpp"
#include "automata/dfa.hpp"

namespace derivable {

// Equal trees are one node, but graphs.
class Pattern {
  public:
    using Node = uint32_t;
    enum class Kind { kBytes, kByteSet, kChars, kAny, kGraph, kConcat, kAlt, kRepeat, kLook };
    struct Tree {
        Kind kind;
        std::string text;                                // kBytes
        std::vector<std::pair<uint8_t, uint8_t>> bytes;  // kByteSet
        CodePoints code_points;                          // kChars
        Graph graph;                                     // kGraph
        std::vector<Node> items;                         // of what the rest is made
        uint32_t min = 0;                                // kRepeat; max < 0: no bound
        int64_t max = 0;
        bool lazy = false, ahead = false, negative = false;
        uint32_t depth = 1;
        bool nullable = false;  // may match nothing
    };

    Node bytes(std::string text);
    Node byte_set(std::vector<std::pair<uint8_t, uint8_t>> ranges);
    Node chars(CodePoints code_points);
    Node concat(std::vector<Node> items);
    Node alt(std::vector<Node> items);
    Node repeat(Node item, uint32_t min, int64_t max, bool lazy);
    Node look(Node item, bool ahead, bool negative);  // for any character: for any byte, be it of a character or not
    Node automaton(const Dfa& dfa);                   // unconditional
    // Edges (first byte, last byte, target) of each state; state 0 is where it begins.
    Node graph(const std::vector<std::vector<std::tuple<uint8_t, uint8_t, uint32_t>>>& edges, const std::vector<bool>& accepting);

    // Items come before what is made of them.
    const std::vector<Tree>& trees() const { return trees_; }

  private:
    Node add(Tree tree);
    Node add(Kind kind, std::vector<Node> items);

    std::vector<Tree> trees_;
    std::unordered_map<std::string, Node> known_;  // by content
};

}  // namespace derivable
