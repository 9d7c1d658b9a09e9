// Deterministic transducers over bytes: how a text is decoded (a JSON string, XML, lines that are indented), given as data.
//
// A step reads a byte and writes any number of them. What is written is so as early as it is known: behind `\u00e` of a JSON string the first of two
// bytes is there. So whether what was read can still become a text of some language is seen as early, too.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/byte_set.hpp"

namespace derivable {

class Transducer {
  public:
    using State = uint16_t;
    static constexpr State kNone = 0xFFFF;  // the text cannot be decoded
    static constexpr State kMain = 0;       // where most of a text is read: between two characters
    struct Step {
        State next = kNone;
        uint16_t output = 0;  // a number of a text; 0: none
    };
    struct Edge {
        uint8_t first, last;  // bytes
        State next;
        std::optional<std::string> output;  // none: the byte itself
    };
    // `edges`: by state. `may_end`: the text may end in a state. Throws BadGrammar where a state does not exist.
    Transducer(const std::vector<std::vector<Edge>>& edges, std::vector<char> may_end, State start);
    // Every text stands for itself.
    static const Transducer& identity();

    uint32_t num_states() const { return uint32_t(steps_.size()); }
    State start() const { return start_; }
    bool may_end(State s) const { return may_end_[s]; }
    Step step(State s, uint8_t byte) const { return steps_[s][byte]; }
    std::string_view output(Step s) const { return outputs_[s.output]; }
    // Appends what is written along a text. kNone: it cannot be decoded.
    State run(State from, std::string_view text, std::string& out) const;
    // A shortest text that leads from a state to one where it may end and is decoded as `decoded`. Cost: O(bytes times edges).
    std::optional<std::string> encode(State from, std::string_view decoded) const;
    // Bytes with which one that stands for itself elsewhere is written, at most.
    size_t longest_spelling() const;
    // Where a state leads, each step once: of those that lead to one state and write the same, one byte.
    const std::vector<std::pair<uint8_t, Step>>& ways(State s) const { return ways_[s]; }
    // The bytes that may be the next one written from a state on, before the text may end; whether it may without any.
    std::pair<const ByteSet&, bool> next_written(State s) const { return {written_[s], bool(silent_[s])}; }

  private:
    std::vector<std::array<Step, 256>> steps_;
    std::vector<std::vector<std::pair<uint8_t, Step>>> ways_;
    std::vector<std::string> outputs_;
    void find_written();

    std::vector<char> may_end_, silent_;
    std::vector<ByteSet> written_;
    State start_;
};

}  // namespace derivable
