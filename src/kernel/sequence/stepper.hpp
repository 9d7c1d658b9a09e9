// Parses, one byte further.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "sequence/history.hpp"
#include "sequence/lexemes.hpp"
#include "support/byte_set.hpp"

namespace derivable {

class Stepper {
  public:
    Stepper(const Engine& engine, Lexemes& lexemes, uint64_t max_parses) : engine_(engine), lexemes_(lexemes), max_parses_(max_parses) {}

    // Whether a parse that remembers what it has written may go on.
    using Keep = std::function<bool(const Parse&)>;
    // Adds to `stays` the parses whose lexeme goes on, to `leaves` (if any) those that begin one with the byte. `in_order`: where keys may
    // come in any order and one is listed (TallySpec::ordered), they come in that.
    void step(const Parses& from, uint8_t byte, Parses& stays, Parses* leaves, const Keep& keep, bool in_order = false);
    // Under scannerless: of the lexemes in progress, and of those that may begin.
    std::vector<LexState> lexer_states(const Parses& parses);
    // Bytes that may follow, and perhaps some that may not: what some of these can take.
    ByteSet likely_bytes(const std::vector<LexState>& lexer_states);
    // Adds a parse unless it has no future or is there already.
    void add(Parses& to, Parse t, const Keep& keep);

  private:
    // Stacks that parses share: which parse, and one of them more.
    using Shared = std::vector<std::pair<size_t, Frontier>>;
    void step_name(const Parse& t, uint8_t byte, Parses& stays, Parses* leaves, const Keep& keep);
    // The lexemes that may begin on a stack with this byte: names, or, `is_plain`, all.
    void begin(const Parse& t, Obligations obligations, uint8_t byte, bool is_plain, Parses& to, const Keep& keep);
    void step_inside(const Parse& t, uint8_t byte, Parses& stays, Parses* leaves, const Keep& keep);
    void add(Parses& to, Parse t, const Keep& keep, Shared& shared);
    void merge(Parses& to, Shared& shared);
    NodeId ground_of(const Parse& t, Frontier after, bool opens) const;
    const Engine engine_;
    Lexemes& lexemes_;
    const uint64_t max_parses_;
    const bool has_slots_ = engine_.slots.active();  // then no languages are inside (lowering/slots.py)
    const bool scannerless_ = engine_.spanner.lexer.policy() == Policy::kScannerless;
};

}  // namespace derivable
