// What is left of tokens behind the lexemes that they have completed.
//
// A residual is a set of tokens, each with a prefix removed, as a trie. It is made of branches, one for each first byte, and a branch of
// nodes of tries that are there already. Equal residuals are one, whatever left them, and so are equal branches. Only where a walk enters a
// branch are its nodes merged into a trie of its own; most never are, because the next lexeme cannot begin with that byte.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "index/trie.hpp"
#include "support/byte_set.hpp"
#include "support/discard.hpp"
#include "support/hashing.hpp"
#include "support/ids.hpp"
#include "support/image.hpp"
#include "support/lock.hpp"

namespace derivable {

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
    // Some branches of another one.
    ResidualId select(ResidualId residual, std::vector<uint32_t> branches);

    uint8_t byte(uint32_t branch) const { return branches_[branch].byte; }
    // Of a branch of the vocabulary: its nodes.
    uint32_t num_nodes(uint32_t branch) const { return sizes_[branch]; }
    const std::vector<TrieNodes>& parts(uint32_t branch, Beside& beside) { return parts(branches_[branch], beside); }
    // The tries that a walk of a branch enters: merged by the first one. Throws TooAmbiguous where there is too much to merge.
    const std::vector<Root>& roots(uint32_t branch, Beside& beside);

    void forget(Discard& discarded);
    size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
    // As they are numbered, and again where there are none but the vocabulary's (Spanner::save).
    void save(ImageWriter& out) const;
    void restore(ImageReader& in);

  private:
    // Nodes of one byte, side by side in a trie: one branch of what is left of some tokens. Several are merged into one (but for one that
    // is much larger than the rest).
    struct Branch {
        uint8_t byte;
        std::vector<TrieNodes> parts;
        std::unique_ptr<Trie> merged;
        std::vector<Root> roots;          // empty until a walk enters
        size_t saved = 0;                 // where parts are in image_, while nobody has asked for them
        uint32_t first_id = 0, size = 0;  // numbers of nodes that are kept for the merged trie
    };
    void begin();
    const std::vector<TrieNodes>& parts(Branch& b, Beside& beside);
    uint32_t add_branch(uint8_t byte, std::vector<TrieNodes> parts);
    ResidualId add(std::vector<uint32_t> branches, bool of_vocabulary, bool once);

    const Trie& vocabulary_;
    std::deque<Branch> branches_;  // SAFETY: grows while references into it are held
    std::vector<uint32_t> sizes_;  // of the first branches, those of the vocabulary: nodes
    uint32_t num_nodes_;           // of all tries
    std::vector<Residual> residuals_;
    std::unordered_map<std::vector<uint32_t>, uint32_t, WordsHash> branch_ids_;
    std::unordered_map<std::vector<uint32_t>, ResidualId, WordsHash> residual_ids_;  // by what they are made of
    ImageReader image_;                                                              // that was restored
    std::atomic<size_t> bytes_{0};
};

}  // namespace derivable
