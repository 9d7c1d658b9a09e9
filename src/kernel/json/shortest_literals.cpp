// Shortest literals from the states of JsonStrings on, by rule.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "automata/shortest_rests.hpp"
#include "json/codec.hpp"
#include "json/string_literals.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

// A text that leads from a decoder's state to one where the literal may end, and the characters that it completes.
struct Rest {
    std::string text;
    uint64_t characters = 0;
};

std::vector<Rest> rests(Escapes escapes) {
    std::vector<Rest> known(StringDecoder::kNumDecoders);
    std::vector<uint8_t> found;
    for (uint8_t d = 0; d < known.size(); d++)
        if (StringDecoder::decode(escapes, d, '"') == StringDecoder::kEnd) found.push_back(d);
    std::vector<uint8_t> is_known(known.size(), 0);
    for (uint8_t d : found) is_known[d] = 1;
    for (size_t i = 0; i < found.size(); i++)
        for (uint8_t d = 0; d < known.size(); d++)
            for (uint8_t b : ShortestRests::order()) {
                if (is_known[d] || StringDecoder::decode(escapes, d, b) != found[i]) continue;
                const Rest& behind = known[found[i]];
                known[d] = {char(b) + behind.text, behind.characters + StringDecoder::completes(escapes, d, found[i])};
                is_known[d] = 1;
                found.push_back(d);
            }
    return known;
}

// What is left of a text behind its beginning, whose digits may be capital where both are escapes.
std::optional<std::string> behind(std::string_view text, std::string_view begin) {
    const bool is_escape = begin.substr(0, 2) == "\\u";
    if (begin.size() > text.size()) return std::nullopt;
    for (size_t i = 0; i < begin.size(); i++)
        if (begin[i] != text[i] && !(is_escape && begin[i] >= 'A' && begin[i] <= 'F' && begin[i] + ('a' - 'A') == text[i]))
            return std::nullopt;
    return std::string(text.substr(begin.size()));
}

std::string short_escape(uint32_t c) {
    return {'\\', kShortEscapes[size_t(std::find(kShortMeanings.begin(), kShortMeanings.end(), c) - kShortMeanings.begin())]};
}

std::string long_escape(uint32_t c) {
    std::string out;
    for (size_t i = 0; i < escape_length(c); i++) out.push_back(escape_at(c, i));
    return out;
}

// The bytes with which a value's literal goes on that has begun to spell the first of its characters like this.
std::optional<std::string> spell(std::string_view value, std::string_view begun) {
    std::string out;
    for (size_t i = 0; i < value.size();) {
        const auto [c, bytes] = character_at(value, i);
        i += bytes;
        std::optional<std::string> rest;
        if (can_be_raw(c)) rest = behind(utf8(c), begun);
        if (!rest && has_short_escape(c)) rest = behind(short_escape(c), begun);
        if (!rest) rest = behind(long_escape(c), begun);
        if (!rest) return std::nullopt;
        out += *rest;
        begun = {};
    }
    return out;
}

const Rest& rest_of_character(Escapes escapes, uint8_t decoder) {
    static const std::array<std::vector<Rest>, 2> known = {rests(Escapes::kAny), rests(Escapes::kPlain)};
    return known[size_t(escapes)][decoder];
}

}  // namespace

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
            const Rest& rest = rest_of_character(escapes_, s.decoder);
            std::string out = rest.text;
            for (uint64_t n = s.count + rest.characters; n < min_; n++) out.push_back(char(filler));
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
    std::optional<std::string> best;
    work((n.last - n.first) / 4 + 1);
    for (uint32_t i = n.first; i < n.last; i++) {
        const std::string_view rest = std::string_view(list_[i]).substr(n.bytes);
        if ((rest.empty() && s.length) || (best && rest.size() >= best->size())) continue;
        std::optional<std::string> spelled = verbatim_ ? behind(rest, s.spelling()) : spell(rest, s.spelling());
        if (spelled && (!best || spelled->size() < best->size())) best = std::move(spelled);
    }
    if (best && !verbatim_) best->push_back('"');
    return best;
}

}  // namespace derivable
