// Situations that texts lead to, visited before a text does.
//
// A situation is a lexer state with the parser behind the lexeme in progress (MaskCache::Endings), as far down as some words of its future
// (Stacks::future). From each one that is visited every next byte (and every token that the grammar names) leads to others; within literals of the
// grammar, names and constants, it is every next piece that the tokenizer is likely to make (Literals), for no mask is asked for in between. Those come first
// whose lexer state was not met before, for they take the longest; then those with another parser state on top, and so on; among equals
// those met first; and what stands far within free text comes last. What the lexer and the top alone tell apart grows with the size of the
// grammar; what more tells apart may be as many as there are ways from one place to another. So of those as many are visited as take a share
// of what the former took (Bounds::below).
//
// What was visited can be written down: for each situation the one that it was reached from, the byte or token, and its mask. Lexer and LR states
// have no names that another process would know, but it can take the same steps, and finds masks where this one computed them.
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

#include "index/byte_pairs.hpp"
#include "matching/literals.hpp"
#include "matching/matcher.hpp"
#include "support/sort_freed.hpp"

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
    void meet_start() {
        is_saved_ = true;
        meet(std::make_unique<Matcher>(constraint_), kStart, 0, {});
    }

    enum class End { kMost, kNone, kEnough, kTime, kMemory };  // so many were visited; no more are known; a bound was reached
    struct Bounds {
        uint64_t most, known;  // to visit now; known ones after which no more are looked for
        double seconds;        // 0: as long as it takes
        uint64_t bytes;        // of the constraint, as Access::run_bytes
        uint64_t worth;        // units of work; 0: no bound, nor the next
        double below;          // so much of what the lexer and the top alone took, for what more words tell apart
    };
    // What is along a text is visited, as far as it is in the language, and time, memory (as Bounds) and units of work (0: any number) reach; and
    // met, so what is beside it will be, too. It is saved if `meet_start` was called before.
    End follow(const std::vector<uint32_t>& tokens, double seconds, uint64_t bytes, uint64_t worth);
    // As the tokenizer is likely to cut a text; without what no token has.
    std::vector<uint32_t> cut(std::string_view text) const;
    // One visit after the other. A situation that is refused (LimitExceeded) is left as it is: its mask is computed when it is asked for,
    // or refused again.
    End visit(const Bounds& bounds);
    uint64_t visited() const { return visited_; }
    uint64_t followed() const { return followed_; }  // along texts, again and again where they meet
    uint64_t found() const;

    // What was visited, from the start of the text on.
    std::string saved() const;
    // Takes the steps that `saved` gave and notes the masks, until `seconds` have passed or the memory for them is used up. Throws
    // BadArtifact where a step leads nowhere, or a mask or a number cannot be. SAFETY: whatever it holds nothing but masks comes from it.
    static uint32_t replay(const std::shared_ptr<Constraint>& constraint, std::string_view data, double seconds);

  private:
    static constexpr uint32_t kStart = ~0u;
    static constexpr size_t kNowhere = ~size_t(0);
    static constexpr size_t kKeys = 5;  // of a situation: by the lexer alone, and by one to four words of a future
    using Keys = std::array<uint64_t, kKeys>;
    static constexpr uint32_t kToken = 256;  // steps from here on are tokens
    static constexpr uint32_t kNoted = ~0u;
    static constexpr uint32_t kLongText = 12;
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
        uint32_t from, step;  // or kNoted, and where it stands itself in the record
        Way way;
    };
    struct Mask {  // of a parse
        bool known = false;
        MaskCache::Key key;
        uint32_t words_behind = 0;  // by which it is kept, if it is, of its endings
        uint32_t row = 0;
    };
    struct Visited {
        uint32_t from, step;
        std::vector<Mask> masks;
    };
    void meet(std::unique_ptr<Matcher> matcher, uint32_t from, uint32_t step, Way way);
    void meet(std::unique_ptr<Matcher> matcher, uint32_t from, uint32_t step, Way way, const Keys& keys);
    Keys keys_of(const Parses& parses);
    Keys keys_of(const Matcher& m);
    bool know(uint64_t key) { return std::exchange(known_[key], true); }  // it was known before
    std::vector<Step> fresh_steps(const Matcher& m, Literals::Place literal);
    void visit_one(Waiting& w, const Bounds& bounds);
    // Its mask, and where it stands in the record.
    uint32_t note(Matcher& m, uint32_t from, uint32_t step);
    uint32_t put(uint32_t from, uint32_t step, std::vector<Mask> masks);
    std::vector<Mask> masks_of(Matcher& m);
    enum Kind { kByTop, kBelow, kKinds };
    bool is_enough(Kind kind, const Bounds& bounds) const;

    std::shared_ptr<Constraint> constraint_;
    const std::vector<uint32_t> tokens_;
    const BytePairs byte_pairs_;
    const Literals literals_;
    FlatMap<bool> known_;                                 // keys
    std::array<std::deque<Waiting>, kKeys + 1> waiting_;  // by the first key that is new; the last: in long free text
    uint64_t visited_ = 0, followed_ = 0;
    std::array<uint64_t, kKinds> spent_{};  // work
    bool is_saved_ = false;                 // masks, too
    std::vector<Visited> record_;
    std::unordered_map<const MaskCache::Mask*, uint32_t> row_numbers_;
    uint32_t num_cleared_ = 0;  // MaskCache::num_cleared, of the rows that these are of
    std::vector<MaskCache::Mask> rows_;
    std::vector<uint64_t> words_;
    std::vector<int> looked_;
};

}  // namespace derivable
