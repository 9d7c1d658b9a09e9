// States of string literals by what they are, not by their numbers.
#include <algorithm>
#include <string>
#include <utility>

#include "json/codec.hpp"
#include "json/string_literals.hpp"

namespace derivable {

void JsonStrings::write(PackedWriter& out, uint32_t id) const {
    const State& s = states_[id];
    out.put(s.kind);
    switch (s.kind) {
        case State::kStart:
        case State::kEnd: break;
        case State::kFree: out.put(s.decoder), out.put(s.count); break;
        case State::kListed:  // a text of the list, and how much of it
            out.put(nodes_[s.node].first), out.put(nodes_[s.node].bytes);
            out.text(s.spelling());
            break;
        case State::kValue: {
            const auto at = int32_t(s.node);
            out.put(s.decoder), out.put(automaton_state(at)), out.put(s.count >> 32), out.put(uint32_t(s.count));
            if (counted_values_) out.put(counted_at(at).room);
            break;
        }
    }
}

uint32_t JsonStrings::read(PackedReader& in) {
    const auto kind = State::Kind(in.below(State::kEnd + 1));
    int32_t state = kDead;
    switch (kind) {
        case State::kStart: state = verbatim_ ? kDead : 0; break;
        case State::kEnd: state = at({State::kEnd}); break;
        case State::kListed: state = values_ ? kDead : int32_t(read_listed(in)); break;
        case State::kValue: state = values_ ? read_value(in) : kDead; break;
        case State::kFree: {
            const auto decoder = uint8_t(in.below(StringDecoder::kNumDecoders));
            const uint64_t count = in.next();
            in.check((values_ || negated_) && count <= std::max(min_, max_));
            state = free(decoder, count);
            break;
        }
    }
    in.check(state >= 0);
    return uint32_t(state);
}

// Down the trie along a text of the list, then on by the bytes of a spelling.
uint32_t JsonStrings::read_listed(PackedReader& in) {
    const std::string& text = list_[in.below(list_.size())];
    const uint32_t bytes = in.below(text.size() + 1);
    listed(0);  // there is a trie
    uint32_t node = 0;
    while (nodes_[node].bytes < bytes) {
        const Node n = with_children(node);
        const uint32_t c = verbatim_ ? uint8_t(text[n.bytes]) : character_at(text, n.bytes).first;
        node = n.children;
        while (node < n.end && nodes_[node].c != c) node++;
        in.check(node < n.end);
    }
    in.check(nodes_[node].bytes == bytes);
    int32_t state = listed(node);
    for (char byte : in.text()) {
        in.check(state >= 0);
        state = step(uint32_t(state), uint8_t(byte));
    }
    in.check(state >= 0 && states_[size_t(state)].kind == State::kListed);
    return uint32_t(state);
}

int32_t JsonStrings::read_value(PackedReader& in) {
    constexpr uint32_t kUnits = 1u << 16;  // of UTF-16
    const auto decoder = uint8_t(in.below(StringDecoder::kNumDecoders));
    auto state = int32_t(in.below(values_->num_states()));
    const uint32_t high = in.below(kUnits), digits = in.below(kUnits);
    if (counted_values_) {
        const uint64_t room = in.next();
        in.check(room <= max_ && max_ - room <= UINT32_MAX);  // SAFETY: what count() tells places apart by
        state = count({uint32_t(state), room});
    }
    return value(state, decoder, {digits, high});
}

}  // namespace derivable
