// What was visited ahead of time, written down: for each situation the one that it was reached from, the byte or token, and its masks.
//
// Lexer and LR states have no names that another process would know, but it can take the same steps, and finds masks where this one computed
// them. Steps are noted as they are taken, masks are looked up when they are to be saved: most constraints never are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "matching/matcher.hpp"

namespace derivable {

// What a step of a matcher gives, asked for as often as it takes; false if it is refused for good.
template <class Step>
bool complete(Step step) {
    constexpr int kMost = 200;  // 10 s
    for (int i = 0; i < kMost; i++) {
        try {
            step();
            return true;
        } catch (const LimitExceeded& e) {
            if (e.limit != "max_step_work") return false;
        }
    }
    return false;
}

class Visits {
  public:
    static constexpr uint32_t kStart = ~0u;  // where every text begins
    static constexpr uint32_t kToken = 256;  // steps from here on are tokens

    // From another one's place here (or kStart), by a step. Returns its own.
    uint32_t add(uint32_t from, uint32_t step, bool is_asked) {
        all_.push_back({from, step, is_asked});
        return uint32_t(all_.size() - 1);
    }
    bool empty() const { return all_.empty(); }
    // With the masks of those that were asked for theirs. Cost: a copy of a matcher and a step for each, and masks that were forgotten meanwhile.
    std::string saved(const std::shared_ptr<Constraint>& constraint) const;
    // Takes the steps that `saved` gave and notes the masks, until `seconds` have passed or the memory for them is used up. Returns how many.
    // Throws BadArtifact where a step leads nowhere, or a mask or a number cannot be. SAFETY: whatever it holds nothing but masks comes from it.
    static uint32_t replay(const std::shared_ptr<Constraint>& constraint, std::string_view data, double seconds);

  private:
    struct Visit {
        uint32_t from, step;
        bool is_asked;  // for its masks
    };
    std::vector<Visit> all_;
};

}  // namespace derivable
