// What walks over the spanner tree have settled, by the states on top of the stack.
//
// A question that a walk asks of the parser looks only so far down the stack. Where it looked no further than the top d + 1 states, its
// answer holds for every stack with those states on top. So a trie over states, from the top of the stack down, keeps at depth d the
// tokens that become allowed by questions of just that reach, and what is still open there: the questions that looked further, with the
// way to them. A stack that was met before as far as depth d has only those left to ask.
//
// There is such a trie for each split behind which there is an exit, and, where answers depend on it, each depth of brackets: whatever
// stands below `f(`, what may stand in front of the next closing bracket is the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "index/spanner.hpp"
#include "support/arena.hpp"
#include "support/hashing.hpp"
#include "support/image.hpp"

namespace derivable {

class Archive;

class StackTrie {
  public:
    // States of a stack by which nodes are kept, at most: more than walks look at (MaskCache::kMaxHops).
    static constexpr uint32_t kDeepest = 64;
    // The level of a question whose answer is not for keeping.
    static constexpr int kNever = 1 << 14;
    // One of a tree in preorder: may the lexeme go on to be what the tokens of a group need, or end in a certain way?
    struct Question {
        bool of_exit, repeated;  // the latter: what is behind it is of Spanner::repeated()
        int16_t level;           // states below the top that the answer depends on
        int16_t reach;           // ... or that of a question behind it
        uint32_t index;          // of split.inside or split.exits
        uint32_t symbol;         // the terminal shifted at an exit
        uint32_t end;            // one past those behind it
    };
    // Of a node. Many have equal ones, which are one.
    struct Open {
        uint32_t number, size;
        const Question* questions;
    };
    // Tokens allowed by a question of this level.
    struct Found {
        int level;
        const TokenSet* tokens;
    };
    // What a walk found and left open: the last ones of the lists.
    struct Findings {
        const std::vector<Found>& found;
        size_t found_from;
        const std::vector<Question>& questions;
        size_t questions_from;
    };

    struct Node {
        uint32_t state = 0;  // that led to it; of a root: so far down the stack something is known
        uint32_t num_found = 0;
        uint32_t child_state = 0;          // of the first child
        const TokenSet** found = nullptr;  // PERF: those of few tokens are one set, its own: 200 sets of a mask were a fifth of its time
        const Open* open = nullptr;        // null where nothing is known yet
        Node* child = nullptr;             // the first one; nearly all have one
        Node* sibling = nullptr;           // the next child of the same node
        uint32_t id = 0;
        uint32_t saved = 0;  // where children are written down that nobody has asked for yet
    };
    struct Place {
        Node* node = nullptr;
        int depth = -1;  // of the last state that led to it; -1 for a root
    };
    Place root(const Split& split, uint32_t bracket_depth);
    // From a root, or a node that `states` led to, to the deepest node for a stack. Adds to `found` what is settled on the way below depth `known`.
    void descend(Place& place, const std::vector<uint64_t>& states, int known, std::vector<Found>& found);
    // What a walk found from a place on, to be kept by the states of its stack down to `depth`.
    void keep(Place root, Place from, const std::vector<uint64_t>& states, int depth, const Findings& findings);
    // All of it by the numbers that a spanner has written or read, of grammars with so many symbols. SAFETY: what a file says of nodes is taken where it
    // fits, and left out where it does not; questions may be of no inside and no exit.
    void archive(Archive& a, Spanner::Numbers& numbers, const Spanner& spanner, uint32_t vocabulary_size, size_t symbols);
    size_t bytes() const { return nodes_.bytes() + found_.bytes() + questions_.bytes() + set_bytes_; }

  private:
    // A word of Stacks::signature in 32 bits.
    static uint32_t narrow(uint64_t state) { return uint32_t(state) | (state >> 32 ? 1u << 31 : 0); }

    Node* child(Node& node, uint32_t state) {
        if (node.child && node.child_state == state) return node.child;
        if (node.child && node.child->sibling)
            if (Node* const* other = others_.find(pack(node.id, state))) return *other;
        return node.saved ? read_child(node, state) : nullptr;
    }
    Node* add_nodes(size_t n);
    void add_child(Node& parent, Node& child);
    Node* read_child(Node& parent, uint32_t state);  // null: there is none
    Node* read_node(ImageReader in, uint32_t before);
    const TokenSet* saved_set(uint32_t number);
    class Writer;
    uint32_t find_nodes(ImageReader& in);
    // Some questions as words, and the list of them.
    static constexpr size_t kQuestionWords = 4;
    const Open* open_list(const std::vector<uint32_t>& words);
    const Open* add_open_list(std::vector<uint32_t> words);  // one that is new
    struct Few {
        uint32_t sets = 0, tokens = 0;
        TokenSet* one = nullptr;
    };
    void keep_found(Node* nodes, int before, int depth, const Findings& findings);

    Pages<Node*> roots_;           // by split, where no brackets are open
    FlatMap<Node*> deeper_roots_;  // by split and depth of brackets
    // Children but the first, by node and state. PERF: as lists they took 5% of first passes over Python programs.
    FlatMap<Node*> others_;
    uint32_t num_nodes_ = 0;
    Arena<Node> nodes_;
    Arena<const TokenSet*> found_;
    std::deque<TokenSet> sets_;  // that nodes have put together
    size_t set_bytes_ = 0;
    Arena<Question> questions_;  // walks hold on to some while others are added
    Interner open_words_;
    std::deque<Open> open_lists_;
    std::vector<uint32_t> words_;  // to be looked up
    std::vector<Few> few_;         // tokens of each node that is added
    // What was restored:
    ImageReader image_;
    size_t first_node_ = 0;  // in the image: Node::saved counts from there
    uint32_t left_ = 0;      // nodes to be read at most
    Spanner::Sets sets_of_splits_;
    std::vector<size_t> saved_sets_;              // nodes' own: where they are written down
    std::vector<const TokenSet*> restored_sets_;  // or null
    uint32_t vocabulary_size_ = 0;
};

}  // namespace derivable
