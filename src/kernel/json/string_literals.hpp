// JSON string literals as an automaton given by rule, not by table: states come into being when a text reaches them.
//
// The language is all literals (RFC 8259, quotes included, in every spelling: raw UTF-8 or any escape) whose value is one of a
// list, or is none of a list and has a number of characters within bounds. A table for a list of ten thousand names, each
// character of which may be spelled in five ways, or for a length of up to a hundred thousand, would take up to gigabytes; here a
// state is a node of the list's trie with a piece of a spelling, or a state of the decoder below with a count.
//
// The decoder reads one character after the other. A surrogate pair of escapes is one character, a lone surrogate escape is one, too:
// so after a high surrogate the decoder remembers it.
//
// A list may also be taken *verbatim*: its texts as they are, without quotes and escapes. So long literals and long lists of words are
// states by rule, too: a table has a row of all byte classes for each of their bytes (a megabyte: 500 MB, and 3.5 s to the first mask).
//
// Literals may also be spelled *plainly* only: characters as they stand where they can, or by a short escape; as \uXXXX those that JSON
// encoders write so (control characters, and what is not ASCII), and surrogates in pairs only. The decoder knows both languages. Values of a
// list are then spelled more narrowly yet, so that little is left to choose: no \/ and no capital digits.
//
// Values may also be given as an automaton over characters (a pattern). Its literals take several times as many states, most of them
// for the digits of escapes; here a state is one of the automaton with one of the decoder and the digits so far.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automata/dfa.hpp"
#include "automata/k_equivalence.hpp"
#include "automata/shortest_rests.hpp"
#include "json/counted_values.hpp"
#include "json/string_decoder.hpp"
#include "support/byte_set.hpp"
#include "support/hashing.hpp"
#include "support/packed.hpp"

namespace derivable {

class JsonStrings {
  public:
    static constexpr uint64_t kNoMaximum = ~0ULL;

    // `values`: UTF-8. `negated`: every literal with another value and min to max characters; otherwise exactly those values, and
    // min and max mean nothing.
    JsonStrings(std::vector<std::string> values, bool negated, uint64_t min, uint64_t max, Escapes escapes = Escapes::kAny);

    // Exactly these texts, verbatim.
    static JsonStrings verbatim(std::vector<std::string> texts);

    // Exactly the literals whose values the automaton accepts, a lone surrogate as three bytes, and that have `max` characters at most. No
    // conditions.
    JsonStrings(const Dfa& values, uint64_t max_states, uint64_t max = kNoMaximum, Escapes escapes = Escapes::kAny);

    // States are numbered from 0, the start, as they are met. Every state can reach acceptance.
    int32_t step(uint32_t state, uint8_t byte);                       // kDead if there is no way
    uint32_t num_states() const { return uint32_t(states_.size()); }  // so far
    bool accepts(uint32_t state) const {
        const State& s = states_[state];
        return s.kind == State::kEnd || (verbatim_ && s.kind == State::kListed && is_value(nodes_[s.node]));
    }
    bool is_empty() const { return empty_; }
    // Equal for equal arguments.
    const std::string& key() const { return key_; }
    // As a table; throws LimitExceeded.
    Dfa to_dfa(uint64_t max_states);

    // The automaton it was made of, if any. Values that have no literal may be left in it where that changes nothing.
    const std::shared_ptr<const Dfa>& values() const { return values_; }
    Escapes escapes() const { return escapes_; }
    uint64_t max_length() const { return max_; }
    bool is_bounded() const { return max_ != kNoMaximum; }  // none can go on for ever
    // Outside a list: equal for states that act alike on texts of `longest` bytes, as long as this or a copy lives. Empty: not known.
    std::string state_key(uint32_t state, uint64_t longest) const;

    // The same literals without a bound on their length, if they are given by an automaton.
    JsonStrings without_bound() const { return {values_, kNoMaximum, escapes_}; }
    // The state of this one, which is the other's without_bound(), that acts as the other's does, but for the bound, on all texts of so many
    // bytes: one for as many of its states as are known to be alike. kDead: none is known.
    int32_t acting_as(const JsonStrings& other, uint32_t state, uint64_t bytes);
    // Within values of an automaton: some text of so many bytes may be cut off by the bound. True in doubt.
    bool meets_bound(uint32_t state, uint64_t bytes) const;
    // How characters are counted beside an automaton; null if they are not.
    const std::shared_ptr<const CountedValues>& counted_values() const { return counted_values_; }
    // In values of an automaton, without a count.
    bool is_between_characters(uint32_t state) const {
        const State& s = states_[state];
        return s.kind == State::kValue && s.decoder == StringDecoder::kBoundary && !(s.node & uint32_t(kCounted));
    }
    // Bytes of one kind act alike in the state, by byte; null: that is not known.
    const std::array<uint8_t, 256>* kinds(uint32_t state) const;
    // Of a state between or within characters as they stand that counts them, where it is; and the state that is there between two.
    std::optional<CountedValues::Place> place(uint32_t state) const;
    int32_t between_characters(const CountedValues::Place& place) { return value(count(place), StringDecoder::kBoundary, {}); }

