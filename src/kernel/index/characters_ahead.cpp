#include "index/characters_ahead.hpp"

#include <algorithm>
#include <tuple>

#include "support/task.hpp"

namespace derivable {

void CharactersAhead::clear() {
    ahead_ = {};
    ends_of_characters_ = {};
    characters_ = {};
    deadly_ = {};
    agreeing_ = {};
    discarded_.take(successors_);
}

// The state that a text leads to which ends a character, from `place` in it; kDead if that hangs on the character, or if something else
// than the rest of a character may follow. A lexeme can be completed from here if it can from there.
CharactersAhead::Local CharactersAhead::end_of_character(Utf8State place, Local s) {
    if (place == kBetween || s == kDead) return s;
    const uint64_t key = pack(s, place);
    if (const Local* known = ends_of_characters_.find(key)) return *known;
    Local end = states_[s].leaves ? kDead : kUnknown;
    auto look_at = [&](uint8_t byte) {
        const Utf8State to = character_step(place, byte);
        const Local after = states_.next(s, byte);
        if (to == kNowhere) {
            if (after != kDead) end = kDead;
            return;
        }
        const Local other = end_of_character(to, after);
        end = end == kUnknown || end == other ? other : kDead;
    };
    // Under scannerless every state that is left can be completed: only what belongs to the character matters.
    if (is_scannerless_) {
        for (uint8_t byte : states_[s].classes->more())
            if (end != kDead) look_at(byte);
    } else {
        for (uint32_t byte = 0; end != kDead && byte < 0x100; byte++) look_at(uint8_t(byte));
    }
    return ends_of_characters_[key] = end;
}

// First bytes, by kinds, with which every character leads from the state back to it.
uint64_t CharactersAhead::characters(Local s) {
    if (const uint64_t* known = characters_.find(s)) return *known;
    uint64_t all = 0, others = 0;
    for (uint32_t byte = 0xC2; byte < 0xF5; byte++) {
        const uint64_t kind = 1ULL << byte_kind(uint8_t(byte));
        if (others & kind) continue;
        (end_of_character(character_step(kBetween, uint8_t(byte)), states_.next(s, uint8_t(byte))) == s ? all : others) |= kind;
    }
    return characters_[s] = all & ~others;
}

// The inside of a text that may hold characters of several bytes: the place in a character, and the state behind it. Elsewhere that is
// kDead.
std::pair<Utf8State, CharactersAhead::Local> CharactersAhead::standing(Local s) {
    if (of(s).home == kUnknown) {
        // Under scannerless it is enough that some characters can follow: what they lead to is asked afterwards.
        auto inside = [&](Local x) { return is_scannerless_ ? ~deadly(x) & kFirst : characters(x); };
        uint32_t place = kBetween;
        Local home = inside(s) ? s : kDead;
        while (home == kDead && ++place < kNumUtf8States)
            if (const Local end = end_of_character(Utf8State(place), s); end != kDead && inside(end)) home = end;
        of(s).place = Utf8State(place);
        of(s).home = home;
    }
    return {of(s).place, of(s).home};
}

// The state behind a character that begins with a byte; kDead if that hangs on the rest of it.
CharactersAhead::Local CharactersAhead::behind(Local s, uint8_t first) {
    return first < 0x80 ? states_.next(s, first) : end_of_character(character_step(kBetween, first), states_.next(s, first));
}

// Kinds of bytes that begin a character, of which some lead nowhere.
uint64_t CharactersAhead::deadly(Local s) {
    if (const uint64_t* known = deadly_.find(s)) return *known;
    uint64_t found = 0;
    for (auto [byte, kinds] : states_[s].classes->firsts())
        if (kinds & ~found && behind(s, byte) == kDead) found |= kinds;
    return deadly_[s] = found;
}

// Where the characters lead that begin with bytes of some kinds, each state once, but for kinds of which some lead nowhere.
const std::vector<std::pair<CharactersAhead::Local, uint64_t>>& CharactersAhead::successors(Local s) {
    auto [it, fresh] = successors_.try_emplace(s);
    auto& all = it->second;  // SAFETY: references to elements of an unordered_map stay valid
    if (!fresh) return all;
    const uint64_t dead = deadly(s);
    for (auto [byte, kinds] : states_[s].classes->firsts()) {
        if (!(kinds & ~dead)) continue;
        const Local to = behind(s, byte);
        auto known = std::find_if(all.begin(), all.end(), [&](const auto& x) { return x.first == to; });
        if (known == all.end()) all.emplace_back(to, kinds & ~dead);
        else known->second |= kinds & ~dead;
    }
    return all;
}

// Under scannerless: kinds of bytes such that the lexeme can still be completed after any characters that begin with them, in texts of a
// reach. PERF: a pattern that may stand anywhere ("wifi") leaves the state at each letter of its own, but no letter leads nowhere. Its first
// mask was 0.8 million units of work, nearly all nodes. One that counts leads nowhere only behind as many characters as there is room for.
uint64_t CharactersAhead::calm(Local s, size_t reach) {
    constexpr size_t kMost = 48;  // states
    if (of(s).calm_known[reach]) return of(s).calm[reach];
    const size_t longest = reach < WalkStates::kReaches.size() ? WalkStates::kReaches[reach] : ~size_t(0);
    const uint64_t dead = deadly(s);
    uint64_t kinds = ~dead & ~kMore;
    for (bool again = true; again && kinds;) {
        again = false;
        std::vector<std::pair<Local, size_t>> reached{{s, 0}};  // and after how many characters at least
        for (size_t i = 0; i < reached.size() && reached[i].second + 1 < longest && !again; i++)
            for (auto [behind, of] : successors(reached[i].first)) {
                if (!(of & kinds)) continue;
                const Local to = states_.single() ? states_.within(behind, reach) : behind;
                if (std::any_of(reached.begin(), reached.end(), [to = to](auto x) { return x.first == to; })) continue;
                // Where more is deadly, these kinds of bytes are left out, and the others are looked at anew.
                if (deadly(to) & ~dead || reached.size() == kMost) {
                    kinds &= ~of;
                    again = true;
                    break;
                }
                reached.emplace_back(to, reached[i].second + 1);
            }
    }
    of(s).calm_known[reach] = true;
    return of(s).calm[reach] = kinds | kMore;
}

CharactersAhead::Local CharactersAhead::steady(const Trie& t, uint32_t i, Local s) {
    if (s == kDead) return s;
    uint64_t kinds = t.below[i];
    // PERF: all bytes of a kind are asked for where they lead, each of which may be a state that is new. Behind a name of an interface of Go 48 residuals of
    // a few nodes took 36,000 instructions each.
    const bool is_small = t.end[i] - i < kWorthAsking;
    if (!is_scannerless_ && is_small && kinds & (kFirst | kMore) && of(s).home == kUnknown) return kUnknown;
    if (kinds & (kFirst | kMore)) {
        const auto [place, home] = standing(s);
        const bool stands = home != kDead && t.well_formed[i] >> place & 1;
        if (is_scannerless_) {
            if (!stands) return kUnknown;
            s = home;
        } else if (stands && !(kinds & kFirst & ~characters(home))) {
            kinds &= ~(kFirst | kMore), s = home;
        }
    }
    if (!is_scannerless_ && is_small && kinds & ~of(s).leading_back) return kUnknown;
    if (!(kinds & of(s).leading_away))
        for (uint64_t unknown = kinds & ~of(s).leading_back; unknown; unknown &= unknown - 1) {
            const uint64_t kind = unknown & -unknown;
            const bool back = leads_back(s, uint8_t(__builtin_ctzll(unknown)));
            (back ? of(s).leading_back : of(s).leading_away) |= kind;
            if (!back) break;
        }
    if (!(kinds & ~of(s).leading_back)) return s;
    if (!is_scannerless_) return kUnknown;
    const size_t reach = WalkStates::reach_of(t.height[i]);
    if (!of(s).calm_known[reach] && !is_worth_asking(s, t.end[i] - i)) return kUnknown;
    // All kinds together: one that leads back from here may lead nowhere from where another leads to.
    return !(kinds & deadly(s)) && !(kinds & ~calm(s, reach)) ? s : kUnknown;
}

CharactersAhead::Stretch CharactersAhead::stretch(Local s, const Stretches& stretches) {
    const uint64_t worthwhile = stretches.num_nodes() / 16;
    constexpr size_t kMost = 256;  // states
    Stretch found{kOfOneByte | kFirst, {s}};
    for (;;) {
        const Local from = found.states.back();
        if (from == kDead || states_[from].leaves || found.states.size() > kMost) return {};
        // Where characters that begin with bytes of the kinds lead. A kind of which they lead to several states is none.
        std::vector<std::pair<Local, uint64_t>> to;
        uint64_t seen = 0, mixed = 0;
        for (auto [byte, kinds] : states_[from].classes->firsts()) {
            if (!(kinds &= found.kinds)) continue;
            const Local next_state = behind(from, byte);
            auto known = std::find_if(to.begin(), to.end(), [&](const auto& x) { return x.first == next_state; });
            if (known == to.end()) known = to.insert(known, {next_state, 0});
            mixed |= kinds & seen & ~known->second;
            known->second |= kinds;
            seen |= kinds;
        }
        Local best = kDead;
        if (found.states.size() > 1) {
            if (to.size() == 1) best = to[0].first;
        } else {
            uint64_t most = worthwhile, kinds_of_best = 0;
            for (auto [state, kinds] : to)
                if (const uint64_t nodes = stretches.num_nodes_of(kinds & ~mixed); state != kDead && nodes > most)
                    most = nodes, best = state, kinds_of_best = kinds & ~mixed;
            if (!(found.kinds = kinds_of_best)) return {};
        }
        if (best == kDead) break;
        const auto before = std::find(found.states.begin(), found.states.end(), best);
        if ((found.period = size_t(found.states.end() - before))) break;
        found.states.push_back(best);
    }
    uint64_t walked = 0;
    for (uint32_t b = 0; b < 256; b++) {
        const auto byte = uint8_t(b);
        const bool is_text = character_step(kBetween, byte) != kNowhere, is_other = !is_text || !(found.kinds >> byte_kind(byte) & 1);
        if (!is_other && found.period) continue;
        for (size_t i = is_other ? 0 : found.states.size() - 1; i < found.states.size(); i++) {
            if (states_.next(found.states[i], byte) == kDead) continue;
            if (!is_text) return {};  // of an automaton that somebody made of bytes
            found.others.set(byte);
            walked += stretches.num_nodes(byte);
            break;
        }
    }
    work(50 * found.states.size());
    return walked * 8 > stretches.num_nodes_of(found.kinds) ? Stretch{} : found;
}

// Under scannerless: kinds of bytes that begin a character which leads back to each of two states, or leads both to the same.
uint64_t CharactersAhead::agreeing(Local s, Local other) {
    uint64_t apart = 0;
    const ByteClasses* classes = states_[s].classes;
    if (states_[other].classes != classes) classes = &ByteClasses::alone();
    for (auto [byte, kinds] : classes->firsts())
        if (kinds & ~apart && states_.next(s, byte) != states_.next(other, byte) && (behind(s, byte) != s || behind(other, byte) != other))
            apart |= kinds;
    return agreeing_[pack(s, other)] = ~apart;
}

// The states that two places in a character lead to, where what is below node i goes on from there; kDead if that is not so.
std::pair<CharactersAhead::Local, CharactersAhead::Local> CharactersAhead::standing_alike(const Trie& t, uint32_t i, Local s, Local other) {
    const auto [place, home] = standing(s);
    const auto [other_place, other_home] = standing(other);
    if (home == kDead || other_home == kDead || place != other_place || !(t.well_formed[i] >> place & 1)) return {kDead, kDead};
    return {home, other_home};
}

bool CharactersAhead::agree(const Trie& t, uint32_t i, Local s, Local other) {
    if (s == kDead || other == kDead) return s == other;
    if (states_[s].leaves != states_[other].leaves) return false;
    if (t.below[i] & (kFirst | kMore)) std::tie(s, other) = standing_alike(t, i, s, other);
    if (s == kDead || states_[s].leaves != states_[other].leaves) return false;
    const uint64_t* known = agreeing_.find(pack(s, other));
    if (!known && !is_worth_asking(s, t.end[i] - i)) return false;
    return !(t.below[i] & ~(known ? *known : agreeing(s, other)));
}

// PERF: of 13,000 nodes of llama-3 that a comparison of `(\S+\s+){0,199}\S+` came to 9,000 were within characters of several bytes, nearly all
// of which come to the same: now 11,300 nodes in all; of `[^/]+` 10,000, now 6,000.
uint64_t CharactersAhead::agreeing_kinds(const Trie& t, uint32_t i, Local s, Local other) {
    if (s == kDead || other == kDead || states_[s].leaves != states_[other].leaves) return 0;
    const bool is_worth = is_worth_asking(s, t.end[i] - i);
    auto kinds = [&](Local x, Local y) {
        const uint64_t* known = agreeing_.find(pack(x, y));
        return known ? *known : is_worth ? agreeing(x, y) : 0;
    };
    if (t.below[i] & (kFirst | kMore) && (is_worth || (of(s).home != kUnknown && of(other).home != kUnknown)))
        if (const auto [home, other_home] = standing_alike(t, i, s, other); home != kDead)
            return states_[home].leaves == states_[other_home].leaves ? kinds(home, other_home) : 0;
    return kinds(s, other) & kOfOneByte;
}

// Whether each byte of a kind leads back to the state.
bool CharactersAhead::leads_back(Local s, uint8_t kind) {
    const std::vector<uint8_t>& bytes = bytes_of_kind(kind);
    return std::all_of(bytes.begin(), bytes.end(), [&](uint8_t b) {
        if (is_scannerless_) return character_step(kBetween, b) == kNowhere || behind(s, b) == s;
        return states_.next(s, b) == s;
    });
}

}  // namespace derivable
