// A witness for vocabularies that cannot spell every text: breadth first, token by token, through all that masks allow.
//
// Vocabularies of models have a token for each byte, so a text that completes a place can be spelled, and a shortest one is found by what symbols cost. Where
// some byte is no token by itself this search is what is left. It is exact, and gives up after so many places, or so much work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "budgets/witnesses.hpp"

namespace derivable {

class TokenSearch {
  public:
    TokenSearch(const Engine& engine, Runs& runs, const Vocabulary& vocabulary, Witnesses& witnesses)
        : engine_(engine),
          runs_(runs),
          vocabulary_(vocabulary),
          witnesses_(witnesses) {}

    // Null: there is none, or it was not found.
    Witness run(const Parses& from);

  private:
    struct Place {
        Parses parses;
        size_t from;
        uint32_t unit;  // the token, WitnessText::kToken beside it if it was taken as a terminal
        std::optional<Witnesses::Key> key;
    };
    Witness search(const Parses& from);
    Witness found(const std::vector<Place>& places, size_t last);

    const Engine engine_;
    Runs& runs_;
    const Vocabulary& vocabulary_;
    Witnesses& witnesses_;
};

}  // namespace derivable
