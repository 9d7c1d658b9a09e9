#include "parsing/waiting.hpp"

#include <algorithm>
#include <map>

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
    for (const Interner* lists : {&items_, &heads_}) {
        out.put(lists->size());
        for (uint32_t i = 0; i < lists->size(); i++) out.list((*lists)[i]);
    }
    std::map<uint64_t, Here> in_order;
    here_.each([&](uint64_t key, const Here& here) { in_order[key] = here; });
    out.put(in_order.size());
    for (const auto& [key, here] : in_order)
        for (uint32_t word : {uint32_t(key >> 32), here.heads, here.items, here.below.heads, here.below.gap}) out.put(word);
}

// SAFETY: items and how far down heads end are compared and counted, and no more, so whatever a file says of them will do.
void WaitingItems::restore(ImageReader& in) {
    ImageReader::check(items_.size() == 1 && heads_.size() == 0);
    for (Interner* lists : {&items_, &heads_})
        for (uint32_t i = 0, n = in.count(); i < n; i++) ImageReader::check(lists->intern(in.list()) == i);
    const Productions& productions = lr_.productions();
    for (uint32_t i = 0; i < heads_.size(); i++) {
        const std::vector<uint32_t>& words = heads_[i];
        ImageReader::check(words.size() % 2 == 0);
        for (size_t k = 1; k < words.size(); k += 2)
            ImageReader::check(!productions.is_terminal(words[k]) && words[k] < productions.num_symbols());
    }
    for (uint32_t n = in.count(5); n > 0; n--) {
        const uint32_t state = in.below(lr_.num_states()), heads = in.below(heads_.size()), items = in.below(items_.size());
        const uint32_t further = in.below(heads_.size()), gap = in.next();
        here_[pack(state, heads)] = {heads, items, {further, gap}};
    }
}

}  // namespace derivable
