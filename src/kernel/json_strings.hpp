// JSON string literals as an automaton given by rule, not by table: states come into being when a text reaches them.
//
// The language is all literals (RFC 8259, quotes included, in every spelling: raw UTF-8 or any escape) whose value is one of a
// list, or is none of a list and has a number of characters within bounds. A table for a list of ten thousand names, each
// character of which may be spelled in five ways, or for a length of up to a hundred thousand, would take up to gigabytes; here a
// state is a node of the list's trie with a piece of a spelling, or a state of the decoder below with a count.
//
// The decoder reads one character after the other. A surrogate pair of escapes is one character, a lone surrogate escape is one, too:
// so after a high surrogate the decoder remembers it.
#pragma once

#include <memory>

#include "dfa.hpp"

namespace derivable {

class JsonStrings {
  public:
    static constexpr uint64_t kNoMaximum = ~0ULL;

    // `values`: UTF-8. `negated`: every literal with another value and min to max characters; otherwise exactly those values, and
    // min and max mean nothing.
    JsonStrings(const std::vector<std::string>& values, bool negated, uint64_t min, uint64_t max);

    // States are numbered from 0, the start, as they are met. Every state can reach acceptance.
    int32_t step(uint32_t state, uint8_t byte);  // kDead if there is no way
    bool accepts(uint32_t state) const { return states_[state].kind == State::kEnd; }
    bool is_empty() const { return empty_; }
    // Equal for equal arguments.
    const std::string& key() const { return key_; }
    // As a table; throws LimitExceeded.
    Dfa to_dfa(uint64_t max_states);

    // What a state outside the list has to do with the literals of any value at all.
    struct Free {
        uint8_t decoder;
        uint64_t need, room;  // characters that must, and that may, still come
    };
    // False within the list.
    bool is_free(uint32_t state, Free& out) const;

    // Before and within the list: the state acts as `like` (kDead: it leads nowhere), but for `bytes`. False beyond it.
    bool beside(uint32_t state, int32_t& like, std::vector<uint8_t>& bytes);

    // The decoder. Counting starts at 0 with the first character.
    static constexpr uint8_t kBefore = 0, kBoundary = 1, kEnd = 2, kStuck = 0xFF;
    static uint8_t decode(uint8_t state, uint8_t byte);
    // The step completes a character.
    static bool completes(uint8_t from, uint8_t to);
    // Characters, beyond those completed, that must come before the literal can end.
    static uint32_t owed(uint8_t decoder);
    // A text that leads to a decoder state from the start of a literal.
    static const std::string& example(uint8_t decoder);
    static uint8_t num_decoder_states();

  private:
    struct State {
        enum Kind : uint8_t { kStart, kListed, kFree, kEnd } kind;
        uint8_t decoder = 0;             // kFree
        uint8_t length = 0;              // kListed: of `partial`
        std::array<char, 12> partial{};  // kListed: the beginning of the next character's spelling
        uint32_t node = 0;               // kListed
        uint64_t count = 0;              // kFree: characters completed, where they matter
        std::string_view spelling() const { return {partial.data(), length}; }
        bool operator==(const State& o) const {
            return kind == o.kind && decoder == o.decoder && node == o.node && count == o.count && spelling() == o.spelling();
        }
    };
    struct StateHash {
        size_t operator()(const State& s) const {
            uint64_t h = mix(s.count * 8 + s.kind + (uint64_t(s.decoder) << 40)) ^ mix(pack(s.node, s.length) + 1);
            return s.length ? h ^ std::hash<std::string_view>()(s.spelling()) : h;
        }
    };
    struct Node {
        std::vector<std::pair<uint32_t, uint32_t>> children;  // (code point, node), by code point once sorted
        uint32_t depth;
        bool is_value;
    };
    int32_t at(const State& state);
    int32_t listed(uint32_t node);
    int32_t free(uint8_t decoder, uint64_t count);
    bool alive(uint32_t node) const;

    std::vector<Node> nodes_;
    bool negated_, empty_ = false;
    uint64_t min_, max_;
    std::string key_;
    std::vector<State> states_;
    std::unordered_map<State, int32_t, StateHash> ids_;
};

}  // namespace derivable
