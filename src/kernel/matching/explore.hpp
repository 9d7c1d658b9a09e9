// Situations that texts lead to, visited before a text does.
//
// A situation is a lexer state with the parser behind the lexeme in progress (MaskCache::Endings), as far down as some words of its future
// (Stacks::future). From each one that is visited every next byte (and every token that the grammar names) leads to others; within literals of the
// grammar, names and constants, it is every next piece that the tokenizer is likely to make (Literals), for no mask is asked for in between. Where texts
// were followed it is also every token that one of them took in that lexer state, on whatever stack: what stands in a call of one text and behind an operator
// of another stands behind an operator in a call, too. Those come first whose lexer state was not met before, for they take the longest; then those with
// another parser state on top, and so on; among equals those met first; and what stands far within free text comes last. What the lexer and the top alone tell apart grows with the size of the
// grammar; what more tells apart may be as many as there are ways from one place to another. So of those as many are visited as take a share
// of what the former took (Bounds::below).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "matching/literals.hpp"
#include "matching/matcher.hpp"
#include "matching/visits.hpp"
#include "support/sort_freed.hpp"
#include "tokens/byte_pairs.hpp"

namespace derivable {

class Explorer : private SortFreed {
  public:
    // `tokens`: that the grammar names. `literals`: texts of it; which ones matters for nothing but what is visited.
    Explorer(std::shared_ptr<Constraint> constraint, std::vector<uint32_t> tokens, const std::vector<std::string>& literals)
        : constraint_(std::move(constraint)),
          tokens_(std::move(tokens)),
          byte_pairs_(constraint_->vocabulary().trie),
          literals_(byte_pairs_, literals) {}

    Explorer(const Explorer&) = delete;
    Explorer& operator=(const Explorer&) = delete;

    // Where every text begins.
    void meet_start() { meet(std::make_unique<Matcher>(constraint_), Visits::kStart, 0, {}); }

    enum class End { kMost, kNone, kEnough, kTime, kMemory };  // so many were visited; no more are known; a bound was reached
    struct Bounds {
        uint64_t most, known;  // to visit now; known ones after which no more are looked for
        double seconds;        // 0: as long as it takes
        uint64_t bytes;        // of the constraint, as Access::run_bytes
        uint64_t worth;        // units of work; 0: no bound, nor the next
        double below;          // so much of what the lexer and the top alone took, for what more words tell apart
    };
    // What is along a text is visited, as far as it is in the language, and time, memory (as Bounds) and units of work (0: any number) reach; and
    // met, so what is beside it will be, too.
    End follow(const std::vector<uint32_t>& tokens, double seconds, uint64_t bytes, uint64_t worth);
    // As the tokenizer is likely to cut a text; without what no token has.
    std::vector<uint32_t> cut(std::string_view text) const;
    // One visit after the other. A situation that is refused (LimitExceeded) is left as it is: its mask is computed when it is asked for,
    // or refused again.
    End visit(const Bounds& bounds);
    uint64_t visited() const { return visited_; }
    uint64_t followed() const { return followed_; }  // along texts, again and again where they meet
    uint64_t found() const;

    std::shared_ptr<const Visits> visits() const { return visits_; }  // all of them

  private:
    static constexpr size_t kNowhere = ~size_t(0);
    static constexpr size_t kKeys = 5;  // of a situation: by the lexer alone, and by one to four words of a future
    using Keys = std::array<uint64_t, kKeys>;
    static constexpr uint32_t kNoted = ~0u;
    static constexpr uint32_t kLongText = 12;
    // Units of work that a situation takes beside those that are counted. PERF: without these a unit was 3.7 ns of one schema and 11.5 of another, where
    // nearly all masks are known.
    static constexpr uint64_t kVisit = 1'500;
    struct Way {
        Literals::Place literal = Literals::kOutside;
        uint32_t free = 0;  // steps, the last ones, that one of many bytes could have taken
    };
    struct Step {
        std::string bytes;
        bool is_free;
        Keys keys;  // of where it leads
    };
    struct Waiting {
        std::unique_ptr<Matcher> matcher;
        uint32_t from, step;  // or kNoted, and where it stands itself among the visits
        Way way;
    };
    void meet(std::unique_ptr<Matcher> matcher, uint32_t from, uint32_t step, Way way);
    void meet(std::unique_ptr<Matcher> matcher, uint32_t from, uint32_t step, Way way, const Keys& keys);
    Keys keys_of(const Parses& parses);
    Keys keys_of(const Matcher& m);
    bool know(uint64_t key) { return std::exchange(known_[key], true); }  // it was known before
    std::vector<Step> fresh_steps(const Matcher& m, Literals::Place literal);
    // A token that a text took, if no other one like it is known.
    void note_taken(const Keys& from, uint32_t token, const Keys& to);
    // That the grammar names, and that texts took in the same lexer state.
    std::vector<uint32_t> tokens_at(const Matcher& m);
    // Computes its mask. Returns where it stands among the visits.
    uint32_t note(Matcher& m, uint32_t from, uint32_t step);
    enum Kind { kByTop, kBelow, kKinds };
    // PERF: long free text is of the first kind, for there is only as much of it as the lexer tells apart: cut off with the others its masks took 1 ms.
    static Kind kind_of(size_t queue) { return queue < 2 || queue == kKeys ? kByTop : kBelow; }
    void visit_one(Waiting& w, Kind kind, const Bounds& bounds);
    bool is_enough(Kind kind, const Bounds& bounds) const;

    std::shared_ptr<Constraint> constraint_;
    const Spanner::Exploration exploration_{constraint_->spanner()};
    const std::vector<uint32_t> tokens_;
    const BytePairs byte_pairs_;
    const Literals literals_;
    struct Taken {
        uint64_t to;  // by the lexer and one word
        uint32_t token;
    };
    std::unordered_map<uint64_t, std::vector<Taken>> taken_;  // along texts, by the lexer
    FlatMap<bool> known_;                                     // keys
    std::array<std::deque<Waiting>, kKeys + 1> waiting_;      // by the first key that is new; the last: in long free text
    uint64_t visited_ = 0, followed_ = 0;
    std::array<uint64_t, kKinds> spent_{};  // work
    const std::shared_ptr<Visits> visits_ = std::make_shared<Visits>();
    std::vector<uint64_t> words_;
    std::vector<int> looked_;
};

}  // namespace derivable
