// What was found out about dead ends, written down and read again.
#include <algorithm>

#include "liveness/liveness.hpp"
#include "support/image.hpp"

namespace derivable {

namespace {

void put_bits(ImageWriter& out, const Bits& bits) {
    for (uint64_t word : bits.words()) out.put(uint32_t(word)), out.put(uint32_t(word >> 32));
}

Bits read_bits(ImageReader& in, size_t size) {
    Bits bits(size);
    for (uint32_t at = 0; at < bits.words().size() * 64; at += 32)
        for (uint32_t word = in.next(); word; word &= word - 1) {
            const uint32_t i = at + uint32_t(__builtin_ctz(word));
            ImageReader::check(i < size);
            bits.add(i);
        }
    return bits;
}

template <class Map>
auto sorted(const Map& map) {
    std::vector<std::pair<typename Map::key_type, typename Map::mapped_type>> all(map.begin(), map.end());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return all;
}

}  // namespace

void Spelling::save(ImageWriter& out) const {
    out.put(recurrents_.size());
    for (const Recurrent& r : recurrents_) {
        out.put(r.obligations.index());
        put_bits(out, r.unconditional);
        put_bits(out, r.into_main);
        out.put(r.reached_from.size());
        for (const auto& [from, reached] : sorted(r.reached_from)) out.put(from.index()), out.put(reached);
        out.put(r.ways_in.size());
        for (const auto& [past, bytes] : sorted(r.ways_in)) {
            out.put(past);
            out.list({bytes.begin(), bytes.end()});
        }
    }
    out.put(recurrent_of_.size());
    for (const auto& [obligations, recurrent] : sorted(recurrent_of_)) out.put(obligations.index()), out.put(recurrent);
    out.put(!spellable_.words().empty());
    put_bits(out, spellable_);
    out.put(possible_.size());
    for (const auto& [obligations, bits] : sorted(possible_)) {
        out.put(obligations.index());
        put_bits(out, bits);
    }
}

void Spelling::restore(ImageReader& in) {
    const size_t size = ignored_.size(), formulas = lexer_.num_obligations();
    ImageReader::check(recurrents_.empty());
    for (uint32_t n = in.count(); n > 0; n--) {
        Recurrent r{Obligations(in.below(formulas)), read_bits(in, size), read_bits(in, size), {}, {}, {}};
        for (uint32_t k = in.count(2); k > 0; k--) {
            const Obligations from(in.below(formulas));
            r.reached_from[from] = in.below(2);
        }
        for (uint32_t k = in.count(2); k > 0; k--) {
            std::vector<uint8_t>& bytes = r.ways_in[in.next()];
            for (uint32_t i = in.count(); i > 0; i--) bytes.push_back(uint8_t(in.below(256)));
        }
        recurrents_.push_back(std::move(r));
    }
    for (uint32_t n = in.count(2); n > 0; n--) {
        const Obligations obligations(in.below(formulas));
        const uint32_t recurrent = in.next();
        ImageReader::check(recurrent < recurrents_.size() || recurrent == kNoRecurrent);
        recurrent_of_[obligations] = recurrent;
    }
    if (in.below(2)) spellable_ = read_bits(in, size);
    for (uint32_t n = in.count(); n > 0; n--) {
        const Obligations obligations(in.below(formulas));
        possible_[obligations] = read_bits(in, size);
    }
}

void Liveness::save(ImageWriter& out) const {
    spelling_.save(out);
    out.put(always_alive_.size());
    for (const auto& [state, alive] : sorted(always_alive_)) out.put(state.index()), out.put(alive);
    out.put(completions_.size());
    for (const auto& c : completions_) put_bits(out, c->terminals());
}

void Liveness::restore(ImageReader& in) {
    spelling_.restore(in);
    for (uint32_t n = in.count(2); n > 0; n--) {
        const LexState state(in.next());
        ImageReader::check(lexer_.is_state(state));
        always_alive_[state] = in.below(2);
    }
    // PERF: made here and not in masks, where they were 160,000 and 260,000 instructions of 700,000. SAFETY: a file may name any number of sets.
    constexpr uint32_t kMost = 8;
    const size_t size = stacks_.lr().productions().num_terminals() + 1;
    const uint32_t count = in.count();
    for (uint32_t i = 0; i < count; i++)
        if (const Bits terminals = read_bits(in, size); i < kMost) completion(terminals);
}

}  // namespace derivable
