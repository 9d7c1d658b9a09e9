// How many tokens are so many that no mask need be looked at: whatever token comes next, the text can end in time.
//
// After a token the stack costs no more than its dearest way on did before (StackCosts::most), and for each lexeme that begins in the token what that may add
// (LeftCorners). Which lexemes may begin in a token is told by its bytes: one that some terminal begins with, behind one that some terminal ends with. A bound
// from above, soon found: nearly all steps of a text are far from the end of its budget, and are told so for many steps at once.
#pragma once

#include <cstdint>
#include <optional>

#include "costs/left_corners.hpp"
#include "matching/lexemes.hpp"
#include "matching/ways_on.hpp"

namespace derivable {

class Slack {
  public:
    static constexpr uint64_t kNone = EmbeddedText::Slack::kNone;

    Slack(const Engine& engine, Lexemes& lexemes, WaysOn& ways);

    // So many of the next tokens can be any that the grammar allows, if `left` may be taken in all. 0: it is not known that the next one can.
    uint64_t free_steps(const Parses& parses, uint64_t left);
    // Tokens that suffice to end the text, and what a token may add to them.
    EmbeddedText::Slack of(const Parses& parses);

  private:
    void find_per_token();
    // Of an inner text that begins, all in all.
    uint64_t most_of_inner(const LeftCorners& corners) const;

    const Engine engine_;
    Lexemes& lexemes_;
    WaysOn& ways_;
    // Where lexemes must be kept apart, a terminal costs up to one token more.
    const uint64_t separated_ = engine_.spanner.lexer.policy() == Policy::kScannerless ? 1 : 2;
    uint64_t per_token_ = kNone;  // what a token may add; kNone: not known
    uint64_t per_object_ = 0;     // what an open object may still ask for, beside what its rules do
    uint64_t rest_ = 0;           // of a lexeme in progress
};

}  // namespace derivable
