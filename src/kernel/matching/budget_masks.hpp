// Masks of texts that must end within a number of tokens.
//
// A token is allowed if the grammar allows it and a witness behind it fits into what is left. So a text never fails to end: the witness of where it stands is
// a way that stays allowed, token by token. As long as more is left than any token of a mask can take, masks are the grammar's own.
//
// Under scannerless that is asked of groups of tokens (BudgetWalk), elsewhere of each place that some token leads to.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "matching/masks.hpp"
#include "matching/slack.hpp"
#include "matching/witnesses.hpp"

namespace derivable {

class BudgetMasks {
  public:
    static constexpr uint64_t kNone = ~0ULL;

    BudgetMasks(const Engine& engine, Lexemes& lexemes, Runs& runs, Masks& masks, const Vocabulary& vocabulary, Witnesses& witnesses)
        : engine_(engine),
          lexemes_(lexemes),
          runs_(runs),
          masks_(masks),
          vocabulary_(vocabulary),
          witnesses_(witnesses) {}

    // Tokens with which a witness ends the text, the end token included.
    uint64_t tokens(const Witness& w) const { return w ? uint64_t(w.tokens()) + end() : kNone; }
    // The mask of what can end with `left` tokens. `known`: a witness of the place, if there is one.
    void fill(const Parses& parses, uint64_t left, const Witness& known, uint32_t* mask);
    // Of a token that was allowed, whose parses have no witness that fits by themselves, the one for which it was. Null: there is none. Cost: that
    // of a mask.
    Witness behind(uint32_t token, const Parses& parses, uint64_t left);
    // Whatever token the grammar allows, so many suffice, that one included, and this is known.
    bool suffices(const Parses& parses, uint64_t left) const;
    // So many of the next tokens can be any that the grammar allows (Slack).
    uint64_t free_steps(const Parses& parses, uint64_t left) { return slack().free_steps(parses, left); }
    Slack& slack() {
        if (!slack_) engine_.access.take(), slack_ = std::make_unique<Slack>(engine_, lexemes_, witnesses_.ways());
        return *slack_;
    }
    // Stack nodes are about to be freed.
    void forget_stacks() { needs_.clear(); }

  private:
    uint64_t end() const { return vocabulary_.eos.empty() ? 0 : 1; }
    // Adds the tokens of text that can end in time; what any of them takes at most, itself included.
    uint64_t fill_by_places(const Parses& parses, uint64_t left, uint32_t* mask);
    uint64_t fill_references(const Parses& parses, const std::vector<uint32_t>& whole, uint64_t left, uint32_t* mask);

    const Engine engine_;
    Lexemes& lexemes_;
    Runs& runs_;
    Masks& masks_;
    const Vocabulary& vocabulary_;
    Witnesses& witnesses_;
    std::unique_ptr<Slack> slack_;                                              // if it was asked for
    std::unordered_map<Witnesses::Key, uint64_t, Witnesses::Key::Hash> needs_;  // by place: the most that a token and what follows it take
};

}  // namespace derivable
