// Levels 1 and 2 of the index: what a token does to the lexer, whatever the parser says.
//
// `split(residual, state)` walks the trie of what is left of some tokens with a lexer state and sorts the tokens by outcome:
//
//   inside   the token ends while the lexeme is in progress: allowed if the parser can still use that lexeme
//   exits    the lexeme ends inside the token: the parser has to shift it, and what is left of those tokens is
//            a residual again, to be split with the lexer state in which the next lexeme starts
//
// Splitting the whole vocabulary is level 1 (Willard & Louf, Algorithms 3 and 4). Splitting residuals in turn unfolds, lazily and only
// where the parser goes, GreatGramma's inverse token spanner table (Park et al., Algorithm 4) as a tree: DOMINO's subterminal tree.
//
// Nothing here depends on productions. Under scannerless it depends only on terminal languages, so one Spanner per vocabulary
// serves every such grammar in the process.
#pragma once

#include <memory>
#include <mutex>

#include "lexer.hpp"
#include "trie.hpp"

namespace derivable {

// The vocabulary as the kernel sees it. Immutable, shared.
struct Vocabulary {
    std::vector<std::string> bytes;  // per token; empty: never text (special or missing)
    std::vector<uint32_t> eos;
    Trie trie;
    uint32_t size() const { return uint32_t(bytes.size()); }
    uint32_t words() const { return (size() + 31) / 32; }
};

struct Split {
    // How sure it is that a token ending inside may be completed.
    enum class Sureness : uint8_t {
        kSure,       // whenever this lexer state was reached
        kProducible, // if the parser can use one of the terminals in `key` (a set of Spanner::producible)
        kExact       // to be decided for lexer state `key` and the stack
    };
    struct Inside {
        Sureness sureness;
        uint32_t key;
        TokenSet tokens;
    };
    struct Exit {
        uint32_t terminal, duties, residual;
    };
    std::vector<Inside> inside;
    std::vector<Exit> exits;
};

class Spanner {
  public:
    Spanner(std::shared_ptr<const Vocabulary> vocabulary, Policy policy) : lexer(policy), vocabulary_(std::move(vocabulary)) {
        Residual all;
        const Trie& t = vocabulary_->trie;
        for (uint32_t i = 0; i < t.size(); i = t.end[i]) all.roots.push_back(i);
        residuals_.push_back(std::move(all));
        by_roots_[residuals_[0].roots] = 0;
    }

    static constexpr uint32_t kWholeVocabulary = 0;
    Lexer lexer;
    std::mutex mutex;  // SAFETY: guards everything here; taken by the constraint around a walk or a step

    const Split& split(uint32_t residual, LexState state);
    // Terminals that may win a lexeme in progress in `members`, sorted.
    const std::vector<uint32_t>& producible(uint32_t set) const { return producible_sets_[set]; }
    uint32_t producible_set(LexState members);
    // True once the constraint has shown that under this lexer any sequence of terminals can be spelled from
    // any boundary without duties (see liveness.hpp); until then every token that ends inside is decided exactly.
    bool separable = false;
    size_t bytes() const { return bytes_ + lexer.bytes(); }

  private:
    // Some tokens with a prefix removed: the nodes `roots` of a trie, side by side.
    struct Residual {
        std::unique_ptr<Trie> own;  // null: the vocabulary's
        std::vector<uint32_t> roots;
        // Until it is first split, `own` is still to be merged from these nodes of another trie. Most are never asked for: the parser
        // refuses the terminal that leads to them.
        const Trie* source = nullptr;
        std::vector<uint32_t> pending;
    };
    void merge_pending(Residual& r);
    const Trie& trie(const Residual& r) const { return r.own ? *r.own : vocabulary_->trie; }
    uint32_t add_residual(const Trie& source, std::vector<uint32_t> nodes, bool whole_roots);

    std::shared_ptr<const Vocabulary> vocabulary_;
    std::vector<Residual> residuals_;
    std::unordered_map<std::vector<uint32_t>, uint32_t, WordsHash> by_roots_;  // sets of first-level nodes of the vocabulary
    std::unordered_map<uint64_t, std::unique_ptr<Split>, MixHash> splits_;
    Interner producible_sets_;
    std::unordered_map<LexState, uint32_t> producible_;
    size_t bytes_ = 0;
};

}  // namespace derivable