    // A state by what it is, not by its number; and back, BadState.
    void write(PackedWriter& out, uint32_t state) const;
    uint32_t read(PackedReader& in);

    // What a state outside the list has to do with the literals of any value at all.
    struct Free {
        uint8_t decoder;
        uint64_t need, room;  // characters that must, and that may, still come
    };
    // False within the list.
    bool is_free(uint32_t state, Free& out) const;
    // Between two of its characters: how many must and may still come.
    std::optional<std::pair<uint64_t, uint64_t>> counted(uint32_t state) const;
    // Behind this text any string acts as the state does, at least on texts of so many bytes. Null: it does not.
    const std::string* text_of_any_string(uint32_t state, uint64_t bytes = ~0ULL) const;

    // A text that completes a literal from this state on, a shortest one as a rule; `filler`: for characters of which any will do. None where that is not
    // easily told. It may be refused: by a bound, or where the character in progress must be another.
    std::optional<std::string> shortest_rest(uint32_t state, uint8_t filler);

    // From each state some text of so many bytes completes a literal.
    uint64_t longest_rest();
    // Bytes with which they begin, and with which they end.
    std::pair<ByteSet, ByteSet> outer_bytes() const;

    // More than n different values may still be spelled. False in doubt, which is rare.
    bool has_more_values(uint32_t state, uint64_t n);
    // So many may, of a list. None: it is not known.
    std::optional<uint64_t> num_values(uint32_t state) const {
        const State& s = states_[state];
        if (s.kind != State::kListed || negated_ || verbatim_ || s.length) return std::nullopt;
        return nodes_[s.node].last - nodes_[s.node].first;
    }
    // More than n in this state of a literal in progress, and after any text of at most so many bytes that does not end it. False in doubt.
    bool always_has_more_values(uint32_t state, uint64_t n, uint64_t bytes);

    // Two states, between or within characters of an automaton's values, act alike on all texts of fewer bytes than this. 0: not known.
    uint64_t alike_for(uint32_t state, uint32_t other);

    // Before and within the list: the bytes with which the text goes on in it, or ends. With all others the state acts as off_list(). False
    // beyond the list, and where a text of a verbatim one may end.
    bool on_list(uint32_t state, ByteSet& bytes);
    int32_t off_list(uint32_t state);  // kDead: they lead nowhere
    bool only_listed(uint32_t state, ByteSet& bytes) { return on_list(state, bytes) && off_list(state) < 0; }

  private:
    JsonStrings(std::shared_ptr<const Dfa> values, uint64_t max, Escapes escapes);

    struct State {
        enum Kind : uint8_t { kStart, kListed, kFree, kValue, kEnd } kind;
        uint8_t decoder = 0;             // kFree, kValue
        uint8_t length = 0;              // kListed: of `partial`
        std::array<char, 12> partial{};  // kListed: the beginning of the next character's spelling
        uint32_t node = 0;               // kListed; kValue: see value()
        uint64_t count = 0;              // kFree: characters completed, where they matter; kValue: see Escape
        std::string_view spelling() const { return {partial.data(), length}; }
        uint64_t hash() const {
            const uint64_t h = mix(count * 8 + kind + (uint64_t(decoder) << 40)) ^ mix(pack(node, length) + 1);
            return length ? h ^ std::hash<std::string_view>()(spelling()) : h;
        }
        bool operator==(const State& o) const {
            return kind == o.kind && decoder == o.decoder && node == o.node && count == o.count && spelling() == o.spelling();
        }
    };
    std::string counted_key(uint32_t state, uint64_t longest) const;  // of one whose characters are counted beside an automaton
    static constexpr int32_t kUnknown = -3;
    // Of the trie of the list: the values from `first` to `last` begin with the same text. PERF: made when another text gets there; it does
    // to few of the names of a schema.
    struct Node {
        uint32_t first, last, bytes, characters;
        uint32_t c;                      // the last character
        uint32_t children = 0, end = 0;  // nodes, by ascending character
        int32_t state = kUnknown;        // between characters
    };
    bool is_narrow() const { return escapes_ == Escapes::kPlain && !negated_; }
    bool is_value(const Node& n) const { return n.first < n.last && list_[n.first].size() == n.bytes; }
    bool goes_on(const Node& n) const { return n.first < n.last && list_[n.last - 1].size() > n.bytes; }
    const Node& with_children(uint32_t node);
    int32_t at(const State& state);
    int32_t listed(uint32_t node);
    int32_t free(uint8_t decoder, uint64_t count);
    bool alive(uint32_t node) const;
    uint32_t read_listed(PackedReader& in);
    int32_t read_value(PackedReader& in);

