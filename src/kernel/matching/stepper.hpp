// Threads, one byte further.
#pragma once

#include <cstdint>
#include <functional>

#include "matching/history.hpp"
#include "matching/lexemes.hpp"
#include "support/byte_set.hpp"

namespace derivable {

class Stepper {
  public:
    Stepper(Access& access, Spanner& spanner, Stacks& stacks, Liveness& liveness, const Terminals& terminals, Environments& environments,
            Lexemes& lexemes, uint64_t max_parses)
        : access_(access),
          spanner_(spanner),
          stacks_(stacks),
          liveness_(liveness),
          terminals_(terminals),
          environments_(environments),
          lexemes_(lexemes),
          max_parses_(max_parses) {}

    // Whether a thread that remembers what it has written may go on.
    using Keep = std::function<bool(const Thread&)>;
    // Adds to `stays` the threads whose lexeme goes on, to `leaves` (if any) those that begin one with the byte. `in_order`: where keys may
    // come in any order and one is listed (TallySpec::ordered), they come in that.
    void step(const Threads& from, uint8_t byte, Threads& stays, Threads* leaves, const Keep& keep, bool in_order = false);
    // Under scannerless: bytes that may follow, and perhaps some that may not: what the lexemes in progress and those that may begin can
    // take.
    ByteSet likely_bytes(const Threads& threads);
    // Adds a thread unless it has no future or is there already.
    void add(Threads& to, Thread t, const Keep& keep);

  private:
    Access& access_;
    Spanner& spanner_;
    Stacks& stacks_;
    Liveness& liveness_;
    const Terminals& terminals_;
    Environments& environments_;
    Lexemes& lexemes_;
    const uint64_t max_parses_;
    const bool scannerless_ = spanner_.lexer.policy() == Policy::kScannerless;
};

}  // namespace derivable
