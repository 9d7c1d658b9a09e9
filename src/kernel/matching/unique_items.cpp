#include "matching/unique_items.hpp"

#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

const Stepper::Keep kAny = [](const Parse&) { return true; };

}  // namespace

void UniqueItems::note(uint64_t key, bool alive) {
    num_known_++;
    known_[key] = char(alive);
}

// A string with more values than there are to differ from can become one that is new; so can a number that may have more digits than any of them.
// PERF: numbers were searched for one digit after the other, behind a comma from each that is there: 7 ms a mask of 550 integers, 45 of 2,000.
bool UniqueItems::is_sure(const Parse& t) { return !t.writing || t.writing->safe() || has_many(t, t.writing->rivals()); }

// In an order in which a comma comes last, which is first where the last place is taken; until it is visit(byte) that says so. `plain`: no white space,
// no escapes.
template <class Visit>
void UniqueItems::each_likely_byte(const Parses& from, bool plain, Visit visit) {
    // PERF: in a list of names one byte or a few lead on, and 100 were tried: an array of 30 of 400 names took 9 ms a mask, and now 1.
    const ByteSet likely = stepper_.likely_bytes(stepper_.lexer_states(from));
    const Bytes bytes = plain ? from[0].writing->plain_bytes() : ~Bytes();
    bool ends = false;
    for (const bool before_comma : {false, true})
        likely.each([&](uint8_t b) {
            if (ends || (b <= ',') != before_comma || !bytes[b]) return;
            work(20);
            ends = visit(b);
        });
}

// What is in progress may become one of more values than so many.
bool UniqueItems::has_many(const Parse& t, size_t values) {
    if (t.writing->in_string()) return access_.lexer().has_more_strings(t.lex, values);
    return t.writing->in_digits() && access_.lexer().may_repeat(t.lex, '1');
}

bool UniqueItems::can_spare_one(const Parse& t) {
    return !t.writing || has_many(t, t.writing->rivals() + 1) || begins_endless(t, t.writing->likes() + 1);
}

// A value begins here that may become one of more than so many.
bool UniqueItems::begins_endless(const Parse& t, size_t values) { return t.writing->before_value() && values < kMany && is_endless(t); }

// A value that begins here may hold a string or a number that is one of more than kMany, whatever was written before.
//
// PERF: searched for each text behind which it may stand, masks over 25 us were 1,188 of 130,334 (600 schemas), now 944. Most items are such.
bool UniqueItems::is_endless(const Parse& t) {
    constexpr size_t kMost = 64;  // places
    const uint64_t key = key_of(place(t.lex, t));
    if (const char* known = endless_.find(key)) return *known;
    std::vector<Parse> todo{{t.lex, t.stack, t.environment, Writing::distinct_array({})}};
    std::unordered_set<uint64_t> seen{key_of(todo[0])};
    Parses next;
    bool found = false;
    for (size_t i = 0; i < kMost && !todo.empty() && !found; i++) {
        const Parses from{std::move(todo.back())};
        todo.pop_back();
        each_likely_byte(from, true, [&](uint8_t b) {
            next.clear();
            stepper_.step(from, b, next, &next, kAny);
            for (Parse& to : next) {
                if (!to.writing || to.writing->completed() || !seen.insert(key_of(to)).second) continue;
                found |= has_many(to, kMany);
                todo.push_back(std::move(to));
            }
            return found;
        });
    }
    num_known_++;
    endless_[key] = char(found);
    return found;
}

bool UniqueItems::can_go_on(const Parse& t) {
    if (is_sure(t)) return true;
    if (const char* known = known_.find(key_of(t))) return *known;
    if (begins_endless(t, t.writing->likes())) return true;
    std::vector<Place> places;
    // PERF: there is nearly always a way without escapes and white space, soon found depth first. Objects that begin with a key and one of a list of
    // names took 3.8 ms a mask with all bytes at once, breadth first; now 0.3.
    if (search(t, places, true) || search(t, places, false)) return true;
    for (const Place& p : places) note(p.key, false);
    return false;
}

// Byte by byte, until what is written is safe. `plain`: depth first, with the bytes of plain text only.
//
// SAFETY: every place keeps a writing, and so counts as a try of each byte. Depth first these may grow without end (one more digit of an
// exponent), so that way is soon given up.
bool UniqueItems::search(const Parse& t, std::vector<Place>& places, bool plain) {
    const uint64_t allowed = plain ? most_ / 64 : most_;
    places.assign(1, {t, key_of(t), 0});
    std::deque<size_t> todo{0};
    std::unordered_map<uint64_t, size_t, MixHash> visits;
    Parses next;
    while (!todo.empty()) {
        if (const uint64_t steps = 256 * places.size(); steps > allowed) {
            if (plain) return false;
            throw LimitExceeded("max_liveness_steps", steps, most_, "a value that an array of distinct items does not hold yet");
        }
        const size_t i = plain ? todo.back() : todo.front();
        plain ? todo.pop_back() : todo.pop_front();
        const Parses from{places[i].parse};
        bool found = false;
        each_likely_byte(from, plain, [&](uint8_t b) {
            next.clear();
            stepper_.step(from, b, next, &next, kAny);
            for (Parse& to : next) {
                const uint64_t key = to.writing ? key_of(to) : 0;
                const char* before = known_.find(key);
                const bool dead = before && !*before;
                if (is_sure(to) || (before && !dead)) return found = true;
                if (dead || visits[key]++ > to.writing->likes()) continue;
                todo.push_back(places.size());
                places.push_back({std::move(to), key, i});
            }
            return false;
        });
        if (!found) continue;
        for (size_t k = i;; k = places[k].from) {  // from wherever the way there led
            note(places[k].key, true);
            if (k == 0) return true;
        }
    }
    return false;
}

}  // namespace derivable
