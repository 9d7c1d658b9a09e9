// JSON string literals whose values an automaton accepts.
#include <algorithm>
#include <unordered_map>

#include "json/all_values.hpp"
#include "json/codec.hpp"
#include "json/string_literals.hpp"
#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

uint32_t hex_value(uint8_t b) { return b <= '9' ? b - uint32_t('0') : (b | 32u) - uint32_t('a') + 10; }

Lone spelled_by(Escapes escapes) { return escapes == Escapes::kPlain ? Lone::kNone : Lone::kSpelled; }

// Lone surrogates lead where U+D7FF does, or nowhere. Then values with a high one before a low one, which no literal spells, may stay in the
// automaton: for each of them there is one that is spelled, as long, by way of the same states. So whatever is alive stays alive without
// them, and what they share with their neighbours is not doubled.
bool surrogates_act_as_a_character(const Dfa& d) {
    std::vector<uint8_t> seen(d.num_states(), 0);
    for (uint32_t q = 0; q < d.num_states(); q++) {
        const int32_t p = d.step(q, 0xED);
        if (p < 0 || seen[size_t(p)]++) continue;
        const int32_t last = d.step(uint32_t(p), 0x9F), like = last < 0 ? kDead : d.step(uint32_t(last), 0xBF);
        int32_t before = last;
        for (uint32_t b = 0xA0; b <= 0xBF; b++) {
            const int32_t next = d.step(uint32_t(p), uint8_t(b));
            if (next < 0 || (next == before && b > 0xA0)) continue;
            before = next;
            for (uint32_t c = 0x80; c <= 0xBF; c++)
                if (const int32_t to = d.step(uint32_t(next), uint8_t(c)); to >= 0 && to != like) return false;
        }
    }
    return true;
}

}  // namespace

JsonStrings::JsonStrings(const Dfa& values, uint64_t max_states, uint64_t max, Escapes escapes)
    : JsonStrings(std::make_shared<Dfa>(surrogates_act_as_a_character(values)
                                            ? values
                                            : Dfa::product(values, all_values(spelled_by(escapes)), Dfa::Op::kAnd, max_states)),
                  max, escapes) {}

JsonStrings::JsonStrings(std::shared_ptr<const Dfa> values, uint64_t max, Escapes escapes)
    : values_(std::move(values)),
      escapes_(escapes),
      negated_(false),
      min_(0),
      max_(max) {
    key_ = (escapes == Escapes::kPlain ? "plain values " : "values ") + values_->fingerprint() +
           (max == kNoMaximum ? "" : "*" + std::to_string(max));
    states_.push_back({State::kStart});
    find_kinds();
    empty_ = values_->empty();
    if (empty_ || max == kNoMaximum) return;
    counted_values_ = std::make_shared<const CountedValues>(values_, max);
    empty_ = count(counted_values_->start()) == kDead;
}

bool JsonStrings::is_raw(uint8_t d) {
    return d == StringDecoder::kBoundary || (d >= StringDecoder::kMore1 && d <= StringDecoder::kAfterF4);
}

const std::array<uint8_t, 256>& JsonStrings::kinds_to_decoder() {
    static const std::array<uint8_t, 256> kinds = [] {
        Interner ids;
        std::array<uint8_t, 256> out{};
        for (uint32_t b = 0; b < 256; b++) {
            std::vector<uint32_t> key;
            for (uint8_t d = 0; d < StringDecoder::kNumDecoders; d++)
                if (is_raw(d)) key.push_back(StringDecoder::decode(Escapes::kAny, d, uint8_t(b)));
            out[b] = uint8_t(ids.intern(key));
        }
        return out;
    }();
    return kinds;
}

void JsonStrings::find_kinds() {
    std::unordered_map<uint64_t, uint8_t, MixHash> ids;
    for (uint32_t b = 0; b < 256; b++)
        kinds_[b] = ids.try_emplace(pack(values_->classes[b], kinds_to_decoder()[b]), uint8_t(ids.size())).first->second;
    num_kinds_ = uint32_t(ids.size());
}

// PERF: the mask behind `"id": ` of a schema with 36 characters was 5.7 million instructions: each of 36 counts was asked for 140 first bytes, and the
// states behind them for 64 more.
const std::array<uint8_t, 256>* JsonStrings::kinds(uint32_t state) const {
    const State& s = states_[state];
    if (!is_raw(s.decoder)) return nullptr;
    return s.kind == State::kValue ? &kinds_ : s.kind == State::kFree ? &kinds_to_decoder() : nullptr;
}

