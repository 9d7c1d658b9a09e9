// A constraint as the inner language of another one.
#pragma once

#include <memory>

#include "matching/constraint.hpp"
#include "sequence/embedded.hpp"

namespace derivable {

// The constraint is over this vocabulary, or over what it stands for (Decoded).
bool is_inner_language(const Constraint& inner, const Vocabulary& around);
// Its texts, as they are written with this vocabulary, as lexemes of `symbol`. Others may use the constraint meanwhile.
std::shared_ptr<EmbeddedLanguage> inner_language(std::shared_ptr<Constraint> inner, const Vocabulary& around, Symbol symbol);

}  // namespace derivable
