// A grammar compiled for a vocabulary: what its matchers share.
//
// A matcher's configuration is a set of parses, each a lexer state, a frontier of parser stacks and an environment. Here the parts are put together
// that say what becomes of them; each refers only to those above it:
//
//   Terminals, Environments   the grammar's symbols to the lexer; what parses remember beside lexer and parser
//   Lexemes                   what a lexeme that has ended does to a parse (Blocks: indentation; CountedMembers: keys in any order)
//   Stepper, UniqueItems      parses, one byte further; whether distinct items can still be had
//   Runs                      parses along bytes and tokens
//   Borders                   tokens on both sides of where an inner language (Embedded) begins or ends; TextEnds: seen from within
//   Masks                     level 4 of the index (MaskCache), and on a miss levels 1 to 3 (SpanWalk, MemberWalk), or byte by byte
//   Witnesses, BudgetMasks    texts that complete a place; masks of what can end within a number of tokens
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "budgets/budget_masks.hpp"
#include "budgets/witnesses.hpp"
#include "liveness/liveness.hpp"
#include "masks/masks.hpp"
#include "masks/text_ends.hpp"
#include "matching/possible_names.hpp"
#include "sequence/environment.hpp"
#include "sequence/history.hpp"
#include "sequence/lexemes.hpp"
#include "sequence/operation.hpp"
#include "sequence/runs.hpp"
#include "sequence/stepper.hpp"
#include "sequence/terminals.hpp"
#include "sequence/unique_items.hpp"
#include "support/accelerators.hpp"
#include "support/image.hpp"
#include "support/sort_freed.hpp"

namespace derivable {

struct ConstraintLimits {
    uint64_t max_parses, cache_bytes, max_liveness_steps;
    uint64_t lookahead = kNoLookahead;  // lexemes that may end inside a token (DOMINO's k)
    uint64_t max_step_work = Task::kUnbounded;
    Accelerators accelerators = Accelerators::all();
};

struct ConstraintSpec {
    std::vector<TerminalSpec> terminals;  // terminal i is grammar symbol i + 1
    std::vector<TokenReference> references;
    std::vector<std::shared_ptr<EmbeddedLanguage>> languages;
    IndentationSpec indentation;
    std::vector<Symbol> distinct;  // terminals that open arrays of distinct items
    TallySpec tallies;
    Productions productions;
    ConstraintLimits limits;
    ImageReader splits;                  // of another process (Constraint::saved_splits()); or empty
    std::vector<Slot> slots{};           // terminals whose lexemes are names
    std::shared_ptr<Meaning> meaning{};  // says which there are; or null
    Slots::Layout layout{};              // newline, INDENT and DEDENT that it is told of
};

struct Stats {
    MaskCounters counters;
    uint64_t rows = 0, lr_states = 0, stack_nodes = 0, spanner_bytes = 0, row_bytes = 0, run_bytes = 0;
    bool separable = false;
};

class Constraint : private SortFreed {
  public:
    // `spanner`: under scannerless the vocabulary's, shared.
    Constraint(std::shared_ptr<const Vocabulary> vocabulary, std::shared_ptr<Spanner> spanner, ConstraintSpec spec);

    const Vocabulary& vocabulary() const { return *vocabulary_; }
    const ConstraintLimits& limits() const { return limits_; }
    const Parses& initial() const { return initial_; }
    // SAFETY: all that follows is used within an operation on it.
    Access& access() { return access_; }
    Spanner& spanner() { return *spanner_; }
    Stacks& stacks() { return stacks_; }
    const Terminals& terminals() const { return terminals_; }
    Environments& environments() { return environments_; }
    Slots& slots() { return slots_; }
    Lexemes& lexemes() { return lexemes_; }
    Runs& runs() { return runs_; }
    Masks& masks() { return masks_; }
    TextEnds& text_ends() { return text_ends_; }
    Witnesses& witnesses() { return witnesses_; }
    BudgetMasks& budget_masks() { return budget_masks_; }
    // Where its matchers stand, and have stood.
    Places places;
    Moments moments;

    // Between steps. Frees stack nodes if there are many; and all that can be made again, if there is too much of it.
    void collect_if_needed();
    void give_back();
    uint32_t num_collections() const { return num_collections_; }  // numbers of stacks are others since

    // Operations of their own:
    bool can_begin();  // some token may come first
    Stats stats();
    AcceleratorUses uses();
    // A digest of the numbers in states of matchers: of symbols, and of states of automata (matching/written_parses.hpp).
    uint64_t content();
    // Lexer states and splits, for ConstraintSpec::splits of the same grammar and vocabulary. Empty under scannerless, where they are the vocabulary's.
    std::string saved_splits();
    const std::vector<Symbol>& unproductive() { return lr_.productions().unproductive(); }
    const uint64_t serial = next_serial_++;  // in this process

  private:
    static inline std::atomic<uint64_t> next_serial_{1};
    bool wants_collection() const {
        return stacks_.wants_collection() || environments_.tallies.wants_collection() || slots_.wants_collection();
    }
    void restore_splits();
    void archive_splits(Archive& a);
    void prepare(bool restored);
    void prepare_walks();
    void prepare_tallies();
    void begin_names();
    bool is_always_alive(LexState first);
    void collect();

    const ImageReader image_;  // that it was restored from. SAFETY: let go of when no lock is held, for it may be the interpreter's
    const std::shared_ptr<const Vocabulary> vocabulary_;
    const std::shared_ptr<Spanner> spanner_;
    const ConstraintLimits limits_;
    LrAutomaton lr_;
    Stacks stacks_;
    Environments environments_;
    Slots slots_;
    Access access_;
    Terminals terminals_;
    PossibleNames possible_names_;
    Liveness liveness_;
    const Engine engine_;
    Lexemes lexemes_;
    Stepper stepper_;
    UniqueItems unique_items_;
    Runs runs_;
    Masks masks_;
    TextEnds text_ends_;
    Witnesses witnesses_;
    BudgetMasks budget_masks_;
    Parses initial_;
    uint32_t num_collections_ = 0;
};

}  // namespace derivable
