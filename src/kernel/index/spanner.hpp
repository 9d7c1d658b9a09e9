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
// Nothing here depends on productions. Under scannerless it depends only on languages: states are canonical (AlikeStates::canonical), one
// member at a time, and one Spanner per vocabulary serves every such grammar in the process (several, where grammars are explored side by side).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automata/counting_automaton.hpp"
#include "index/lexeme_rests.hpp"
#include "index/prospects.hpp"
#include "index/residuals.hpp"
#include "index/split.hpp"
#include "lexing/lexeme_begins.hpp"
#include "lexing/lexer.hpp"
#include "support/accelerators.hpp"
#include "support/discard.hpp"
#include "support/hashing.hpp"
#include "support/lock.hpp"
#include "tokens/vocabulary.hpp"

namespace derivable {

class CountedStrings;
class Neighbours;
class SplitTables;
class SplitWalk;
class Stretches;
struct Neighbour;

class Spanner {
  public:
    Spanner(std::shared_ptr<const Vocabulary> vocabulary, Policy policy, Accelerators accelerators = Accelerators::all());
    ~Spanner();

    Lexer lexer;
    Prospects prospects;
    Discard discarded;  // what was forgotten
    // SAFETY: guards everything here, where it is shared (Operation). What the functions return by reference stays where it is.
    AdaptiveLock lock;
    LockHolder* holder = nullptr;  // if it is shared

    // `state`: under scannerless a canonical one. Throws TooAmbiguous.
    const Split& split(ResidualId residual, LexState state);
    const Split* known(ResidualId residual, LexState state) const { return find(residual, state); }  // null: not split yet
    uint32_t num_splits() const { return num_splits_; }
    const AcceleratorUses& uses() const { return uses_; }
    // What is left of the vocabulary's tokens behind some of their beginnings: nodes of its trie, ascending.
    ResidualId behind(const std::vector<uint32_t>& nodes);
    // Under scannerless, members that are better split together: many, each of which would be a walk of its own.
    struct Joint {
        LexState together;           // kNoState: none are
        std::vector<LexState> rest;  // the other members
    };
    const Joint& joint(ResidualId residual, LexState members);
    // They cannot be: there are too many exits.
    void part(ResidualId residual, LexState members) { joint_of_[pack(residual, members)] = &kNone; }
    // For a lexeme that leads back to where it began (`a--`, `;;`), before which stands `state`: all that is left of a residual after it
    // any number of times, split as one, but for that lexeme itself. Null if that is not worth it.
    const Split* repeated(ResidualId residual, LexState state, TerminalId terminal, Obligations obligations);
    // What splits by strings whose characters are counted have in common, made when the first one is asked for: a walk of the whole vocabulary.
    CountedStrings& counted_strings(Escapes escapes);
    // The vocabulary by the kinds of its bytes, made when it is asked for.
    Stretches& stretches();
    // What completes lexemes in which tokens end, made when it is asked for. While nothing is forgotten (Walk).
    LexemeRests& rests();
    // What lexemes may begin in tokens, made when it is asked for.
    LexemeBegins& begins();
    // So often one token of the vocabulary has a byte at most. Looks at all of its trie, once for each byte.
    uint32_t most_in_token(uint8_t byte);
    // So many rounds of a repeat end in one token at most; kNoMaximum where that is not easily told. Looks at all of the trie, once for each kind of
    // round.
    uint64_t most_rounds(CountingAutomaton& round);
    size_t bytes() const;
    // The same as it was when the lock was last let go, for those who do not have it; and whether another one had better be begun.
    size_t published_bytes() const { return published_bytes_.load(std::memory_order_relaxed); }
    bool is_used_up() const { return published_bytes() > budget_ || are_many(published_set_bytes_.load(std::memory_order_relaxed)); }
    // Who fills it ahead of time, and so holds the lock most of the time.
    class Exploration {
      public:
        explicit Exploration(Spanner& spanner) : explorers_(spanner.explorers_) { explorers_++; }
        ~Exploration() { explorers_--; }
        Exploration(const Exploration&) = delete;
        Exploration& operator=(const Exploration&) = delete;

