// Numbers by a root (a lexer state), and by as much of the environment and of some stacks as they depend on.
//
// A trie for each root. Its words are what is looked at of the environment, then words of stacks from their tops down, as far as some number of
// that root has looked. A number stands where its own reach ends, so it is found after as many steps as it depends on words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sequence/environment.hpp"
#include "support/arena.hpp"
#include "support/hashing.hpp"

namespace derivable {

class ReachTrie {
  public:
    using Words = std::vector<uint64_t>;
    explicit ReachTrie(Environments& environments) : environments_(environments) {}

    // What of the environment:
    enum Beside : uint8_t { kBrackets = 1, kBlocks = 2, kTopTally = 4, kTallies = 8, kAll = 15 };
    uint8_t beside_of(Environment environment, Reach reach) const;

    static constexpr uint32_t kNoNode = ~0u;
    struct Root {
        uint32_t node = kNoNode, words = 0;  // of the longest key so far, as its user counts them
        uint8_t beside = 0;                  // of some key
    };
    const Root* root(uint32_t id) const { return roots_.find(id); }
    struct Found {
        int32_t value = -1;
        size_t words = 0;  // at which it stands
        uint8_t beside = 0;
    };
    // `more` adds words to these; false: there are none.
    template <class More>
    Found find(const Root& root, Environment environment, const Words& words, More more) const {
        uint32_t node = root.node;
        uint64_t word = environment_word(environment, root.beside);
        for (size_t i = 0;; i++) {
            if ((node = child(nodes_[node], word)) == kNoNode) return {};
            uint8_t beside = root.beside & (kBrackets | kBlocks);
            uint32_t last = node;
            if (nodes_[node].value < 0 && nodes_[node].tally) {
                beside |= nodes_[node].tally;
                last = child(nodes_[node], tally_word(environment, nodes_[node].tally));
            }
            if (last != kNoNode && nodes_[last].value >= 0) return {nodes_[last].value, i, beside};
            if (i == words.size() && !more()) return {};
            word = words[i];
        }
    }
    // `length` of the key, for its root.
    void put(uint32_t id, Environment environment, uint8_t beside, uint32_t length, const Words& words, int32_t value);
    void clear();

    uint32_t num_nodes() const { return num_nodes_; }
    // Calls visit(root, values, keys, words of the longest of them) for each root.
    void each(const std::function<void(uint32_t, const std::vector<int32_t>&, uint64_t, uint64_t)>& visit) const;

    // A key as data: the words that lead to a number.
    struct Written {
        uint64_t environment = 0;  // kBracketsWord | brackets that are open, kBlocksWord | Environment, or 0
        Words stack;
        uint64_t tally = 0;  // kTalliesWord | number of all tallies, kTopTallyWord | of the uppermost, or 0
    };
    static constexpr uint64_t kBracketsWord = 1ULL << 32, kBlocksWord = 2ULL << 32, kTalliesWord = 1ULL << 62, kTopTallyWord = 1ULL << 61;
    // Calls visit(root, key, number) for each number.
    void each_key(const std::function<void(uint32_t, const Written&, int32_t)>& visit) const;
    // That of a number that was found.
    Written written(const Root& root, Environment environment, const Words& words, const Found& found) const;

  private:
    // PERF: nearly all have one child, most often the next node in memory. With a table for the second one, adding one took 1,460 instructions in the mean, now
    // 510; a table of thousands that moved as a whole 50 to 660 us.
    struct Node {
        int32_t value = -1;
        uint32_t first = kNoNode;
        uint64_t first_word = 0;
        uint64_t word = 0;           // that leads to it
        uint32_t sibling = kNoNode;  // the next one of a few; then
        uint8_t few = 0;             // so many are behind the first
        uint8_t tally = 0;           // looked at by values below, which are kept by it
        std::unique_ptr<FlatMap<uint32_t>> others;
    };
    static constexpr uint8_t kFew = 3;
    uint32_t child(const Node& node, uint64_t word) const {
        return node.first == kNoNode || node.first_word == word ? node.first : other_child(node, word);
    }
    uint32_t other_child(const Node& node, uint64_t word) const;
    void add_child(Node& node, uint64_t word, uint32_t child);
    uint64_t environment_word(Environment e, uint8_t beside) const;
    uint64_t tally_word(Environment e, uint8_t beside) const;
    // Calls visit(words, number) for each number below a root; the first word is the environment's.
    template <class Visit>
    void each_below(const Root& root, Visit visit) const;

    Environments& environments_;
    FlatMap<Root> roots_;
    Pages<Node> nodes_;
    uint32_t num_nodes_ = 0;
};

}  // namespace derivable
