// A constraint as the inner language of another one.
#pragma once

#include <memory>

#include "matching/constraint.hpp"
#include "matching/embedded.hpp"

namespace derivable {

// The texts of a constraint over the same vocabulary, or over what that stands for (Decoded), as lexemes of `symbol`. Others may use the constraint
// meanwhile.
std::shared_ptr<EmbeddedLanguage> inner_language(std::shared_ptr<Constraint> inner, Symbol symbol);

}  // namespace derivable
