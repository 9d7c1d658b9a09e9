// Arrays of distinct items: whether what was written of one can still become a value that the array does not hold yet. json/unique_values.hpp says
// what parses remember of what they have written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sequence/stepper.hpp"
#include "sequence/unique_places.hpp"
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
    using Place = UniquePlaces::Place;
    static constexpr uint64_t kNoShape = ~0ULL;  // as Writing::shape(), where nothing is written
    // A parse without its writing, with another lexer state perhaps.
    static Place place(LexState lex, const Parse& t) { return {UniquePlaces::kWhole, {lex.index(), t.stack.index(), t.environment}}; }
    // The same for parses that differ in what stands below the outermost of the arrays only, where it is known what does. For what is asked of texts
    // along which all parses have one ground.
    Place place_inside(LexState lex, const Parse& t);
    uint32_t number(Place place) { return places_.number(std::move(place)); }
    // Of tokens with a comma (masks/repeated_items.cpp), by such a place with what they have from there on.
    bool is_harmless(uint32_t place) const { return harmless_.find(place); }
    void note_harmless(uint32_t place) { num_known_++, harmless_[place] = true; }
    // Of a mask: tokens with a comma that it holds, by their numbers among Vocabulary::commas, as one of the lists of them. Null: unknown.
    const uint32_t* commas(uint32_t mask) const { return commas_.find(mask); }
    uint32_t note_commas(uint32_t mask, std::vector<uint32_t> commas) {
        num_known_ += 1 + commas.size();
        return commas_[mask] = lists_.intern(std::move(commas));
    }
    uint32_t note_list(std::vector<uint32_t> commas) {
        num_known_ += 1 + commas.size();
        return lists_.intern(std::move(commas));
    }
    const std::vector<uint32_t>& list(uint32_t commas) const { return lists_[commas]; }
    // By a place and what is written there but the values: those with a comma that may be refused, by their numbers. Null: unknown.
    const std::vector<uint32_t>* doubtful(uint32_t place) const { return doubtful_.find(place); }
    void note_doubtful(uint32_t place, std::vector<uint32_t> commas) {
        num_known_ += 1 + commas.size(), doubtful_[place] = std::move(commas);
    }
    // For Stepper::step: `can_go_on`.
    const Stepper::Keep& keep() const { return keep_; }
    void forget_if_many() {
        if (num_known_ + places_.size() > kMaxRemembered) forget();
    }

  private:
    void forget() {
        known_ = {}, endless_ = {}, blanks_ = {}, harmless_ = {}, futures_ = {}, commas_ = {}, doubtful_ = {}, num_known_ = 0;
        future_ids_ = {}, lists_ = {}, places_.clear();
    }
    static constexpr size_t kMaxRemembered = 1u << 20;  // answers
    struct Visited {
        Parse parse;
        uint32_t number;  // of its place
        size_t from;
    };
    struct Numbers {
        uint32_t inside, all;  // of place_inside(), if nothing looked further, and of place()
    };
    Numbers shapes_of(const Parse& t);
    static const char* find(const FlatMap<char>& known, const Numbers& numbers) {
        const char* found = known.find(numbers.inside);
        return found ? found : known.find(numbers.all);
    }
    // Of a parse with all that it has written.
    uint32_t number(const Parse& t) { return number(place(t.lex, t).add(t.writing, UniquePlaces::Written::kAll)); }
    bool is_sure(const Parse& t);
    bool has_many(const Parse& t, size_t values);
    bool is_endless(const Parse& t);
    bool is_endless_behind_blanks(const Parse& t);
    bool is_endless_behind_blanks(const Parse& t, bool& is_inside);
    bool search(const Parse& t, std::vector<Visited>& visits, bool plain);
    template <class Visit>
    void each_likely_byte(const Parses& from, bool plain, Visit visit);

    Access& access_;
    Stacks& stacks_;
    Stepper& stepper_;
    const uint64_t most_;
    const Stepper::Keep keep_ = [this](const Parse& t) { return can_go_on(t); };
    void note(uint32_t place, bool alive);
    UniquePlaces places_;
    // By place. PERF: a table that moved as a whole was a mask of 51 ms behind 646 numbers.
    FlatMap<char> known_;
    FlatMap<char> endless_;      // by place_inside() or place(), with the shape of what is written
    FlatMap<char> blanks_;       // the same behind any white space
    FlatMap<uint32_t> futures_;  // by stack and ground, down to that
    static constexpr uint32_t kNotTold = ~0u;
    Interner future_ids_, lists_;
    FlatMap<char> harmless_;  // there or not
    FlatMap<uint32_t> commas_;
    FlatMap<std::vector<uint32_t>> doubtful_;
    size_t num_known_ = 0;  // at most
    std::vector<uint64_t> words_;
    std::vector<int> looked_;
    const Renumbering::Told nodes_{stacks_.nodes(), [this] { forget(); }};
};

}  // namespace derivable
