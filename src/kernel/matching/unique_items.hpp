// Arrays of distinct items: whether what was written of one can still become a value that the array does not hold yet. json/unique_values.hpp says
// what parses remember of what they have written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "matching/stepper.hpp"
#include "support/hashing.hpp"

namespace derivable {

class UniqueItems {
  public:
    // `most`: steps of a search, after which it is refused (LimitExceeded).
    UniqueItems(Access& access, Stacks& stacks, Stepper& stepper, uint64_t most)
        : access_(access),
          stacks_(stacks),
          stepper_(stepper),
          most_(most) {}

    // Some continuation keeps the items apart.
    bool can_go_on(const Parse& t);
    // One would, if one more value were among them, whichever. As far as is soon told.
    bool can_spare_one(const Parse& t);
    // The same whatever the values are, as long as they are fewer than so many.
    static constexpr size_t kMany = 1u << 16;
    bool can_spare_any(const Parse& t) { return (!t.writing->in_key() && has_many(t, kMany)) || is_endless(t); }
    // Bytes of tokens behind any number of which, in whatever order, some continuation still keeps the items apart, if a mask allows them: all of a string in
    // progress but its end, and white space before what may be any of many values. As far as is soon told.
    Bytes harmless_bytes(const Parse& t);
    // A parse without its writing, with another lexer state perhaps, as part of a key.
    static uint64_t place(LexState lex, const Parse& t) { return mix(pack(lex, t.stack)) ^ mix(t.environment); }
    // The same for parses that differ in what stands below the outermost of the arrays only, where it is known what does. For what is asked of texts
    // along which all parses have one ground.
    uint64_t place_inside(LexState lex, const Parse& t);
    // Of tokens with a comma (matching/repeated_items.cpp), by a key of such a place and what they have from there on.
    bool is_harmless(uint64_t key) const { return harmless_.find(key_of(key)); }
    void note_harmless(uint64_t key) { num_known_++, harmless_[key_of(key)] = true; }
    // Of a mask, by a key of it: tokens with a comma that it holds, by their numbers among Vocabulary::commas. Null: unknown.
    struct Commas {
        std::vector<uint32_t> all;
        uint64_t hash = 0;
    };
    const Commas* commas(uint64_t key) const { return commas_.find(key_of(key)); }
    const Commas& note_commas(uint64_t key, Commas commas) {
        num_known_ += 1 + commas.all.size();
        return commas_[key_of(key)] = std::move(commas);
    }
    // By a place and what is written there but the values: those with a comma that may be refused, by their numbers. Null: unknown.
    const std::vector<uint32_t>* doubtful(uint64_t key) const { return doubtful_.find(key_of(key)); }
    void note_doubtful(uint64_t key, std::vector<uint32_t> commas) {
        num_known_ += 1 + commas.size(), doubtful_[key_of(key)] = std::move(commas);
    }
    // For Stepper::step: `can_go_on`.
    const Stepper::Keep& keep() const { return keep_; }
    // Stack nodes are about to be freed.
    void forget_stacks() {
        known_ = {}, endless_ = {}, blanks_ = {}, harmless_ = {}, futures_ = {}, commas_ = {}, doubtful_ = {}, num_known_ = 0;
    }
    void forget_if_many() {
        if (num_known_ > kMaxRemembered) forget_stacks();
    }

  private:
    static constexpr size_t kMaxRemembered = 1u << 20;  // answers
    struct Place {
        Parse parse;
        uint64_t key;
        size_t from;
    };
    struct Keys {
        uint64_t inside, all;  // of place_inside(), if nothing looked further, and of place()
    };
    Keys keys_of(const Parse& t);
    static const char* find(const FlatMap<char>& known, const Keys& keys) {
        const char* found = known.find(keys.inside);
        return found ? found : known.find(keys.all);
    }
    static uint64_t key_of(uint64_t key) { return key == FlatMap<char>::kNoKey ? 0 : key; }
    static uint64_t key_of(const Parse& t) { return key_of(mix(t.writing->key() ^ place(t.lex, t))); }
    bool is_sure(const Parse& t);
    bool has_many(const Parse& t, size_t values);
    bool is_endless(const Parse& t);
    bool is_endless_behind_blanks(const Parse& t);
    bool is_endless_behind_blanks(const Parse& t, bool& is_inside);
    bool search(const Parse& t, std::vector<Place>& places, bool plain);
    template <class Visit>
    void each_likely_byte(const Parses& from, bool plain, Visit visit);

    Access& access_;
    Stacks& stacks_;
    Stepper& stepper_;
    const uint64_t most_;
    const Stepper::Keep keep_ = [this](const Parse& t) { return can_go_on(t); };
    void note(uint64_t key, bool alive);
    // By lexer state, frontier, environment, writing. PERF: a table that moved as a whole was a mask of 51 ms behind 646 numbers.
    FlatMap<char> known_;
    FlatMap<char> endless_;      // by place_inside() or place(), and the shape of what is written
    FlatMap<char> blanks_;       // the same behind any white space
    FlatMap<uint64_t> futures_;  // by stack and ground, down to that
    static constexpr uint64_t kNotTold = 0;
    FlatMap<char> harmless_;  // by their own keys: there or not
    FlatMap<Commas> commas_;
    FlatMap<std::vector<uint32_t>> doubtful_;
    size_t num_known_ = 0;  // at most
    std::vector<uint64_t> words_;
    std::vector<int> looked_;
};

}  // namespace derivable
