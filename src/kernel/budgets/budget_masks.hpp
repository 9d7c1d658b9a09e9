// Masks of texts that must end within a number of tokens.
//
// A token is allowed if the grammar allows it and a witness behind it fits into what is left. So a text never fails to end: the witness of where it stands is
// a way that stays allowed, token by token. As long as more is left than any token of a mask can take, masks are the grammar's own.
//
// Under scannerless that is asked of groups of tokens (BudgetWalk). Elsewhere most tokens are known to add too little (Slack), and of each place that another
// one leads to it is asked what suffices there: reckoned first, and searched for if that is too much. Where a meaning says what it asks for, nothing is searched
// for, since a place behind a name that may be any text is one of a hundred thousand; and it is reckoned as if any text were a name everywhere (Meaning::kAny),
// so that all these places are one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "budgets/slack.hpp"
#include "budgets/witnesses.hpp"
#include "masks/masks.hpp"

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
    // The text can be ended within `left` from here, as it is reckoned.
    bool is_enough(const Parses& parses, uint64_t left) { return !witnesses_.is_by_stacks() && slack().least(parses) <= left; }
    // And behind a token, whatever it is: it adds too little.
    bool is_sure(const Parses& parses, uint32_t token, uint64_t left);
    // A meaning says what it still asks for. Then what is not reckoned is not searched for either.
    bool is_by_names(const Parses& parses) { return engine_.slots.active() && slack().knows_meaning(parses); }
    // As fill() has it. Only where is_by_names(). Cost: the mask, if it is not the last one.
    bool allows(const Parses& parses, uint32_t token, uint64_t left, const Witness& known);
    // So many of the next tokens can be any that the grammar allows (Slack).
    uint64_t free_steps(const Parses& parses, uint64_t left) { return slack().free_steps(parses, left); }
    Slack& slack() {
        if (!slack_) engine_.access.take(), slack_ = std::make_unique<Slack>(engine_, lexemes_, witnesses_.ways());
        return *slack_;
    }

  private:
    uint64_t end() const { return vocabulary_.eos.empty() ? 0 : 1; }
    // What the lexemes of a token may add. None: not even nothing, or it is not known.
    std::optional<uint64_t> room(const Parses& parses, uint64_t left);
    // Adds the tokens of text that can end in time; what any of them takes at most, itself included.
    uint64_t fill_by_places(const Parses& parses, const std::vector<uint32_t>& whole, uint64_t left, uint32_t* mask);
    // The same where is_by_names().
    uint64_t fill_by_names(const Parses& parses, const std::vector<uint32_t>& whole, uint64_t left, uint32_t* mask);
    // Those of both that fill_sure() leaves over.
    template <class Judge>
    uint64_t judge_others(const Parses& parses, const Parses& walked, const std::vector<uint32_t>& whole, uint64_t left, uint32_t* mask,
                          Judge judge);
    // Adds those that add too little: whether these are all, and the most that any of them takes.
    struct Sure {
        bool is_all = false;
        uint64_t need = 0;
    };
    Sure fill_sure(const Parses& parses, const std::vector<uint32_t>& whole, uint64_t left, uint32_t* mask);
    uint64_t fill_references(const Parses& parses, const std::vector<uint32_t>& whole, uint64_t left, uint32_t* mask);

    const Engine engine_;
    Lexemes& lexemes_;
    Runs& runs_;
    Masks& masks_;
    const Vocabulary& vocabulary_;
    Witnesses& witnesses_;
    struct Last {
        Parses parses;
        uint64_t left = 0;
        Witness known;
        std::vector<uint32_t> words;
    };
    Last last_;                                                                 // by names
    std::unique_ptr<Slack> slack_;                                              // if it was asked for
    std::unordered_map<Witnesses::Key, uint64_t, Witnesses::Key::Hash> needs_;  // by place: the most that a token and what follows it take
    const Renumbering::Told nodes_{engine_.stacks.nodes(), [this] { needs_.clear(), last_ = {}; }};
};

}  // namespace derivable
