// One sequence being generated: a chain of moments, each the threads after one more token. Going back is following the
// chain, forking is sharing it.
#pragma once

#include "constraint.hpp"

namespace derivable {

// Immutable once made; shared by forks.
struct Moment {
    std::shared_ptr<const Moment> before;
    Threads threads;
    uint32_t length = 0;    // tokens since the start
    mutable uint32_t collection = 0;  // the last one of stack nodes that has been here. SAFETY: guarded by the constraint's mutex
    bool finished = false;  // an end-of-sequence token was taken as the end (with threads left: the grammar names it, too)
};

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
    const Moment* now() const { return now_.get(); }

  private:
    // Threads after one more token. `finished`: it ends the sequence; then there may be none.
    Verdict after(const Moment& m, uint32_t token, Threads& threads, bool& finished);
    bool is_eos(uint32_t token) const;
    void push(Threads threads, bool finished);
    void let_go(std::shared_ptr<const Moment>& chain);

    std::shared_ptr<Constraint> constraint_;
    std::shared_ptr<const Moment> now_;
};

}  // namespace derivable