int32_t JsonStrings::count(const CountedValues::Place& place) {
    if (!counted_values_->is_open(place)) return kDead;
    uint32_t& number = counted_ids_[pack(uint32_t(max_ - place.room), place.state)];
    if (!number) {
        if (counted_.size() >= size_t(kCounted))
            throw LimitExceeded("max_dfa_states", counted_.size(), size_t(kCounted), "a bound on the length of a pattern's strings");
        counted_.push_back(place);
        number = uint32_t(counted_.size());
    }
    return int32_t(number - 1) | kCounted;
}

int32_t JsonStrings::step_values(int32_t state, uint8_t byte) {
    int32_t to = values_->step(automaton_state(state), byte);
    if (to < 0 || !(state & kCounted)) return to;
    const uint64_t room = counted_at(state).room, begun = CountedValues::begins_character(byte);
    return room < begun ? kDead : count({uint32_t(to), room - begun});
}

std::optional<CountedValues::Place> JsonStrings::place(uint32_t id) const {
    const State& s = states_[id];
    if (s.kind != State::kValue || !(s.node & uint32_t(kCounted)) || !is_raw(s.decoder)) return std::nullopt;
    return counted_at(int32_t(s.node));
}

std::string JsonStrings::counted_key(uint32_t id, uint64_t longest) const {
    const State& s = states_[id];
    if (s.kind != State::kValue || !(s.node & uint32_t(kCounted))) return {};
    // A text of so many bytes begins no more characters than that, and the one whose digits are being read.
    uint64_t room = std::min(counted_at(int32_t(s.node)).room, longest + counted_values_->most_least() + 1);
    std::string key(1, 'v');
    for (uint64_t n : {uint64_t(reinterpret_cast<uintptr_t>(values_.get())), uint64_t(automaton_state(int32_t(s.node))),
                       uint64_t(s.decoder), s.count, room})
        key.append(reinterpret_cast<const char*>(&n), sizeof n);
    return key;
}

int32_t JsonStrings::value(int32_t state, uint8_t decoder, Escape escape) {
    if (state < 0 || decoder == StringDecoder::kStuck) return kDead;
    if (decoder == StringDecoder::kEnd) return accepts_value(state) ? at({State::kEnd}) : kDead;
    if (decoder == StringDecoder::kBoundary && is_anything(automaton_state(state)))
        return free(StringDecoder::kBoundary, state & kCounted ? max_ - counted_at(state).room : 0);
    if (!is_alive(state, decoder, escape)) return kDead;
    State s{State::kValue};
    s.decoder = decoder;
    s.node = uint32_t(state);
    s.count = pack(escape.high, escape.digits);
    return at(s);
}

int32_t JsonStrings::step_value(const State& s, uint8_t byte) {
    int32_t q = int32_t(s.node);
    Escape escape{uint32_t(s.count), uint32_t(s.count >> 32)};
    uint8_t to = StringDecoder::decode(escapes_, s.decoder, byte);
    auto spelled = [&](uint32_t c) { return value(after(q, c), to, {}); };
    switch (s.decoder) {
        case StringDecoder::kBoundary:
        case StringDecoder::kMore1:
        case StringDecoder::kMore2:
        case StringDecoder::kMore3:
        case StringDecoder::kAfterE0:
        case StringDecoder::kAfterED:
        case StringDecoder::kAfterF0:
        case StringDecoder::kAfterF4:
            return to == StringDecoder::kEnd || to == StringDecoder::kEscape || to == StringDecoder::kStuck
                       ? value(q, to, {})
                       : value(step_values(q, byte), to, {});
        case StringDecoder::kHigh:
        case StringDecoder::kHighEscape:
        case StringDecoder::kHighHex:
        case StringDecoder::kHighHexD:
            if (to == StringDecoder::kStuck || to == StringDecoder::kHighEscape || to == StringDecoder::kHighHex ||
                to == StringDecoder::kHighHexD)
                return value(q, to, escape);
            if (to == StringDecoder::kLow2) return value(q, to, {0xD0 | hex_value(byte), escape.high});
            // No low surrogate follows, so the high one was alone.
            q = after(q, escape.high);
            if (q < 0) return kDead;
            if (s.decoder == StringDecoder::kHighHexD) return value(q, to, {0xD0 | hex_value(byte), 0});
            if (s.decoder == StringDecoder::kHighHex) return value(q, to, {hex_value(byte), 0});
            return step_value({State::kValue,
                               uint8_t(s.decoder == StringDecoder::kHigh ? StringDecoder::kBoundary : StringDecoder::kEscape),
                               0,
                               {},
                               uint32_t(q),
                               0},
                              byte);
        case StringDecoder::kEscape:
            if (to != StringDecoder::kBoundary) return value(q, to, {});
            return spelled(byte == 'b' ? 8 : byte == 'f' ? 12 : byte == 'n' ? 10 : byte == 'r' ? 13 : byte == 't' ? 9 : byte);
        default:  // digits
            if (to == StringDecoder::kStuck) return kDead;
            escape.digits = escape.digits << 4 | hex_value(byte);
            if (s.decoder == StringDecoder::kLow3) return spelled(0x10000 + ((escape.high - 0xD800) << 10) + (escape.digits - 0xDC00));
            if (to == StringDecoder::kHigh) return value(q, to, {0, escape.digits});
            return to == StringDecoder::kBoundary ? spelled(escape.digits) : value(q, to, escape);
    }
}

