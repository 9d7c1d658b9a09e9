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
// A state that behaves nearly like another (the inside of a string, a few bytes into one of the keys that are excluded) is split by
// walking only the part of the trie where the two differ.
//
// Nothing here depends on productions. Under scannerless it depends only on languages: states are canonical (Lexer::canonical), one
// member at a time, and one Spanner per vocabulary serves every such grammar in the process.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "index/token_set.hpp"
#include "index/vocabulary.hpp"
#include "lexing/indentation.hpp"
#include "lexing/lexer.hpp"
#include "support/byte_set.hpp"
#include "support/discard.hpp"
#include "support/hashing.hpp"
#include "support/lock.hpp"

namespace derivable {

struct Split {
    // How sure it is that a token ending inside may be completed.
    enum class Sureness : uint8_t {
        kSure,        // whenever this lexer state was reached
        kProducible,  // if the parser can use one of the terminals in `key` (a set of Spanner::producible)
        kExact        // to be decided for lexer state `key` and the stack
    };
    struct Inside {
        Sureness sureness;
        uint32_t key;
        std::shared_ptr<const TokenSet> tokens;
        Indentations::Effect effect =
            Indentations::kNothing;  // where a newline lexeme is in progress, and its column may make a difference
        // Beside those of a similar state, without some.
        const Inside* base = nullptr;
        std::vector<uint32_t> removed;
        void or_into(uint32_t* mask) const;
        uint64_t cost() const {
            return (tokens ? tokens->cost() : 0) + (base ? base->cost() + removed.size() / 2 : 0);
        }  // of that, as `work` counts
    };
    struct Exit {
        uint32_t terminal,
            obligations;  // of a state of one member under scannerless: unused, the terminal is the member's and nothing is owed
        uint32_t residual;
        Indentations::Effect effect = Indentations::kNothing;  // of the bytes before it, if a newline lexeme ends
        std::vector<uint32_t> except;                          // tokens of the residual that this state does not let out
    };
    uint32_t id = 0;  // of those of a spanner
    std::vector<Inside> inside;
    std::vector<Exit> exits;    // those before the first byte come first
    uint32_t exits_before = 0;  // so many
    bool exits_once = false;    // no token goes through two of the others
};

// Runs something that adds tokens to a mask, and takes `except` out of what it added.
template <typename Add>
void add_except(uint32_t* mask, const std::vector<uint32_t>& except, Add&& add) {
    std::vector<uint32_t> fresh;
    for (uint32_t t : except)
        if (!(mask[t >> 5] >> (t & 31) & 1)) fresh.push_back(t);
    add();
    for (uint32_t t : fresh) mask[t >> 5] &= ~(1u << (t & 31));
}

inline void Split::Inside::or_into(uint32_t* mask) const {
    if (base) add_except(mask, removed, [&] { base->or_into(mask); });
    if (tokens) tokens->or_into(mask);
}

// Thrown by split() where so many segmentations of so many tokens are possible that listing them is not worth the memory (comments
// that may end anywhere, beside white space that may too). The caller walks the vocabulary byte by byte instead.
struct TooAmbiguous {};

class SplitTables;

class Spanner {
  public:
    Spanner(std::shared_ptr<const Vocabulary> vocabulary, Policy policy);
    ~Spanner();

    static constexpr uint32_t kWholeVocabulary = 0;
    Lexer lexer;
    Discard discarded;  // what was forgotten
    AdaptiveLock
        lock;  // SAFETY: guards everything here, where it is shared (Operation). What the functions return by reference stays where it is.

    LockHolder* holder = nullptr;  // if it is shared

