// What the kernel refuses: error types that the bindings translate.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace derivable {

// A bound of `Limits` was reached (Python: LimitError).
struct LimitExceeded : std::runtime_error {
    std::string limit, detail;
    uint64_t used, allowed;
    LimitExceeded(std::string limit_name, uint64_t used_, uint64_t allowed_, std::string detail_ = "")
        : std::runtime_error(limit_name),
          limit(std::move(limit_name)),
          detail(std::move(detail_)),
          used(used_),
          allowed(allowed_) {}
};

// Something that cannot be enforced exactly (Python: UnsupportedFeatureError).
struct Unsupported : std::runtime_error {
    std::string feature;
    Unsupported(std::string feature_name, const std::string& problem) : std::runtime_error(problem), feature(std::move(feature_name)) {}
};

// A grammar that describes nothing usable (Python: GrammarError).
struct BadGrammar : std::runtime_error {
    std::string hint;
    BadGrammar(const std::string& problem, std::string hint_) : std::runtime_error(problem), hint(std::move(hint_)) {}
};

// Saved data that cannot be read back (Python: ArtifactError).
struct BadArtifact : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Bytes of a matcher that do not say where one stands (Python: ArtifactError).
struct BadState : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace derivable
