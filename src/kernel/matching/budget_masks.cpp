#include "matching/budget_masks.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "matching/budget_walk.hpp"
#include "support/task.hpp"

namespace derivable {

bool BudgetMasks::suffices(const Parses& parses, uint64_t left) const {
    const std::optional<Witnesses::Key> key = witnesses_.key_of(parses);
    const auto known = key ? needs_.find(*key) : needs_.end();
    return known != needs_.end() && known->second <= left;
}

void BudgetMasks::fill(const Parses& parses, uint64_t left, const Witness& known, uint32_t* mask) {
    constexpr size_t kMostKept = size_t(1) << 16;
    if (suffices(parses, left)) return masks_.fill(parses, mask);
    std::vector<uint32_t> whole(vocabulary_.words()), some(vocabulary_.words());
    masks_.fill(parses, whole.data());
    const auto allow = [&](uint32_t token) { some[token >> 5] |= 1u << (token & 31); };
    std::optional<uint64_t> need;
    if (witnesses_.is_by_stacks()) {
        try {
            need = BudgetWalk(engine_, lexemes_, witnesses_, vocabulary_, left - std::min(left, end())).run(parses, some.data());
            *need += *need == kNone ? 0 : end();
        } catch (const TooAmbiguous&) { std::fill(some.begin(), some.end(), 0u); }
    }
    // Where not all can be spelled, or not all rests are known, each place is looked at.
    if (!need || *need == kNone) std::fill(some.begin(), some.end(), 0u), need = fill_by_places(parses, left, some.data());
    need = std::max(*need, fill_references(parses, whole, left, some.data()));
    if (left > 0 && runs_.accepting(parses))
        for (uint32_t token : vocabulary_.eos) allow(token);
    // What is known stays a way.
    if (known)
        witnesses_.each_next(known, [&](uint32_t token, const Witness& rest) {
            if (tokens(rest) < left) allow(token);
        });
    for (size_t w = 0; w < whole.size(); w++) mask[w] = whole[w] & some[w];
    if (runs_.bounds().may_refuse(parses)) return;  // elsewhere other tokens may be left
    if (needs_.size() > kMostKept) needs_.clear();
    if (std::optional<Witnesses::Key> key = witnesses_.key_of(parses)) needs_[std::move(*key)] = *need;
}

Witness BudgetMasks::behind(uint32_t token, const Parses& parses, uint64_t left) {
    if (witnesses_.is_by_stacks()) {
        try {
            BudgetWalk walk(engine_, lexemes_, witnesses_, vocabulary_, left - std::min(left, end()));
            if (Witness found = walk.behind(token, parses)) return found;
        } catch (const TooAmbiguous&) {}
    }
    // What the token is as text, and as a terminal that the grammar names.
    Parses text, named;
    if (!vocabulary_.bytes[token].empty()) runs_.advance_token(parses, vocabulary_.bytes[token], text);
    runs_.step_token(parses, token, named);
    if (text.empty() || named.empty()) return {};
    const Witness one = witnesses_.find(text), other = witnesses_.find(named);
    return tokens(one) < tokens(other) ? one : other;
}

uint64_t BudgetMasks::fill_by_places(const Parses& parses, uint64_t left, uint32_t* mask) {
    uint64_t need = 0;
    const auto judge = [&](const Parses& behind) {
        const uint64_t more = behind.empty() ? kNone : tokens(witnesses_.find(behind));
        return more == kNone ? kNone : more + 1;
    };
    runs_.judge_tokens(parses, judge, [&](uint32_t token, uint64_t own) {
        need = std::max(need, own);
        if (own <= left) mask[token >> 5] |= 1u << (token & 31);
        return true;
    });
    return need;
}

// Tokens that the grammar names. All that one of its places names lead to one parse.
uint64_t BudgetMasks::fill_references(const Parses& parses, const std::vector<uint32_t>& whole, uint64_t left, uint32_t* mask) {
    uint64_t need = 0;
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
    return need;
}

}  // namespace derivable