int32_t JsonStrings::after(int32_t state, uint32_t c) {
    for (char b : utf8(c)) {
        if (state < 0) break;
        state = step_values(state, uint8_t(b));
    }
    return state;
}

// Some literal can be completed from here. The automaton is trimmed, so that is so at once between characters.
bool JsonStrings::is_alive(int32_t q, uint8_t decoder, const Escape& e) {
    const bool is_plain = escapes_ == Escapes::kPlain;
    // Far from the bound it does not matter: two characters at most, a lone surrogate and another, are asked about.
    if (q & kCounted && counted_values_->is_far(counted_at(q), 2)) q = int32_t(automaton_state(q));
    auto after_lone = [&](uint32_t low, uint32_t high) {
        int32_t next = after(q, e.high);
        return next >= 0 && any_unit(next, low, high);
    };
    switch (decoder) {
        case StringDecoder::kAfterED: {  // raw text has no surrogates
            for (uint32_t b = 0x80; b <= 0x9F; b++)
                if (step_values(q, uint8_t(b)) >= 0) return true;
            return false;
        }
        case StringDecoder::kEscape:
            for (const uint32_t c : kShortMeanings)
                if (step_values(q, uint8_t(c)) >= 0) return true;
            [[fallthrough]];
        case StringDecoder::kHex:
            // PERF: finding out which characters may follow was a seventh of the masks of a pattern that counts words.
            for (uint32_t b = 0; !is_plain && b < 0x80; b++)
                if (step_values(q, uint8_t(b)) >= 0) return true;
            return any_unit(q, 0, 0xFFFF);
        case StringDecoder::kHexD: return any_unit(q, 0xD000, 0xDFFF);
        case StringDecoder::kHex0:
        case StringDecoder::kHex1: return any_unit(q, e.digits << 12, e.digits << 12 | 0xFFF);
        case StringDecoder::kHex00:
        case StringDecoder::kHex2:
        case StringDecoder::kHigh2: return any_unit(q, e.digits << 8, e.digits << 8 | 0xFF);
        case StringDecoder::kHex000:
        case StringDecoder::kHex007:
        case StringDecoder::kHex3:
        case StringDecoder::kHigh3: return any_unit(q, e.digits << 4, e.digits << 4 | 0xF);
        case StringDecoder::kHigh: return any_unit(q, e.high, e.high);
        case StringDecoder::kHighEscape:
        case StringDecoder::kHighHex: return any_pair(q, e.high, 0xDC00, 0xDFFF) || (!is_plain && after_lone(0, 0xFFFF));
        case StringDecoder::kHighHexD: return any_pair(q, e.high, 0xDC00, 0xDFFF) || (!is_plain && after_lone(0xD000, 0xDFFF));
        case StringDecoder::kLow2: return any_pair(q, e.high, e.digits << 8, e.digits << 8 | 0xFF);
        case StringDecoder::kLow3: return any_pair(q, e.high, e.digits << 4, e.digits << 4 | 0xF);
        default: return true;
    }
}

