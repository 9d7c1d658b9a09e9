#include "json/tallies.hpp"

#include <algorithm>
#include <utility>

#include "support/task.hpp"

namespace derivable {

namespace {
enum : uint8_t { kJudged = 1, kAllowed = 2, kForcedJudged = 4, kForcedAllowed = 8 };

uint64_t hash_of(uint32_t mark) { return mix(uint64_t(mark) + 1); }
// Members beyond which it does not matter how many there are.
uint64_t own_bound(const Membership& m) { return m.high == Membership::kNoMaximum ? m.low : std::max(m.low, m.high); }
}  // namespace

Tallies::Tallies(TallySpec spec) : memberships_(std::move(spec.memberships)), ordered_(spec.ordered) {
    for (const auto& [symbol, role] : spec.roles) {
        if (roles_.size() <= symbol) roles_.resize(symbol + 1);
        roles_[symbol] = role;
    }
    if (!active()) return;  // PERF: nearly all grammars; their constraints do without 5 kB
    for (uint32_t i = 0; ordered_ && i < memberships_.size(); i++)
        for (uint32_t k = 0; k < memberships_[i].keys.size(); k++) places_[pack(i, memberships_[i].keys[k])] = k;
    for (const Membership& m : memberships_) {
        Set required;
        for (uint32_t mark : m.required) required.put(mark);
        required_.push_back(std::move(required.words));
        if (!m.keys.empty() || !m.clauses.empty()) {
            told_apart_ = std::max(told_apart_, own_bound(m));
            continue;
        }
        most_counted_ = std::max(most_counted_, own_bound(m) + 1);
        changes_.insert(changes_.end(), {m.low, m.high, m.high + (m.high != Membership::kNoMaximum)});
    }
    std::sort(changes_.begin(), changes_.end());
    asks_.resize(roles_.size());
    for (uint32_t s = 0; s < roles_.size(); s++) asks_[s] = depends_on_members(roles_[s]);
    sets_[0] = {}, tallies_[0] = {};
    sets_[0].is_written = true;
    num_sets_ = num_tallies_ = 1;
    by_hash_[key_of(sets_[0])] = 1;
}

// -- sets ---------------------------------------------------------------------------------------------------------

const Tallies::Set& Tallies::written(uint32_t held) {
    std::vector<uint32_t> way;
    for (uint32_t s = held; !sets_[s].is_written; s = sets_[s].from) way.push_back(s);
    for (size_t i = way.size(); i-- > 0;) {
        Set& s = sets_[way[i]];
        std::vector<uint64_t> words = sets_[s.from].words;
        work(2 + words.size() / 8);
        s.words = std::move(words);
        if (s.size > sets_[s.from].size) s.put(s.mark);
        s.is_written = true;
    }
    return sets_[held];
}

bool Tallies::same(uint32_t a, uint32_t b) {
    const Set &x = sets_[a], &y = sets_[b];
    return x.size == y.size && x.extra == y.extra && written(a).words == written(b).words;
}

// Sets are told apart by what they hold, whatever came first.
uint32_t Tallies::find_set(Set set) {
    work(5);
    const bool reused = !unused_sets_.empty();
    const uint32_t fresh = reused ? unused_sets_.back() : num_sets_;
    sets_[fresh] = std::move(set);  // a number that nobody has until it is taken
    for (uint64_t key = key_of(sets_[fresh]);; key++) {
        if (key == FlatMap<uint32_t>::kNoKey) continue;
        const uint32_t* known = by_hash_.find(key);
        if (!known || !*known) {
            by_hash_[key] = fresh + 1;
            reused ? unused_sets_.pop_back() : void(num_sets_++);
            return fresh;
        }
        const uint32_t other = *known - 1;
        if (same(fresh, other)) return other;
    }
}

uint32_t Tallies::with(uint32_t held, uint32_t mark) {
    const uint32_t* known = with_.find(pack(held, mark));
    if (known && *known) return *known - 1;
    Set set{held, mark, sets_[held].size + 1, sets_[held].extra, sets_[held].hash ^ hash_of(mark)};
    const uint32_t found = find_set(std::move(set));
    with_[pack(held, mark)] = found + 1;
    return found;
}

// Members are counted no further than it matters.
uint32_t Tallies::with_another(uint32_t held, uint64_t most) {
    if (sets_[held].extra >= most) return held;
    return find_set({held, 0, sets_[held].size, sets_[held].extra + 1, sets_[held].hash});
}

Tallies::Id Tallies::find(Id below, uint32_t held) {
    Id* known = &ids_[pack(below, held)];
    if (*known) return *known;
    Id id = num_tallies_;
    if (!unused_tallies_.empty()) id = unused_tallies_.back(), unused_tallies_.pop_back();
    else num_tallies_++;
    tallies_[id] = {below, held, tallies_[below].depth + 1, false, kNotAsked};
    return *known = id;
}

// -- roles --------------------------------------------------------------------------------------------------------

Tallies::Id Tallies::after(uint32_t symbol, Id id) {
    const TallyRole& r = role(symbol);
    if (r.kind == TallyRole::kNone || r.kind == TallyRole::kComma) return id;
    const Tally t = tallies_[id];
    switch (r.kind) {
        case TallyRole::kOpen: return find(id, 0);
        case TallyRole::kClose: return t.below;
        case TallyRole::kKey: return find(t.below, with(t.held, r.mark));
        // Without keys, however many there may be here: what else has begun alike may have a bound, and stays the same parse.
        case TallyRole::kOther: {
            const Membership& m = memberships_[r.membership];
            return find(t.below, with_another(t.held, m.keys.empty() ? most_counted_ : own_bound(m)));
        }
        case TallyRole::kComma:
        case TallyRole::kNone: break;
    }
    return id;
}

bool Tallies::allows(uint32_t symbol, Id id, bool forced) {
    if (!asks(symbol)) return true;
    const TallyRole& r = role(symbol);
    if (!tallies_[id].depth) return false;  // no grammar of a front end asks
    const uint32_t held = tallies_[id].held;
    forced &= ordered_;
    if (r.membership == TallyRole::kFree) return !written(held).has(r.mark);
    const uint8_t judged = forced ? kForcedJudged : kJudged, allowed = forced ? kForcedAllowed : kAllowed;
    const uint8_t* known = verdicts_.find(pack(symbol, held));
    if (known && *known & judged) return *known & allowed;
    const bool verdict = judge(r, held, forced);
    verdicts_[pack(symbol, held)] |= judged | (verdict ? allowed : 0);
    return verdict;
}

bool Tallies::judge(const TallyRole& r, uint32_t held, bool forced) {
    const Membership& m = memberships_[r.membership];
    const Set& set = written(held);
    switch (r.kind) {
        case TallyRole::kKey:
            return !set.has(r.mark) && completable(r.membership, set, 1, r.mark) && (!forced || is_its_turn(r.membership, r.mark, held));
        case TallyRole::kOther: return m.others && completable(r.membership, set, 1, TallyRole::kFree);
        case TallyRole::kComma: return any_key(r, held, forced);
        case TallyRole::kClose: return complete(m, set);
        case TallyRole::kOpen:
        case TallyRole::kNone: break;
    }
    return true;
}

bool Tallies::depends_on_members(const TallyRole& r) const {
    if (r.kind <= TallyRole::kOpen) return false;
    if (r.membership == TallyRole::kFree) return true;
    const Membership& m = memberships_[r.membership];
    const bool is_free = m.required.empty() && m.clauses.empty() && m.low == 0 && m.high == Membership::kNoMaximum;
    return !is_free || (r.kind != TallyRole::kClose && (r.kind != TallyRole::kOther || !m.others));
}

// Some member may follow.
bool Tallies::any_key(const TallyRole& comma, uint32_t held, bool forced) {
    const Membership& m = memberships_[comma.membership];
    const Set& set = written(held);
    if (m.others && completable(comma.membership, set, 1, TallyRole::kFree)) return true;
    work(m.keys.size());
    return std::any_of(m.keys.begin(), m.keys.end(), [&](uint32_t mark) {
        return !set.has(mark) && completable(comma.membership, set, 1, mark) && (!forced || is_its_turn(comma.membership, mark, held));
    });
}

// Whether an object that has had `set`, and `more` members, among them `mark` if that is one, can be completed. The fewest keys that can be
// are the least model of the clauses.
bool Tallies::completable(uint32_t membership, const Set& set, uint64_t more, uint32_t mark) {
    const Membership& m = memberships_[membership];
    if (m.clauses.empty() && m.high == Membership::kNoMaximum) return true;
    // PERF: what is required is counted by words. Key by key, a mask of 5,000 keys of which half were required took 40 ms.
    const std::vector<uint64_t>& required = required_[membership];
    work(2 + (set.words.size() + required.size()) / 8 + m.clauses.size());
    uint64_t members = set.size + set.extra + more;
    for (size_t i = 0; i < required.size(); i++)
        members += uint64_t(__builtin_popcountll(required[i] & ~(i < set.words.size() ? set.words[i] : 0)));
    if (mark != TallyRole::kFree && mark / 64 < required.size())
        members -= required[mark / 64] >> (mark % 64) & 1;  // it is counted already
    if (m.clauses.empty()) return members <= m.high;
    Set model{0, 0, set.size, set.extra, 0, true, false, set.words};
    if (model.words.size() < required.size()) model.words.resize(required.size());
    for (size_t i = 0; i < required.size(); i++) model.words[i] |= required[i];
    if (mark != TallyRole::kFree) model.put(mark);
    auto want = [&](uint32_t key) {
        if (model.has(key)) return;
        model.put(key);
        members++;
    };
    for (bool grew = true; grew;) {
        grew = false;
        for (const auto& clause : m.clauses) {
            bool holds = false;
            uint32_t wanted = 0, key = 0;
            for (const auto& [literal, there] : clause) {
                if (there) wanted++, key = literal;
                holds |= model.has(literal) == there;
            }
            if (holds) continue;
            if (!wanted) return false;
            if (wanted > 1) continue;  // without a maximum, any of them
            want(key);
            grew = true;
            work(m.clauses.size());
        }
    }
    return members <= m.high;
}

bool Tallies::complete(const Membership& m, const Set& set) const {
    const uint64_t members = uint64_t(set.size) + set.extra;
    if (members < m.low || members > m.high) return false;
    if (!std::all_of(m.required.begin(), m.required.end(), [&](uint32_t mark) { return set.has(mark); })) return false;
    return std::all_of(m.clauses.begin(), m.clauses.end(), [&](const auto& clause) {
        return std::any_of(clause.begin(), clause.end(), [&](const auto& literal) { return set.has(literal.first) == literal.second; });
    });
}

Tallies::Missing Tallies::missing(uint32_t symbol, Id id) {
    const TallyRole& r = role(symbol);
    Missing out;
    if (r.membership == TallyRole::kFree || r.kind == TallyRole::kOpen || r.kind == TallyRole::kClose || !tallies_[id].depth) return out;
    const Membership& m = memberships_[r.membership];
    const Set& set = written(tallies_[id].held);
    work(m.required.size());
    for (uint32_t mark : m.required)
        if (!set.has(mark)) out.marks.push_back(mark);
    const uint64_t had = uint64_t(set.size) + set.extra;
    out.members = m.low > had ? m.low - had : 0;
    return out;
}

bool Tallies::is_needed_key(uint32_t symbol) const {
    const TallyRole& r = role(symbol);
    return r.kind == TallyRole::kKey && std::any_of(required_.begin(), required_.end(), [&](const std::vector<uint64_t>& required) {
               return r.mark / 64 < required.size() && (required[r.mark / 64] >> (r.mark % 64) & 1);
           });
}

// In their order: those behind the last one that was taken, up to the first that is required. If none of these is, also the first required
// one that was left out. If there is none of either, and the object is not complete, any.
bool Tallies::is_its_turn(uint32_t membership, uint32_t mark, uint32_t held) {
    const Membership& m = memberships_[membership];
    const Set& set = written(held);
    const uint64_t key = pack(membership, held);
    const Turn* known = turns_.find(key);
    if (!known || !known->is_known) {
        work(m.keys.size() + m.required.size());
        const uint32_t size = uint32_t(m.keys.size());
        Turn turn{true, 0, size, ~0u};
        for (uint32_t i = 0; i < size; i++)
            if (set.has(m.keys[i])) turn.after = i + 1;
        uint32_t first = ~0u, missing = ~0u;
        std::vector<char> required(size, 0);
        for (uint32_t i = 0, k = 0; i < size; i++)  // in the same order
            if (k < m.required.size() && m.required[k] == m.keys[i]) required[i] = 1, k++;
        for (uint32_t i = 0; i < size; i++) {
            if (!required[i] || set.has(m.keys[i])) continue;
            (i < turn.after ? missing : first) = std::min(i < turn.after ? missing : first, i);
        }
        if (first != ~0u) turn.last = first + 1;
        else turn.missing = missing;
        if (turn.after == size && missing == ~0u && !complete(m, set)) turn.after = 0;
        turns_[key] = turn;
        known = turns_.find(key);
    }
    const uint32_t* found = places_.find(pack(membership, mark));
    const uint32_t place = found ? *found : 0;
    return (place >= known->after && place < known->last) || place == known->missing;
}

// -- what no token tells apart ------------------------------------------------------------------------------------

// Whatever a token does to two such numbers, both stay on the same side of each bound.
uint32_t Tallies::alike_held(uint32_t held) {
    Set& set = sets_[held];
    if (set.alike != kNotAsked) return set.alike;
    const auto next = std::upper_bound(changes_.begin(), changes_.end(), uint64_t(set.extra));
    const bool is_far = next == changes_.end() || *next - set.extra > most_at_once_;
    if (set.size || set.extra <= told_apart_ || !is_far) return set.alike = held;
    uint32_t& first = like_[uint64_t(next - changes_.begin())];
    if (!first) first = held + 1;
    return set.alike = first - 1;
}

Tallies::Id Tallies::alike(Id id) {
    std::vector<Id> above;
    for (; tallies_[id].depth && tallies_[id].alike == kNotAsked; id = tallies_[id].below) above.push_back(id);
    Id like = tallies_[id].depth ? tallies_[id].alike : id;
    for (size_t i = above.size(); i-- > 0;) {
        Id& first = alike_[pack(like, alike_held(tallies_[above[i]].held))];
        if (!first) first = above[i] + 1;
        like = tallies_[above[i]].alike = first - 1;
    }
    return like;
}

// -- collection ---------------------------------------------------------------------------------------------------

void Tallies::begin_collection() {
    numbers_.happen();
    for (uint32_t i = 0; i < num_tallies_; i++) tallies_[i].is_marked = i == 0;
    for (uint32_t i = 0; i < num_sets_; i++) sets_[i].is_marked = i == 0;
}

void Tallies::mark(Id id) {
    for (; !tallies_[id].is_marked; id = tallies_[id].below) {
        tallies_[id].is_marked = true;
        sets_[tallies_[id].held].is_marked = true;
        written(tallies_[id].held);  // what it was made of may go
    }
}

void Tallies::finish_collection() {
    ids_ = {}, by_hash_ = {}, with_ = {}, verdicts_ = {}, turns_ = {}, like_ = {}, alike_ = {};
    unused_tallies_.clear(), unused_sets_.clear();
    for (uint32_t i = 0; i < num_tallies_; i++) {
        tallies_[i].alike = kNotAsked;
        if (!tallies_[i].is_marked) unused_tallies_.push_back(i);
        else if (i) ids_[pack(tallies_[i].below, tallies_[i].held)] = i;
    }
    for (uint32_t i = 0; i < num_sets_; i++) {
        if (!sets_[i].is_marked) {
            sets_[i] = {};
            unused_sets_.push_back(i);
            continue;
        }
        sets_[i].alike = kNotAsked;
        uint64_t key = key_of(sets_[i]);
        while (key == FlatMap<uint32_t>::kNoKey || by_hash_.find(key)) key++;
        by_hash_[key] = i + 1;
    }
    const uint32_t live = num_tallies_ + num_sets_ - uint32_t(unused_tallies_.size() + unused_sets_.size());
    collect_at_ = std::max(kCollectAt, num_tallies_ + num_sets_);
    if (2 * live > collect_at_) collect_at_ = 2 * live;
}

}  // namespace derivable
