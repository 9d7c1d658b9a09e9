// Deterministic byte automata: the language of one terminal.
//
// A Dfa is complete in the sense of its users' needs: state 0 is the start, -1 is "no way to accept any more", and every
// other state reaches an accepting one (trimmed), so "alive" and "a prefix of the language" are the same thing.
//
// An accepting state may carry conditions: look-ahead that reached past the end of the match. Such a match
// counts only if the text that follows keeps one of the alternative lists of obligations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/errors.hpp"

namespace derivable {

// A look-ahead in progress: automaton `look` of the Dfa, now in `state`; it must match (or, negative, must never match).
struct Lookahead {
    uint32_t look, state;
    bool negative;
    bool operator<(const Lookahead& o) const {
        return look != o.look ? look < o.look : state != o.state ? state < o.state : negative < o.negative;
    }
    bool operator==(const Lookahead& o) const { return look == o.look && state == o.state && negative == o.negative; }
};

constexpr int32_t kDead = -1;
constexpr int32_t kMatched = -2;  // of a look-ahead automaton: matched, whatever follows

// The minimal automaton of a look-ahead. The table leads to a state, kDead or kMatched.
struct LookDfa {
    std::array<uint8_t, 256> classes{};
    uint32_t num_classes = 1;
    std::vector<int32_t> table;
    std::vector<uint8_t> matches_at_end;  // matched if the text ends here
    int32_t start = 0;                    // may be kDead or kMatched outright
    int32_t step(uint32_t state, uint8_t byte) const { return table[size_t(state) * num_classes + classes[byte]]; }
};

using Condition = std::vector<Lookahead>;   // all of these
using Conditions = std::vector<Condition>;  // one of these

struct Past;

class Dfa {
  public:
    std::array<uint8_t, 256> classes{};  // byte -> class
    uint32_t num_classes = 1;
    std::vector<int32_t> table;       // [state][class] -> state or kDead
    std::vector<uint8_t> accepting;   // [state]
    std::vector<uint32_t> condition;  // [state] -> 0, or 1 + index into `conditions`
    std::vector<Conditions> conditions;
    std::vector<LookDfa> looks;
    // With look-behind the automaton depends on the text before the lexeme. Then this one is for the start of the text, and `past`
    // says which one is for which text. Null: the same for all.
    std::shared_ptr<const Past> past;

    uint32_t num_states() const { return uint32_t(accepting.size()); }
    bool empty() const;          // whatever stands before
    bool accepts_empty() const;  // after some text
    bool conditional() const;
    int32_t step(uint32_t state, uint8_t byte) const { return table[size_t(state) * num_classes + classes[byte]]; }
    int32_t run(std::string_view text) const;  // from the start; kDead if no longer alive
    bool accepts(std::string_view text) const;

    // Removes states that are unreachable or cannot accept, merges equivalent ones (Hopcroft, O(n k log n)),
    // numbers the rest breadth first: equal languages give equal tables.
    void minimize();
    // The same where it may begin in any of some states (or kDead): they are given their new numbers.
    void minimize(std::vector<int32_t>& starts);
    // Of a minimal automaton: numbers its states breadth first, as minimize() does.
    void number();
    // Every state is reachable and can reach acceptance.
    bool trimmed() const;
    // The same language without the empty string.
    Dfa without_empty() const;
    // The automata of a terminal by what stands before it. Equal automata are merged, then pasts that no text tells apart.
    static Dfa with_past(Past past);
    // Unconditional automata only.
    enum class Op { kAnd, kOr, kMinus };
    static Dfa product(const Dfa& a, const Dfa& b, Op op, uint64_t max_states);
    static Dfa literal(std::string_view text);
    // Identifies the automaton up to equality of its minimal table.
    std::string fingerprint() const;
    // As bytes, and back (BadArtifact if they are not what saved() wrote).
    std::string saved() const;
    static Dfa from_saved(std::string_view data);
};

// What look-behind can tell about the text so far: a complete automaton over it, state 0 before the first byte. Each state names the
// automaton of a lexeme that begins there.
struct Past {
    std::array<uint8_t, 256> classes{};
    uint32_t num_classes = 1;
    std::vector<uint32_t> table;    // [state][class] -> state
    std::vector<uint32_t> variant;  // [state] -> index into variants
    std::vector<Dfa> variants;      // none of them has a past
    uint32_t step(uint32_t state, uint8_t byte) const { return table[size_t(state) * num_classes + classes[byte]]; }
};

}  // namespace derivable