// The characters, but for those of pairs, that may stand as \uXXXX.
const JsonStrings::Ranges& JsonStrings::long_escapes() const {
    static const Ranges any = {{0, 0xFFFF}}, plain = {{0, 7}, {0xB, 0xB}, {0xE, 0x1F}, {0x7F, 0xD7FF}, {0xE000, 0xFFFF}};
    return escapes_ == Escapes::kPlain ? plain : any;
}

bool JsonStrings::any_unit(int32_t state, uint32_t low, uint32_t high) {
    for (auto [first, last] : long_escapes())
        if (std::max(low, first) <= std::min(high, last) && any_character(state, std::max(low, first), std::min(high, last))) return true;
    low = std::max(low, 0xD800u), high = std::min(high, 0xDBFFu);
    return low <= high && any_character(state, 0x10000 + ((low - 0xD800) << 10), 0x103FF + ((high - 0xD800) << 10));
}

bool JsonStrings::any_pair(int32_t state, uint32_t high, uint32_t low, uint32_t last) {
    uint32_t base = 0x10000 + ((high - 0xD800) << 10);
    return any_character(state, base + (low - 0xDC00), base + (last - 0xDC00));
}

bool JsonStrings::any_character(int32_t state, uint32_t low, uint32_t high) {
    const Ranges& all = characters(state);
    auto it = std::lower_bound(all.begin(), all.end(), low, [](const auto& range, uint32_t c) { return range.second < c; });
    return it != all.end() && it->first <= high;
}

// Where one of the characters leads that the escape so far may turn out to be; kDead: none was found.
int32_t JsonStrings::after_escape(int32_t q, uint8_t decoder, const Escape& e) {
    auto first = [&](uint32_t low, uint32_t high) {
        const Ranges& all = characters(q);
        auto it = std::lower_bound(all.begin(), all.end(), low, [](const auto& range, uint32_t c) { return range.second < c; });
        return it != all.end() && it->first <= high ? after(q, std::max(it->first, low)) : kDead;
    };
    auto pair = [&](uint32_t high, uint32_t last_high, uint32_t low, uint32_t last) {
        return first(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00), 0x10000 + ((last_high - 0xD800) << 10) + (last - 0xDC00));
    };
    auto unit = [&](uint32_t low, uint32_t high) {
        int32_t to = kDead;
        for (auto [least, most] : long_escapes())
            if (to < 0 && std::max(low, least) <= std::min(high, most)) to = first(std::max(low, least), std::min(high, most));
        low = std::max(low, 0xD800u), high = std::min(high, 0xDBFFu);
        return to >= 0 || low > high ? to : pair(low, high, 0xDC00, 0xDFFF);
    };
    switch (decoder) {
        case StringDecoder::kEscape:
        case StringDecoder::kHex: return unit(0, 0xFFFF);
        case StringDecoder::kHexD: return unit(0xD000, 0xDFFF);
        case StringDecoder::kHex0:
        case StringDecoder::kHex1: return unit(e.digits << 12, e.digits << 12 | 0xFFF);
        case StringDecoder::kHex00:
        case StringDecoder::kHex2:
        case StringDecoder::kHigh2: return unit(e.digits << 8, e.digits << 8 | 0xFF);
        case StringDecoder::kHex000:
        case StringDecoder::kHex007:
        case StringDecoder::kHex3:
        case StringDecoder::kHigh3: return unit(e.digits << 4, e.digits << 4 | 0xF);
        case StringDecoder::kHigh:
        case StringDecoder::kHighEscape:
        case StringDecoder::kHighHex:
        case StringDecoder::kHighHexD: return pair(e.high, e.high, 0xDC00, 0xDFFF);
        case StringDecoder::kLow2: return pair(e.high, e.high, e.digits << 8, e.digits << 8 | 0xFF);
        case StringDecoder::kLow3: return pair(e.high, e.high, e.digits << 4, e.digits << 4 | 0xF);
        default: return kDead;
    }
}

bool JsonStrings::value_has_more(const State& s, uint64_t n) {
    const int32_t q = int32_t(s.node);
    // Bytes of a raw character have been taken one by one; of an escape, the character is still to come.
    const int32_t to = is_raw(s.decoder) ? q : after_escape(q, s.decoder, {uint32_t(s.count), uint32_t(s.count >> 32)});
    return to >= 0 && has_more_accepted(to, n);
}

