// Tallies as Python gives them: tuples, perhaps from a file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "json/tallies.hpp"
#include "support/errors.hpp"

namespace derivable {

// Keys, required ones, least and most members, others, clauses; symbol, kind, membership, mark; whether forced text is in order.
using SavedMembership = std::tuple<std::vector<uint32_t>, std::vector<uint32_t>, uint64_t, std::optional<uint64_t>, bool,
                                   std::vector<std::vector<std::pair<uint32_t, bool>>>>;
using SavedRole = std::tuple<uint32_t, uint32_t, std::optional<uint32_t>, uint32_t>;
using SavedTallies = std::tuple<std::vector<SavedMembership>, std::vector<SavedRole>, bool>;

inline TallySpec tally_spec(const SavedTallies& saved, size_t num_terminals, bool scannerless) {
    constexpr uint32_t kMostMarks = 1u << 24;  // a set is a bit for each
    const auto& [memberships, roles, ordered] = saved;
    TallySpec spec;
    bool fits = scannerless;
    for (const auto& [keys, required, low, high, others, clauses] : memberships) {
        auto known = [&](uint32_t mark) { return mark < kMostMarks; };
        fits &= std::all_of(keys.begin(), keys.end(), known) && std::all_of(required.begin(), required.end(), known);
        for (const auto& clause : clauses)
            for (const auto& [mark, there] : clause) fits &= known(mark);
        spec.memberships.push_back({keys, required, low, high.value_or(Membership::kNoMaximum), others, clauses});
    }
    for (const auto& [symbol, kind, membership, mark] : roles) {
        const bool free = kind == TallyRole::kOpen || kind == TallyRole::kKey;
        fits &= symbol > 0 && symbol <= num_terminals && kind > TallyRole::kNone && kind <= TallyRole::kClose && mark < kMostMarks;
        fits &= membership ? *membership < memberships.size() : free;
        spec.roles.push_back({symbol, {TallyRole::Kind(kind), membership.value_or(TallyRole::kFree), mark}});
    }
    if (!fits) throw BadGrammar("what is counted of the members of objects is malformed", "This is a bug in the lowering.");
    spec.ordered = ordered;
    return spec;
}

}  // namespace derivable
