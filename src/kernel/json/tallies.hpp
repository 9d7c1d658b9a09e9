// Tallies: which keys the open objects have had, where keys come in any order; and how many items the open arrays.
//
// That is not a matter of rules: n keys have 2^n subsets, and n items are n states of the parser. So it is part of the matcher's state.
// A grammar gives some terminals a *role*: they open or close an object, are one of its keys, or the comma between members. From the
// opening on there is a tally, the keys so far (*marks*, numbers that stand for names) and how many other members; a key, a comma or a
// closing is refused where the tally says so. What an object asks of its keys together is its *membership*. Nothing is begun that cannot
// be completed. Of an array the commas are counted, as other members are.
//
// Tallies are interned: equal ones have equal ids. Adding a mark costs two look-ups; which marks a set holds is written out when it is
// asked for, for a mask tries every key that may come, and few are taken.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "support/arena.hpp"
#include "support/hashing.hpp"
#include "support/ids.hpp"
#include "support/packed.hpp"

namespace derivable {

// What the members of an object must be, together.
struct Membership {
    static constexpr uint64_t kNoMaximum = ~0ULL;
    std::vector<uint32_t> keys;           // marks it may have, in the order of the schema's text
    std::vector<uint32_t> required;       // of these
    uint64_t low = 0, high = kNoMaximum;  // members
    bool others = false;                  // any number of members with other keys
    // Of each clause one literal holds: the mark is there, or it is not. SAFETY: `low` is 0 where there are clauses and a maximum, and
    // without a maximum each has a literal that a mark is there; with one they are Horn clauses. Else what completable() says is not exact.
    std::vector<std::vector<std::pair<uint32_t, bool>>> clauses;
};

// What a terminal does to the tally.
struct TallyRole {
    enum Kind : uint8_t { kNone, kOpen, kKey, kOther, kComma, kClose } kind = kNone;
    static constexpr uint32_t kFree = ~0u;
    uint32_t membership = kFree;  // of a key, kFree: all that is asked is that the object has not had it
    uint32_t mark = 0;            // of a key
};

struct TallySpec {
    std::vector<Membership> memberships;
    std::vector<std::pair<uint32_t, TallyRole>> roles;  // of terminal symbols
    bool ordered = false;                               // where a text is forced, keys come in the order of the memberships
};

class Tallies {
  public:
    using Id = uint32_t;
    static constexpr Id kInitial = 0;  // no object is open

    explicit Tallies(TallySpec spec);

    bool active() const { return !roles_.empty(); }
    bool ordered() const { return ordered_; }
    // The terminal has a role; it may be refused.
    bool counts(uint32_t symbol) const { return role(symbol).kind != TallyRole::kNone; }
    bool asks(uint32_t symbol) const { return symbol < roles_.size() && asks_[symbol]; }
    // Whether the terminal may stand here; `forced`: and would be written where the order is free.
    bool allows(uint32_t symbol, Id id, bool forced);
    Id after(uint32_t symbol, Id id);
    // Objects that are open. This and held() where it is active only.
    uint32_t depth(Id id) const { return tallies_[id].depth; }
    // What the innermost one has had: a number that is equal for equal sets. All that allows() looks at.
    uint32_t held(Id id) const { return tallies_[id].held; }
    // The same, but one for all sets without marks that no token tells apart, for their bounds are far; and one tally for all of which that is so, at each
    // depth. PERF: behind each item of an array with `maxItems` masks were new, 5 to 7 us each.
    uint32_t alike_held(uint32_t held);
    Id alike(Id id);
    // One token counts so many members at most. To be told before either is asked for.
    void set_most_at_once(uint64_t most) { most_at_once_ = most; }
    template <class Visit>
    void each_counting(Visit visit) const {  // terminals
        for (uint32_t s = 0; s < roles_.size(); s++)
            if (roles_[s].kind == TallyRole::kOther) visit(s);
    }

    // What the innermost object, or array, must still have by the membership of a terminal of its members: keys, and at least so many members in all.
    // Empty where the terminal has none. What clauses ask for is not told.
    struct Missing {
        std::vector<uint32_t> marks;
        uint64_t members = 0;
    };
    Missing missing(uint32_t symbol, Id id);
    bool opens(uint32_t symbol) const { return role(symbol).kind == TallyRole::kOpen; }
    const std::vector<Membership>& memberships() const { return memberships_; }
    bool closes(uint32_t symbol) const { return role(symbol).kind == TallyRole::kClose; }
    // The terminal is a key that some object cannot do without.
    bool is_needed_key(uint32_t symbol) const;
    template <class Visit>
    void each_key(Visit visit) const {  // terminals and their marks
        for (uint32_t s = 0; s < roles_.size(); s++)
            if (roles_[s].kind == TallyRole::kKey) visit(s, roles_[s].mark);
    }

