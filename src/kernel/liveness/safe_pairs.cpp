// Pairs (last terminal, what is owed) behind which everything that may follow can be spelled, for ever.
#include <algorithm>
#include <utility>

#include "liveness/spelling.hpp"

namespace derivable {

bool Spelling::safe(Symbol last, Obligations obligations) {
    Pair pair = pack(last, obligations);
    auto found = safe_.find(pair);
    if (found == safe_.end()) judge(pair), found = safe_.find(pair);
    return found->second;
}

// The greatest fixpoint over the pairs that can be reached.
void Spelling::judge(Pair first) {
    constexpr size_t kMaxPairs = 4'000;
    constexpr uint64_t kMaxSteps = 2'000'000;
    constexpr uint32_t kSafe = ~0u, kUnsafe = ~0u - 1;  // known before; else the place of a pair in `pairs`
    struct Facts {
        std::vector<std::pair<Symbol, uint32_t>> next;  // terminals, and where they lead
        std::vector<uint32_t> from;
        bool ends = false, good = true;
    };
    std::vector<Pair> pairs{first};
    std::unordered_map<Pair, uint32_t, MixHash> ids{{first, 0}};
    std::vector<Facts> facts(1);
    auto id = [&](Pair p) {
        if (const auto before = safe_.find(p); before != safe_.end()) return before->second ? kSafe : kUnsafe;
        const auto [it, fresh] = ids.try_emplace(p, uint32_t(pairs.size()));
        if (fresh) pairs.push_back(p), facts.emplace_back();
        return it->second;
    };
    const uint64_t until = steps_ + kMaxSteps;
    // PERF: where pairs are too many, those that were looked at are none of the safe ones unless they lead to safe ones only; one by one each of
    // them took 4,000 others: 6,000,000 units a mask of /a(?=.{0,10}x)|a(?=.{0,6}y)/ beside letters.
    uint32_t judged = 0;
    for (uint32_t& i = judged; i < pairs.size() && pairs.size() <= kMaxPairs && steps_ <= until; i++) {
        const Symbol last = Symbol(pairs[i] >> 32);
        std::vector<Obligations> through{Obligations(uint32_t(pairs[i]))};
        for (size_t j = 0; j < through.size(); j++) {
            facts[i].ends |= lexer_.formulas.hold_at_end(through[j]);
            any_next(adjacency_.follow(last), through[j], [&](const Landing& l) {
                if (l.terminal != 0) {
                    const uint32_t to = id(pack(l.terminal, l.obligations));
                    facts[i].next.emplace_back(l.terminal, to);
                    if (to < kUnsafe) facts[to].from.push_back(i);
                } else if (std::find(through.begin(), through.end(), l.obligations) == through.end()) {
                    through.push_back(l.obligations);
                }
                return false;
            });
        }
        derivable::work(40 + 20 * facts[i].next.size());
    }
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < pairs.size(); i++) {
        facts[i].good = i < judged;
        open.push_back(uint32_t(pairs.size()) - 1 - i);
    }
    while (!open.empty()) {
        const uint32_t i = open.back();
        open.pop_back();
        Facts& f = facts[i];
        if (!f.good) continue;
        derivable::work(10 + f.next.size());
        Bits have(ignored_.size());
        if (f.ends) have.add(kEnd);
        for (auto [terminal, to] : f.next)
            if (to == kSafe || (to != kUnsafe && facts[to].good)) have.add(terminal);
        const Bits& follow = adjacency_.follow(Symbol(pairs[i] >> 32));
        for (Symbol t = 0; t < ignored_.size(); t++)
            if (follow.has(t) && !have.has(t) && (t == kEnd || spellable().has(t))) f.good = false;
        if (!f.good) open.insert(open.end(), f.from.begin(), f.from.end());
    }
    for (uint32_t i = 0; i < std::max(judged, 1u); i++) safe_[pairs[i]] = facts[i].good;
}

}  // namespace derivable
