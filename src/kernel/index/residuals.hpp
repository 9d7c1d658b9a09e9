// What is left of tokens behind the lexemes that they have completed.
//
// A residual is a set of tokens, each with a prefix removed, as a trie. It is made of branches, one for each first byte, and a branch of
// nodes of tries that are there already. Equal residuals are one, whatever left them, and so are equal branches. Only where a walk enters a
// branch are its nodes merged into a trie of its own; most never are, because the next lexeme cannot begin with that byte.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "support/byte_set.hpp"
#include "support/discard.hpp"
#include "support/hashing.hpp"
#include "support/ids.hpp"
#include "support/lock.hpp"
#include "tokens/trie.hpp"

namespace derivable {

class Archive;

// Thrown by Spanner::split() where so many segmentations of so many tokens are possible that listing them is not worth the memory (comments
// that may end anywhere, beside white space that may too). The caller walks the vocabulary byte by byte instead.
struct TooAmbiguous {};

using ResidualId = Id<struct ResidualTag>;

class Residuals {
  public:
    static constexpr ResidualId kWholeVocabulary{0};
    explicit Residuals(const Trie& vocabulary);  // outlives it
    struct Residual {
        std::vector<uint32_t> branches;  // by ascending byte
        ByteSet bytes;                   // of the branches
        bool of_vocabulary;              // made of whole first-level branches of the vocabulary
        bool once;                       // no token is there twice (cut in two ways)
    };
    struct Root {  // of a subtree
        const Trie* trie;
        uint32_t node;
        uint64_t size() const { return trie->end[node] - node; }
    };
    // SAFETY: does not stay where it is when others are added.
    const Residual& operator[](ResidualId residual) const { return residuals_[residual.index()]; }
    uint32_t size() const { return uint32_t(residuals_.size()); }
    // What is below some nodes, with them.
    ResidualId add(const std::vector<TrieNodes>& parts, bool once);
    // Another one without some nodes that it is made of, and with others. May be empty.
    ResidualId amended(ResidualId residual, const std::vector<TrieNodes>& gone, const std::vector<TrieNodes>& come, bool once);
    // Of all of some, each node once.
    ResidualId united(const std::vector<ResidualId>& residuals);
    // Some branches of another one.
    ResidualId select(ResidualId residual, std::vector<uint32_t> branches);

    uint8_t byte(uint32_t branch) const { return branches_[branch].byte; }
    // In nodes: those that the branches are made of, and what the vocabulary has below the first of each.
    uint64_t size_at_least(ResidualId residual) const;
    // Those that the vocabulary has behind a byte.
    uint32_t num_nodes_behind(uint8_t byte) const { return nodes_behind_[byte]; }
    // The nodes that a branch is made of.
    std::vector<TrieNodes> parts(uint32_t branch, Beside& beside);
    // No node below the roots of `some` branches of a residual is below those of the others.
    bool are_apart(ResidualId residual, const std::vector<uint32_t>& some, Beside& beside);
    // The tries that a walk of a branch enters: merged by the first one. Throws TooAmbiguous where there is too much to merge.
    const std::vector<Root>& roots(uint32_t branch, Beside& beside);

    void forget(Discard& discarded);
    size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
    // As they are numbered, read where there are none but the vocabulary's.
    void archive(Archive& a);

  private:
    // Nodes of one byte, side by side in tries: one branch of what is left of some tokens. Several are merged into one (but for one that is
    // much larger than the rest).
    struct Branch {
        uint8_t byte;
        std::vector<uint32_t> nodes;  // their numbers, ascending
        std::unique_ptr<Trie> merged;
        std::vector<Root> roots;          // empty until a walk enters
        uint32_t first_id = 0, size = 0;  // numbers of nodes that are kept for the merged trie
    };
    struct Owner {  // of the numbers of its trie's nodes
        uint32_t first_id, end, branch;
    };
    static constexpr uint32_t kNoBranch = ~0u;  // owns the vocabulary's nodes
    void begin();
    uint32_t num_first() const { return uint32_t((*this)[kWholeVocabulary].branches.size()); }  // branches, those of the vocabulary
    const Owner& owner(uint32_t node) const;
    uint32_t archive_nodes(Archive& a, uint32_t branch, std::vector<uint32_t>& nodes, const std::vector<uint32_t>& depths);
    void number(uint32_t branch, uint32_t nodes);
    uint32_t add_branch(uint8_t byte, std::vector<uint32_t> nodes);
    ResidualId add(std::vector<uint32_t> branches, bool of_vocabulary, bool once);

    const Trie& vocabulary_;
    std::deque<Branch> branches_;               // SAFETY: grows while references into it are held
    std::array<uint32_t, 256> nodes_behind_{};  // by byte, of the vocabulary
    std::vector<Owner> owners_;                 // by first_id
    uint32_t num_nodes_;                        // of all tries
    std::vector<Residual> residuals_;
    NumbersByHash branch_ids_, residual_ids_;
    std::atomic<size_t> bytes_{0};
};

}  // namespace derivable