// PERF: nearly always there are many, whatever n is; counted each time it was a fifth of the masks in an array of distinct `^\\.[^/]+$`.
bool JsonStrings::has_more_accepted(int32_t state, uint64_t n) {
    if (n > kMany) return count_accepted(state, n + 1) > n;
    const auto key = uint64_t(uint32_t(state));
    const uint32_t* known = counts_.find(key);
    return (known ? *known : counts_[key] = uint32_t(count_accepted(state, kMany + 1))) > n;
}

bool JsonStrings::always_has_more_accepted(int32_t state, uint64_t n) {
    constexpr size_t kMost = 32;  // states
    if (n > kMany) return false;
    char& known = always_many_[uint64_t(uint32_t(state))];
    if (known) return known == 2;
    std::vector<uint32_t> met{uint32_t(state)};
    bool always = true;
    for (size_t i = 0; i < met.size() && always; i++) {
        always = has_more_accepted(int32_t(met[i]), kMany);
        const int32_t* row = &values_->table[size_t(met[i]) * values_->num_classes];
        for (uint32_t c = 0; c < values_->num_classes; c++)
            if (row[c] >= 0 && std::find(met.begin(), met.end(), uint32_t(row[c])) == met.end()) met.push_back(uint32_t(row[c]));
        always &= met.size() <= kMost;
    }
    known = always ? 2 : 1;
    return always;
}

// Texts, which are values, by their length, until there are so many. Those with lone surrogates, not all of which are spelled, are left out.
uint64_t JsonStrings::count_accepted(int32_t state, uint64_t enough) const {
    constexpr uint32_t kPatience = 4'000;  // states
    const uint32_t before_surrogate = values_->classes[0xED];
    std::vector<uint64_t> bytes(values_->num_classes, 0);
    for (uint8_t c : values_->classes) bytes[c]++;
    bytes[before_surrogate]--;
    const uint64_t room = state & kCounted ? counted_at(state).room : kNoMaximum;  // a character has a byte or more
    // How many texts lead to a state.
    std::unordered_map<uint32_t, uint64_t> level{{automaton_state(state), 1}}, next, after_next;
    uint64_t found = 0, visited = 0;
    for (uint64_t length = 0; length <= room && !(level.empty() && next.empty()) && visited < kPatience; length++) {
        for (auto [q, texts] : level) {
            visited++;
            if (values_->accepting[q] && (found += texts) >= enough) return enough;
            const auto add = [&, more = texts](auto& to_level, int32_t to, uint64_t count) {
                if (to < 0 || !count) return;
                uint64_t& known = to_level[uint32_t(to)];
                known = std::min(known + more * count, enough);
            };
            const int32_t* row = &values_->table[size_t(q) * values_->num_classes];
            for (uint32_t c = 0; c < values_->num_classes; c++) add(next, row[c], bytes[c]);
            if (const int32_t to = row[before_surrogate]; to >= 0)
                for (uint32_t b = 0x80; b <= 0x9F; b++) add(after_next, values_->step(uint32_t(to), uint8_t(b)), 1);
        }
        level = std::move(next), next = std::move(after_next);
        after_next.clear();
    }
    return found;
}

const KEquivalence* JsonStrings::short_values() {
    if (!short_values_ && KEquivalence::is_worthwhile(*values_)) {
        short_values_ = std::make_shared<const KEquivalence>(*values_);
        longest_character_ = 1;
        ByteSet asked;  // classes
        for (uint32_t b = 0xF4; b >= 0xC2 && longest_character_ == 1; b--) {
            if (asked[values_->classes[b]]) continue;
            asked.set(values_->classes[b]);
            work(values_->num_states() / 4);
            for (uint32_t q = 0; longest_character_ == 1 && q < values_->num_states(); q++)
                if (values_->step(q, uint8_t(b)) >= 0) longest_character_ = b >= 0xF0 ? 4 : b >= 0xE0 ? 3 : 2;
        }
    }
    return short_values_.get();
}

int32_t JsonStrings::acting_as(const JsonStrings& other, uint32_t state, uint64_t bytes) {
    const State& s = other.states_[state];
    if (s.kind != State::kValue) return s.kind == State::kStart ? 0 : kDead;
    const auto place = int32_t(s.node);
    uint32_t q = other.automaton_state(place);
    // No text spells values that are longer. But it may end in an escape: then a character of four bytes must be possible, or a lone surrogate and another.
    constexpr uint64_t kMargin = 8;
    if (const KEquivalence* short_values = this->short_values(); short_values && bytes < kNoMaximum - kMargin)
        q = short_values->first_alike(q, bytes + kMargin);
    return value(int32_t(q), s.decoder, {uint32_t(s.count), uint32_t(s.count >> 32)});
}

