#include "matching/slots.hpp"

#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {
constexpr uint64_t kCall = 200;  // work of a call into Python
constexpr size_t kMost = size_t(1) << 22;  // places
}  // namespace

Slots::Place Slots::intern(At at) {
    const auto address = reinterpret_cast<uintptr_t>(at.names.get());
    std::string key(reinterpret_cast<const char*>(&at.slot), sizeof at.slot);
    key.append(reinterpret_cast<const char*>(&address), sizeof address);
    key += at.text;
    const auto [known, is_new] = numbers_.try_emplace(std::move(key), Place(places_.size()));
    if (is_new) {
        if (places_.size() >= kMost) throw LimitExceeded("cache_bytes", places_.size(), kMost, "beginnings of names that were written");
        places_.push_back(std::move(at));
    }
    return known->second;
}

Slots::Place Slots::begin(Meaning::State state, Symbol slot) {
    const uint64_t key = pack(state, slot);
    if (const Place* known = begun_.find(key)) return *known;
    work(kCall);
    NameSetRef names = meaning_->names(state, slot);
    const Place place = names ? intern({slot, std::move(names), NameSet::kRoot, {}}) : kNone;
    return begun_[key] = place;
}

Slots::Place Slots::step(Place place, uint8_t byte) {
    const At& at = places_[place];
    const NameSet::Node next = at.names->step(at.node, byte);
    if (next == NameSet::kNowhere) return kNone;
    return intern({at.slot, at.names, next, at.text + char(byte)});
}

Meaning::State Slots::read(Meaning::State state, Place name) {
    const uint64_t key = pack(state, name);
    if (const Meaning::State* known = read_.find(key)) return *known;
    work(kCall);
    const Meaning::State next = meaning_->read(state, places_[name].slot, places_[name].text);
    return read_[key] = next;
}

bool Slots::may_end(Meaning::State state) {
    if (!active()) return true;
    if (const char* known = may_end_.find(state)) return *known;
    const bool may = meaning_->may_end(state);
    may_end_[state] = char(may);
    return may;
}

}  // namespace derivable