    // `state`: under scannerless a canonical one. Throws TooAmbiguous.
    const Split& split(uint32_t residual, LexState state);
    const Split* known(uint32_t residual, LexState state) const { return find(residual, state); }  // null: not split yet
    uint32_t num_splits() const { return num_splits_; }
    // Under scannerless, members that are better split together: many, each of which would be a walk of its own.
    struct Joint {
        LexState together;           // kNoState: none are
        std::vector<uint32_t> rest;  // the other members
    };
    const Joint& joint(uint32_t residual, LexState members);
    // They cannot be: there are too many exits.
    void part(uint32_t residual, LexState members) { joints_[pack(residual, members)].together = kNoState; }
    // For a lexeme that leads back to where it began (`a--`, `;;`), before which stands `state`: all that is left of a residual after it any number of times, split
    // as one, but for that lexeme itself. Null if that is not worth it.
    const Split* repeated(uint32_t residual, LexState state, uint32_t terminal, uint32_t obligations);
    // Terminals that may win a lexeme in progress, sorted.
    const std::vector<uint32_t>& producible(uint32_t set) const { return producible_sets_[set]; }
    uint32_t producible_set(LexState state);
    // Set by the constraint under longest and basic: Liveness::always_alive. A token that ends in any other state is decided exactly.
    std::function<bool(LexState)> always_alive;
    // Set by the constraint if the grammar has indentation.
    Indentations* indentations = nullptr;
    uint32_t newline = ~0u;       // the newline terminal
    bool column_matters = false;  // a newline lexeme cannot always go on to another line
    bool may_be_newline(LexState s);
    size_t bytes() const { return bytes_ + lexer.bytes(); }
    // The same as it was when the lock was last let go, for those who do not have it.
    size_t published_bytes() const { return published_bytes_.load(std::memory_order_relaxed); }
    // Splits are forgotten once they take more than this, between walks; lexer states stay.
    void set_budget(size_t bytes) { budget_ = bytes; }
    bool is_full() const { return bytes_ > budget_; }
    // Something refers to splits. SAFETY: nothing is forgotten meanwhile.
    class Walk {
      public:
        explicit Walk(Spanner& spanner) : walks_(spanner.walks_) {
            if (spanner.is_full() && walks_ == 0) spanner.forget();
            walks_++;
        }
        ~Walk() { walks_--; }
        Walk(const Walk&) = delete;
        Walk& operator=(const Walk&) = delete;

      private:
        std::atomic<int>& walks_;
    };
    void forget();
    // Not under scannerless. Lexer states and splits as they are numbered, and again for a spanner of the same vocabulary to which the same terminals were added
    // and that split nothing yet. restore() throws BadArtifact where something refers to what is not there; then the spanner is not to be used.
    void save(ImageWriter& out) const;
    void restore(ImageReader& in);
    void publish_bytes() { published_bytes_.store(bytes(), std::memory_order_relaxed); }

