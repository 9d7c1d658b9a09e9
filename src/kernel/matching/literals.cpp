#include "matching/literals.hpp"

#include <algorithm>

namespace derivable {

Literals::Literals(const BytePairs& byte_pairs, const std::vector<std::string>& texts) : nodes_(1) {
    for (const std::string& text : texts) {
        Place at = kOutside;
        // A quote that begins a text stands with what comes before it, not with the word.
        const size_t quote = text.rfind('"', 0) == 0;
        std::vector<std::string> cut = byte_pairs.cut(std::string_view(text).substr(quote));
        if (quote) cut.insert(cut.begin(), "\"");
        for (const std::string& piece : cut) {
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
