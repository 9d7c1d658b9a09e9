#include "automata/state_equivalence.hpp"

#include <algorithm>
#include <utility>

#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

constexpr uint32_t kNowhere = ~0u;

struct Run {
    uint8_t last;
    int32_t target;  // a state of the automaton, or kDead
};

// The rows of an automaton's table, equal targets of neighbouring bytes put together.
struct Rows {
    const Dfa& d;
    std::vector<std::pair<uint8_t, uint8_t>> class_runs;  // (last byte, class)

    explicit Rows(const Dfa& d) : d(d) {
        for (int b = 0; b < 256; b++) {
            if (!class_runs.empty() && class_runs.back().second == d.classes[size_t(b)]) class_runs.back().first = uint8_t(b);
            else class_runs.emplace_back(uint8_t(b), d.classes[size_t(b)]);
        }
    }
    void of(uint32_t s, std::vector<Run>& out) const {
        out.clear();
        for (auto [last, c] : class_runs) {
            int32_t t = d.table[size_t(s) * d.num_classes + c];
            if (!out.empty() && out.back().target == t) out.back().last = last;
            else out.push_back({last, t});
        }
    }
};

// Hashes of the states of a component by what follows within some steps. They only pick candidates, so the rounds may be few.
constexpr size_t kRounds = 12;

void hash_states(const Rows& rows, const std::vector<uint32_t>& component, const std::vector<uint32_t>& known, std::vector<Run>& row,
                 std::vector<uint64_t>& hash, std::vector<uint64_t>& next_hash) {
    for (uint32_t s : component) hash[s] = rows.d.accepting[s] ? 3 : 5;
    for (size_t r = 0; r < std::min<size_t>(component.size(), kRounds); r++) {
        for (uint32_t s : component) {
            rows.of(s, row);
            uint64_t h = hash[s];
            for (Run x : row) {
                uint64_t to = x.target < 0                          ? 1
                              : known[size_t(x.target)] != kNowhere ? mix(known[size_t(x.target)] + 7ULL)
                                                                    : hash[size_t(x.target)] ^ 0x5bd1e995ULL;
                h = mix(h * 0x9e3779b97f4a7c15ULL + to) + x.last;
            }
            next_hash[s] = h;
        }
        for (uint32_t s : component) hash[s] = next_hash[s];
    }
}

// Tarjan's components without recursion, leaves first.
std::vector<std::vector<uint32_t>> components(const Dfa& d) {
    uint32_t n = d.num_states(), k = d.num_classes;
    std::vector<std::vector<uint32_t>> out;
    std::vector<uint32_t> index(n, 0), low(n, 0), open;
    std::vector<uint8_t> is_open(n, 0);
    std::vector<std::pair<uint32_t, uint32_t>> path;  // (state, next class to look at)
    uint32_t count = 0;
    auto enter = [&](uint32_t s) {
        index[s] = low[s] = ++count;
        open.push_back(s);
        is_open[s] = 1;
        path.emplace_back(s, 0);
    };
    if (n) enter(0);  // every state is reachable
    while (!path.empty()) {
        uint32_t s = path.back().first;
        if (path.back().second < k) {
            int32_t t = d.table[size_t(s) * k + path.back().second++];
            if (t < 0) continue;
            if (!index[size_t(t)]) enter(uint32_t(t));
            else if (is_open[size_t(t)]) low[s] = std::min(low[s], index[size_t(t)]);
            continue;
        }
        path.pop_back();
        if (!path.empty()) low[path.back().first] = std::min(low[path.back().first], low[s]);
        if (low[s] != index[s]) continue;
        out.emplace_back();
        for (uint32_t t = kNowhere; t != s;) {
            t = open.back();
            open.pop_back();
            is_open[t] = 0;
            out.back().push_back(t);
        }
    }
    return out;
}

}  // namespace

std::vector<uint32_t> Languages::add(const Dfa& d, uint32_t first) {
    uint32_t n = d.num_states();
    std::vector<uint32_t> known(n, kNowhere);
    const Rows rows(d);
    std::vector<Run> row;
    std::vector<uint64_t> hash(n, 0), next_hash(n, 0);
    std::vector<uint32_t> matched(n, kNowhere);  // of a component being compared
    for (const std::vector<uint32_t>& component : components(d)) {
        work(component.size() * (60 + std::min<size_t>(component.size(), kRounds) * rows.class_runs.size()));
        hash_states(rows, component, known, row, hash, next_hash);
        // The same component, seen before: walk both in step.
        auto same = [&](uint32_t start, uint32_t number) {
            std::vector<uint32_t> todo{start};
            matched[start] = number;
            bool equal = true;
            for (size_t i = 0; equal && i < todo.size(); i++) {
                uint32_t s = todo[i];
                const Row* found = rows_.find(uint64_t(matched[s]));
                rows.of(s, row);
                equal = found && found->accepting == bool(d.accepting[s]) && found->end - found->begin == 2 * row.size();
                for (size_t k = 0; equal && k < row.size(); k++) {
                    uint32_t last = words_[found->begin + 2 * k], to = words_[found->begin + 2 * k + 1];
                    if (last != row[k].last || (row[k].target < 0) != (to == kNowhere)) {
                        equal = false;
                    } else if (row[k].target >= 0) {
                        uint32_t t = uint32_t(row[k].target);
                        if (known[t] != kNowhere) {
                            equal = known[t] == to;
                        } else if (matched[t] == kNowhere) {
                            matched[t] = to;
                            todo.push_back(t);
                        } else {
                            equal = matched[t] == to;
                        }
                    }
                }
            }
            for (uint32_t s : todo) {
                if (equal) known[s] = matched[s];
                matched[s] = kNowhere;
            }
            return equal;
        };
        bool seen = false;
        if (const std::vector<uint32_t>* candidates = by_hash_.find(hash[component[0]] >> 1))
            for (uint32_t number : *candidates)
                if ((seen = same(component[0], number))) break;
        if (seen) continue;
        for (uint32_t s : component) {
            known[s] = first + s;
            by_hash_[hash[s] >> 1].push_back(first + s);
        }
        for (uint32_t s : component) {
            rows.of(s, row);
            uint32_t begin = uint32_t(words_.size());
            for (Run x : row) {
                words_.push_back(x.last);
                words_.push_back(x.target < 0 ? kNowhere : known[size_t(x.target)]);
            }
            rows_[uint64_t(first + s)] = {begin, uint32_t(words_.size()), bool(d.accepting[s])};
            num_rows_++;
        }
    }
    return known;
}

}  // namespace derivable
