// Tokens that would repeat an item of an array of distinct items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sequence/runs.hpp"
#include "tokens/packed_mask.hpp"

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
    // `mask`: of the parse, whatever it has written; `of_mask`: equal for equal ones, if that is known.
    RepeatedItems(const Parts& parts, const Parse& t, const PackedMask& mask, std::optional<UniqueItems::Place> of_mask);

    // There are none, as is known from masks before.
    bool are_none() const { return commas_.empty() && parse_.writing && parse_.writing->safe(); }
    // Those of the mask. To be asked for once.
    std::vector<uint32_t> tokens();

  private:
    using Layers = Runs::Layers;
    // Of a place in a token.
    struct Depth {
        Bytes unsafe;                // a byte that may not make all parses safe
        Bytes harmless;              // see UniqueItems::harmless_bytes
        size_t first;                // the least depth on the way with the same parses
        Bytes stays;                 // if that is this one: bytes that lead back to them
        LexState listed = kNoState;  // in a string of a list: the lexer's state, instead of the parses,
        size_t begun = 0;            // and the depth up to which there are any
    };
    void take_in_progress();
    // The only parse at a depth is in an item that is a string of a list.
    LexState listed_at(const Layers& layers) const;
    enum class Listed { kGone, kSafe, kGoesOn, kRepeats, kUnknown };
    // What comes of what was read of the item, of which the last byte is new: no string of the list goes on so, or no item; some string is left; none is; that is not known.
    Listed follow_list(LexState listed, const Writing& item, const std::string& read, LexState& next);
    bool is_harmless(uint32_t node, const Depth& at, const Bytes& stays) const;
    // Behind that: takes a token with a comma, if it repeats an item. False: it never can here, whatever the values are.
    bool take_behind_comma(const Vocabulary::Comma& c);
    void take(uint32_t token) {
        if (holds(token)) taken_.push_back(token);
    }
    bool holds(uint32_t token) const { return mask_.holds(token); }
    // Tokens with a comma that the mask holds.
    std::vector<uint32_t> with_comma(bool in_string, bool is_outside) const;
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
    const PackedMask& mask_;
    std::vector<uint32_t> taken_;
    size_t taken_in_progress_ = 0;  // the first of them, in order
    // Tokens with a comma that may be refused, by their numbers among the vocabulary's, and what that is known by where it is found out for all.
    std::vector<uint32_t> commas_;
    std::optional<uint32_t> place_;
    bool is_told_ = false;  // it was found out
    std::vector<Layers> path_;
    static constexpr uint64_t kToken = 1ULL << 32;
    const std::string* before_ = nullptr;  // the token that was stepped last,
    size_t known_ = 0;                     // and how many of its bytes
};

}  // namespace derivable
