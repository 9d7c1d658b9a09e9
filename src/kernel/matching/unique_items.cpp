#include "matching/unique_items.hpp"

#include <deque>
#include <unordered_map>
#include <utility>

#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

uint64_t key_of(const Parse& t) {
    const uint64_t key = mix(t.writing->key() ^ mix(pack(t.lex, t.stack)) ^ mix(t.environment));
    return key == FlatMap<bool>::kNoKey ? 0 : key;
}

const Stepper::Keep kAny = [](const Parse&) { return true; };

}  // namespace

void UniqueItems::note(uint64_t key, Answer answer) {
    num_known_++;
    known_[key] = answer;
}

// A string with more values than there are to differ from can become one that is new; so can a number that may have more digits than any of them.
// PERF: numbers were searched for one digit after the other, behind a comma from each that is there: 7 ms a mask of 550 integers, 45 of 2,000.
bool UniqueItems::is_sure(const Parse& t) {
    if (!t.writing || t.writing->safe()) return true;
    if (t.writing->in_string()) return access_.lexer().has_more_strings(t.lex, t.writing->rivals());
    return t.writing->in_digits() && access_.lexer().may_repeat(t.lex, '1');
}

bool UniqueItems::is_spacious(const Parse& t) {
    if (!t.writing) return true;
    if (t.writing->in_string()) return access_.lexer().has_more_strings(t.lex, t.writing->rivals() + 1);
    return t.writing->in_digits() && access_.lexer().may_repeat(t.lex, '1');
}

bool UniqueItems::can_spare_one(const Parse& t) {
    if (is_spacious(t)) return true;
    const Answer* known = known_.find(key_of(t));
    return known && *known == kSpacious;
}

bool UniqueItems::can_go_on(const Parse& t) {
    if (is_sure(t)) return true;
    if (const Answer* known = known_.find(key_of(t))) return *known != kDead;
    std::vector<Place> places;
    // PERF: there is nearly always a way without escapes and white space, soon found depth first. Objects that begin with a key and one of a list of
    // names took 3.8 ms a mask with all bytes at once, breadth first; now 0.3.
    if (search(t, places, true) || search(t, places, false)) return true;
    for (const Place& p : places) note(p.key, kDead);
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
        // PERF: in a list of names one byte or a few lead on, and 100 were tried: an array of 30 of 400 names took 9 ms a mask, and now 1.
        const ByteSet likely = stepper_.likely_bytes(from);
        const Bytes bytes = plain ? from[0].writing->plain_bytes() : ~Bytes();
        for (int turn = 1; turn <= 256; turn++) {
            const uint8_t b = uint8_t(',' + turn);  // a comma comes last, which is first where the last place is taken
            if (!likely[b] || !bytes[b]) continue;
            work(20);
            next.clear();
            stepper_.step(from, b, next, &next, kAny);
            for (Parse& to : next) {
                const uint64_t key = to.writing ? key_of(to) : 0;
                const Answer* before = known_.find(key);
                const bool dead = before && *before == kDead;
                if (is_sure(to) || (before && !dead)) {
                    const Answer answer = is_spacious(to) || (before && *before == kSpacious) ? kSpacious : kAlive;
                    for (size_t k = i;; k = places[k].from) {  // from wherever the way there led
                        note(places[k].key, answer);
                        if (k == 0) return true;
                    }
                }
                if (dead || visits[key]++ > to.writing->likes()) continue;
                todo.push_back(places.size());
                places.push_back({std::move(to), key, i});
            }
        }
    }
    return false;
}

}  // namespace derivable
