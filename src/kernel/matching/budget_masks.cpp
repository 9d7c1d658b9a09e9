#include "matching/budget_masks.hpp"

#include <algorithm>
#include <string_view>

#include "support/task.hpp"

namespace derivable {

std::vector<uint32_t> BudgetMasks::key_of(const Parses& parses) {
    std::vector<uint32_t> key;
    for (const Parse& t : parses) key.insert(key.end(), {t.lex.index(), t.stack.index(), t.environment});
    return key;
}

bool BudgetMasks::suffices(const Parses& parses, uint64_t left) const {
    if (std::any_of(parses.begin(), parses.end(), [](const Parse& t) { return bool(t.writing); })) return false;
    const auto known = needs_.find(key_of(parses));
    return known != needs_.end() && known->second <= left;
}

void BudgetMasks::fill(const Parses& parses, uint64_t left, const Witness& known, uint32_t* mask) {
    constexpr size_t kMostKept = size_t(1) << 16;
    std::vector<uint32_t> whole(vocabulary_.words());
    masks_.fill(parses, whole.data());
    std::fill_n(mask, vocabulary_.words(), 0u);
    if (suffices(parses, left)) {
        std::copy(whole.begin(), whole.end(), mask);
        return;
    }
    const auto allow = [&](uint32_t token) { mask[token >> 5] |= 1u << (token & 31); };
    uint64_t need = 0;
    FlatMap<uint64_t> needs;  // by the number of the parses behind a token; 0: not asked for yet
    uint64_t last = FlatMap<uint64_t>::kNoKey, last_need = 0;
    runs_.each_token_and_parses(parses, [&](uint32_t token, uint64_t number, const Runs::Layers& layers) {
        if (number != last) {
            last_need = needs[number];
            if (!last_need) {
                Parses all;
                for (const Parses& layer : layers) all.insert(all.end(), layer.begin(), layer.end());
                last_need = tokens(witnesses_.find(all));
                last_need += last_need != kNone;
                needs[number] = last_need;
            }
            last = number;
        }
        need = std::max(need, last_need);
        if (last_need <= left) allow(token);
        return true;
    });
    fill_references(parses, whole, left, mask, need);
    // The end takes what it takes, and what is known stays a way.
    if (left > 0 && runs_.accepting(parses))
        for (uint32_t token : vocabulary_.eos) allow(token);
    if (known) witnesses_.each_next(known, [&](uint32_t token, const Witness& rest) {
        if (tokens(rest) < left) allow(token);
    });
    if (needs_.size() > kMostKept) needs_.clear();
    if (std::none_of(parses.begin(), parses.end(), [](const Parse& t) { return bool(t.writing); })) needs_[key_of(parses)] = need;
}

// Tokens that the grammar names. All that one place names lead to one parse behind it.
void BudgetMasks::fill_references(const Parses& parses, const std::vector<uint32_t>& whole, uint64_t left, uint32_t* mask, uint64_t& need) {
    for (const TokenReference& r : engine_.terminals.references()) {
        uint64_t behind = 0;  // not asked for yet
        const auto judge = [&](uint32_t token) {
            if (token >= vocabulary_.size() || !(whole[token >> 5] >> (token & 31) & 1)) return;
            if (!behind || !r.negated) {
                Parses after;
                runs_.step_token(parses, token, after);
                if (after.empty()) return;
                behind = tokens(witnesses_.find(after));
                behind += behind != kNone;
            }
            need = std::max(need, behind);
            if (behind <= left) mask[token >> 5] |= 1u << (token & 31);
        };
        if (!r.negated) std::for_each(r.tokens.begin(), r.tokens.end(), judge);
        else
            for (uint32_t token = 0; token < vocabulary_.size(); token++)
                if (r.matches(token, vocabulary_.bytes[token])) judge(token);
    }
}

}  // namespace derivable
