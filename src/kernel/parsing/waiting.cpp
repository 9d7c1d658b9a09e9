#include "parsing/waiting.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "support/archive.hpp"
#include "support/task.hpp"

namespace derivable {

WaitingItems::Expected WaitingItems::expected(Ends ends) {
    if (ends.empty()) return {};
    work(10 + 4 * ends.size());
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    const uint32_t gap = ends[0].first;
    std::vector<uint32_t> words;
    for (auto [depth, head] : ends) words.push_back(depth - gap), words.push_back(head);
    return {heads_.intern(std::move(words)), gap};
}

WaitingItems::Expected WaitingItems::find_below_top(LrState state) {
    Ends ends;
    for (auto [production, dot] : lr_.kernel(state))
        if (production) ends.emplace_back(dot, lr_.productions()[production].head);
    return expected(std::move(ends));
}

WaitingItems::Here WaitingItems::find(LrState state, uint32_t heads) {
    const uint64_t key = pack(state, heads);
    if (const Here* known = here_.find(key)) return *known;
    std::vector<Symbol> ending;
    Ends further;
    const std::vector<uint32_t>& words = heads_[heads];
    for (size_t i = 0; i < words.size(); i += 2)
        if (words[i]) further.emplace_back(words[i], words[i + 1]);
        else ending.push_back(words[i + 1]);
    std::vector<uint32_t> items;
    for (auto [production, dot] : lr_.waiting(state, ending)) {
        items.push_back(production), items.push_back(dot);
        if (dot) further.emplace_back(dot, lr_.productions()[production].head);
    }
    const Here found{heads, items_.intern(std::move(items)), expected(std::move(further))};
    return here_[key] = found;
}

void WaitingItems::forget_states() {
    items_ = {};
    items_.intern(std::vector<uint32_t>());  // kNone
    heads_ = {};
    tops_.clear();
    here_ = {};
    last_.clear();
}

// SAFETY: items and how far down heads end are compared and counted, and no more, so whatever a file says of them will do.
void WaitingItems::archive(Archive& a) {
    a.check(items_.size() == 1 && heads_.size() == 0);
    a.lists(items_, 0, [&](std::vector<uint32_t>&& items) { return items_.intern(std::move(items)); });
    const Productions& productions = lr_.productions();
    a.lists(heads_, 0, [&](std::vector<uint32_t>&& words) {
        a.check(words.size() % 2 == 0);
        for (size_t k = 1; k < words.size(); k += 2) a.check(!productions.is_terminal(words[k]) && words[k] < productions.num_symbols());
        return heads_.intern(std::move(words));
    });
    std::vector<std::pair<uint64_t, Here>> found;
    here_.each([&](uint64_t key, const Here& here) { found.emplace_back(key, here); });
    std::sort(found.begin(), found.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    a.each(found, 5, [&](auto& entry) {
        auto& [key, here] = entry;
        LrState state(uint32_t(key >> 32));
        a.below(state, lr_.num_states());
        a.below(here.heads, heads_.size());
        a.below(here.items, items_.size());
        a.below(here.below.heads, heads_.size());
        a.number(here.below.gap);
        if (a.reading()) here_[pack(state, here.heads)] = here;
    });
}

}  // namespace derivable
