// What tokens do inside a JSON string whose length is bounded, between two of its characters: one walk of the vocabulary serves every
// bound.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "index/residuals.hpp"
#include "index/split.hpp"
#include "json/string_literals.hpp"
#include "support/hashing.hpp"
#include "tokens/token_set.hpp"
#include "tokens/vocabulary.hpp"

namespace derivable {

class CountedStrings {
  public:
    // `bytes`: what is made is counted there.
    CountedStrings(const Vocabulary& vocabulary, Residuals& residuals, std::atomic<size_t>& bytes, Escapes escapes);
    // Where the string must have `need` more characters, and may have `room`.
    std::unique_ptr<Split> split(uint64_t need, uint64_t room);

  private:
    const Vocabulary& vocabulary_;
    Residuals& residuals_;
    std::atomic<size_t>& bytes_;
    // By the number of characters that they need room for.
    std::vector<uint32_t> inside_;                                        // a bitmask of those that stay inside
    std::vector<std::vector<uint32_t>> needing_;                          // [n]: tokens that stay inside and need room for n
    std::vector<std::vector<uint32_t>> closing_;                          // [n]: that end with the closing quote after n
    std::vector<std::vector<uint32_t>> exit_nodes_;                       // [n]: that go on after it
    std::unordered_map<uint64_t, ResidualId, MixHash> residuals_behind_;  // by need and room
};

}  // namespace derivable
