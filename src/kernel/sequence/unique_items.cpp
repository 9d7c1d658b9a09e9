#include "sequence/unique_items.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

constexpr std::string_view kBlanks = " \t\n\r";
const Stepper::Keep kAny = [](const Parse&) { return true; };

// This byte may follow any number of times. False in doubt.
bool may_repeat(Lexer& lexer, LexState members, uint8_t byte) {
    constexpr size_t kMost = 64;
    std::vector<LexState> met;
    for (LexState s = members; s != kNoState && met.size() < kMost; s = lexer.step(s, byte)) {
        if (std::find(met.begin(), met.end(), s) != met.end()) return true;
        met.push_back(s);
    }
    return false;
}

}  // namespace

void UniqueItems::note(uint32_t place, bool alive) {
    num_known_++;
    known_[place] = char(alive);
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

UniqueItems::Place UniqueItems::place_inside(LexState lex, const Parse& t) {
    if (t.ground == kNoNode) return place(lex, t);
    const uint64_t stack = pack(t.stack, t.ground);
    const uint32_t* known = futures_.find(stack);
    if (!known) {
        uint32_t future = kNotTold;
        const std::optional<uint32_t> depth = stacks_.depth_of(t.ground, t.stack);
        if (depth && stacks_.future(t.stack, *depth, ~size_t(0), true, words_, looked_)) {
            std::vector<uint32_t> halves;
            for (uint64_t word : words_) halves.push_back(uint32_t(word)), halves.push_back(uint32_t(word >> 32));
            future = future_ids_.intern(std::move(halves));
        }
        work(20 + 5 * words_.size());
        num_known_ += 1 + words_.size();
        known = &(futures_[stack] = future);
    }
    return *known != kNotTold ? Place(UniquePlaces::kInside, {lex.index(), t.environment, *known}) : place(lex, t);
}

// By where it stands and what is written there but the values.
UniqueItems::Numbers UniqueItems::shapes_of(const Parse& t) {
    const uint64_t shape = t.writing->shape();
    return {number(place_inside(t.lex, t).add_long(shape)), number(place(t.lex, t).add_long(shape))};
}

// What is in progress may become one of more values than so many.
bool UniqueItems::has_many(const Parse& t, size_t values) {
    Lexer& lexer = access_.lexer();
    if (t.writing->in_string())
        return lexer.sets.any(t.lex, [&](LexState single) { return lexer.automata.ask(&JsonStrings::has_more_values, single, values); });
    return t.writing->in_digits() && may_repeat(lexer, t.lex, '1');
}

bool UniqueItems::can_spare_one(const Parse& t) {
    return !t.writing || has_many(t, t.writing->rivals() + 1) || (t.writing->likes() + 1 < kMany && is_endless(t));
}

// A string or a number that is one of more than kMany may come before an item is complete, whatever was written before.
//
// PERF: searched for each text behind which it may stand, masks over 25 us were 1,188 of 130,334 (600 schemas), now 944. Most items are such. Depth first, and
// quotes first: keys that may be any string have 100 bytes for each place, none of which leads on.
bool UniqueItems::is_endless(const Parse& t) {
    if (t.writing->in_number()) return false;
    constexpr size_t kMost = 64;  // places
    constexpr uint8_t kQuote = '"';
    struct Way {
        Parse parse;
        Numbers shapes;
        size_t from;
        std::vector<uint8_t> bytes;  // to be tried, the last one first
    };
    std::vector<Way> ways;
    std::vector<size_t> todo;
    std::unordered_set<uint32_t> seen;  // places
    // How a number goes on depends on its text.
    auto find_known = [&](const Way& w) { return w.parse.writing->in_number() ? nullptr : find(endless_, w.shapes); };
    bool is_inside = true;
    auto note = [&](const Way& w, bool found) {
        if (w.parse.writing->in_number()) return;
        num_known_++;
        endless_[is_inside ? w.shapes.inside : w.shapes.all] = char(found);
    };
    auto way = [&](Parse to, size_t from) -> Way {
        const Numbers shapes = shapes_of(to);
        return {std::move(to), shapes, from, {}};
    };
    auto add = [&](Way&& w) {
        each_likely_byte({w.parse}, true, [&](uint8_t b) {
            w.bytes.push_back(b);
            return false;
        });
        std::stable_partition(w.bytes.begin(), w.bytes.end(), [](uint8_t b) { return b == kQuote; });
        std::reverse(w.bytes.begin(), w.bytes.end());
        todo.push_back(ways.size());
        ways.push_back(std::move(w));
    };
    Way first = way(t, 0);
    if (const char* known = find_known(first)) return *known;
    seen.insert(number(t));
    add(std::move(first));
    bool found = false;
    Parses next;
    while (!todo.empty() && ways.size() < kMost && !found) {
        const size_t i = todo.back();
        if (ways[i].bytes.empty()) {
            todo.pop_back();
            continue;
        }
        const uint8_t b = ways[i].bytes.back();
        ways[i].bytes.pop_back();
        next.clear();
        stepper_.step({ways[i].parse}, b, next, &next, kAny);
        for (Parse& to : next) {
            if (!to.writing || to.writing->completed() != t.writing->completed() || !seen.insert(number(to)).second) continue;
            is_inside &= to.ground == t.ground;
            found |= !to.writing->in_key() && has_many(to, kMany);
            Way w = way(std::move(to), i);
            const char* known = find_known(w);
            found |= known && *known;
            if (!known) add(std::move(w));
        }
        for (size_t k = i; found; k = ways[k].from) {
            note(ways[k], true);
            if (k == 0) return true;
        }
    }
    note(ways[0], false);
    return false;
}

Bytes UniqueItems::harmless_bytes(const Parse& t) {
    const Writing& writing = *t.writing;
    Bytes out;
    if (writing.in_string()) {
        const Lexer& lexer = access_.lexer();
        const auto may_have_few = [&](LexState single) {
            return !lexer.automata.ask(&JsonStrings::always_has_more_values, single, kMany, lexer.alike.longest_token());
        };
        if (writing.rivals() < kMany && !lexer.sets.any(t.lex, may_have_few)) out.set(), out.reset('"');
    } else if (writing.between_tokens() && writing.likes() < kMany) {
        if (is_endless_behind_blanks(t))
            for (const char blank : kBlanks) out.set(uint8_t(blank));
    }
    return out;
}

// All texts of white space lead to few parses, each of which is endless.
bool UniqueItems::is_endless_behind_blanks(const Parse& t) {
    const Numbers shapes = shapes_of(t);
    if (const char* known = find(blanks_, shapes)) return *known;
    bool is_inside = true;
    const bool is_so = is_endless_behind_blanks(t, is_inside);
    num_known_++;
    blanks_[is_inside ? shapes.inside : shapes.all] = char(is_so);
    return is_so;
}

bool UniqueItems::is_endless_behind_blanks(const Parse& t, bool& is_inside) {
    constexpr size_t kMost = 16;  // parses
    Parses met{t}, next;
    for (size_t i = 0; i < met.size(); i++) {
        if (!is_endless(met[i])) return false;
        is_inside &= endless_.find(shapes_of(met[i]).inside) != nullptr;  // nor did that look below the arrays
        for (const char blank : kBlanks) {
            next.clear();
            stepper_.step({met[i]}, uint8_t(blank), next, &next, kAny);
            for (Parse& to : next) {
                if (to.writing != t.writing || to.ground != t.ground) return false;
                const auto is_same = [&](const Parse& x) {
                    return x.lex == to.lex && x.stack == to.stack && x.environment == to.environment;
                };
                if (std::any_of(met.begin(), met.end(), is_same)) continue;
                if (met.size() == kMost) return false;
                met.push_back(std::move(to));
            }
        }
    }
    return true;
}

bool UniqueItems::can_go_on(const Parse& t) {
    if (is_sure(t)) return true;
    if (const char* known = known_.find(number(t))) return *known;
    if (t.writing->likes() < kMany && is_endless(t)) return true;
    std::vector<Visited> visits;
    // PERF: there is nearly always a way without escapes and white space, soon found depth first. Objects that begin with a key and one of a list of
    // names took 3.8 ms a mask with all bytes at once, breadth first; now 0.3.
    if (search(t, visits, true) || search(t, visits, false)) return true;
    for (const Visited& v : visits) note(v.number, false);
    return false;
}

// Byte by byte, until what is written is safe. `plain`: depth first, with the bytes of plain text only.
//
// SAFETY: every place keeps a writing, and so counts as a try of each byte. Depth first these may grow without end (one more digit of an
// exponent), so that way is soon given up.
bool UniqueItems::search(const Parse& t, std::vector<Visited>& visits, bool plain) {
    const uint64_t allowed = plain ? most_ / 64 : most_;
    visits.assign(1, {t, number(t), 0});
    std::deque<size_t> todo{0};
    std::unordered_map<uint32_t, size_t> times;  // that a place was visited
    Parses next;
    while (!todo.empty()) {
        if (const uint64_t steps = 256 * visits.size(); steps > allowed) {
            if (plain) return false;
            throw LimitExceeded("max_liveness_steps", steps, most_, "a value that an array of distinct items does not hold yet");
        }
        const size_t i = plain ? todo.back() : todo.front();
        plain ? todo.pop_back() : todo.pop_front();
        const Parses from{visits[i].parse};
        bool found = false;
        each_likely_byte(from, plain, [&](uint8_t b) {
            next.clear();
            stepper_.step(from, b, next, &next, kAny);
            for (Parse& to : next) {
                if (is_sure(to)) return found = true;
                const uint32_t place = number(to);
                const char* before = known_.find(place);
                const bool dead = before && !*before;
                if (before && !dead) return found = true;
                if (dead || times[place]++ > to.writing->likes()) continue;
                todo.push_back(visits.size());
                visits.push_back({std::move(to), place, i});
            }
            return false;
        });
        if (!found) continue;
        for (size_t k = i;; k = visits[k].from) {  // from wherever the way there led
            note(visits[k].number, true);
            if (k == 0) return true;
        }
    }
    return false;
}

}  // namespace derivable
