#include "automata/k_equivalence.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

// One round after the other: classes that one byte more tells apart are split.
class Refinement {
  public:
    explicit Refinement(const Dfa& dfa) : dfa_(dfa), classes_(dfa.num_states()), changed_(dfa.num_states()) {
        const uint32_t n = dfa.num_states();
        Interner ids;
        for (uint32_t q = 0; q < n; q++) {
            classes_[q] = ids.intern({dfa.accepting[q], dfa.condition[q]});
            changed_[q] = q;
        }
        sizes_.assign(ids.size(), 0);
        for (uint32_t c : classes_) sizes_[c]++;
        find_predecessors();
    }

    // False if nothing is left to be told apart.
    bool round() {
        std::vector<uint32_t> affected;
        std::vector<uint8_t> seen(dfa_.num_states(), 0);
        for (uint32_t q : changed_)
            for (uint32_t i = begin_[q]; i < begin_[q + 1]; i++)
                if (!seen[from_[i]]) seen[from_[i]] = 1, affected.push_back(from_[i]);
        std::sort(affected.begin(), affected.end());
        const uint64_t looks = changed_.size() + affected.size() * (4 + dfa_.num_classes / 2);
        work(looks);
        cost_ += looks;
        // A state that is not affected has the successors that its class had, and an affected one has a new one among its own: the two are told apart.
        std::unordered_map<std::vector<uint32_t>, uint32_t, WordsHash> groups;
        std::vector<uint32_t> moved_from(sizes_.size(), 0);
        for (uint32_t q : affected) moved_from[classes_[q]]++;
        std::vector<uint8_t> stays(sizes_.size());  // the class has no state that is not affected: its first group keeps the number
        for (uint32_t c = 0; c < sizes_.size(); c++) stays[c] = moved_from[c] == sizes_[c];
        std::vector<std::pair<uint32_t, uint32_t>> moved;
        std::vector<uint32_t> key;
        for (uint32_t q : affected) {
            const uint32_t old = classes_[q];
            key.assign(1, old);
            for (uint32_t c = 0; c < dfa_.num_classes; c++) {
                const int32_t to = dfa_.table[size_t(q) * dfa_.num_classes + c];
                key.push_back(to < 0 ? ~0u : classes_[size_t(to)]);
            }
            auto [it, fresh] = groups.try_emplace(key, old);
            if (fresh && stays[old]) stays[old] = 0;
            else if (fresh) it->second = uint32_t(sizes_.size()), sizes_.push_back(0);
            if (it->second != old) moved.emplace_back(q, it->second);
        }
        changed_.clear();
        for (auto [q, to] : moved) {
            sizes_[classes_[q]]--, sizes_[to]++;
            classes_[q] = to;
            changed_.push_back(q);
        }
        return !changed_.empty();
    }

    uint64_t cost() const { return cost_; }

    std::vector<uint32_t> first() const {
        std::vector<uint32_t> of_class(sizes_.size(), ~0u), out;
        for (uint32_t q = 0; q < classes_.size(); q++) {
            uint32_t& known = of_class[classes_[q]];
            out.push_back(known = std::min(known, q));
        }
        return out;
    }

  private:
    void find_predecessors() {
        const uint32_t n = dfa_.num_states();
        work(uint64_t(n) * dfa_.num_classes / 2);
        begin_.assign(n + 2, 0);
        auto each = [&](auto&& act) {
            for (uint32_t q = 0; q < n; q++) {
                int32_t before = kDead;
                for (uint32_t c = 0; c < dfa_.num_classes; c++) {
                    const int32_t to = dfa_.table[size_t(q) * dfa_.num_classes + c];
                    if (to >= 0 && to != before) act(q, size_t(to));
                    before = to;
                }
            }
        };
        each([&](uint32_t, size_t to) { begin_[to + 2]++; });
        for (uint32_t q = 2; q < n + 2; q++) begin_[q] += begin_[q - 1];
        from_.resize(begin_[n + 1]);
        each([&](uint32_t q, size_t to) { from_[begin_[to + 1]++] = q; });
    }

    const Dfa& dfa_;
    std::vector<uint32_t> classes_, sizes_;  // by state; by class
    std::vector<uint32_t> changed_;          // states whose class is new since the last round
    std::vector<uint32_t> begin_, from_;     // predecessors of each state
    uint64_t cost_ = 0;                      // as `work` counts
};

}  // namespace

KEquivalence::KEquivalence(const Dfa& dfa) {
    // PERF: where states are told apart in every round this costs more than it spares, so it ends, after about 20 ms.
    constexpr uint64_t kMostCost = 2'000'000;
    std::vector<uint32_t> itself(dfa.num_states());
    std::iota(itself.begin(), itself.end(), 0u);
    first_.fill(itself);
    if (uint64_t(dfa.num_states()) * dfa.num_classes > kMostCost) return;
    Refinement refinement(dfa);
    uint64_t bytes = 0;
    bool open = true;
    for (size_t level = 0; level < kBytes.size(); level++) {
        for (; bytes < kBytes[level] && open && refinement.cost() < kMostCost; bytes++) open = refinement.round();
        if (bytes < kBytes[level] && open) return;
        first_[level] = refinement.first();
    }
}

}  // namespace derivable
