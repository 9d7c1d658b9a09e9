// A vocabulary, as Python holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "index/spanner.hpp"

namespace derivable {

// A vocabulary and what every scannerless grammar over it shares.
class PyVocabulary {
  public:
    explicit PyVocabulary(std::shared_ptr<const Vocabulary> vocabulary) : vocabulary_(std::move(vocabulary)) {}
    const std::shared_ptr<const Vocabulary>& vocabulary() const { return vocabulary_; }
    // The index for one grammar more, made with some accelerators. Past the budget a new one is begun; the old one lives as long as its grammars.
    //
    // PERF: while one is filled ahead of time, its lock is held nearly always, so two threads that compiled 300 schemas took 2.5 to 3.1 s, as one did. So there
    // is another one for who compiles meanwhile, up to the number of cores: 1.7 to 1.8 s. (benchmarks/serving/threads.py)
    std::shared_ptr<Spanner> scannerless(Accelerators with);
    // Of all those that are given out, together.
    void set_budget(uint64_t bytes);
    uint64_t shared_bytes() const;
    void forget_shared() { shared_.clear(); }

  private:
    std::shared_ptr<const Vocabulary> vocabulary_;
    struct Shared {
        Accelerators with;
        std::shared_ptr<Spanner> index;
    };
    std::vector<Shared> shared_;
    uint64_t budget_ = 1ull << 30;
};

}  // namespace derivable
