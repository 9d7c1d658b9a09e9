// One sequence being generated.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "matching/constraint.hpp"
#include "matching/index_keys.hpp"
#include "matching/index_view.hpp"

namespace derivable {

// One matcher is in the hands of two threads at once (Python: MatcherError).
struct UsedTwice {};

class Matcher {
  public:
    static constexpr uint64_t kNoBudget = ~0ULL;
    // `max_tokens`: every text ends within so many, the end token included. Throws LimitExceeded if no text is known that does.
    explicit Matcher(std::shared_ptr<Constraint> constraint, uint64_t max_tokens = kNoBudget);
    // Where another one stood, in whatever process: from its to_bytes(), BadState. It can go back to there, and to the start.
    Matcher(std::shared_ptr<Constraint> constraint, std::string_view state);
    Matcher(const Matcher& other);
    ~Matcher() { constraint_->places.leave(place_); }
    Matcher& operator=(const Matcher&) = delete;

    enum class Verdict { kAccepted, kRejected, kOutOfRange, kTooLong };  // kTooLong: it could not end within the budget
    // What follows may throw LimitExceeded: then the state is as it was, and asking again goes on from the work done. UsedTwice: it is in use.
    Verdict advance(uint32_t token);
    Verdict advance_bytes(std::string_view bytes);  // one moment, whatever the length
    bool allows(uint32_t token);
    uint32_t count_valid(const std::vector<uint32_t>& tokens);
    // For each text whether the grammar allows it next, whatever the budget: 0 no, 1 yes, 2 the text may end behind it.
    std::vector<uint8_t> spells(const std::vector<std::string_view>& texts);
    bool rollback(uint64_t count);  // false if there are not so many
    void reset();
    void fill(uint32_t* mask);
    bool knows_mask();  // fill() would only copy
    void learn_mask();  // from then on it would, if it can be kept
    // What names its mask among those of the constraint, if it has a name (Masks::number); kNoNumber, or kEnded: nothing may follow.
    static constexpr int64_t kNoNumber = -1, kEnded = -2;
    int64_t mask_number();
    bool accepting();
    bool finished() const;
    uint32_t length() const;
    uint32_t steps_back() const;  // so many can be rolled back
    // Where it stands, for the same constraint in any process; also what is left of a budget, or not.
    std::string to_bytes(bool with_budget = true);
    // With a budget: what is left of it, and what suffices from here on, the end token included; else kNoBudget.
    uint64_t tokens_left() const;
    uint64_t least_tokens();
    std::string forced_bytes(size_t max_length);
    std::array<uint64_t, 4> next_bytes();
    std::vector<Explanation> explain();
    std::vector<NamesHere> names_here(size_t most);
    std::vector<SpanView> unfold(uint64_t most);  // TooAmbiguous
    KeysView index_keys(Symbol terminal, const KeyBounds& bounds);
    // Equal where lexer states are, and the sets of the uppermost `hops` + 1 states of the stacks.
    std::string situation(int64_t hops);
    bool same_place(const Matcher& other);  // the same parses: all that follows is the same
    uint64_t context(int64_t hops);         // likewise, the same in every process
    Constraint& constraint() const { return *constraint_; }
    // SAFETY: within an operation on the constraint.
    const Parses& parses() const { return now()->parses; }

  private:
    class Use;
    // One operation: `act` is told what it is.
    template <class Act>
    auto operate(uint64_t allowed, Act act);
    template <class Act>
    auto operate(Act act) {
        return operate(constraint_->limits().max_step_work, std::move(act));
    }
    const Moment* now() const { return place_->now; }
    // Behind a token, whatever the budget.
    Verdict after(const Standing& from, uint32_t token, Standing& next);
    // ... within it.
    Verdict take(const Standing& from, uint32_t token, Standing& next);
    // Whether what follows can end within what is left `tokens` further; then there is a witness, or steps are free, or it is reckoned to be enough. `rest`: of the
    // witness before, if the text went on so. `is_allowed`: a mask has said that it can.
    bool keeps_budget(const Standing& from, uint64_t tokens, Witness rest, bool is_allowed, Standing& next);
    uint64_t left(uint64_t spent) const { return max_tokens_ - std::min(spent, max_tokens_); }
    bool is_eos(uint32_t token) const;
    Standing start();  // of a text
    // SAFETY: under the constraint's lock.
    void go_to(const Moment* moment);
    void push(Standing s) { go_to(constraint_->moments.add(now(), std::move(s))); }

    std::shared_ptr<Constraint> constraint_;
    uint64_t max_tokens_;
    Places::Place* place_;
    mutable std::atomic<bool> in_use_{false};
    // Refusals since the last answer that left nothing behind from which the next attempt could go on. Each adds to what the next ones may cost:
    // so asking again leads to an answer whatever is asked.
    uint32_t refused_in_vain_ = 0;
};

}  // namespace derivable
