#include "matching/literals.hpp"

#include <algorithm>

#include "index/byte_pairs.hpp"

namespace derivable {

Literals::Literals(const Trie& vocabulary, const std::vector<std::string>& texts) : nodes_(1) {
    const BytePairs byte_pairs(vocabulary);
    for (const std::string& text : texts) {
        Place at = kOutside;
        for (const std::string& piece : byte_pairs.cut(text)) {
            auto& pieces = nodes_[at].pieces;
            if (std::find(pieces.begin(), pieces.end(), piece) == pieces.end()) pieces.push_back(piece);
            for (char c : piece) {
                Place next = child(at, uint8_t(c));
                if (!next) {
                    next = Place(nodes_.size());
                    nodes_.emplace_back();
                    nodes_[at].children.emplace_back(uint8_t(c), next);
                }
                at = next;
            }
        }
    }
}

Literals::Place Literals::child(Place place, uint8_t byte) const {
    for (auto [b, next] : nodes_[place].children)
        if (b == byte) return next;
    return 0;
}

Literals::Place Literals::after(Place place, uint8_t byte) const {
    const Place further = child(place, byte);
    return further ? further : child(kOutside, byte);
}

}  // namespace derivable
