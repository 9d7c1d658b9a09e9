#include "json/string_literals.hpp"

#include <algorithm>
#include <array>

#include "json/codec.hpp"
#include "support/byte_set.hpp"
#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

bool has_long_escape(Escapes escapes, uint32_t c) {
    return escapes == Escapes::kAny || (c < 0x20 && !has_short_escape(c)) || c >= 0x7F;  // values hold no lone surrogates
}

// How far `partial`, which is not empty, goes along some spelling of a character: not at all, a part of it, or all.
enum class Match { kNo, kPart, kAll };
Match spells(Escapes escapes, bool narrow, uint32_t c, std::string_view partial) {
    auto along = [&](size_t length, auto&& at) {
        if (partial.size() > length) return Match::kNo;
        for (size_t i = 0; i < partial.size(); i++)
            if (partial[i] != at(i)) return Match::kNo;
        return partial.size() == length ? Match::kAll : Match::kPart;
    };
    if (partial[0] != '\\') {
        if (!can_be_raw(c)) return Match::kNo;
        const std::string raw = utf8(c);
        return along(raw.size(), [&](size_t i) { return raw[i]; });
    }
    if (narrow && c == '/') return Match::kNo;
    if (partial.size() == 1) return has_short_escape(c) || has_long_escape(escapes, c) ? Match::kPart : Match::kNo;
    if (partial[1] != 'u') {
        const size_t place = kShortEscapes.find(partial[1]);
        return partial.size() == 2 && place < kShortMeanings.size() && kShortMeanings[place] == c ? Match::kAll : Match::kNo;
    }
    if (!has_long_escape(escapes, c)) return Match::kNo;
    return along(escape_length(c), [&](size_t i) {
        const char digit = escape_at(c, i);
        return !narrow && i % 6 > 1 && partial[i] >= 'A' && partial[i] <= 'F' && digit >= 'a' ? char(digit - 32) : digit;
    });
}

}  // namespace

JsonStrings::JsonStrings(std::vector<std::string> values, bool negated, uint64_t min, uint64_t max, Escapes escapes)
    : list_(std::move(values)),
      escapes_(escapes),
      negated_(negated),
      min_(negated ? min : 0),
      max_(negated ? max : kNoMaximum) {
    std::sort(list_.begin(), list_.end());
    list_.erase(std::unique(list_.begin(), list_.end()), list_.end());
    key_ =
        std::string(escapes == Escapes::kPlain ? "plain " : "") + (negated ? "-" : "+") + std::to_string(min_) + ":" + std::to_string(max_);
    for (const std::string& v : list_) key_ += '\0' + std::to_string(v.size()) + ":" + v;
    states_.push_back({State::kStart});
    const bool lists_nothing = !list_.empty() && list_[0].empty();
    empty_ = negated ? min_ > max_ || (max_ == 0 && lists_nothing) : list_.empty();
}

JsonStrings JsonStrings::verbatim(std::vector<std::string> texts) {
    JsonStrings made(std::move(texts), false, 0, kNoMaximum);
    made.verbatim_ = true;
    made.key_ = "verbatim " + made.key_;
    made.states_.clear();
    made.listed(0);
    return made;
}

const JsonStrings::Node& JsonStrings::with_children(uint32_t node) {
    const Node n = nodes_[node];
    if (n.end || !goes_on(n)) return nodes_[node];
    nodes_[node].children = uint32_t(nodes_.size());
    for (uint32_t i = n.first + is_value(n); i < n.last; i++) {
        const auto [c, bytes] = verbatim_ ? std::pair<uint32_t, uint32_t>(uint8_t(list_[i][n.bytes]), 1) : character_at(list_[i], n.bytes);
        if (nodes_.size() > nodes_[node].children && nodes_.back().c == c) nodes_.back().last++;
        else nodes_.push_back({i, i + 1, n.bytes + bytes, n.characters + 1, c});
    }
    nodes_[node].end = uint32_t(nodes_.size());
    return nodes_[node];
}

// From a node of the list some literal can be completed. Within it every character may turn out to be another one.
bool JsonStrings::alive(uint32_t node) const {
    const Node& n = nodes_[node];
    return !negated_ || n.characters < max_ || (n.characters == max_ && n.characters >= min_ && !is_value(n));
}

int32_t JsonStrings::at(const State& s) {
    uint64_t hash = s.hash();
    if (const uint32_t* known = ids_.find(hash, [&](uint32_t id) { return states_[id] == s; })) return int32_t(*known);
    states_.push_back(s);
    ids_.put(hash, uint32_t(states_.size() - 1));
    return int32_t(states_.size() - 1);
}

int32_t JsonStrings::listed(uint32_t node) {
    if (nodes_.empty()) nodes_.push_back({0, uint32_t(list_.size()), 0, 0, 0});
    Node& n = nodes_[node];
    if (n.state != kUnknown) return n.state;
    if (!alive(node)) return n.state = kDead;
    if (verbatim_ && node && !goes_on(n)) return n.state = at({State::kEnd});
    // Off the list for good where nothing on it goes on from here.
    if (negated_ && !goes_on(n) && !is_value(n)) return n.state = free(StringDecoder::kBoundary, n.characters);
    n.state = int32_t(states_.size());
    states_.push_back({State::kListed});
    states_.back().node = node;
    return n.state;
}

