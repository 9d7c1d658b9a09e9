// Masks that took longer than somebody wants to know: told to one listener of the process.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace derivable {

struct SlowMask {
    uint64_t constraint;           // Constraint::serial
    int64_t nanoseconds;           // of wall-clock time: waiting for others counts
    uint64_t nodes;                // of the spanner tree that were walked
    bool by_bytes;                 // the walk was too ambiguous, and all tokens were spelled
    std::vector<uint32_t> lexeme;  // terminal symbols in progress
};

struct SlowMasks {
    // PERF: asked for once a miss, a clock's reading away from work of a thousand times as much.
    static inline std::atomic<int64_t> threshold{INT64_MAX};  // nanoseconds
    // Called by the thread that made the mask, which holds locks and not the interpreter's.
    static inline std::atomic<void (*)(SlowMask)> listener{nullptr};
};

}  // namespace derivable
