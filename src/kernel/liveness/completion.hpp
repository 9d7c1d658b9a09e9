// Which stacks can be completed to a sentence with the terminals of one set only. A question about the grammar alone, without lexing.
//
// For most sets that matter the answer is "all of them", known beforehand; then for most LR states it is "whatever lies below"; and
// only then the stack is looked at, each node of it once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "parsing/follow.hpp"
#include "parsing/stacks.hpp"
#include "support/bits.hpp"
#include "support/hashing.hpp"

namespace derivable {

// Dots in the bodies of all productions, numbered. PERF: what they all share was worked out for each set of terminals, 0.1 ms in the first mask
// that asks for one.
struct Dots {
    explicit Dots(Productions& productions);
    uint32_t at(uint32_t production, size_t dot) const { return first[production] + uint32_t(dot); }

    std::vector<uint32_t> first;  // by production
    std::vector<char> optional;   // in A -> w . x nothing waits for x if A -> w, too: A was begun for both
};

class Completion {
  public:
    Completion(Stacks& stacks, const Dots& dots, Bits terminals);

    const Bits& terminals() const { return terminals_; }
    // Every stack that the parser can build.
    bool always() const { return num_stuck_ == 0; }
    // Places in bodies from which what must come cannot.
    size_t num_stuck() const { return num_stuck_; }
    // This one.
    Answer<bool> completes(Frontier f);

  private:
    void find_productive();
    void find_fine();
    Answer<bool> completes_node(NodeId n);
    bool fine(LrState state);

    Stacks& stacks_;
    const Dots& dots_;
    Bits terminals_;
    size_t num_stuck_ = 0;
    std::vector<char> productive_;    // by symbol: derives a text of these terminals
    std::vector<char> suffixes_;      // by dot: so does what is behind it
    std::vector<char> fine_after_;    // by symbol: wherever it was parsed, what must come after it can come
    IdVector<LrState, int8_t> fine_;  // any stack with it on top; -1 if not known yet
    FlatMap<Answer<bool>> known_;     // by node
    const Renumbering::Told nodes_told_{stacks_.nodes(), [this] { known_ = {}; }};
    const Renumbering::Told states_told_{stacks_.states(), [this] { fine_.clear(); }};
};

}  // namespace derivable