int32_t JsonStrings::free(uint8_t decoder, uint64_t count) {
    if (decoder == StringDecoder::kStuck || count + StringDecoder::owed(escapes_, decoder) > max_) return kDead;
    if (decoder == StringDecoder::kEnd) return count < min_ ? kDead : at({State::kEnd});
    if (max_ == kNoMaximum) count = std::min(count, min_);
    State s{State::kFree};
    s.decoder = decoder;
    s.count = count;
    return at(s);
}

int32_t JsonStrings::step(uint32_t id, uint8_t byte) {
    const State s = states_[id];
    switch (s.kind) {
        case State::kStart:
            if (byte != '"' || empty_) return kDead;
            return !values_ ? listed(0) : value(counted_values_ ? count(counted_values_->start()) : 0, StringDecoder::kBoundary, {});
        case State::kEnd: return kDead;
        case State::kFree: {
            uint8_t to = StringDecoder::decode(escapes_, s.decoder, byte);
            return to == StringDecoder::kStuck ? kDead : free(to, s.count + StringDecoder::completes(escapes_, s.decoder, to));
        }
        case State::kListed: {
            const Node& n = with_children(s.node);  // SAFETY: until other nodes are asked for their children
            const auto child_of = [&](uint8_t c) {
                auto child = std::lower_bound(nodes_.begin() + n.children, nodes_.begin() + n.end, c,
                                              [](const Node& x, uint32_t b) { return x.c < b; });
                return child != nodes_.begin() + n.end && child->c == c ? uint32_t(child - nodes_.begin()) : 0;
            };
            if (verbatim_) {
                const uint32_t child = child_of(byte);
                return child ? listed(child) : kDead;
            }
            if (s.length == 0 && byte == '"') {
                bool fits = negated_ ? !is_value(n) && n.characters >= min_ && n.characters <= max_ : is_value(n);
                return fits ? at({State::kEnd}) : kDead;
            }
            State next = s;
            next.partial[next.length++] = char(byte);  // the longest spelling has 12 bytes
            bool part = false;
            if (s.length == 0 && byte < 0x80) {
                for (uint32_t c = n.children; byte == '\\' && !part && c < n.end; c++)
                    part = spells(escapes_, is_narrow(), nodes_[c].c, next.spelling()) == Match::kPart;
                const uint32_t child = part ? 0 : child_of(byte);
                if (child && can_be_raw(byte)) return listed(child);
            } else {
                for (uint32_t child = n.children; child < n.end; child++) {
                    Match m = spells(escapes_, is_narrow(), nodes_[child].c, next.spelling());
                    if (m == Match::kAll) return listed(child);
                    part |= m == Match::kPart;
                }
            }
            if (part) return n.characters + 1 <= max_ ? at(next) : kDead;
            if (!negated_) return kDead;
            uint8_t d = StringDecoder::kBoundary;
            uint64_t count = n.characters;
            for (char b : next.spelling()) {
                uint8_t to = StringDecoder::decode(escapes_, d, uint8_t(b));
                if (to == StringDecoder::kStuck) return kDead;
                count += StringDecoder::completes(escapes_, d, to);
                d = to;
            }
            return free(d, count);
        }
        case State::kValue: {
            if (!is_raw(s.decoder)) return step_value(s, byte);
            // PERF: a first visit asks for all 256 bytes, of which few kinds differ here.
            if (rows_.size() <= id) rows_.resize(states_.size());
            if (rows_[id].empty()) rows_[id].assign(num_kinds_, kUnknown);
            int32_t& known = rows_[id][kinds_[byte]];  // SAFETY: step_value() makes states, no rows
            if (known == kUnknown) known = step_value(s, byte);
            return known;
        }
    }
    return kDead;
}

bool JsonStrings::on_list(uint32_t id, ByteSet& bytes) {
    const State& s = states_[id];
    bytes = {};
    if (s.kind == State::kStart && !empty_ && !(negated_ && list_.empty())) {
        bytes.set('"');
        return true;
    }
    if (s.kind != State::kListed || (verbatim_ && is_value(nodes_[s.node]))) return false;
    const Node& n = with_children(s.node);
    if (verbatim_) {
        for (uint32_t child = n.children; child < n.end; child++) bytes.set(uint8_t(nodes_[child].c));
        return true;
    }
    if (s.length == 0) bytes.set('"');
    for (uint32_t child = n.children; child < n.end; child++) {
        const uint32_t c = nodes_[child].c;
        const bool raw = s.length == 0 || s.partial[0] != '\\';
        if (raw && can_be_raw(c)) {
            const std::string spelling = utf8(c);
            if (spelling.size() > s.length && spelling.compare(0, s.length, s.spelling()) == 0) bytes.set(uint8_t(spelling[s.length]));
        }
        if (s.length && raw) continue;
        if (is_narrow() && c == '/') continue;
        if (s.length == 1) {
            const auto place = size_t(std::find(kShortMeanings.begin(), kShortMeanings.end(), c) - kShortMeanings.begin());
            if (place < kShortMeanings.size()) bytes.set(uint8_t(kShortEscapes[place]));
        }
        if (s.length && spells(escapes_, is_narrow(), c, s.spelling()) != Match::kPart) continue;
        if (!has_long_escape(escapes_, c) && (s.length || !has_short_escape(c))) continue;
        const char next = escape_at(c, s.length);
        bytes.set(uint8_t(next));
        if (!is_narrow() && s.length % 6 > 1 && next >= 'a') bytes.set(uint8_t(next - 32));
    }
    return true;
}

