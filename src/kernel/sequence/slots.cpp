#include "sequence/slots.hpp"

#include <algorithm>
#include <iterator>

#include "support/task.hpp"

namespace derivable {

namespace {
constexpr uint64_t kCall = 200;  // work of a call into Python
}  // namespace

// SAFETY: what cannot be allocated throws, and then nothing may be known by a number that is not there.
Slots::Place Slots::added(At at) {
    if (free_.empty()) places_.emplace_back(), free_.push_back(Place(places_.size() - 1));
    const Place next = free_.back();
    places_[next] = at;
    free_.pop_back(), num_known_++;
    return next;
}

Slots::Place Slots::root(Symbol slot, NameSetRef names) {
    std::vector<uint32_t> key{slot};
    for (uint32_t word : address_words(names.get())) key.push_back(word);
    if (const auto known = beginnings_.find(key); known != beginnings_.end()) return known->second;
    if (free_roots_.empty()) roots_.emplace_back(), free_roots_.push_back(uint32_t(roots_.size() - 1));
    const uint32_t root = free_roots_.back();
    const Place place = added({root});
    free_roots_.pop_back();
    roots_[root] = {slot, std::move(names)};
    return beginnings_[std::move(key)] = place;
}

std::string Slots::text(Place place) const {
    std::string text;
    for (; places_[place].parent != kNone; place = places_[place].parent) text.push_back(char(places_[place].byte));
    std::reverse(text.begin(), text.end());
    return text;
}

Slots::Place Slots::begin(Meaning::State state, Symbol slot) {
    if (state == Meaning::kNone) return kNone;
    const Place place = Meaning::is_any(state) ? root(slot, any_) : names_of(settled(state), slot);
    for (Recording* recording : recordings_) recording->add_begun(state, slot, place);
    return place;
}

// Only what led to a state that was asked about.
Slots::Asked Slots::Recording::finish() const {
    std::unordered_map<Meaning::State, uint32_t> numbers{{state_, 0}};
    std::vector<Asked::Read> reads;
    std::vector<Meaning::State> states{state_};
    for (const Read& r : reads_) {
        const auto from = numbers.find(r.from);
        if (from == numbers.end()) continue;  // of somebody else
        uint32_t to = Asked::kVeto;
        if (r.to != Meaning::kNone) {
            const auto [known, is_new] = numbers.try_emplace(r.to, uint32_t(states.size()));
            to = known->second;
            if (is_new) states.push_back(r.to);
        }
        reads.push_back({from->second, to, r.name});
    }
    std::vector<std::vector<std::pair<Symbol, Place>>> begun;
    for (Meaning::State state : states) {
        const auto known = begun_.find(state);
        begun.push_back(known == begun_.end() ? std::vector<std::pair<Symbol, Place>>() : known->second);
    }
    std::vector<char> is_needed(states.size(), 0);
    is_needed[0] = 1;
    for (bool grew = true; grew;) {  // backwards, once and again where several ways lead to one state
        grew = false;
        for (auto r = reads.rbegin(); r != reads.rend(); ++r) {
            const bool may_refuse = !slots_.is_free_[slots_.symbol(r->name)];
            const bool is_asked = r->to != Asked::kVeto && (is_needed[r->to] || !begun[r->to].empty());
            if (!may_refuse && !is_asked) continue;
            for (uint32_t state : {r->from, r->to})
                if (state != Asked::kVeto && !is_needed[state]) is_needed[state] = 1, grew = true;
        }
    }
    Asked asked{state_, {}, {}};
    std::vector<uint32_t> renumbered(states.size(), Asked::kVeto);
    for (uint32_t i = 0; i < states.size(); i++)
        if (is_needed[i]) renumbered[i] = uint32_t(asked.begun.size()), asked.begun.push_back(std::move(begun[i]));
    for (const Asked::Read& r : reads)
        if (r.to == Asked::kVeto ? bool(is_needed[r.from]) : bool(is_needed[r.to]))
            asked.reads.push_back({renumbered[r.from], r.to == Asked::kVeto ? Asked::kVeto : renumbered[r.to], r.name});
    return asked;
}

std::optional<std::vector<std::string>> Slots::difference(NameSet& one, NameSet& other) {
    const bool has_others = one.excluded() && other.excluded();
    NameSet &some = has_others ? *one.excluded() : one, &others = has_others ? *other.excluded() : other;
    std::vector<std::string> texts, both;
    if (&some == &others) return texts;
    const std::vector<std::string>*first = some.listed(), *second = others.listed();
    if (!first || !second) return std::nullopt;
    if (!first->empty() && !second->empty() && some.ignores_case() != others.ignores_case()) return std::nullopt;
    std::set_symmetric_difference(first->begin(), first->end(), second->begin(), second->end(), std::back_inserter(texts));
    if (has_others) return texts;  // any beginning of a text is one of a name, so only whole texts differ
    std::set_intersection(first->begin(), first->end(), second->begin(), second->end(), std::back_inserter(both));
    const auto shared = [](const std::string& a, const std::string& b) {
        return size_t(std::mismatch(a.begin(), a.begin() + long(std::min(a.size(), b.size())), b.begin()).first - a.begin());
    };
    for (std::string& text : texts) {
        const auto next = std::lower_bound(both.begin(), both.end(), text);
        size_t common = next == both.end() ? 0 : shared(text, *next);
        if (next != both.begin()) common = std::max(common, shared(text, *std::prev(next)));
        text.resize(std::min(text.size(), common + 1));
    }
    return texts;
}

Slots::Place Slots::names_of(Meaning::State state, Symbol slot) {
    const uint64_t key = pack(state, slot);
    if (const Place* known = begun_.find(key)) return *known;
    work(kCall), num_known_ += kAnswer;
    NameSetRef names = possible_(slot, meaning_->names(state, slot));
    const Place place = names ? root(slot, std::move(names)) : kNone;
    return begun_[key] = place;
}

// What was written of one that may be any text does not matter.
Slots::Place Slots::step(Place place, uint8_t byte) {
    if (is_any(place)) return place;
    const uint64_t key = pack(place, byte);
    if (const Place* known = steps_.find(key)) return *known;
    const NameSet::Node next = names(place).step(node(place), byte);
    if (next == NameSet::kNowhere) return num_known_++, steps_[key] = kNone;
    const Place further = added({places_[place].root, place, next, byte});
    return steps_[key] = further;
}

Meaning::State Slots::read(Meaning::State state, Place name) {
    const Meaning::State next = read_unrecorded(state, name);
    for (Recording* recording : recordings_) recording->add(state, name, next);
    return next;
}

Meaning::State Slots::read_any(Meaning::State state, Symbol slot) {
    size_t added = state - Meaning::kAny + 1;
    for (const std::string& text : growth(slot)) added += text.size() + 1;
    return Meaning::kAny + Meaning::State(std::min(added, kMostAdded));
}

Meaning::State Slots::read_unrecorded(Meaning::State state, Place name) {
    if (Meaning::is_any(state)) return read_any(state, symbol(name));
    if (!is_free_[symbol(name)]) return read_now(settled(state), name);
    const uint64_t key = pack(state, name);
    if (const Meaning::State* known = owed_numbers_.find(key)) return *known;
    num_known_++;
    if (free_owed_.empty()) owed_.emplace_back(), free_owed_.push_back(uint32_t(owed_.size() - 1));
    const uint32_t number = free_owed_.back();
    free_owed_.pop_back();
    owed_[number] = {state, name};
    return owed_numbers_[key] = kOwed | number;
}

Meaning::State Slots::read_line_end(Meaning::State state, LineEnd end) {
    if (state == Meaning::kNone || end == kNoLineEnd) return state;
    const auto read_as = [&](Place place) {
        if (place != kNone) state = read(state, place);
    };
    read_as(layout_[0]);
    if (end == kIndent) read_as(layout_[1]);
    for (LineEnd i = kDedents; i < end; i++) read_as(layout_[2]);
    return state;
}

Meaning::State Slots::read_now(Meaning::State state, Place name) {
    const uint64_t key = pack(state, name);
    if (const Meaning::State* known = read_.find(key)) return *known;
    work(kCall), num_known_ += kAnswer;
    const Meaning::State next = meaning_->read(state, symbol(name), text(name));
    return read_[key] = next;
}

Meaning::State Slots::settled(Meaning::State state) {
    if (!(state & kOwed)) return state;
    std::vector<uint32_t> chain;  // each behind the next one
    for (; state & kOwed && owed_[state & ~kOwed].state == Meaning::kNone; state = owed_[state & ~kOwed].before)
        chain.push_back(state & ~kOwed);
    if (state & kOwed) state = owed_[state & ~kOwed].state;
    for (; !chain.empty(); chain.pop_back()) owed_[chain.back()].state = state = read_now(state, owed_[chain.back()].name);
    return state;
}

void Slots::mark(Meaning::State state, Place place) {
    marked_places_.insert(place);
    while (marked_states_.insert(state).second && state & kOwed) {  // what it is found from, or what was found
        const Owed& owed = owed_[state & ~kOwed];
        marked_places_.insert(owed.name);
        state = owed.state == Meaning::kNone ? owed.before : owed.state;
    }
}

void Slots::finish_collection() {
    begun_ = {}, read_ = {}, may_end_ = {}, owed_numbers_ = {}, missing_ = {}, steps_ = {};
    marked_places_.insert(layout_.begin(), layout_.end());
    for (Place place : std::vector<Place>(marked_places_.begin(), marked_places_.end()))  // and what is before them
        while (place != kNone && places_[place].parent != kNone && marked_places_.insert(places_[place].parent).second)
            place = places_[place].parent;
    std::vector<char> is_used(roots_.size(), 0);
    is_used[0] = 1;
    free_.clear();
    for (Place place = 1; place < places_.size(); place++) {
        const At at = places_[place];
        if (!marked_places_.count(place)) {
            places_[place] = {};
            free_.push_back(place);
            continue;
        }
        is_used[at.root] = 1;
        if (at.parent != kNone) steps_[pack(at.parent, at.byte)] = place;
    }
    for (auto known = beginnings_.begin(); known != beginnings_.end();)
        known = marked_places_.count(known->second) ? std::next(known) : beginnings_.erase(known);
    free_roots_.clear();
    for (uint32_t i = 0; i < roots_.size(); i++)
        if (!is_used[i]) roots_[i] = {}, free_roots_.push_back(i);
    std::vector<Meaning::State> states;
    for (Meaning::State s : marked_states_)
        if (!(s & kOwed)) states.push_back(s);
    free_owed_.clear();
    for (uint32_t i = 0; i < owed_.size(); i++) {
        const Owed& owed = owed_[i];
        if (!marked_states_.count(kOwed | i)) free_owed_.push_back(i);
        // What it was found from may be gone, and its number another state's.
        else if (marked_states_.count(owed.before) && marked_places_.count(owed.name))
            owed_numbers_[pack(owed.before, owed.name)] = kOwed | i;
    }
    num_known_ = marked_places_.size() + kAnswer * marked_states_.size();
    collect_at_ = std::max(kCollectAt, 2 * num_known_);
    meaning_->keep(states);
}

const Slots::Texts* Slots::missing(Meaning::State state) {
    state = settled(state);
    auto known = missing_.find(state);
    if (known == missing_.end()) {
        work(kCall), num_known_ += kAnswer;
        known = missing_.emplace(state, meaning_->missing(state)).first;
    }
    return known->second ? &*known->second : nullptr;
}

bool Slots::may_end(Meaning::State state) {
    if (!active() || state == Meaning::kNone || Meaning::is_any(state))
        return true;  // nothing of it is known: what is asked is of all texts
    if (const char* known = may_end_.find(state)) return *known;
    work(kCall), num_known_ += kAnswer;
    const bool may = meaning_->may_end(settled(state));
    may_end_[state] = char(may);
    return may;
}

}  // namespace derivable
