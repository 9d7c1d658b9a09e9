// A witness: a known text that completes a place of a text, and the fewest tokens that spell it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace derivable {

struct WitnessText {
    static constexpr uint32_t kToken = 1u << 31;  // beside a token that the grammar names; else a unit is a byte
    std::vector<uint32_t> units, counts;          // `counts`: the fewest tokens from each unit on; 0 behind the last
    std::string bytes;                            // the units, where they are bytes

    static std::vector<uint32_t> units_of(std::string_view text) {
        std::vector<uint32_t> units;
        for (char c : text) units.push_back(uint8_t(c));
        return units;
    }
};

// What is left of one from a unit on.
struct Witness {
    std::shared_ptr<const WitnessText> text;  // null: none is known
    uint32_t at = 0;

    explicit operator bool() const { return text != nullptr; }
    uint32_t tokens() const { return text->counts[at]; }
    // The bytes with which it goes on, up to a named token; at most so many.
    std::string_view bytes(size_t most) const {
        size_t end = at;
        while (end < text->units.size() && end - at < most && !(text->units[end] & WitnessText::kToken)) end++;
        return std::string_view(text->bytes).substr(at, end - at);
    }
    // Behind a token, or some bytes: what is left if the text goes on so, else null.
    Witness behind(uint32_t token, std::string_view bytes) const {
        return at < text->units.size() && text->units[at] == (WitnessText::kToken | token) ? Witness{text, at + 1} : behind(bytes);
    }
    Witness behind(std::string_view bytes) const {
        if (bytes.empty() || text->units.size() - at < bytes.size() || this->bytes(bytes.size()) != bytes) return {};
        return {text, at + uint32_t(bytes.size())};
    }
};

}  // namespace derivable
