// One sequence being generated.
#pragma once

#include "constraint.hpp"

namespace derivable {

class Matcher {
  public:
    explicit Matcher(std::shared_ptr<Constraint> constraint);
    Matcher(const Matcher& other);
    ~Matcher();
    Matcher& operator=(const Matcher&) = delete;

    enum class Verdict { kAccepted, kRejected, kOutOfRange };
    Verdict advance(uint32_t token);
    bool advance_bytes(std::string_view bytes);  // one moment, whatever the length
    bool allows(uint32_t token);
    uint32_t count_valid(const std::vector<uint32_t>& tokens);
    bool rollback(uint64_t count);  // false if there are not so many
    void reset();
    void fill(uint32_t* mask);
    bool accepting();
    bool finished() const { return now_->finished; }
    uint32_t length() const { return now_->length; }
    std::string forced_bytes(size_t max_length);
    std::array<uint64_t, 4> next_bytes();
    std::vector<Constraint::Explanation> explain();
    // Equal where lexer states are, and the sets of the uppermost `hops` + 1 states of the stacks.
    std::string situation(int64_t hops);
    Constraint& constraint() const { return *constraint_; }
    const Moment* now() const { return now_; }

  private:
    // Threads after one more token. `finished`: it ends the sequence; then there may be none.
    Verdict after(const Threads& now, bool was_finished, uint32_t token, Threads& threads, bool& finished);
    bool is_eos(uint32_t token) const;
    // SAFETY: under the constraint's mutex.
    void go_to(const Moment* moment);
    void push(Threads threads, bool finished) { go_to(constraint_->moments.add(now_, std::move(threads), finished)); }

    std::shared_ptr<Constraint> constraint_;
    const Moment* now_ = nullptr;
};

}  // namespace derivable
