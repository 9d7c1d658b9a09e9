#include "json/counted_values.hpp"

#include <utility>

namespace derivable {

CountedValues::CountedValues(std::shared_ptr<const Dfa> values, uint64_t max)
    : values_(std::move(values)),
      max_(max),
      least_(values_->num_states()) {
    const uint32_t n = values_->num_states();
    std::vector<std::vector<uint32_t>> from[2];  // by cost and target
    for (auto& edges : from) edges.resize(n);
    for (uint32_t q = 0; q < n; q++)
        for (uint32_t b = 0; b < 256; b++) {
            int32_t to = values_->step(q, uint8_t(b));
            if (to < 0) continue;
            auto& edges = from[begins_character(uint8_t(b))][size_t(to)];
            if (edges.empty() || edges.back() != q) edges.push_back(q);
        }
    // Breadth first from acceptance backwards: the first byte of a character costs one, the others nothing.
    std::vector<uint32_t> level, next;
    for (uint32_t q = 0; q < n; q++)
        if (values_->accepting[q]) level.push_back(q);
    for (uint32_t cost = 0; !level.empty(); cost++) {
        next.clear();
        for (size_t i = 0; i < level.size(); i++) {
            uint32_t q = level[i];
            if (least_[q].here != ~0u) continue;
            least_[q].here = most_least_ = cost;
            level.insert(level.end(), from[0][q].begin(), from[0][q].end());
            next.insert(next.end(), from[1][q].begin(), from[1][q].end());
        }
        level.swap(next);
    }
    // The most of all that a state leads to: from the largest on, backwards.
    auto spread = [&](uint32_t Least::* most, std::vector<std::pair<uint32_t, uint32_t>> found) {
        std::sort(found.rbegin(), found.rend());
        std::vector<uint8_t> known(n, 0);
        std::vector<uint32_t> todo;
        for (auto [value, state] : found)
            for (todo.push_back(state); !todo.empty();) {
                const uint32_t q = todo.back();
                todo.pop_back();
                if (known[q]++) continue;
                least_[q].*most = value;
                for (const auto& edges : from) todo.insert(todo.end(), edges[q].begin(), edges[q].end());
            }
    };
    std::vector<std::pair<uint32_t, uint32_t>> least, lost;
    for (uint32_t q = 0; q < n; q++) {
        least.emplace_back(least_[q].here, q);
        for (uint32_t cost : {0u, 1u})
            for (uint32_t before : from[cost][q])
                if (const uint32_t by_byte = cost + least_[q].here - least_[before].here)
                    lost.emplace_back(by_byte, before), next.push_back(before);
    }
    for (uint32_t bytes = 0; !next.empty(); bytes++) {
        level.swap(next);
        next.clear();
        for (uint32_t q : level) {
            if (least_[q].nothing_lost != ~0u) continue;
            least_[q].nothing_lost = bytes;
            for (const auto& edges : from) next.insert(next.end(), edges[q].begin(), edges[q].end());
        }
    }
    spread(&Least::most, std::move(least));
    spread(&Least::most_lost, std::move(lost));
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