int32_t JsonStrings::off_list(uint32_t id) {
    const State s = states_[id];
    if (!negated_) return kDead;
    if (s.kind == State::kStart) return free(StringDecoder::kBefore, 0);
    uint8_t d = StringDecoder::kBoundary;
    uint64_t count = nodes_[s.node].characters;
    for (char b : s.spelling()) {
        uint8_t to = StringDecoder::decode(escapes_, d, uint8_t(b));
        count += StringDecoder::completes(escapes_, d, to);
        d = to;
    }
    return free(d, count);
}

bool JsonStrings::is_free(uint32_t id, Free& out) const {
    const State& s = states_[id];
    if (s.kind == State::kEnd) {
        out = {StringDecoder::kEnd, 0, kNoMaximum};
        return true;
    }
    if (s.kind == State::kStart && negated_ && list_.empty() && !empty_) {
        out = {StringDecoder::kBefore, min_, max_};
        return true;
    }
    if (s.kind != State::kFree) return false;
    out = {s.decoder, s.count < min_ ? min_ - s.count : 0, max_ == kNoMaximum ? kNoMaximum : max_ - s.count};
    return true;
}

std::optional<std::pair<uint64_t, uint64_t>> JsonStrings::counted(uint32_t state) const {
    Free free;
    if (!is_free(state, free) || free.decoder != StringDecoder::kBoundary) return std::nullopt;
    return std::pair{free.need, free.room};
}

const std::string* JsonStrings::text_of_any_string(uint32_t state, uint64_t bytes) const {
    Free free;
    if (!is_free(state, free) || free.need > 0) return nullptr;
    // A text of so many bytes begins no more characters than that, and the one before it may not be complete.
    if (free.room != kNoMaximum && (free.room < 2 || free.room - 2 < bytes)) return nullptr;
    return &StringDecoder::example(escapes_, free.decoder);
}

std::string JsonStrings::state_key(uint32_t state, uint64_t longest) const {
    Free free;
    if (!is_free(state, free)) return counted_key(state, longest);
    std::string key{char(escapes_), char(free.decoder)};
    for (uint64_t n : {std::min(free.need, longest), std::min(free.room, longest)}) key.append(reinterpret_cast<const char*>(&n), sizeof n);
    return key;
}

bool JsonStrings::has_more_values(uint32_t id, uint64_t n) {
    constexpr uint64_t kCharacters = 1'000'000;  // there are more
    const State s = states_[id];
    switch (s.kind) {
        case State::kFree: {
            const uint64_t least = s.count + StringDecoder::owed(escapes_, s.decoder);
            return n < kCharacters && least < max_;
        }
        case State::kListed: {
            const Node& node = nodes_[s.node];
            // The character behind the next one is any but those that the list goes on with.
            if (negated_) return n + list_.size() < kCharacters && node.characters + 1 < max_;
            return s.length == 0 && node.last - node.first > n;
        }
        case State::kValue: return value_has_more(s, n);
        default: return false;
    }
}

bool JsonStrings::always_has_more_values(uint32_t id, uint64_t n, uint64_t bytes) {
    constexpr uint64_t kMargin = 4;  // characters in progress, or owed
    const State& s = states_[id];
    const auto is_far = [&](uint64_t characters) { return max_ == kNoMaximum || (bytes < max_ && characters + kMargin < max_ - bytes); };
    switch (s.kind) {
        case State::kFree: return is_far(s.count) && has_more_values(id, n);
        case State::kListed: return negated_ && is_far(nodes_[s.node].characters) && has_more_values(id, n);
        case State::kValue: return !(s.node & uint32_t(kCounted)) && always_has_more_accepted(int32_t(s.node), n);
        default: return false;
    }
}

Dfa JsonStrings::to_dfa(uint64_t max_states) {
    Dfa d;
    for (int b = 0; b < 256; b++) d.classes[size_t(b)] = uint8_t(b);
    d.num_classes = 256;
    if (!empty_)
        for (uint32_t s = 0; s < states_.size(); s++) {
            work(500);
            if (s >= max_states)
                throw LimitExceeded("max_dfa_states", s + 1, max_states, "a list of strings, or a bound on a string's length");
            for (int b = 0; b < 256; b++) d.table.push_back(step(s, uint8_t(b)));
            d.accepting.push_back(accepts(s));
            d.condition.push_back(0);
        }
    d.minimize();
    return d;
}

}  // namespace derivable
