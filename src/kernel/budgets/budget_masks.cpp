#include "budgets/budget_masks.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "budgets/budget_walk.hpp"
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
    if (!need || *need == kNone) {
        std::fill(some.begin(), some.end(), 0u);
        need = is_by_names(parses) ? fill_by_names(parses, whole, left, some.data()) : fill_by_places(parses, whole, left, some.data());
    }
    need = std::max(*need, fill_references(parses, whole, left, some.data()));
    if (left > 0 && runs_.accepting(parses))
        for (uint32_t token : vocabulary_.eos) allow(token);
    // What is known stays a way. Where nothing is left by what is reckoned, one is searched for.
    const auto is_empty = [&] {
        for (size_t w = 0; w < whole.size(); w++)
            if (whole[w] & some[w]) return false;
        return true;
    };
    if (const Witness way = known || !is_empty() ? known : witnesses_.find(parses))
        witnesses_.each_next(way, [&](uint32_t token, const Witness& rest) {
            if (tokens(rest) < left) allow(token);
        });
    for (size_t w = 0; w < whole.size(); w++) mask[w] = whole[w] & some[w];
    if (std::equal(whole.begin(), whole.end(), mask)) need = std::min(*need, left);  // what is reckoned is more than what suffices
    if (is_by_names(parses)) last_ = {parses, left, known, std::vector<uint32_t>(mask, mask + whole.size())};
    if (*need == kNone || runs_.bounds().may_refuse(parses)) return;  // elsewhere other tokens may be left
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

std::optional<uint64_t> BudgetMasks::room(const Parses& parses, uint64_t left) {
    if (witnesses_.is_by_stacks() || !slack().knows_meaning(parses)) return std::nullopt;
    const EmbeddedText::Slack own = slack().of(parses);
    if (own.per_token == EmbeddedText::Slack::kNone) return std::nullopt;
    const uint64_t used = own.needed + own.per_token - slack().per_token() + slack().in_token() + 1;
    if (used > left) return std::nullopt;
    return std::min<uint64_t>(left - used, LexemeBegins::Each::kMost - 1);
}

bool BudgetMasks::is_sure(const Parses& parses, uint32_t token, uint64_t left) {
    const std::optional<uint64_t> most = room(parses, left);
    return most && slack().by_token().by_token[token] <= *most;
}

BudgetMasks::Sure BudgetMasks::fill_sure(const Parses& parses, const std::vector<uint32_t>& whole, uint64_t left, uint32_t* mask) {
    const std::optional<uint64_t> most = room(parses, left);
    if (!most) return {};
    const LexemeBegins::Each& each = slack().by_token();
    const auto is_allowed = [&](uint32_t token) { return whole[token >> 5] >> (token & 31) & 1; };
    std::copy(whole.begin(), whole.end(), mask);
    Sure sure{true, 0};
    size_t i = 0;
    for (; i < each.heaviest.size() && each.by_token[each.heaviest[i]] > *most; i++) {
        const uint32_t token = each.heaviest[i];
        sure.is_all &= !is_allowed(token);
        mask[token >> 5] &= ~(1u << (token & 31));
    }
    work(i / 4);
    while (i < each.heaviest.size() && !is_allowed(each.heaviest[i])) i++;
    if (i < each.heaviest.size()) sure.need = left - *most + each.by_token[each.heaviest[i]];
    return sure;
}

// `walked`: the parses, or those that are judged in their stead.
template <class Judge>
uint64_t BudgetMasks::judge_others(const Parses& parses, const Parses& walked, const std::vector<uint32_t>& whole, uint64_t left,
                                   uint32_t* mask, Judge judge) {
    const std::optional<uint64_t> most = room(parses, left);
    const auto wants = [&](uint32_t node) { return !most || slack().by_token().below[node] > *most; };
    uint64_t need = 0;
    runs_.judge_tokens(walked, wants, judge, [&](uint32_t token, uint64_t own) {
        if (whole[token >> 5] >> (token & 31) & 1) need = std::max(need, own);
        if (own <= left) mask[token >> 5] |= 1u << (token & 31);
        return true;
    });
    return need;
}

uint64_t BudgetMasks::fill_by_places(const Parses& parses, const std::vector<uint32_t>& whole, uint64_t left, uint32_t* mask) {
    const Sure sure = fill_sure(parses, whole, left, mask);
    if (sure.is_all) return sure.need;
    const auto judge = [&](const Parses& behind) {
        if (behind.empty()) return kNone;
        uint64_t more = slack().least(behind);
        if (more == kNone || more + 1 > left) more = tokens(witnesses_.find(behind));
        return more == kNone ? kNone : more + 1;
    };
    return std::max(sure.need, judge_others(parses, parses, whole, left, mask, judge));
}

// Which names there are says the mask already; here any text is one. A token may then be read in more ways than it is, so the dearest of them counts.
uint64_t BudgetMasks::fill_by_names(const Parses& parses, const std::vector<uint32_t>& whole, uint64_t left, uint32_t* mask) {
    const Sure sure = fill_sure(parses, whole, left, mask);
    if (sure.is_all) return sure.need;
    uint64_t asked = 0;
    Parses any = parses;
    for (Parse& t : any) {
        asked = std::max(asked, slack().of_meaning(t));
        t.meaning = Meaning::kAny;
        if (t.slot != Slots::kNone) t.slot = engine_.slots.begin(Meaning::kAny, engine_.slots.symbol(t.slot));
    }
    std::unordered_map<Symbol, uint64_t> rests;  // of names, beyond what is promised of some
    const auto other = [](const Parse&) {};
    const auto name = [&](const Parse& t, const EmbeddedText::Nodes&) {
        uint64_t& rest = rests[engine_.slots.symbol(t.slot)];
        rest = std::max(rest, slack().longer_names(t.slot));
    };
    for (const Parse& t : parses) masks_.each_with_names(t, other, name);
    const auto rest = [&](const Parse& t) { return t.slot == Slots::kNone ? 0 : rests[engine_.slots.symbol(t.slot)]; };
    const auto judge = [&](const Parses& behind) {
        uint64_t most = behind.empty() ? kNone : 0;
        for (const Parse& t : behind) {
            if (most == kNone) break;
            const uint64_t more = slack().least({t});
            most = more == kNone ? kNone : std::max(most, more + asked + 1 + rest(t));
        }
        return most;
    };
    return std::max(sure.need, judge_others(parses, any, whole, left, mask, judge));
}

bool BudgetMasks::allows(const Parses& parses, uint32_t token, uint64_t left, const Witness& known) {
    const bool is_last = last_.left == left && last_.parses == parses && last_.known.text == known.text && last_.known.at == known.at;
    if (last_.words.empty() || !is_last) {
        std::vector<uint32_t> words(vocabulary_.words());
        fill(parses, left, known, words.data());
        last_ = {parses, left, known, std::move(words)};
    }
    return last_.words[token >> 5] >> (token & 31) & 1;
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
