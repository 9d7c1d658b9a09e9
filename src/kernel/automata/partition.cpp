#include "automata/partition.hpp"

#include <map>
#include <utility>

#include "support/errors.hpp"
#include "support/hashing.hpp"

namespace derivable {

Partition::Partition(const Dfa& whole, const std::vector<const Dfa*>& parts, uint64_t max_states, uint64_t max_classes) {
    std::vector<const Dfa*> all{&whole};
    all.insert(all.end(), parts.begin(), parts.end());
    // Bytes that all take to be alike.
    std::map<std::vector<uint8_t>, uint8_t> kinds;
    std::vector<uint8_t> example;
    for (uint32_t b = 0; b < 256; b++) {
        std::vector<uint8_t> kind;
        for (const Dfa* d : all) kind.push_back(d->classes[b]);
        auto [it, fresh] = kinds.try_emplace(std::move(kind), uint8_t(kinds.size()));
        if (fresh) example.push_back(uint8_t(b));
        automaton_.classes[b] = it->second;
    }
    automaton_.num_classes = uint32_t(example.size());
    Interner tuples;
    std::map<std::vector<bool>, int32_t> classes;
    if (whole.empty()) return;
    std::vector<uint32_t> next;
    for (const Dfa* d : all) next.push_back(d->empty() ? uint32_t(kDead) : 0);  // an empty one may have no states
    tuples.intern(next);
    for (uint32_t s = 0; s < tuples.size(); s++) {
        const std::vector<uint32_t> now = tuples[s];
        int32_t found = kDead;
        if (whole.accepting[now[0]]) {
            std::vector<bool> answer;
            for (size_t i = 1; i < all.size(); i++) answer.push_back(int32_t(now[i]) != kDead && all[i]->accepting[now[i]]);
            auto [it, fresh] = classes.try_emplace(answer, int32_t(answers_.size()));
            if (fresh) answers_.push_back(std::move(answer));
            found = it->second;
        }
        class_of_.push_back(found);
        for (uint8_t byte : example) {
            for (size_t i = 0; i < all.size(); i++) next[i] = int32_t(now[i]) == kDead ? now[i] : uint32_t(all[i]->step(now[i], byte));
            automaton_.table.push_back(int32_t(next[0]) == kDead ? kDead : int32_t(tuples.intern(next)));
        }
        if (answers_.size() > max_classes) throw LimitExceeded("max_cases", answers_.size(), max_classes, "overlapping patternProperties");
        if (tuples.size() > max_states) throw LimitExceeded("max_dfa_states", tuples.size(), max_states, "overlapping patternProperties");
    }
}

Dfa Partition::strings(const std::vector<uint32_t>& classes) const {
    std::vector<char> wanted(answers_.size(), 0);
    for (uint32_t c : classes) wanted.at(c) = 1;
    Dfa d = automaton_;
    for (int32_t c : class_of_) d.accepting.push_back(c != kDead && wanted[size_t(c)]);
    d.condition.assign(class_of_.size(), 0);
    if (class_of_.empty()) d.table.assign(d.num_classes, kDead), d.accepting = {0}, d.condition = {0};
    d.minimize();
    return d;
}

}  // namespace derivable
