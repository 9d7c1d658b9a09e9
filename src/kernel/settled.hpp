// What walks over the spanner tree have settled, by the states on top of the stack.
//
// A question that a walk asks of the parser looks only so far down the stack. Where it looked no further than the top d + 1 states, its
// answer holds for every stack with those states on top. So a trie over states, from the top of the stack down, keeps at depth d the
// tokens that become allowed by questions of just that reach, and what is still open there: the questions that looked further, with the
// way to them. A stack that was met before as far as depth d has only those left to ask.
//
// There is such a trie for each residual and lexer state from which a walk branches enough, the whole vocabulary among them: whatever
// stands below `f(`, what may stand in front of the next closing bracket is the same.
#pragma once

#include <deque>

#include "spanner.hpp"

namespace derivable {

class Settled {
  public:
    // The level of a question whose answer is not for keeping.
    static constexpr int kNever = 1 << 14;
    // One of a tree in preorder: may the lexeme go on to be what the tokens of a group need, or end in a certain way?
    struct Question {
        bool of_exit;
        int16_t level;    // states below the top that the answer depends on
        int16_t reach;    // ... or that of a question behind it
        uint32_t index;   // of split.inside or split.exits
        uint32_t symbol;  // the terminal shifted at an exit
        uint32_t end;     // one past those behind it
    };
    using Questions = std::vector<Question>;
    // Tokens allowed by a question of this level.
    struct Found {
        int level;
        const Split::Inside* inside;
    };

    using NodeId = uint32_t;
    struct Place {
        NodeId node;
        int depth;  // of the last state that led to it; -1 for a root
    };
    // `layout_depth`: answers may depend on it, too. `hops`: so far down the stack something is known.
    Place root(uint32_t residual, LexState lex, uint32_t layout_depth, uint32_t& hops);
    // From a root to the deepest node for a stack. Adds to `found` what is settled on the way below depth `known`.
    void descend(Place& place, const std::vector<uint64_t>& states, int known, std::vector<Found>& found) const;
    // Open at a node; null where nothing is known yet.
    const Questions* open(NodeId node) const { return nodes_[node].open == kNothing ? nullptr : &questions_[nodes_[node].open]; }
    // What a walk found from a place on (`found`, from `first` on), to be kept by the states of its stack down to `depth`.
    void keep(Place root, Place from, const std::vector<uint64_t>& states, int depth, const std::vector<Found>& found, size_t first, Questions questions);
    size_t bytes() const { return bytes_; }

  private:
    static constexpr uint32_t kNothing = ~0u;
    struct Node {
        uint32_t state;  // that led to it
        std::vector<const Split::Inside*> inside;
        uint32_t open = kNothing;
        uint32_t hops = 0;  // of a root
        uint32_t first_child = kNothing, next_sibling = kNothing;
    };
    // A word of Stacks::signature in 32 bits.
    static uint32_t narrow(uint64_t state) { return uint32_t(state) | (state >> 32 ? 1u << 31 : 0); }
    NodeId add(uint32_t state);
    NodeId child(NodeId node, uint64_t state) const;  // or kNothing

    FlatMap<uint32_t> lexemes_;  // by residual and lexer state: consecutive numbers from 1 on
    FlatMap<NodeId> roots_;      // by one of those and the depth of the layout; one more than the node
    uint32_t num_lexemes_ = 0;
    // PERF: no arrays that move when they grow, which was a stall of 24 ms in a large trie.
    std::deque<Node> nodes_;
    std::deque<Questions> questions_;  // walks hold on to some while others are added
    size_t bytes_ = 0;
};

}  // namespace derivable
