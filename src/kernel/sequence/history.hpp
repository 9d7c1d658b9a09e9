// What a sequence remembers of its past: a chain of moments, each the parses after one more token. Going back is following the chain,
// forking is sharing it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "costs/witness.hpp"
#include "json/unique_values.hpp"
#include "lexing/lexer.hpp"
#include "sequence/embedded.hpp"
#include "sequence/environment.hpp"
#include "sequence/slots.hpp"
#include "support/arena.hpp"

namespace derivable {

// One way to read the text so far.
struct Parse {
    LexState lex;
    Frontier stack;
    Environment environment = kNoEnvironment;
    WritingRef writing;                       // inside an array of distinct items
    NodeId ground = kNoNode;                  // right behind the opening of the outermost one, if all of the stack is known to stand on it
    uint32_t tokens = 0;                      // that the lexeme in progress lies in so far, if that is bounded (LexemeBounds)
    EmbeddedRef embedded;                     // the lexeme in progress is a text of an inner language; then `lex` has no members
    Meaning::State meaning = Meaning::kNone;  // of what was read
    Slots::Place slot = Slots::kNone;         // the lexeme in progress is a name; else it is none

    bool wrote_as(const Parse& other) const { return writing == other.writing || (writing && other.writing && *writing == *other.writing); }
    // Stacks are interned, so equal ones are one.
    bool operator==(const Parse& other) const {
        return lex == other.lex && stack == other.stack && environment == other.environment && tokens == other.tokens &&
               embedded == other.embedded && meaning == other.meaning && slot == other.slot && wrote_as(other);
    }
};
using Parses = std::vector<Parse>;

// Where a text stands.
struct Standing {
    Parses parses;
    bool finished = false;    // an end-of-sequence token was taken as the end (with parses left: the grammar names it, too)
    uint64_t spent = 0;       // tokens of a budget
    uint64_t free_steps = 0;  // with a budget: so many of the next tokens may be any that the grammar allows; if there are none:
    Witness witness;          // how it can be kept
};

// As it was made while anything refers to it. SAFETY: `references` and `collection` are guarded by the constraint's mutex.
struct Moment : Standing {
    const Moment* before = nullptr;
    uint32_t length = 0;              // tokens since the start
    mutable uint32_t references = 0;  // by matchers and by the next moments
    mutable uint32_t collection = 0;  // the last one of stack nodes that has been here
};

// The moments of one constraint.
//
// PERF: they lie side by side, and are used again rather than freed: letting go of a sequence of 28,000 tokens was a stall of 5 ms in the
// next one (most of it malloc's, which then had its pieces to put together), and marking them for a collection of stack nodes one of 2.5.
class Moments {
  public:
    // The moment after `before`, which keeps it (null: there is none, and so many tokens came before). Nothing refers to it yet.
    const Moment* add(const Moment* before, Standing standing, uint32_t length = 0) {
        Moment* m = unused();
        m->before = before;
        m->parses.swap(standing.parses);
        m->finished = standing.finished;
        m->spent = standing.spent;
        m->free_steps = standing.free_steps;
        m->witness = std::move(standing.witness);
        m->length = before ? before->length + 1 : length;
        m->collection = 0;
        if (before) before->references++;
        return m;
    }
    // Constant time: what else is let go with it is found when it is used again.
    void let_go(const Moment* m) {
        if (--m->references == 0) unused_.push_back(const_cast<Moment*>(m));
    }

  private:
    Moment* unused() {
        if (unused_.empty()) return &all_[num_++];
        Moment* m = unused_.back();
        unused_.pop_back();
        if (m->before) let_go(m->before);
        return m;
    }

    Pages<Moment> all_;
    uint32_t num_ = 0;
    std::vector<Moment*> unused_;
};

// Where the matchers of one constraint stand.
class Places {
  public:
    struct Place {
        const Moment* now = nullptr;
        Place* next_left = nullptr;
    };
    Place* add(Moments& moments) {
        clear_left(moments);
        if (unused_.empty()) return &all_.emplace_back();
        Place* p = unused_.back();
        unused_.pop_back();
        return p;
    }
    // The matcher is gone. By any thread, without the constraint's lock: freeing never waits.
    void leave(Place* p) {
        p->next_left = left_.load(std::memory_order_relaxed);
        while (!left_.compare_exchange_weak(p->next_left, p, std::memory_order_release, std::memory_order_relaxed)) {}
    }
    // Lets go of what was left meanwhile.
    void clear_left(Moments& moments) {
        if (!left_.load(std::memory_order_relaxed)) return;
        for (Place* p = left_.exchange(nullptr, std::memory_order_acquire); p; p = p->next_left) {
            moments.let_go(p->now);
            p->now = nullptr;
            unused_.push_back(p);
        }
    }
    template <typename Visit>
    void each(Visit&& visit) const {
        for (const Place& p : all_)
            if (p.now) visit(p.now);
    }

  private:
    std::deque<Place> all_;
    std::vector<Place*> unused_;
    std::atomic<Place*> left_{nullptr};
};

}  // namespace derivable
