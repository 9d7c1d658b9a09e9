#include "liveness/brackets.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "support/task.hpp"

namespace derivable {

namespace {

constexpr uint64_t kManyWeights = 2'147'483'647;  // a prime: so the numbers that occur, few of which are not 0, 1 or -1
constexpr size_t kMaxSymbols = 20'000;

// Linear equations between the weights of symbols, modulo a prime, each solved for one symbol as it comes.
class Weights {
  public:
    using Sum = std::map<Symbol, uint64_t>;  // factors, none of them 0

    Weights(uint32_t num_symbols, uint64_t modulus) : modulus_(modulus), is_solved_(num_symbols, 0), solutions_(num_symbols) {}

    uint64_t minus(uint64_t a) const { return (modulus_ - a % modulus_) % modulus_; }
    void add(Sum& sum, Symbol s, uint64_t factor) const {
        const uint64_t after = (sum[s] + factor) % modulus_;
        if (after) sum[s] = after;
        else sum.erase(s);
    }
    // This sum is 0.
    void add_equation(const Sum& given) {
        Sum sum = free(given);
        if (sum.empty()) return;
        // Nonterminals first, so that what stays open are terminals.
        const auto pivot = std::prev(sum.end());
        const Symbol s = pivot->first;
        const uint64_t factor = minus(inverse(pivot->second));
        sum.erase(pivot);
        for (auto& [t, f] : sum) f = f * factor % modulus_;
        solutions_[s] = std::move(sum);
        is_solved_[s] = 1;
    }
    // In terms of those weights that may be anything.
    Sum of(Symbol s) { return free({{s, 1}}); }

  private:
    Sum free(const Sum& given) {
        Sum out, open = given;
        while (!open.empty()) {
            const auto [s, factor] = *std::prev(open.end());
            open.erase(s);
            if (!is_solved_[s]) {
                add(out, s, factor);
                continue;
            }
            work(5 + 10 * solutions_[s].size());
            for (auto [t, f] : solutions_[s]) add(open, t, f * factor % modulus_);
        }
        return out;
    }
    uint64_t inverse(uint64_t a) const {
        uint64_t result = 1;
        for (uint64_t n = modulus_ - 2; n; n /= 2, a = a * a % modulus_)
            if (n % 2) result = result * a % modulus_;
        return result;
    }

    const uint64_t modulus_;
    std::vector<char> is_solved_;
    std::vector<Sum> solutions_;
};

Weights weights(Productions& ps, const Bits& candidates, uint64_t modulus) {
    Weights out(std::max(ps.num_symbols(), ps[0].head) + 1, modulus);
    for (Symbol t = 0; t <= ps.num_terminals(); t++)
        if (!candidates.has(t)) out.add_equation({{t, 1}});
    out.add_equation({{ps[0].body[0], 1}});
    for (Symbol s = ps.num_terminals() + 1; s < ps.num_symbols(); s++)
        for (Symbol u : ps.units(s)) {
            Weights::Sum sum{{s, 1}};
            out.add(sum, u, out.minus(1));
            out.add_equation(sum);
        }
    std::vector<uint32_t> order;  // the short ones say most
    for (uint32_t i = 1; i < ps.size(); i++) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return ps[a].body.size() < ps[b].body.size(); });
    for (uint32_t i : order) {
        Weights::Sum sum{{ps[i].head, 1}};
        for (Symbol s : ps[i].body) out.add(sum, s, out.minus(1));
        out.add_equation(sum);
    }
    return out;
}

// By what may be anything: which side comes first in bodies that weigh nothing, summed over all of these.
std::map<Symbol, int> votes(Productions& ps, Weights& weights) {
    std::vector<Weights::Sum> sums;
    for (Symbol s = 0; s < ps.num_symbols(); s++) sums.push_back(weights.of(s));
    std::map<Symbol, int> out;
    std::vector<Symbol> met;
    for (uint32_t i = 1; i < ps.size(); i++) {
        met.clear();
        for (Symbol s : ps[i].body)
            for (auto [free, factor] : sums[s]) {
                work(5 + met.size());
                if (sums[ps[i].head].count(free) || std::find(met.begin(), met.end(), free) != met.end()) continue;
                met.push_back(free);
                out[free] += factor == 1 ? 1 : factor == kManyWeights - 1 ? -1 : 0;
            }
    }
    return out;
}

}  // namespace

std::vector<Brackets> find_brackets(Productions& ps, const Bits& candidates) {
    std::vector<Brackets> out;
    if (ps.num_symbols() > kMaxSymbols) return out;
    Bits taken(ps.num_terminals() + 1);
    auto is_free = [&](const std::vector<Symbol>& list) {
        return std::none_of(list.begin(), list.end(), [&](Symbol t) { return taken.has(t); });
    };
    auto keep = [&](Brackets found) {
        if (!is_free(found.openers) || !is_free(found.closers)) return;
        for (Symbol t : found.openers) taken.add(t);
        for (Symbol t : found.closers) taken.add(t);
        out.push_back(std::move(found));
    };
    // Quotes first, then what closes several kinds.
    using Solutions = std::map<Symbol, std::vector<std::pair<Symbol, uint64_t>>>;  // by what may be anything
    auto solve = [&](Weights& all) {
        Solutions solutions;
        for (Symbol t = 1; t <= ps.num_terminals(); t++)
            if (candidates.has(t))
                for (auto [free, factor] : all.of(t)) solutions[free].emplace_back(t, factor);
        return solutions;
    };
    Weights parities = weights(ps, candidates, 2), all = weights(ps, candidates, kManyWeights);
    const Solutions paired = solve(all);
    for (const auto& [free, terminals] : solve(parities))
        if (terminals.size() == 1 && all.of(free).empty()) keep({{free}, {free}});
    std::map<Symbol, int> vote = votes(ps, all);
    std::vector<Brackets> pairs;
    for (const auto& [free, terminals] : paired) {
        Brackets found;
        bool is_plain = true;
        for (auto [t, factor] : terminals) {
            is_plain = is_plain && (factor == 1 || factor == kManyWeights - 1);
            (factor == 1 ? found.openers : found.closers).push_back(t);
        }
        if (!is_plain || found.openers.empty() || found.closers.empty()) continue;
        if (vote[free] < 0) std::swap(found.openers, found.closers);
        pairs.push_back(std::move(found));
    }
    std::stable_sort(pairs.begin(), pairs.end(), [](const Brackets& a, const Brackets& b) {
        return a.openers.size() + a.closers.size() > b.openers.size() + b.closers.size();
    });
    for (Brackets& pair : pairs) keep(std::move(pair));
    return out;
}

}  // namespace derivable
