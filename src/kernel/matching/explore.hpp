// Situations that texts lead to, visited before a text does.
//
// A situation is a lexer state with the uppermost LR states of the stack. From each one that is visited every next byte (and every token
// that the grammar names) leads to others. Those come first whose lexer state was not met before, for they take the longest; then those
// with another state on top of the stack, and so on; among equals those met first. What is reached through an escape or by half a
// character comes last: those are nearly all of the situations of a schema (five ways to spell each character of a name, twenty places
// within a character in each string), and models seldom write them.
//
// What was visited can be written down: for each situation the one that it was reached from, the byte, and its mask. Lexer and LR states
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
#include <unordered_set>
#include <vector>

#include "matching/matcher.hpp"

namespace derivable {

class Explorer {
  public:
    // `tokens`: that the grammar names.
    Explorer(std::shared_ptr<Constraint> constraint, std::vector<uint32_t> tokens)
        : constraint_(std::move(constraint)),
          tokens_(std::move(tokens)) {}

    Explorer(const Explorer&) = delete;
    Explorer& operator=(const Explorer&) = delete;

    // Where every text begins.
    void meet_start() { meet(std::make_unique<Matcher>(constraint_), kStart, 0); }

    enum class End { kMost, kNone, kTime, kMemory };  // so many were visited; no more are known; a bound was reached
    struct Bounds {
        uint64_t most, known;  // to visit now; known ones after which no more are looked for
        double seconds;        // 0: as long as it takes
        uint64_t bytes;        // of the constraint, as Access::run_bytes
    };
    // One visit after the other. A situation that is refused (LimitExceeded) is left as it is: its mask is computed when it is asked for,
    // or refused again.
    End visit(const Bounds& bounds);
    uint64_t visited() const { return visited_; }
    uint64_t found() const;

    // What was visited, from the start of the text on.
    std::string saved() const;
    // Takes the steps that `saved` gave and notes the masks, until `seconds` have passed or the memory for them is used up. Throws
    // BadArtifact where a step leads nowhere, or a mask or a number cannot be. SAFETY: whatever it holds nothing but masks comes from it.
    static uint32_t replay(const std::shared_ptr<Constraint>& constraint, std::string_view data, double seconds);

  private:
    static constexpr uint32_t kStart = ~0u, kNoWord = ~0u;
    static constexpr int kHops = 0;          // LR states below the top that tell situations apart
    static constexpr uint32_t kToken = 256;  // steps from here on are tokens
    struct Waiting {
        std::unique_ptr<Matcher> matcher;
        uint32_t from, step;
        uint32_t word;  // see word_after()
    };
    struct Mask {  // of a parse
        bool known;
        MaskCache::Key key;
        uint32_t row;
    };
    struct Visited {
        uint32_t from, step;
        std::vector<Mask> masks;
    };
    void meet(std::unique_ptr<Matcher> matcher, uint32_t from, uint32_t step, uint32_t word = kNoWord);
    uint64_t key_of(const Parses& parses, int hops) const;
    std::vector<uint8_t> fresh_bytes(const Matcher& m);
    uint32_t word_after(uint32_t word, uint8_t byte) const;
    bool may_be_between_tokens(const Waiting& w, const std::vector<uint8_t>& next) const;
    void visit_one(Waiting& w, const Bounds& bounds);
    std::vector<Mask> masks_of(Matcher& m);

    std::shared_ptr<Constraint> constraint_;
    const std::vector<uint32_t> tokens_;
    std::unordered_set<uint64_t, MixHash> known_;
    std::array<std::deque<Waiting>, kHops + 2> waiting_;
    uint64_t visited_ = 0;
    std::vector<Visited> record_;
    std::unordered_map<std::vector<uint32_t>, uint32_t, WordsHash> row_ids_;
    std::vector<const std::vector<uint32_t>*> rows_;
    std::vector<uint32_t> words_;
};

}  // namespace derivable
