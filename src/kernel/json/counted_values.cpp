#include "json/counted_values.hpp"

#include <utility>

namespace derivable {

namespace {

// Where an automaton's states are led to from: by the first byte of a character, or by another.
class Sources {
  public:
    Sources(const Dfa& d, bool first) : heads_(d.num_states() + 1, 0) {
        std::vector<uint8_t> bytes, known(d.num_classes, 0);  // one of each class
        for (uint32_t b = 0; b < 256; b++)
            if (CountedValues::begins_character(uint8_t(b)) == first && !std::exchange(known[d.classes[b]], uint8_t(1)))
                bytes.push_back(uint8_t(b));
        auto each = [&](auto&& take) {
            for (uint32_t q = 0; q < d.num_states(); q++)
                for (uint8_t b : bytes)
                    if (int32_t to = d.step(q, b); to >= 0) take(uint32_t(to), q);
        };
        each([&](uint32_t to, uint32_t) { heads_[to + 1]++; });
        for (size_t i = 1; i < heads_.size(); i++) heads_[i] += heads_[i - 1];
        states_.resize(heads_.back());
        std::vector<uint32_t> at(heads_.begin(), heads_.end() - 1);
        each([&](uint32_t to, uint32_t q) { states_[at[to]++] = q; });
    }
    void append_to(std::vector<uint32_t>& list, uint32_t to) const {
        list.insert(list.end(), states_.begin() + heads_[to], states_.begin() + heads_[to + 1]);
    }
    template <class Take>
    void each(uint32_t to, Take&& take) const {
        for (uint32_t i = heads_[to]; i < heads_[to + 1]; i++) take(states_[i]);
    }

  private:
    std::vector<uint32_t> heads_, states_;
};

}  // namespace

CountedValues::CountedValues(std::shared_ptr<const Dfa> values, uint64_t max)
    : values_(std::move(values)),
      max_(max),
      least_(values_->num_states()) {
    const uint32_t n = values_->num_states();
    const Sources from[2] = {{*values_, false}, {*values_, true}};  // by cost: the first byte of a character costs one, the others nothing
    // Breadth first from acceptance backwards.
    std::vector<uint32_t> level, next;
    for (uint32_t q = 0; q < n; q++)
        if (values_->accepting[q]) level.push_back(q);
    for (uint32_t cost = 0; !level.empty(); cost++) {
        next.clear();
        for (size_t i = 0; i < level.size(); i++) {
            uint32_t q = level[i];
            if (least_[q].here != ~0u) continue;
            least_[q].here = most_least_ = cost;
            from[0].append_to(level, q);
            from[1].append_to(next, q);
        }
        level.swap(next);
    }
    // The most of all that a state leads to: from the largest on, backwards.
    auto spread = [&](uint32_t Least::* most, const std::vector<uint32_t>& own) {
        std::vector<std::vector<uint32_t>> by_value;
        for (uint32_t q = 0; q < n; q++) {
            if (own[q] >= by_value.size()) by_value.resize(own[q] + 1);
            by_value[own[q]].push_back(q);
        }
        std::vector<uint8_t> known(n, 0);
        for (size_t value = by_value.size(); value-- > 0;)
            for (std::vector<uint32_t>& todo = by_value[value]; !todo.empty();) {
                const uint32_t q = todo.back();
                todo.pop_back();
                if (std::exchange(known[q], uint8_t(1))) continue;
                least_[q].*most = uint32_t(value);
                for (const Sources& edges : from) edges.append_to(todo, q);
            }
    };
    std::vector<uint32_t> least, lost(n, 0);
    for (uint32_t q = 0; q < n; q++) {
        least.push_back(least_[q].here);
        for (uint32_t cost : {0u, 1u})
            from[cost].each(q, [&](uint32_t before) {
                if (const uint32_t by_byte = cost + least_[q].here - least_[before].here)
                    lost[before] = std::max(lost[before], by_byte), next.push_back(before);
            });
    }
    for (uint32_t bytes = 0; !next.empty(); bytes++) {
        level.swap(next);
        next.clear();
        for (uint32_t q : level) {
            if (least_[q].nothing_lost != ~0u) continue;
            least_[q].nothing_lost = bytes;
            for (const Sources& edges : from) edges.append_to(next, q);
        }
    }
    spread(&Least::most, least);
    spread(&Least::most_lost, lost);
}

bool CountedValues::step_values(Place& place, uint8_t byte) const {
    const int32_t to = values_->step(place.state, byte);
    const uint64_t begun = begins_character(byte);
    if (to < 0 || place.room < begun) return false;
    place = {uint32_t(to), place.room - begun};
    return is_open(place);
}

bool CountedValues::step(Place& place, uint8_t byte) const {
    if (!step_values(place, byte)) return false;
    if (byte != 0xED) return true;
    // As it stands, text has no surrogates: their second byte is 0xA0 or more.
    for (uint32_t b = 0x80; b < 0xA0; b++)
        if (Place after = place; step_values(after, uint8_t(b))) return true;
    return false;
}

}  // namespace derivable
