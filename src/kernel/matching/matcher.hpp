// One sequence being generated.
#pragma once

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
#include "matching/index_view.hpp"

namespace derivable {

// One matcher is in the hands of two threads at once (Python: MatcherError).
struct UsedTwice {};

class Matcher {
  public:
    explicit Matcher(std::shared_ptr<Constraint> constraint);
    Matcher(const Matcher& other);
    ~Matcher() { constraint_->places.leave(place_); }
    Matcher& operator=(const Matcher&) = delete;

    enum class Verdict { kAccepted, kRejected, kOutOfRange };
    // What follows may throw LimitExceeded: then the state is as it was, and asking again goes on from the work done. UsedTwice: it is in use.
    Verdict advance(uint32_t token);
    bool advance_bytes(std::string_view bytes);  // one moment, whatever the length
    bool allows(uint32_t token);
    uint32_t count_valid(const std::vector<uint32_t>& tokens);
    bool rollback(uint64_t count);  // false if there are not so many
    void reset();
    void fill(uint32_t* mask);
    bool knows_mask();  // fill() would only copy
    void learn_mask();  // from then on it would, if it can be kept
    bool accepting();
    bool finished() const;
    uint32_t length() const;
    std::string forced_bytes(size_t max_length);
    std::array<uint64_t, 4> next_bytes();
    std::vector<Explanation> explain();
    std::vector<SpanView> unfold(uint64_t most);  // TooAmbiguous
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
    // Parses after one more token. `finished`: it ends the sequence; then there may be none.
    Verdict after(const Parses& now, bool was_finished, uint32_t token, Parses& parses, bool& finished);
    bool is_eos(uint32_t token) const;
    // SAFETY: under the constraint's lock.
    void go_to(const Moment* moment);
    void push(Parses parses, bool finished) { go_to(constraint_->moments.add(now(), std::move(parses), finished)); }

    std::shared_ptr<Constraint> constraint_;
    Places::Place* place_;
    mutable std::atomic<bool> in_use_{false};
    // Refusals since the last answer that left nothing behind from which the next attempt could go on. Each adds to what the next ones may cost:
    // so asking again leads to an answer whatever is asked.
    uint32_t refused_in_vain_ = 0;
};

}  // namespace derivable