    // Values by an automaton. Digits of an escape so far, and the high surrogate before them.
    struct Escape {
        uint32_t digits = 0, high = 0;
    };
    // Code points, lone surrogates among them, in ascending ranges.
    using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;
    // The state of the automaton; with kCounted, the number in counted_ of a place.
    int32_t value(int32_t state, uint8_t decoder, Escape escape);
    static constexpr int32_t kCounted = 1 << 30;
    int32_t count(const CountedValues::Place& place);  // kDead if no value can be completed
    int32_t step_values(int32_t state, uint8_t byte);
    std::optional<std::string> shortest_listed(const State& s, uint8_t filler);
    const ShortestRests& shortest_values();
    bool accepts_value(int32_t state) const { return values_->accepting[automaton_state(state)]; }
    const CountedValues::Place& counted_at(int32_t state) const { return counted_[size_t(state & ~kCounted)]; }
    uint32_t automaton_state(int32_t state) const { return state & kCounted ? counted_at(state).state : uint32_t(state); }
    static constexpr uint32_t kMany = 1u << 16;
    bool has_more_accepted(int32_t state, uint64_t n);
    uint64_t count_accepted(int32_t state, uint64_t enough) const;
    bool value_has_more(const State& s, uint64_t n);
    bool always_has_more_accepted(int32_t state, uint64_t n);
    int32_t after_escape(int32_t state, uint8_t decoder, const Escape& escape);
    const KEquivalence* short_values();  // of the automaton; null: not worthwhile
    int32_t step_value(const State& s, uint8_t byte);
    static bool is_raw(uint8_t decoder);                        // between characters, or within a raw one
    static const std::array<uint8_t, 256>& kinds_to_decoder();  // of bytes wherever is_raw(), by what the decoder does with them
    void find_kinds();
    int32_t after(int32_t state, uint32_t c);  // a character
    bool is_alive(int32_t state, uint8_t decoder, const Escape& escape);
    const Ranges& long_escapes() const;
    bool any_unit(int32_t state, uint32_t low, uint32_t high);  // a character may begin with a 16-bit unit of these
    bool any_pair(int32_t state, uint32_t high, uint32_t low, uint32_t last);
    bool any_character(int32_t state, uint32_t low, uint32_t high);
    const Ranges& tails(int32_t state, uint32_t bytes);  // what so many continuation bytes can add
    const Ranges& characters(int32_t state);
    bool is_anything(uint32_t state);
    bool is_like(const Dfa& all, uint32_t state) const;

    std::shared_ptr<const Dfa> values_;
    std::shared_ptr<const KEquivalence> short_values_;      // if it was asked for
    uint32_t longest_character_ = 4;                        // of the values, in bytes; known with these
    std::shared_ptr<const ShortestRests> shortest_values_;  // if they were asked for
    std::unordered_map<uint64_t, Ranges, MixHash> characters_;
    std::unordered_map<uint32_t, bool> anything_;
    // Bytes of one kind act alike wherever is_raw(). By state and kind, where a state leads to.
    std::array<uint8_t, 256> kinds_{};
    uint32_t num_kinds_ = 0;
    std::vector<std::vector<int32_t>> rows_;
    std::shared_ptr<const CountedValues> counted_values_;  // if there is a bound
    std::vector<CountedValues::Place> counted_;
    FlatMap<uint32_t> counts_;       // by state of values: how many can be spelled (has_more_accepted)
    FlatMap<char> always_many_;      // by the same: 1 no, 2 yes (always_has_more_accepted)
    FlatMap<uint32_t> counted_ids_;  // by characters and state of the automaton: numbers in counted_, and one

    std::vector<std::string> list_;
    std::vector<Node> nodes_;  // none yet where no text got
    Escapes escapes_;
    bool negated_, empty_ = false, verbatim_ = false;
    uint64_t min_, max_;
    std::string key_;
    std::vector<State> states_;
    NumbersByHash ids_;
};

}  // namespace derivable
