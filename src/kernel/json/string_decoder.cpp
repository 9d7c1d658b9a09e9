#include "json/string_decoder.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace derivable {

namespace {

using D = StringDecoder;

bool is_hex(uint8_t b) { return (b >= '0' && b <= '9') || (b >= 'a' && b <= 'f') || (b >= 'A' && b <= 'F'); }

bool is_one_of(uint8_t b, const char* set) {
    for (; *set; set++)
        if (uint8_t(*set) == b) return true;
    return false;
}

D::State plain(uint8_t b, D::State escape) {
    if (b == '"') return D::kEnd;
    if (b == '\\') return escape;
    if (b < 0x20) return D::kStuck;
    if (b < 0x80) return D::kBoundary;
    if (b >= 0xC2 && b <= 0xDF) return D::kMore1;
    if (b == 0xE0) return D::kAfterE0;
    if (b == 0xED) return D::kAfterED;
    if (b >= 0xE1 && b <= 0xEF) return D::kMore2;
    if (b == 0xF0) return D::kAfterF0;
    if (b >= 0xF1 && b <= 0xF3) return D::kMore3;
    if (b == 0xF4) return D::kAfterF4;
    return D::kStuck;
}

uint8_t decode_byte(Escapes escapes, uint8_t s, uint8_t b) {
    const bool is_plain = escapes == Escapes::kPlain;
    if (!is_plain && s >= D::kHex0 && s <= D::kHex007) return D::kStuck;
    auto between = [&](int lo, int hi, D::State to) { return b >= lo && b <= hi ? to : D::kStuck; };
    auto hex = [&](D::State to) { return is_hex(b) ? to : D::kStuck; };
    switch (s) {
        case D::kBefore: return b == '"' ? D::kBoundary : D::kStuck;
        case D::kBoundary: return plain(b, D::kEscape);
        case D::kHigh: return is_plain ? (b == '\\' ? D::kHighEscape : D::kStuck) : plain(b, D::kHighEscape);
        case D::kEscape:
        case D::kHighEscape:
            if (b == 'u') return s == D::kEscape ? D::kHex : D::kHighHex;
            return is_one_of(b, "\"\\/bfnrt") && !(is_plain && s == D::kHighEscape) ? D::kBoundary : D::kStuck;
        case D::kHex:
        case D::kHighHex:
            if (b == 'd' || b == 'D') return s == D::kHex ? D::kHexD : D::kHighHexD;
            if (is_plain && (b == '0' || s == D::kHighHex)) return s == D::kHex ? D::kHex0 : D::kStuck;
            return hex(D::kHex1);
        case D::kHexD:
            if (is_one_of(b, "89abAB")) return D::kHigh2;
            return is_plain && is_one_of(b, "cdefCDEF") ? D::kStuck : hex(D::kHex2);
        case D::kHighHexD:
            if (is_one_of(b, "cdefCDEF")) return D::kLow2;
            if (is_plain) return D::kStuck;
            return is_one_of(b, "89abAB") ? D::kHigh2 : hex(D::kHex2);
        case D::kHex0: return b == '0' ? D::kHex00 : hex(D::kHex2);
        case D::kHex00:
            if (b == '0' || b == '7') return b == '0' ? D::kHex000 : D::kHex007;
            return between('2', '6', D::kHex3) == D::kHex3 ? D::kStuck : hex(D::kHex3);
        case D::kHex000: return is_one_of(b, "89acdACD") ? D::kStuck : hex(D::kBoundary);
        case D::kHex007: return b == 'f' || b == 'F' ? D::kBoundary : D::kStuck;
        case D::kHex1: return hex(D::kHex2);
        case D::kHex2: return hex(D::kHex3);
        case D::kHex3: return hex(D::kBoundary);
        case D::kHigh2: return hex(D::kHigh3);
        case D::kHigh3: return hex(D::kHigh);
        case D::kLow2: return hex(D::kLow3);
        case D::kLow3: return hex(D::kBoundary);
        case D::kMore1: return between(0x80, 0xBF, D::kBoundary);
        case D::kMore2: return between(0x80, 0xBF, D::kMore1);
        case D::kMore3: return between(0x80, 0xBF, D::kMore2);
        case D::kAfterE0: return between(0xA0, 0xBF, D::kMore1);
        case D::kAfterED: return between(0x80, 0x9F, D::kMore1);
        case D::kAfterF0: return between(0x90, 0xBF, D::kMore2);
        case D::kAfterF4: return between(0x80, 0x8F, D::kMore2);
        default: return D::kStuck;
    }
}

}  // namespace

uint8_t StringDecoder::decode(Escapes escapes, uint8_t state, uint8_t byte) {
    static const std::vector<uint8_t> table = [] {
        std::vector<uint8_t> t;
        for (Escapes each : {Escapes::kAny, Escapes::kPlain})
            for (size_t i = 0; i < size_t(kNumDecoders) * 256; i++) t.push_back(decode_byte(each, uint8_t(i / 256), uint8_t(i % 256)));
        return t;
    }();
    return table[(size_t(escapes) * kNumDecoders + state) * 256 + byte];
}

bool StringDecoder::completes(Escapes escapes, uint8_t from, uint8_t to) {
    if (escapes == Escapes::kPlain) return to == kBoundary && from != kBefore;
    return (to == kBoundary || to == kHigh) && from != kBefore && from != kLow3;
}

uint32_t StringDecoder::owed(Escapes escapes, uint8_t d) {
    switch (d) {
        case kBefore:
        case kBoundary:
        case kEnd: return 0;
        case kHigh:
        case kHighEscape:
        case kHighHex:
        case kHighHexD:
        case kLow2:
        case kLow3: return escapes == Escapes::kPlain;  // a high surrogate is no character yet
        default: return 1;
    }
}

const std::string& StringDecoder::example(Escapes escapes, uint8_t decoder) {
    const auto find = [](Escapes of) {
        std::vector<std::string> t(kNumDecoders);
        std::vector<uint8_t> work{kBefore}, seen(kNumDecoders, 0);
        seen[kBefore] = 1;
        for (size_t i = 0; i < work.size(); i++)
            for (int b = 0; b < 256; b++) {
                uint8_t next = decode(of, work[i], uint8_t(b));
                if (next == kStuck || seen[next]) continue;
                seen[next] = 1;
                t[next] = t[work[i]] + char(b);
                work.push_back(next);
            }
        return t;
    };
    static const std::array<std::vector<std::string>, 2> texts = {find(Escapes::kAny), find(Escapes::kPlain)};
    return texts[size_t(escapes)][decoder];
}

}  // namespace derivable
