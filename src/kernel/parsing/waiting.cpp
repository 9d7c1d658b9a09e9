#include "parsing/waiting.hpp"

#include <algorithm>

#include "support/image.hpp"
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

void WaitingItems::save(ImageWriter& out) const {
    out.put(items_.size() - 1);
    for (uint32_t i = 1; i < items_.size(); i++) out.list(items_[i]);
}

// SAFETY: they are compared, and no more, so whatever a file says they are will do.
void WaitingItems::restore(ImageReader& in) {
    ImageReader::check(items_.size() == 1);
    for (uint32_t i = 1, n = in.count(); i <= n; i++) ImageReader::check(items_.intern(in.list()) == i);
}

}  // namespace derivable