  private:
    std::atomic<int> walks_{0};
    friend class SplitTables;
    friend class SplitComparison;
    friend class SplitWalk;
    struct Root {  // of a subtree
        const Trie* trie;
        uint32_t node;
        uint64_t size() const { return trie->end[node] - node; }
    };
    // Nodes of one byte, side by side in a trie: one branch of what is left of some tokens. Several are merged into a trie of their
    // own when a walk first enters (but for one that is much larger than the rest); most never are, because the next lexeme cannot begin with that byte.
    struct Branch {
        uint8_t byte;
        std::vector<TrieNodes> parts;
        std::unique_ptr<Trie> merged;
        std::vector<Root> roots;          // empty until a walk enters
        const uint32_t* saved = nullptr;  // parts, in image_, while nobody has asked for them
        uint32_t first_id = 0, size = 0;  // numbers of nodes that are kept for the merged trie
    };
    // Some tokens with a prefix removed: branches by ascending byte.
    struct Residual {
        std::vector<uint32_t> branches;
        ByteSet bytes;       // of the branches
        bool of_vocabulary;  // made of whole first-level branches of the vocabulary
        bool once;           // no token is there twice (cut in two ways)
    };
    void begin();
    const std::vector<TrieNodes>& parts(Branch& b, Beside& beside);
    void save_branches(ImageWriter& out) const;
    void save_splits(ImageWriter& out) const;
    void restore_branches(ImageReader& in);
    void restore_splits(ImageReader& in);
    std::unique_ptr<Split> restored_split(ImageReader& in, const std::vector<std::shared_ptr<const TokenSet>>& sets);
    const std::vector<Root>& roots(uint32_t branch, Beside& beside);
    uint32_t add_branch(uint8_t byte, std::vector<TrieNodes> parts);
    uint32_t add_residual(const std::vector<TrieNodes>& parts, bool once);
    uint32_t add_residual(std::vector<uint32_t> branches, bool of_vocabulary, bool once);
    uint32_t select(uint32_t residual, std::vector<uint32_t> branches);
    const Split* find(uint32_t residual, LexState state) const {
        const std::unique_ptr<Split>* known = splits_.find(pack(residual, state));
        return known ? known->get() : nullptr;
    }
    const Split* keep(uint32_t residual, LexState state, std::unique_ptr<Split> split) {
        if (const Split* known = find(residual, state)) return known;  // made by others meanwhile
        split->id = num_splits_++;
        return (splits_[pack(residual, state)] = std::move(split)).get();
    }
    LexState step(LexState s, uint8_t byte) {
        LexState next = lexer.step(s, byte);
        return next == kNoState ? next : lexer.canonical(next);
    }
    bool is_plain(uint32_t residual, LexState state) const;  // not for split_counted()
    std::unique_ptr<Split> walk(uint32_t residual, LexState state);
    // A string whose length is bounded, between two of its characters.
    std::unique_ptr<Split> split_counted(uint64_t need, uint64_t room);
    // Under scannerless: a state to compare `state` with, or kNoState if walking everything is cheaper.
    LexState similar(const Residual& residual, LexState state);
    // A state of the same JSON string, split before, that only the longest tokens can tell from this one; or kNoState.
    LexState alike(uint32_t residual, LexState state) const;

    std::shared_ptr<const Vocabulary> vocabulary_;
    std::vector<std::unique_ptr<SplitTables>> tables_, joint_tables_;  // that no walk has; what was used last is at the end
    std::deque<Branch> branches_;                                      // SAFETY: grows while references into it are held
    std::vector<uint32_t> sizes_;                                      // of the first branches, those of the vocabulary: nodes
    uint32_t num_nodes_;                                               // of all tries
    std::vector<Residual> residuals_;
    std::unordered_map<std::vector<uint32_t>, uint32_t, WordsHash> branch_ids_, residual_ids_;  // by what they are made of
    FlatMap<std::unique_ptr<Split>> splits_;
    uint32_t num_splits_ = 0;
    std::unordered_map<uint64_t, Joint, MixHash> joints_;                 // by residual and members
    std::map<std::array<uint32_t, 4>, std::unique_ptr<Split>> repeated_;  // by the arguments
    // What tokens do inside a JSON string, by the number of characters they need room for.
    struct ByCharacters {
        std::vector<TokenSet> inside;                               // [n]: tokens that need room for n or fewer
        std::vector<std::vector<uint32_t>> closing;                 // [n]: that end with the closing quote after n
        std::vector<std::vector<uint32_t>> exit_nodes;              // [n]: that go on after it
        std::unordered_map<uint64_t, uint32_t, MixHash> residuals;  // by need and room
    };
    std::unique_ptr<ByCharacters> by_characters_;
    std::array<LexState, 8> lately_{};  // states of JSON strings of patterns that the whole vocabulary was split by
    size_t num_lately_ = 0;
    std::unordered_map<LexState, bool> may_be_newline_;
    std::shared_ptr<const std::vector<uint32_t>> image_;  // that was restored
    Interner producible_sets_;
    std::unordered_map<LexState, uint32_t> producible_;
    std::atomic<size_t> bytes_{0};
    std::atomic<size_t> budget_{~size_t(0)};
    std::atomic<size_t> published_bytes_{0};
};

}  // namespace derivable
