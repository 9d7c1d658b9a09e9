// A witness: a known text that completes a place of a text, and the fewest tokens that spell it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace derivable {

struct WitnessText {
    static constexpr uint32_t kToken = 1u << 31;  // beside a token that the grammar names; else a unit is a byte
    std::vector<uint32_t> units, tokens;          // `tokens`: the fewest from each unit on; 0 behind the last
};

// What is left of one from a unit on.
struct Witness {
    std::shared_ptr<const WitnessText> text;  // null: none is known
    uint32_t at = 0;

    explicit operator bool() const { return text != nullptr; }
    uint32_t tokens() const { return text->tokens[at]; }
    // Behind a token, or some bytes: what is left if the text goes on so, else null.
    Witness behind(uint32_t token, std::string_view bytes) const {
        return at < text->units.size() && text->units[at] == (WitnessText::kToken | token) ? Witness{text, at + 1} : behind(bytes);
    }
    Witness behind(std::string_view bytes) const {
        if (bytes.empty() || text->units.size() - at < bytes.size()) return {};
        for (size_t i = 0; i < bytes.size(); i++)
            if (text->units[at + i] != uint8_t(bytes[i])) return {};
        return {text, at + uint32_t(bytes.size())};
    }
};

}  // namespace derivable
