// Automaton states with the same future, across all automata of a lexer.
//
// Two states are the same for the index if the same texts lead from them to acceptance. In a minimal automaton no two states of its
// own are; but the inside of a string is the same in every terminal that ends with one. Strongly connected components are
// taken leaves first, so all that a component leads to is known; a component is then looked up by a hash of its shape
// and compared state by state. Cost: linear in the automaton, times a dozen rounds of hashing inside loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "automata/dfa.hpp"
#include "support/hashing.hpp"

namespace derivable {

class Languages {
  public:
    // For every state of a minimal automaton without conditions: the number of the first state known with the same language. Its own
    // states are numbered first, first + 1, ...
    std::vector<uint32_t> add(const Dfa& dfa, uint32_t first);
    size_t bytes() const { return words_.capacity() * 4 + num_rows_ * 80; }

  private:
    struct Row {
        uint32_t begin = 0, end = 0;
        bool accepting = false;
    };
    // Of each number handed out: its transitions as (last byte of the run, number moved to) in words_.
    FlatMap<Row> rows_;
    uint64_t num_rows_ = 0;
    std::vector<uint32_t> words_;
    FlatMap<std::vector<uint32_t>> by_hash_;
};

}  // namespace derivable
