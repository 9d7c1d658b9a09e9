#include "budgets/token_search.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

Witness TokenSearch::run(const Parses& from) {
    constexpr uint64_t kMostWork = 2'000'000;
    // Also where the call has less left (so not done_within), for a search that is broken off begins anew.
    const bool is_least = kMostWork >= Task::current()->left();
    Task task(kMostWork);
    task.enter();
    try {
        return search(from);
    } catch (const LimitExceeded& e) {
        if (is_least || e.limit != std::string_view(Task::kWork)) throw;
    }
    return {};
}

Witness TokenSearch::search(const Parses& from) {
    constexpr size_t kMostPlaces = 4096, kMostExpanded = 256;
    std::vector<Place> places{{from, 0, 0, witnesses_.key_of(from)}};
    std::set<Witnesses::Key> seen;
    if (places[0].key) seen.insert(*places[0].key);
    for (size_t i = 0; i < places.size() && i < kMostExpanded; i++) {
        if (runs_.accepting(places[i].parses)) return found(places, i);
        const auto add = [&](Parses parses, uint32_t unit) {
            std::optional<Witnesses::Key> key = witnesses_.key_of(parses);
            if (places.size() < kMostPlaces && (!key || seen.insert(*key).second))
                places.push_back({std::move(parses), i, unit, std::move(key)});
        };
        const Parses here = places[i].parses;
        struct Behind {
            Parses parses;  // until they are added
            bool is_new = true;
        };
        runs_.judge_tokens(
            here, Runs::all, [](Parses& behind) { return Behind{std::move(behind)}; },
            [&](uint32_t token, Behind& behind) {
                if (behind.is_new && !behind.parses.empty()) add(std::move(behind.parses), token);
                behind.is_new = false;
                return places.size() < kMostPlaces;
            });
        for (const TokenReference& r : engine_.terminals.references()) {
            Parses after;
            uint32_t token = r.tokens.empty() ? 0 : r.tokens[0];
            for (; r.negated && token < vocabulary_.size() && !r.matches(token, vocabulary_.bytes[token]); token++) {}
            if (token < vocabulary_.size()) runs_.step_token(here, token, after);
            if (!after.empty()) add(std::move(after), WitnessText::kToken | token);
        }
    }
    return {};
}

Witness TokenSearch::found(const std::vector<Place>& places, size_t last) {
    std::vector<size_t> way;
    for (size_t i = last; i; i = places[i].from) way.push_back(i);
    auto text = std::make_shared<WitnessText>();
    std::vector<uint32_t> starts;
    for (auto i = way.rbegin(); i != way.rend(); ++i) {
        const uint32_t unit = places[*i].unit;
        starts.push_back(uint32_t(text->units.size()));
        if (unit & WitnessText::kToken) text->units.push_back(unit);
        else
            for (char c : vocabulary_.bytes[unit]) text->units.push_back(uint8_t(c));
    }
    for (uint32_t unit : text->units) text->bytes.push_back(char(unit));
    text->counts.assign(text->units.size() + 1, FewestTokens::kNone);
    text->counts.back() = 0;
    for (size_t k = 0; k < starts.size(); k++) text->counts[starts[k]] = uint32_t(starts.size() - k);
    for (size_t k = 1; k < starts.size(); k++)
        if (const auto& key = places[way[way.size() - k]].key) witnesses_.keep(*key, {text, starts[k]});
    return {std::move(text), 0};
}

}  // namespace derivable
