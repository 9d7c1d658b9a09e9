// The literal texts of a grammar (names, constants, keywords), cut as the model's tokenizer is likely to cut them: where masks within them will be
// asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tokens/byte_pairs.hpp"

namespace derivable {

class Literals {
  public:
    Literals(const BytePairs& byte_pairs, const std::vector<std::string>& texts);

    using Place = uint32_t;
    static constexpr Place kOutside = 0;
    // Behind one more byte: further in a literal, or in one that begins with it.
    Place after(Place place, uint8_t byte) const;
    // From one end of a piece to the next, in all literals that go on here. None within a piece.
    const std::vector<std::string>& pieces(Place place) const { return nodes_[place].pieces; }

  private:
    struct Node {
        std::vector<std::pair<uint8_t, Place>> children;
        std::vector<std::string> pieces;
    };
    // 0: there is none.
    Place child(Place place, uint8_t byte) const;
    std::vector<Node> nodes_;
};

}  // namespace derivable
