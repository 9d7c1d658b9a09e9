#include "liveness/safe_regions.hpp"

#include <algorithm>
#include <utility>

#include "support/task.hpp"

namespace derivable {

namespace {
constexpr size_t kMostWays = 6;  // of one terminal, at one place
}

// No text goes through one state twice, and there are few states.
Bits short_terminals(Spelling& spelling, uint32_t num_terminals) {
    constexpr size_t kMostStates = 40;
    Bits out(num_terminals + 1);
    for (Symbol t = 1; t <= num_terminals; t++) {
        if (spelling.is_token(t)) continue;
        std::vector<LexState> order{spelling.alone(t)};
        if (order[0] == kNoState) continue;             // never at the beginning of a text
        std::unordered_map<LexState, uint32_t> before;  // how many lead to it
        for (size_t i = 0; i < order.size() && order.size() <= kMostStates; i++)
            for (LexState next : spelling.successors(order[i]))
                if (before[next]++ == 0) order.push_back(next);
        if (order.size() > kMostStates || before.count(order[0])) continue;
        // In the order in which all that lead to a state come before it, if there is one.
        std::vector<LexState> sorted{order[0]};
        for (size_t i = 0; i < sorted.size(); i++)
            for (LexState next : spelling.successors(sorted[i]))
                if (--before[next] == 0) sorted.push_back(next);
        if (sorted.size() == order.size()) out.add(t);
    }
    return out;
}

uint32_t SafeRegions::place(uint32_t region, Obligations obligations) {
    const auto [it, fresh] = ids_.try_emplace(pack(region, obligations), uint32_t(places_.size()));
    if (fresh) places_.push_back({region, obligations, {}});
    return it->second;
}

// How the terminals of its region may be spelled there.
void SafeRegions::look(uint32_t number) {
    if (places_[number].is_known) return;
    const uint32_t region = places_[number].region;
    const Bits& acceptable = regions_->acceptable(region);
    std::vector<Obligations> through{places_[number].obligations};
    std::vector<Spelling::Landing> landings;
    bool may_end = false;
    for (size_t i = 0; i < through.size(); i++) {
        may_end = may_end || lexer_.formulas.hold_at_end(through[i]);
        spelling_.any_next(acceptable, through[i], [&](const Spelling::Landing& l) {
            if (l.terminal != 0) landings.push_back(l);
            else if (std::find(through.begin(), through.end(), l.obligations) == through.end()) through.push_back(l.obligations);
            return false;
        });
    }
    std::sort(landings.begin(), landings.end(), [&](const Spelling::Landing& a, const Spelling::Landing& b) {
        if (a.terminal != b.terminal) return a.terminal < b.terminal;
        const size_t x = lexer_.formulas.size_of(a.obligations), y = lexer_.formulas.size_of(b.obligations);
        return x != y ? x < y : a.obligations < b.obligations;
    });
    std::vector<Way> ways;
    work(10 * landings.size());
    for (const Spelling::Landing& l : landings) {
        if (!acceptable.has(l.terminal)) continue;
        if (ways.empty() || ways.back().terminal != l.terminal) ways.push_back({l.terminal, {}});
        std::vector<Obligations>& after = ways.back().after;
        if (after.size() < kMostWays && (after.empty() || after.back() != l.obligations)) after.push_back(l.obligations);
    }
    Place& p = places_[number];
    p.ways = std::move(ways);
    p.may_end = may_end;
    p.is_known = true;
}

// It cannot be spelled there at all.
bool SafeRegions::is_missing(const Place& p, Symbol t) const {
    if (t == kEnd) return !p.may_end;
    return std::none_of(p.ways.begin(), p.ways.end(), [&](const Way& w) { return w.terminal == t; });
}

// For each terminal one that leads to places that may still be safe, better ones that were met; those are added to `found`. False: there is none.
bool SafeRegions::finds_ways(Choice& choice, uint32_t number, std::vector<uint32_t>& found) {
    const Regions::Set here = Regions::Set(1) << places_[number].region;
    const Bits& acceptable = regions_->acceptable(places_[number].region);
    for (Symbol t = 0; t < acceptable.words().size() * 64; t++)
        if (acceptable.has(t) && (t == kEnd || choice.terminals.has(t)) && is_missing(places_[number], t)) return false;
    for (size_t k = 0; k < places_[number].ways.size(); k++) {
        const Symbol t = places_[number].ways[k].terminal;
        if (!choice.terminals.has(t)) continue;
        const Regions::Set after = regions_->after(here, t);
        const std::vector<Obligations> ends = places_[number].ways[k].after;
        work(4 * ends.size());
        const Obligations* chosen = nullptr;
        for (const Obligations& o : ends) {
            bool may_be = true, is_met = true;
            for (uint32_t r = 0; r < regions_->size(); r++) {
                if (!(after >> r & 1)) continue;
                const auto known = ids_.find(pack(r, o));
                if (known == ids_.end()) is_met = false;
                else may_be = may_be && verdict(choice, known->second) != Verdict::kUnsafe;
            }
            if (!may_be) continue;
            if (!chosen || is_met) chosen = &o;
            if (is_met) break;
        }
        if (!chosen) return false;
        for (uint32_t r = 0; r < regions_->size(); r++)
            if (after >> r & 1) found.push_back(place(r, *chosen));
    }
    return true;
}

// The greatest fixpoint over the places that are led to. False: some of these is not safe.
bool SafeRegions::judge(Choice& choice, const std::vector<uint32_t>& first) {
    for (bool changed = true; changed;) {
        changed = false;
        std::vector<uint32_t> open = first, found;
        std::vector<char> met;
        for (size_t i = 0; i < open.size(); i++) {
            const uint32_t p = open[i];
            if (places_.size() > kMaxPlaces) return false;
            met.resize(places_.size(), 0);
            if (std::exchange(met[p], 1) || verdict(choice, p) != Verdict::kOpen) continue;
            look(p);
            found.clear();
            if (finds_ways(choice, p, found)) {
                open.insert(open.end(), found.begin(), found.end());
                continue;
            }
            verdict(choice, p) = Verdict::kUnsafe;
            changed = true;
        }
        if (std::any_of(first.begin(), first.end(), [&](uint32_t p) { return verdict(choice, p) == Verdict::kUnsafe; })) return false;
        if (!changed)
            for (uint32_t p : open) verdict(choice, p) = Verdict::kSafe;
    }
    return true;
}

bool SafeRegions::safe(Choice& choice, Regions::Set where, Obligations obligations) {
    std::vector<uint32_t> first;
    for (uint32_t r = 0; r < regions_->size(); r++) {
        if (!(where >> r & 1)) continue;
        const uint32_t p = place(r, obligations);
        if (verdict(choice, p) == Verdict::kUnsafe) return false;
        if (verdict(choice, p) == Verdict::kOpen) first.push_back(p);
    }
    return first.empty() || judge(choice, first);
}

// One terminal that cannot be spelled at a place that is not safe for this reason, and is not needed. False: there is none.
bool SafeRegions::leave_out(Choice& choice, Bits& needed) {
    for (uint32_t i = 0; i < places_.size(); i++) {
        if (verdict(choice, i) != Verdict::kUnsafe) continue;
        const Place& p = places_[i];
        for (Symbol t = 1; t < needed.words().size() * 64; t++) {
            if (!choice.terminals.has(t) || needed.has(t) || !regions_->acceptable(p.region).has(t) || !is_missing(p, t)) continue;
            choice.terminals.remove(t);
            if (completes_(choice.terminals)) return true;
            choice.terminals.add(t);
            needed.add(t);
        }
    }
    return false;
}

const Bits* SafeRegions::safe_for(Regions::Set where, Obligations obligations) {
    constexpr uint32_t kMaxAttempts = 3;  // each may be broken off
    constexpr size_t kMostAttempted = 64;
    if (!where) return nullptr;
    for (Choice& choice : choices_)
        if (safe(choice, where, obligations)) return &choice.terminals;
    if (choices_.size() >= kMaxChoices || attempts_.size() >= kMostAttempted) return nullptr;
    if (attempts_[{where, obligations}]++ >= kMaxAttempts) return nullptr;
    Choice made{all_, {}};
    Bits needed(all_.words().size() * 64);
    while (!safe(made, where, obligations)) {
        if (!leave_out(made, needed)) {
            attempts_[{where, obligations}] = kMaxAttempts;
            return nullptr;
        }
        made.verdicts.clear();
    }
    choices_.push_back(std::move(made));
    return &choices_.back().terminals;
}

}  // namespace derivable