bool JsonStrings::meets_bound(uint32_t state, uint64_t bytes) const {
    const State& s = states_[state];
    // A text of so many bytes begins no more characters than that, and the one whose digits are being read.
    return s.kind == State::kValue ? s.node & uint32_t(kCounted) && !counted_values_->is_far(counted_at(int32_t(s.node)), bytes + 1)
                                   : max_ != kNoMaximum;
}

uint64_t JsonStrings::alike_for(uint32_t a, uint32_t b) {
    const State &x = states_[a], &y = states_[b];
    if (max_ != kNoMaximum || x.kind != State::kValue || y.kind != State::kValue || x.decoder != y.decoder || x.count != y.count) return 0;
    const KEquivalence* short_values = this->short_values();
    if (!short_values) return 0;
    const uint64_t bytes = short_values->alike_for(x.node, y.node);
    // No text spells values that are longer. But it may end with a backslash, behind which some character must be possible; and a high surrogate
    // that stands before it may turn out to have been alone.
    const uint64_t margin = x.decoder == StringDecoder::kBoundary ? longest_character_ : 2 * longest_character_;
    return bytes - std::min(bytes, margin);
}

const JsonStrings::Ranges& JsonStrings::tails(int32_t state, uint32_t bytes) {
    auto [it, fresh] = characters_.try_emplace(pack(uint32_t(state), bytes));
    Ranges& out = it->second;  // SAFETY: references to elements of an unordered_map stay valid
    if (!fresh) return out;
    auto add = [&](uint32_t low, uint32_t high) {
        if (!out.empty() && out.back().second + 1 == low) out.back().second = high;
        else out.emplace_back(low, high);
    };
    for (uint32_t b = 0; b < 64; b++) {
        int32_t next = step_values(state, uint8_t(0x80 | b));
        if (next < 0) continue;
        uint32_t base = b << 6 * (bytes - 1);
        if (bytes == 1) add(b, b);
        else
            for (auto [low, high] : tails(next, bytes - 1)) add(base + low, base + high);
    }
    return out;
}

const JsonStrings::Ranges& JsonStrings::characters(int32_t state) {
    auto [it, fresh] = characters_.try_emplace(pack(uint32_t(state), 0));
    Ranges& out = it->second;
    if (!fresh) return out;
    for (uint32_t b = 0; b < 0xF5; b++) {
        int32_t next = step_values(state, uint8_t(b));
        if (next < 0 || (b >= 0x80 && b < 0xC2)) continue;
        uint32_t bytes = b < 0x80 ? 0 : b < 0xE0 ? 1 : b < 0xF0 ? 2 : 3;
        uint32_t base = bytes ? (b & (0x3Fu >> bytes)) << 6 * bytes : b;
        if (!bytes) out.emplace_back(b, b);
        else
            for (auto [low, high] : tails(next, bytes)) out.emplace_back(base + low, base + high);
    }
    return out;
}

bool JsonStrings::is_anything(uint32_t state) {
    auto [it, fresh] = anything_.try_emplace(state, false);
    if (!fresh || !values_->accepting[state]) return it->second;
    return it->second = is_like(all_values(Lone::kAll), state) || is_like(all_values(spelled_by(escapes_)), state);
}

// Both are minimal: the same language is the same shape.
bool JsonStrings::is_like(const Dfa& all, uint32_t state) const {
    std::vector<int32_t> mine(all.num_states(), kDead);
    std::vector<uint32_t> work{0};
    mine[0] = int32_t(state);
    for (size_t i = 0; i < work.size(); i++) {
        uint32_t a = work[i], q = uint32_t(mine[a]);
        if (values_->accepting[q] != all.accepting[a]) return false;
        for (uint32_t b = 0; b < 256; b++) {
            int32_t next = all.step(a, uint8_t(b)), to = values_->step(q, uint8_t(b));
            if ((next < 0) != (to < 0)) return false;
            if (next < 0) continue;
            if (mine[size_t(next)] == kDead) mine[size_t(next)] = to, work.push_back(uint32_t(next));
            if (mine[size_t(next)] != to) return false;
        }
    }
    return true;
}

}  // namespace derivable
