// Where parses are led by bytes, each step taken once: runs along many texts lead to the same parses again and again.
//
// PERF: where tokens can be cut in more ways than are worth listing (`"**" root "**" | "*" root "*" | [a-z ]+`) a mask is made byte by byte. The
// 280,000 nodes of llama-3's trie lead to some hundred sets of parses, of which a step takes up to 2 ms: 26 s for a mask.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "sequence/history.hpp"
#include "support/characters.hpp"
#include "support/hashing.hpp"
#include "tokens/trie.hpp"

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
                const auto writing = address_words(t.writing.get()), embedded = address_words(t.embedded.get());
                key.insert(key.end(), {t.lex.index(), t.stack.index(), t.environment, t.ground.index(), t.tokens, writing[0], writing[1],
                                       embedded[0], embedded[1], t.meaning, t.slot});
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
    // Each character that begins with a byte of some kinds (byte_kind) leads back to a place. step(place, byte): where one leads.
    template <class Step>
    bool stays(uint32_t place, uint64_t kinds, Step&& step) {
        if (kinds_.size() <= place) kinds_.resize(place + 1);
        auto leads_back = [&](uint8_t byte) {
            const Utf8State state = character_step(kBetween, byte);
            return state == kNowhereInCharacter || behind(step(place, byte), state, step) == place;
        };
        for (uint64_t unknown = kinds & ~kinds_[place].back; unknown; unknown &= unknown - 1) {
            if (kinds & kinds_[place].away) return false;
            const std::vector<uint8_t>& bytes = bytes_of_kind(uint8_t(__builtin_ctzll(unknown)));
            const bool all = std::all_of(bytes.begin(), bytes.end(), leads_back);
            (all ? kinds_[place].back : kinds_[place].away) |= unknown & -unknown;
        }
        return !(kinds & kinds_[place].away);
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
    static constexpr Utf8State kNowhereInCharacter = derivable::kNowhere;

    // Where all ends of a character lead, from a place in it; kNowhere if they do not lead to one place.
    template <class Step>
    uint32_t behind(uint32_t place, Utf8State state, Step&& step) {
        if (state == kBetween || place == kNowhere) return place;
        const uint64_t key = pack(place, uint32_t(state));
        if (const uint32_t* known = behind_.find(key)) return *known;
        std::optional<uint32_t> all;
        for (uint32_t byte = 0x80; byte < 0xC0; byte++) {
            const Utf8State to = character_step(state, uint8_t(byte));
            if (to == kNowhereInCharacter) continue;
            const uint32_t end = behind(step(place, uint8_t(byte)), to, step);
            if (end == kNowhere || end != all.value_or(end)) return behind_[key] = kNowhere;
            all = end;
        }
        return behind_[key] = all.value_or(kNowhere);
    }

    struct Kinds {
        uint64_t back = 0, away = 0;  // that are known to lead back, and those of which some byte does not
    };
    std::deque<Layers> places_;
    std::vector<Kinds> kinds_;  // by place
    FlatMap<uint32_t> behind_;  // by place and state
    Interner ids_;
    FlatMap<uint32_t> steps_;
};

}  // namespace derivable
