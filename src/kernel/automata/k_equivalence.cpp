#include "automata/k_equivalence.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

// One round after the other: classes that one byte more tells apart are split.
//
// PERF: of a state only runs of bytes with one target are looked at, and a class's largest part keeps its number, so that the states before it are not looked
// at again. `.{1,2000}` behind a text of any length, 8,000 states: 15 ms with whole rows, and now 2.
class Refinement {
  public:
    explicit Refinement(const Dfa& dfa) : dfa_(dfa), classes_(dfa.num_states()), changed_(dfa.num_states()), seen_(dfa.num_states(), 0) {
        Interner ids;
        for (uint32_t q = 0; q < dfa.num_states(); q++) {
            classes_[q] = ids.intern({dfa.accepting[q], dfa.condition[q]});
            changed_[q] = q;
        }
        sizes_.assign(ids.size(), 0);
        tree_.assign(ids.size(), {0, 0, kNone});
        for (uint32_t c : classes_) sizes_[c]++;
        find_runs();
    }

    // False if nothing is left to be told apart.
    bool round() {
        affected_.clear();
        num_rounds_++;
        for (uint32_t q : changed_)
            for (uint32_t i = begin_[q]; i < begin_[q + 1]; i++)
                if (seen_[from_[i]] != num_rounds_) seen_[from_[i]] = num_rounds_, affected_.push_back(from_[i]);
        group();
        // A state that is not affected has the successors that its class had, and an affected one has a new one among its own: the two are told apart.
        // Where all of a class are affected its largest group keeps the number.
        std::vector<uint32_t> moved_from(sizes_.size(), 0), largest(sizes_.size(), kNone);
        for (const Group& g : groups_) moved_from[g.old] += g.size;
        for (uint32_t k = 0; k < groups_.size(); k++) {
            uint32_t& known = largest[groups_[k].old];
            if (moved_from[groups_[k].old] == sizes_[groups_[k].old] && (known == kNone || groups_[k].size > groups_[known].size))
                known = k;
        }
        for (uint32_t k = 0; k < groups_.size(); k++) {
            Group& g = groups_[k];
            g.number = g.old;
            if (largest[g.old] == k) continue;
            g.number = uint32_t(sizes_.size());
            sizes_[g.old] -= g.size;
            sizes_.push_back(g.size);
            tree_.push_back({0, num_rounds_, g.old});
        }
        changed_.clear();
        for (size_t i = 0; i < affected_.size(); i++) {
            const uint32_t q = affected_[i], to = groups_[group_of_[i]].number;
            if (classes_[q] != to) classes_[q] = to, changed_.push_back(q);
        }
        return !changed_.empty();
    }

    uint64_t cost() const { return cost_; }

    // Classes are numbered in the order in which they came to be, and keep some state for good.
    std::pair<std::vector<uint32_t>, std::vector<KEquivalence::Class>> take() {
        for (uint32_t q = uint32_t(classes_.size()); q-- > 0;) tree_[classes_[q]].state = q;
        return {std::move(classes_), std::move(tree_)};
    }

  private:
    static constexpr uint32_t kNone = ~0u;
    struct Run {             // of byte classes, up to the next one's first
        uint32_t first, to;  // kNone: nowhere
    };
    struct Group {  // of affected states that one byte more does not tell apart
        uint32_t old, key_begin, key_end, size, number;
    };

    void find_runs() {
        const uint32_t n = dfa_.num_states();
        spend(uint64_t(n) * dfa_.num_classes / 4);
        begin_.assign(n + 2, 0);
        for (uint32_t q = 0; q < n; q++) {
            runs_begin_.push_back(uint32_t(runs_.size()));
            int32_t before = kDead;
            for (uint32_t c = 0; c < dfa_.num_classes; c++) {
                const int32_t to = dfa_.table[size_t(q) * dfa_.num_classes + c];
                if (to == before) continue;
                runs_.push_back({c, to < 0 ? kNone : uint32_t(to)});
                if (to >= 0) begin_[size_t(to) + 2]++;
                before = to;
            }
        }
        runs_begin_.push_back(uint32_t(runs_.size()));
        for (uint32_t q = 2; q < n + 2; q++) begin_[q] += begin_[q - 1];
        from_.resize(begin_[n + 1]);
        for (uint32_t q = 0; q < n; q++)
            for (uint32_t i = runs_begin_[q]; i < runs_begin_[q + 1]; i++)
                if (runs_[i].to != kNone) from_[begin_[runs_[i].to + 1]++] = q;
    }

