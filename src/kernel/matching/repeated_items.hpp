// Tokens that would repeat an item of an array of distinct items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "matching/runs.hpp"

namespace derivable {

// Two walks find all of them: one along what the earlier items hold where the writing stands, for the value in progress; and one over the tokens with
// a comma, behind which another item may begin.
class RepeatedItems {
  public:
    struct Parts {
        Runs& runs;
        Access& access;
        const Terminals& terminals;
        const Vocabulary& vocabulary;
    };
    // `mask`: of the parse, whatever it has written.
    RepeatedItems(const Parts& parts, const Parse& t, const uint32_t* mask);

    // There are none, as is known from masks before.
    bool are_none() const { return commas_.empty() && parse_.writing && parse_.writing->safe(); }
    // Takes them out of the mask.
    void take(uint32_t* words);

  private:
    using Layers = Runs::Layers;
    void take_in_progress();
    bool leads_out(uint32_t node, const Bytes& stays, const Bytes& unsafe) const;
    // Behind that: takes a token with a comma, if it repeats an item. False: it never can here, whatever the values are.
    bool take_behind_comma(const Vocabulary::Comma& c);
    void take(uint32_t token) { words_[token >> 5] &= ~(1u << (token & 31)); }
    bool holds(const uint32_t* words, uint32_t token) const { return words[token >> 5] >> (token & 31) & 1; }
    // It has written fewer values than is_always() asks for.
    bool is_few() const { return !parse_.writing || parse_.writing->completed() + 2 < UniqueItems::kMany; }
    // A lexeme in progress may open such an array.
    bool is_opening(const Parse& x) const;
    bool is_refused(const Vocabulary::Comma& c);
    // A string in progress at some place of a token, or nowhere: there is a number for the whole token then.
    // SAFETY: the parse is that of the mask, or one of path_, until another token is stepped.
    struct Ending {
        const Parse& parse;  // in progress there,
        size_t place;        // where it ends,
        LexState lex;        // the lexer's state then,
        uint64_t rest;       // and what follows from there on
    };
    std::optional<Ending> ending(const Vocabulary::Comma& c);
    // What was not refused would not be for another string in progress;
    bool is_for_any(const Parse& t) const;
    // nor whatever the values are that were written before.
    bool is_always(const Ending& x, const std::string& bytes);
    // The path along a token, as far as this place at least.
    void step_to(const std::string& bytes, size_t place);
    // What such a token has from a place on cannot repeat an item.
    bool is_settled(const Parse& x, const Vocabulary::Comma& c, int place) const;

    const Parts parts_;
    UniqueItems& unique_items_;
    const Parse& parse_;
    uint32_t* words_ = nullptr;
    // Tokens with a comma that may be refused, by their numbers among the vocabulary's, and what that is known by where it is found out for all.
    std::vector<uint32_t> commas_;
    std::optional<uint64_t> key_;
    bool is_told_ = false;  // it was found out
    std::vector<Layers> path_;
    static constexpr uint64_t kToken = 1ULL << 32;
    const std::string* before_ = nullptr;  // the token that was stepped last,
    size_t known_ = 0;                     // and how many of its bytes
};

}  // namespace derivable