      private:
        std::atomic<int>& explorers_;
    };
    int num_explorers() const { return explorers_; }
    // Splits are forgotten once they take more than this, between walks; lexer states stay.
    void set_budget(size_t bytes) { budget_ = bytes; }
    bool is_full() const { return bytes_ + residuals_.bytes() + (rests_ ? rests_->bytes() : 0) > budget_; }
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
    // Not under scannerless. Lexer states and splits as they are numbered, read by a spanner of the same vocabulary to which the same terminals
    // were added and that split nothing yet. Throws BadArtifact where something refers to what is not there; then the spanner is not to be used.
    using Sets = std::vector<std::shared_ptr<const TokenSet>>;
    struct Numbers {  // that things have in an image
        SetNumbers sets;
        std::unordered_map<uint32_t, uint32_t> splits;  // that are written, by id: the ids that they are read under
        Sets sets_read;
    };
    void archive(Archive& a, Numbers& numbers);
    void publish_bytes() {
        published_bytes_.store(bytes(), std::memory_order_relaxed);
        published_set_bytes_.store(lexer.sets.bytes_of_sets(), std::memory_order_relaxed);
    }

  private:
    std::atomic<int> walks_{0}, explorers_{0};
    void number_splits(Numbers& numbers) const;
    void archive_sets(Archive& a, Numbers& numbers);
    void archive_splits(Archive& a, const Numbers& numbers);
    void archive_split(Archive& a, Split& split, const Numbers& numbers);
    const Split* find(ResidualId residual, LexState state) const {
        const Split* const* known = split_of_.find(pack(residual, state));
        return known ? *known : nullptr;
    }
    const Split* keep(ResidualId residual, LexState state, std::unique_ptr<Split> split);
    // Not under scannerless: with the members that go on with some byte of the residual, which split it as all do.
    LexState for_residual(ResidualId residual, LexState state);
    // Of one member under scannerless: splits are the terminal's own.
    bool is_single(LexState state) const { return lexer.policy() == Policy::kScannerless && StateNumber::is_single(state); }
    bool is_plain(ResidualId residual, LexState state) const;  // not for CountedStrings
    // States of several members, which live as long as the lexer, while those of one are as many as the automata have. (Of 20 counters there
    // are as many as all of them can stand together.)
    bool are_many(size_t set_bytes) const { return set_bytes > budget_ / 16; }
    std::unique_ptr<Split> make(ResidualId residual, LexState state);
    // Ways to do that; null where they are not worth it.
    std::unique_ptr<Split> by_count(ResidualId residual, LexState state);
    std::unique_ptr<Split> along_stretches(ResidualId residual, LexState state);
    std::unique_ptr<Split> walk_beside(ResidualId residual, LexState state, Neighbour beside);
    template <class Run>
    std::unique_ptr<Split> walk(ResidualId residual, LexState state, Run run);

    std::shared_ptr<const Vocabulary> vocabulary_;
    const Accelerators accelerators_;
    AcceleratorUses uses_{};
    Residuals residuals_;
    std::unique_ptr<Neighbours> neighbours_;
    std::vector<std::unique_ptr<SplitTables>> tables_, joint_tables_;  // that no walk has; what was used last is at the end
    std::deque<std::unique_ptr<Split>> splits_;                        // by id
    FlatMap<const Split*> split_of_;                                   // by residual and state
    uint32_t num_splits_ = 0;
    static inline const Joint kNone{kNoState, {}};
    std::deque<Joint> joints_;
    FlatMap<const Joint*> joint_of_;                                      // by residual and members; null: not asked for yet
    std::map<std::array<uint32_t, 4>, std::unique_ptr<Split>> repeated_;  // by the arguments
    std::array<std::unique_ptr<CountedStrings>, 2> counted_strings_;      // by spelling; made when a string is counted
    std::unique_ptr<Stretches> stretches_;
    std::unique_ptr<LexemeRests> rests_;
    std::unique_ptr<LexemeBegins> begins_;
    FlatMap<uint32_t> most_in_token_;                        // by byte; and one
    std::unordered_map<std::string, uint64_t> most_rounds_;  // by what the automaton of a round is made of
    std::atomic<size_t> bytes_{0};
    std::atomic<size_t> budget_{~size_t(0)};
    std::atomic<size_t> published_bytes_{0}, published_set_bytes_{0};
};

}  // namespace derivable
