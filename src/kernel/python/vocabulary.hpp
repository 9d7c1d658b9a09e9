// A vocabulary, as Python holds it.
#pragma once

#include <cstdint>
#include <memory>

#include "index/spanner.hpp"

namespace derivable {

// A vocabulary and what every scannerless grammar over it shares.
struct PyVocabulary {
    std::shared_ptr<const Vocabulary> vocabulary;
    std::shared_ptr<Spanner> shared;
    uint64_t shared_budget = 1ull << 30;
    // Past the budget a new one is begun; the old one lives as long as its grammars.
    std::shared_ptr<Spanner> scannerless();
};

}  // namespace derivable
