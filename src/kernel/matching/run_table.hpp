// Where parses are led by bytes, each step taken once: runs along many texts lead to the same parses again and again.
//
// PERF: where tokens can be cut in more ways than are worth listing (`"**" root "**" | "*" root "*" | [a-z ]+`) a mask is made byte by byte. The
// 280,000 nodes of llama-3's trie lead to some hundred sets of parses, of which a step takes up to 2 ms: 26 s for a mask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "matching/history.hpp"
#include "support/hashing.hpp"

namespace derivable {

class RunTable {
  public:
    // Parses by how many lexemes have ended inside the token so far.
    using Layers = std::vector<Parses>;
    static constexpr uint32_t kNowhere = ~0u;

    const Layers& operator[](uint32_t place) const { return places_[place]; }
    uint32_t place_of(Layers layers) {
        std::vector<uint32_t> key;
        for (const Parses& parses : layers) {
            key.push_back(uint32_t(parses.size()));
            for (const Parse& t : parses) {
                const auto writing = reinterpret_cast<uintptr_t>(t.writing.get());
                key.insert(key.end(),
                           {t.lex.index(), t.stack.index(), t.environment, uint32_t(writing), uint32_t(uint64_t(writing) >> 32)});
            }
        }
        const uint32_t place = ids_.intern(key);
        if (place == places_.size()) places_.push_back(std::move(layers));
        return place;
    }
    // make(layers): false, or where the byte leads from `place`. `first`: it is a token's first.
    template <class Make>
    uint32_t step(uint32_t place, uint8_t byte, bool first, Make&& make) {
        const uint64_t key = pack(place, byte | uint32_t(first) << 8);
        if (const uint32_t* known = steps_.find(key)) return *known;
        Layers to;
        const uint32_t next = make(places_[place], to) ? place_of(std::move(to)) : kNowhere;
        return steps_[key] = next;
    }
    // Too many for another step to be worth keeping.
    bool is_full() const { return places_.size() > kMost; }
    // All but a path, whose places get new numbers.
    void forget(std::vector<uint32_t>& path) {
        RunTable kept;
        for (uint32_t& place : path)
            if (place != kNowhere) place = kept.place_of(places_[place]);
        std::swap(*this, kept);
    }

  private:
    static constexpr size_t kMost = 20'000;

    std::deque<Layers> places_;
    Interner ids_;
    FlatMap<uint32_t> steps_;
};

}  // namespace derivable
