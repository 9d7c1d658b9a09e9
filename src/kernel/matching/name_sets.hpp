// Names that are listed, those of several sets, and all that are not listed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "matching/slots.hpp"

namespace derivable {

// These, but the empty one, which is no lexeme. `ignores_case`: of ASCII letters; then they are given in small ones.
NameSetRef sorted_names(std::vector<std::string> names, bool ignores_case);

// Those of several sets.
NameSetRef any_name(std::vector<NameSetRef> sets);

// Any text that the terminal has, but some. `marked`: those that are not like the others, and those that are none; null: that is not known.
NameSetRef other_names(NameSetRef names, NameSetRef marked);

}  // namespace derivable
