#include "index/byte_classes.hpp"

#include <algorithm>

#include "index/trie.hpp"
#include "support/characters.hpp"

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
    auto alike = [&](uint8_t a, uint8_t b) {
        if (classes[a] != classes[b]) return false;
        for (uint32_t place = 0; place < kNumUtf8States; place++)
            if (character_step(Utf8State(place), a) != character_step(Utf8State(place), b)) return false;
        return true;
    };
    for (uint32_t b = 0; b < 256; b++) {
        const auto byte = uint8_t(b);
        if (place_behind(byte) != kNowhere) {
            auto known = std::find_if(firsts_.begin(), firsts_.end(), [&](const auto& x) { return alike(x.first, byte); });
            if (known == firsts_.end()) known = firsts_.insert(known, {byte, 0});
            known->second |= 1ULL << byte_kind(byte);
        } else if (byte >= 0x80 && byte < 0xC0 && std::none_of(more_.begin(), more_.end(), [&](uint8_t x) { return alike(x, byte); })) {
            more_.push_back(byte);
        }
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
