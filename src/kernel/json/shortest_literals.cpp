// Shortest literals from the states of JsonStrings on, by rule.
#include <algorithm>
#include <optional>
#include <string>

#include "automata/shortest_rests.hpp"
#include "json/codec.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

// Spells a value's bytes as they stand in a string.
void spell(std::string_view value, std::string& out) {
    for (char c : value) {
        const auto b = uint8_t(c);
        if (b == '"' || b == '\\') out += {'\\', c};
        else if (b < 0x20) out += {'\\', 'u', '0', '0', char('0' + (b >> 4)), "0123456789abcdef"[b & 15]};
        else out.push_back(c);
    }
}

}  // namespace

// Bytes that lead from a decoder's state to one between characters.
static std::string rest_of_character(uint8_t decoder) {
    switch (decoder) {
        case kEscape:
        case kHighEscape: return "n";
        case kHex:
        case kHighHex: return "0061";
        case kHexD:
        case kHighHexD: return "000";
        case kHex1: return "000";
        case kHex2: return "00";
        case kHex3: return "0";
        case kHigh2: return "00\\udc00";
        case kHigh3: return "0\\udc00";
        case kHigh: return "\\udc00";
        case kLow2: return "00";
        case kLow3: return "0";
        case kMore1: return "\x80";
        case kMore2: return "\x80\x80";
        case kMore3: return "\x80\x80\x80";
        case kAfterE0: return "\xA0\x80";
        case kAfterED: return "\x80\x80";
        case kAfterF0: return "\x90\x80\x80";
        case kAfterF4: return "\x80\x80\x80";
        default: return {};
    }
}

// A guess where values are listed, or the character in progress must be one of few: who asks follows it.
std::optional<std::string> JsonStrings::shortest_rest(uint32_t id, uint8_t filler) {
    const State s = states_[id];
    switch (s.kind) {
        case State::kStart: {
            const int32_t next = step(id, '"');
            if (next < 0) return std::nullopt;
            const std::optional<std::string> rest = shortest_rest(uint32_t(next), filler);
            return rest ? std::optional('"' + *rest) : std::nullopt;
        }
        case State::kEnd: return std::string();
        case State::kFree: {
            std::string out = rest_of_character(s.decoder);
            const uint64_t had = s.count + (s.decoder == kBoundary || s.decoder == Decoder::kBefore ? 0 : 1);
            for (uint64_t n = had; n < min_; n++) out.push_back(char(filler));
            work(out.size() / 4);
            return out + '"';
        }
        case State::kListed: return shortest_listed(s, filler);
        case State::kValue: break;
    }
    if (!is_raw(s.decoder)) return std::nullopt;
    const uint32_t q = automaton_state(int32_t(s.node));
    if (shortest_values().length(q) == ShortestRests::kNone) return std::nullopt;
    return shortest_values().text(*values_, q) + '"';
}

// Of values, by the bytes that stand for themselves.
const ShortestRests& JsonStrings::shortest_values() {
    if (!shortest_values_) {
        ByteSet raw;
        for (int b = 0x20; b < 256; b++)
            if (b != '"' && b != '\\') raw.set(uint8_t(b));
        shortest_values_ = std::make_shared<const ShortestRests>(*values_, raw);
    }
    return *shortest_values_;
}

std::pair<ByteSet, ByteSet> JsonStrings::outer_bytes() const {
    ByteSet first, last;
    if (!verbatim_) first.set('"'), last.set('"');
    else
        for (const std::string& text : list_)
            if (!text.empty()) first.set(uint8_t(text.front())), last.set(uint8_t(text.back()));
    return {first, last};
}

uint64_t JsonStrings::longest_rest() {
    constexpr uint64_t kMargin = 16, kLongestSpelling = 6;  // quotes, and a character in progress; bytes for one of a value
    uint64_t most = std::min<uint64_t>(min_, kNoMaximum / 8);
    if (values_) {
        for (uint32_t q = 0; q < values_->num_states(); q++)
            if (shortest_values().length(q) != ShortestRests::kNone) most = std::max<uint64_t>(most, shortest_values().length(q));
        return kLongestSpelling * most + kMargin;
    }
    for (const std::string& text : list_) most = std::max<uint64_t>(most, text.size() * (verbatim_ || negated_ ? 1 : kLongestSpelling));
    return most + kMargin;
}

std::optional<std::string> JsonStrings::shortest_listed(const State& s, uint8_t filler) {
    const Node n = with_children(s.node);
    std::string out;
    if (negated_) {
        if (s.length) return std::nullopt;
        if (!is_value(n) && n.characters >= min_ && n.characters <= max_) return "\"";
        for (uint8_t b : ShortestRests::order()) {
            const int32_t next = b >= 0x20 && b < 0x80 && b != '"' && b != '\\' ? step(uint32_t(n.state), b) : kDead;
            if (next < 0 || states_[size_t(next)].kind != State::kFree) continue;
            const std::optional<std::string> rest = shortest_rest(uint32_t(next), filler);
            if (rest) return char(b) + *rest;
        }
        return std::nullopt;
    }
    // Of the values that go on as the text does, a shortest.
    const std::string* best = nullptr;
    work((n.last - n.first) / 4 + 1);
    for (uint32_t i = n.first; i < n.last; i++) {
        if (list_[i].size() == n.bytes && s.length) continue;
        if (best && list_[i].size() >= best->size()) continue;
        const std::string_view rest = std::string_view(list_[i]).substr(n.bytes);
        std::string spelled;
        if (verbatim_) spelled = rest;
        else spell(rest, spelled);
        if (spelled.compare(0, s.length, s.spelling()) != 0) continue;
        best = &list_[i];
        out = spelled.substr(s.length);
    }
    if (!best) return std::nullopt;
    return verbatim_ ? out : out + '"';
}

}  // namespace derivable