    // The affected states by their class and the classes of their successors.
    void group() {
        groups_.clear();
        group_of_.clear();
        keys_.clear();
        size_t capacity = 16;
        while (capacity < 2 * affected_.size()) capacity *= 2;
        std::vector<uint32_t> table(capacity, kNone);
        uint64_t looks = changed_.size();
        for (uint32_t q : affected_) {
            const auto begin = uint32_t(keys_.size());
            uint32_t before = kNone;
            uint64_t hash = mix(classes_[q]);
            for (uint32_t i = runs_begin_[q]; i < runs_begin_[q + 1]; i++) {
                const uint32_t to = runs_[i].to == kNone ? kNone : classes_[runs_[i].to];
                if (to == before) continue;
                keys_.push_back(runs_[i].first);
                keys_.push_back(to);
                hash = (hash ^ pack(runs_[i].first, to)) * 0x9ddfea08eb382d69ULL;
                hash ^= hash >> 29;
                before = to;
            }
            looks += 4 + runs_begin_[q + 1] - runs_begin_[q];
            size_t place = mix(hash) & (capacity - 1);
            for (; table[place] != kNone; place = (place + 1) & (capacity - 1)) {
                const Group& g = groups_[table[place]];
                if (g.old == classes_[q] && std::equal(keys_.begin() + long(g.key_begin), keys_.begin() + long(g.key_end),
                                                       keys_.begin() + long(begin), keys_.end()))
                    break;
            }
            if (table[place] == kNone) {
                table[place] = uint32_t(groups_.size());
                groups_.push_back({classes_[q], begin, uint32_t(keys_.size()), 0, 0});
            } else {
                keys_.resize(begin);
            }
            groups_[table[place]].size++;
            group_of_.push_back(table[place]);
        }
        spend(looks);
    }

    void spend(uint64_t looks) {
        work(looks);
        cost_ += looks;
    }

    const Dfa& dfa_;
    std::vector<uint32_t> classes_, sizes_;  // by state; by class
    std::vector<KEquivalence::Class> tree_;
    std::vector<uint32_t> changed_;       // states whose class is new since the last round
    std::vector<uint32_t> seen_;          // by state: the last round that it was affected in
    std::vector<uint32_t> begin_, from_;  // predecessors of each state
    std::vector<uint32_t> runs_begin_;    // by state
    std::vector<Run> runs_;
    std::vector<uint32_t> affected_, group_of_, keys_;  // of the round
    std::vector<Group> groups_;
    uint32_t num_rounds_ = 0;
    uint64_t cost_ = 0;  // as `work` counts
};

}  // namespace

KEquivalence::KEquivalence(const Dfa& dfa) {
    // PERF: where states are told apart in every round this costs more than it spares, so it ends, after 10 to 20 ms.
    constexpr uint64_t kMostCost = 2'000'000;
    constexpr uint64_t kMostBytes = 160;  // the tokens of nearly all vocabularies, and what stands around them
    if (uint64_t(dfa.num_states()) * dfa.num_classes > 2 * kMostCost) return;
    Refinement refinement(dfa);
    bool open = true;
    known_ = 1;
    while (known_ <= kMostBytes && (open = refinement.round()) && refinement.cost() < kMostCost) known_++;
    if (!open) known_ = kForever;
    std::tie(class_of_, classes_) = refinement.take();
}

uint64_t KEquivalence::alike_for(uint32_t a, uint32_t b) const {
    if (a == b) return kForever;
    if (classes_.empty()) return 0;
    uint32_t x = class_of_[a], y = class_of_[b];
    uint64_t bytes = known_;
    while (x != y) {  // the younger one is not what the other was split off from
        if (x < y) std::swap(x, y);
        bytes = classes_[x].bytes;
        if (!bytes) break;
        x = classes_[x].older;
    }
    return bytes;
}

}  // namespace derivable