    // What the open objects have had, by content; and back, BadState.
    void write(PackedWriter& out, Id id);
    Id read(PackedReader& in);

    bool wants_collection() const { return num_tallies_ + num_sets_ > collect_at_; }
    void want_collection() { collect_at_ = 1; }
    // Before begin_collection() lets ids, and `held`, be used again for others.
    Renumbering& numbers() { return numbers_; }
    // Forgets all but those marked since begin_collection(), which keep their ids.
    void begin_collection();
    void mark(Id id);
    void finish_collection();

  private:
    static constexpr uint32_t kNotAsked = ~0u;
    uint64_t most_others() const;
    uint32_t read_set(PackedReader& in, uint32_t bound);
    struct Tally {
        Id below = kInitial;
        uint32_t held = 0, depth = 0;
        bool is_marked = false;
        Id alike = kNotAsked;
    };
    struct Set {
        uint32_t from = 0, mark = 0;   // the set that it was made of, and what came to it
        uint32_t size = 0, extra = 0;  // marks, and members without one
        uint64_t hash = 0;             // of the marks
        bool is_written = false, is_marked = false;
        std::vector<uint64_t> words;  // if it is written: a bit for each mark
        uint32_t alike = kNotAsked;
        bool has(uint32_t mark) const { return mark / 64 < words.size() && (words[mark / 64] >> (mark % 64) & 1); }
        void put(uint32_t mark) {
            if (words.size() <= mark / 64) words.resize(mark / 64 + 1);
            words[mark / 64] |= 1ULL << (mark % 64);
        }
    };
    // Where the order of a membership's keys stands.
    struct Turn {
        bool is_known = false;
        uint32_t after = 0, last = 0, missing = ~0u;  // places: those from `after` to `last`, and perhaps one before
    };
    const TallyRole& role(uint32_t symbol) const {
        static constexpr TallyRole none{};
        return symbol < roles_.size() ? roles_[symbol] : none;
    }
    const Set& written(uint32_t held);
    uint32_t with(uint32_t held, uint32_t mark);
    uint32_t with_another(uint32_t held, uint64_t most);
    uint32_t find_set(Set set);
    bool same(uint32_t a, uint32_t b);
    uint64_t key_of(const Set& s) const { return s.hash ^ mix(~uint64_t(s.extra)); }
    Id find(Id below, uint32_t held);
    bool judge(const TallyRole& r, uint32_t held, bool forced);
    bool depends_on_members(const TallyRole& r) const;
    bool completable(uint32_t membership, const Set& set, uint64_t more, uint32_t mark);
    bool complete(const Membership& m, const Set& set) const;
    bool is_its_turn(uint32_t membership, uint32_t mark, uint32_t held);
    bool any_key(const TallyRole& comma, uint32_t held, bool forced);

    std::vector<Membership> memberships_;
    std::vector<std::vector<uint64_t>> required_;  // of each membership, a bit for each mark
    std::vector<TallyRole> roles_;                 // by terminal symbol
    std::vector<char> asks_;                       // likewise
    std::vector<uint64_t> changes_;                // numbers of members, sorted, at which some answer changes
    uint64_t told_apart_ = 0;                      // numbers up to this are never taken for others
    uint64_t most_counted_ = 0;                    // where there are no keys: the largest that matters to some membership
    uint64_t most_at_once_ = ~0ULL;
    bool ordered_;
    Pages<Tally> tallies_;
    Pages<Set> sets_;
    uint32_t num_tallies_ = 0, num_sets_ = 0;
    std::vector<uint32_t> unused_tallies_, unused_sets_;
    FlatMap<Id> ids_;            // by tally below and set
    FlatMap<uint32_t> by_hash_;  // sets and one
    FlatMap<uint32_t> with_;     // by set and mark
    FlatMap<uint8_t> verdicts_;  // by terminal symbol and set
    FlatMap<uint32_t> places_;   // in a membership's order, by it and the mark
    FlatMap<Turn> turns_;        // by membership and set
    FlatMap<uint32_t> like_;     // of changes_, so many before: the first set that was asked for; and one
    FlatMap<Id> alike_;          // by tally below and set, both such: the first that was asked for; and one
    static constexpr uint32_t kCollectAt = 1u << 17;
    uint32_t collect_at_ = kCollectAt;
    Renumbering numbers_;
};

}  // namespace derivable
