#include "tokens/byte_classes.hpp"

#include <algorithm>

#include "support/characters.hpp"
#include "tokens/trie.hpp"

namespace derivable {

ByteClasses::ByteClasses(const std::array<uint8_t, 256>& classes) {
    constexpr size_t kNone = 256;
    std::array<size_t, 256> first, last;
    first.fill(kNone);
    for (size_t b = 0; b < 256; b++) {
        const uint8_t c = classes[b];
        if (first[c] == kNone) first[c] = b;
        else next_[last[c]] = uint8_t(b);
        last[c] = b;
        next_[b] = uint8_t(first[c]);
    }
    auto place_behind = [](uint8_t b) { return character_step(kBetween, b); };
    auto stand_alike = [](uint8_t a, uint8_t b) {
        for (uint32_t place = 0; place < kNumUtf8States; place++)
            if (character_step(Utf8State(place), a) != character_step(Utf8State(place), b)) return false;
        return true;
    };
    std::array<size_t, 256> places{};  // in firsts_
    for (uint32_t b = 0; b < 256; b++) {
        const auto byte = uint8_t(b);
        const bool is_first = place_behind(byte) != kNowhere;
        if (!is_first && (byte < 0x80 || byte >= 0xC0)) continue;
        auto like = uint8_t(first[classes[b]]);  // the first one of its class that is like it
        while (like != byte && !stand_alike(like, byte)) like = next_[like];
        if (!is_first) {
            if (like == byte) more_.push_back(byte);
            continue;
        }
        if (like == byte) places[b] = firsts_.size(), firsts_.emplace_back(byte, 0);
        firsts_[places[like]].second |= 1ULL << byte_kind(byte);
    }
}

const ByteClasses& ByteClasses::alone() {
    static const ByteClasses all([] {
        std::array<uint8_t, 256> own{};
        for (size_t b = 0; b < 256; b++) own[b] = uint8_t(b);
        return own;
    }());
    return all;
}

}  // namespace derivable
