// States beside which another one is split: what becomes of most tokens is the same there, so only where the two differ is walked.
//
// Each rule finds such a state or declines. They are tried in the order of kRules; where all decline, everything is walked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "index/residuals.hpp"
#include "index/split.hpp"
#include "lexing/lexer.hpp"
#include "support/accelerators.hpp"
#include "support/hashing.hpp"
#include "tokens/vocabulary.hpp"

namespace derivable {

class Neighbours {
  public:
    Neighbours(const Vocabulary& vocabulary, Lexer& lexer, Residuals& residuals)
        : vocabulary_(vocabulary),
          lexer_(lexer),
          residuals_(residuals) {}

    struct Rule {
        Accelerator part;
        Neighbour (Neighbours::*find)(ResidualId, LexState);
    };
    static const std::array<Rule, 5> kRules;

    // A split was made, and has its place in memory.
    void note(ResidualId residual, LexState state, Split& split);
    // The two are not as distant as they have to be.
    void note_too_near(LexState state, LexState other) { near_[lexer_.automata.terminal_of(state)] = lexer_.alike.alike_for(state, other); }
    void note_whole_vocabulary(LexState state);
    void forget();

    // A state that only the longest tokens can tell from this one, of the same JSON string and split before; or kNoState.
    LexState distant(ResidualId residual, LexState state) const;
    // In the branches of a residual that a canonical state goes on with.
    uint64_t alive_nodes(ResidualId residual, LexState state);

  private:
    // Under scannerless, of one member:
    Neighbour unbounded(ResidualId residual, LexState state);
    Neighbour on_list(ResidualId residual, LexState state);
    Neighbour alike(ResidualId residual, LexState state);
    Neighbour any_string(ResidualId residual, LexState state);
    // Under longest and basic: one that leads to the same states with nearly all first bytes.
    Neighbour nearest(ResidualId residual, LexState state);

    bool is_single(LexState state) const { return lexer_.policy() == Policy::kScannerless && StateNumber::is_single(state); }
    // None of the first two rules is for it.
    bool is_ordinary(LexState state);
    template <class Act>
    void each_branch(ResidualId residual, Act act) const;  // of the vocabulary: act(first byte, nodes)
    std::vector<std::pair<LexState, uint64_t>> next_states(ResidualId residual, LexState state);
    bool goes_on_with_most(ResidualId residual, LexState state);

    const Vocabulary& vocabulary_;
    Lexer& lexer_;
    Residuals& residuals_;
    std::vector<const Split*> latest_;  // by residual
    std::array<LexState, 8> lately_{};  // states of JSON strings of patterns that the whole vocabulary was split by
    size_t num_lately_ = 0;
    FlatMap<uint64_t> near_;  // by terminal: states alike on texts of fewer bytes are not distant enough
};

}  // namespace derivable
