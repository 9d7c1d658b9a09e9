#include "lexing/lexer.hpp"

#include <algorithm>

#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {
constexpr LexState kUnknown = ~0u - 1;
}

uint32_t Lexer::add(std::shared_ptr<const Dfa> dfa, uint32_t rank) {
    uint32_t id = num_terminals();
    if (policy_ == Policy::kScannerless) {
        auto seen = by_table_.find(dfa.get());
        if (seen != by_table_.end()) return seen->second;
        auto [it, fresh] = by_language_.try_emplace(dfa->fingerprint(), id);
        if (!fresh) return it->second;
        by_table_[dfa.get()] = id;
    }
    Terminal t{dfa, rank, uint32_t(dfas_.size()), ~0u};
    if (dfa->past) {
        for (const Dfa& variant : dfa->past->variants) add_dfa(std::shared_ptr<const Dfa>(dfa, &variant), id);
        t.looks_back = uint32_t(looking_back_.size());
        looking_back_.push_back(dfa->past.get());
        look_back();
    } else {
        add_dfa(std::move(dfa), id);
    }
    terminals_.push_back(std::move(t));
    representatives_.clear();
    return id;
}

uint32_t Lexer::add_dfa(std::shared_ptr<const Dfa> dfa, uint32_t terminal) {
    uint32_t id = uint32_t(dfas_.size());
    base_.push_back(uint32_t(single_dfa_.size()));
    for (uint32_t s = 0; s < dfa->num_states(); s++) single_dfa_.push_back(id), single_state_.push_back(s);
    canonical_.resize(single_dfa_.size(), kNoState);
    if (single_dfa_.size() >= kSetBit)
        throw LimitExceeded("lexer states", single_dfa_.size(), kSetBit, "the automata of all terminals of a vocabulary");
    bytes_ += dfa->table.size() * 4 + dfa->num_states() * 16 + 512;
    dfas_.push_back(std::move(dfa));
    strings_.emplace_back();
    string_singles_.emplace_back();
    terminal_of_.push_back(terminal);
    return id;
}

uint32_t Lexer::add(const JsonStrings& strings) {
    uint32_t id = num_terminals();
    auto [it, fresh] = by_language_.try_emplace("json " + strings.key(), id);
    if (!fresh) return it->second;
    bytes_ += 20 * strings.key().size() + 512;
    terminals_.push_back({nullptr, 0, uint32_t(dfas_.size()), ~0u});
    base_.push_back(kNoState);
    dfas_.emplace_back();
    strings_.push_back(std::make_shared<JsonStrings>(strings));  // SAFETY: its states come into being under this lexer's lock
    string_singles_.emplace_back();
    terminal_of_.push_back(id);
    return id;
}

uint32_t Lexer::single(uint32_t automaton, uint32_t state) {
    if (dfas_[automaton]) return base_[automaton] + state;
    std::vector<uint32_t>& known = string_singles_[automaton];
    if (known.size() <= state) known.resize(state + 1, kNoState);
    if (known[state] == kNoState) {
        const auto number = uint32_t(single_dfa_.size());
        if (number >= kSetBit) throw LimitExceeded("lexer states", number, kSetBit, "the automata of all terminals of a vocabulary");
        work(10);
        single_dfa_.push_back(automaton);
        single_state_.push_back(state);
        canonical_.push_back(kNoState);
        known[state] = number;
        bytes_ += 160;
    }
    return known[state];
}

void Lexer::canonicalize(LexState s) {
    uint32_t a = single_dfa_[s];
    work(10);
    // PERF: finding out what else is the same takes 70 units of work a state, 200 ms for an enumeration of 100,000 integers. So large an automaton has little in
    // common with others.
    constexpr uint32_t kLarge = 1u << 12;
    if (dfas_[a] && dfas_[a]->num_states() > kLarge) {
        canonical_[s] = s;
        return;
    }
    if (dfas_[a]) {
        std::vector<uint32_t> known = languages_.add(*dfas_[a], base_[a]);
        std::copy(known.begin(), known.end(), canonical_.begin() + base_[a]);
        return;
    }
    JsonStrings::Free free;
    if (!strings_[a]->is_free(single_state_[s], free)) {
        std::string key = strings_[a]->counted_key(single_state_[s], longest_token_);
        const LexState same = key.empty() ? s : for_short_texts(s, longest_token_);  // as without a bound, if that is far
        canonical_[s] = key.empty() || same != s ? same : counted_.try_emplace(std::move(key), s).first->second;
        return;
    }
    if (free.need == 0 && free.room == JsonStrings::kNoMaximum) {
        const LexState whole = in_any_string(free.decoder);
        canonical_[s] = whole;
        return;
    }
    std::string key(1, char(free.decoder));
    for (uint64_t n : {std::min(free.need, longest_token_), std::min(free.room, longest_token_)})
        key.append(reinterpret_cast<const char*>(&n), sizeof n);
    canonical_[s] = counted_.try_emplace(std::move(key), s).first->second;
}

LexState Lexer::in_any_string(uint8_t decoder) {
    if (any_string_ == kNoState)
        any_string_ = terminals_[add(std::make_shared<Dfa>(JsonStrings({}, true, 0, JsonStrings::kNoMaximum).to_dfa(1000)), 0)].first;
    return canonical(base_[any_string_] + uint32_t(dfas_[any_string_]->run(JsonStrings::example(decoder))));
}

LexState Lexer::for_short_texts(LexState s, uint64_t bytes) {
    const uint32_t a = single_dfa_[s], state = single_state_[s];
    if (dfas_[a]) {
        if (!KEquivalence::is_worthwhile(*dfas_[a])) return s;
        std::unique_ptr<const KEquivalence>& known = short_texts_[a];
        if (!known) known = std::make_unique<const KEquivalence>(*dfas_[a]);
        return canonical(base_[a] + known->first_alike(state, bytes));
    }
    JsonStrings::Free free;
    if (strings_[a]->is_free(state, free))
        return free.need == 0 && free.room > bytes + 1 && free.decoder != JsonStrings::kEnd ? in_any_string(free.decoder) : s;
    uint32_t whole = a;
    if (strings_[a]->values() && strings_[a]->max_length() != JsonStrings::kNoMaximum) {
        if (const uint32_t* known = unbounded_.find(a)) whole = *known;
        else whole = unbounded_[a] = terminals_[add(strings_[a]->without_bound())].first;
    }
    const int32_t alike = strings_[whole]->acting_as(*strings_[a], state, bytes);
    return alike == kDead ? s : canonical(single(whole, uint32_t(alike)));
}

ByteSet Lexer::bytes(LexState m) {
    if (m >= kSetBit)
        if (const ByteSet* known = bytes_of_.find(m)) return *known;
    ByteSet all;
    auto [begin, end] = singles(m);
    work(10 * uint64_t(end - begin));
    for (const uint32_t* single = begin; single != end; single++) {
        const uint32_t a = single_dfa_[*single];
        ByteSet some;
        const bool listed =
            !dfas_[a] && strings_[a]->on_list(single_state_[*single], some) && strings_[a]->off_list(single_state_[*single]) < 0;
        for (uint32_t w = 0; listed && w < all.words.size(); w++) all.words[w] |= some.words[w];
        for (uint32_t byte = 0; !listed && byte < 256; byte++)
            if (!dfas_[a] || dfas_[a]->step(single_state_[*single], uint8_t(byte)) >= 0) all.set(uint8_t(byte));
    }
    if (m >= kSetBit) bytes_of_[m] = all;
    return all;
}

LexState Lexer::off_list(LexState s) {
    const uint32_t a = single_dfa_[s];
    const int32_t to = strings_[a]->off_list(single_state_[s]);
    return to < 0 ? kNoState : canonical(single(a, uint32_t(to)));
}

bool Lexer::is_counted(LexState s, uint64_t& need, uint64_t& room) const {
    JsonStrings::Free free;
    const auto& strings = strings_[single_dfa_[s]];
    if (!strings || !strings->is_free(single_state_[s], free) || free.decoder != JsonStrings::kBoundary) return false;
    need = free.need;
    room = free.room;
    return true;
}

bool Lexer::is_bounded(LexState s) const {
    const auto* strings = s < kSetBit ? strings_[single_dfa_[s]].get() : nullptr;
    return strings && strings->max_length() != JsonStrings::kNoMaximum;
}

uint64_t Lexer::alike_for(LexState a, LexState b) const {
    if (a >= kSetBit || b >= kSetBit || single_dfa_[a] != single_dfa_[b]) return 0;
    const auto& strings = strings_[single_dfa_[a]];
    return strings ? strings->alike_for(single_state_[a], single_state_[b]) : 0;
}

bool Lexer::has_more_strings(LexState members, uint64_t n) const {
    auto [begin, end] = singles(members);
    return std::any_of(begin, end, [&](uint32_t s) {
        const auto& strings = strings_[single_dfa_[s]];
        return strings && strings->has_more_values(single_state_[s], n);
    });
}

LexState Lexer::start(const std::vector<uint32_t>& terminals, uint32_t obligations) {
    std::vector<uint32_t> singles;
    for (uint32_t t : terminals) {
        uint32_t dfa = terminals_[t].first;
        if (terminals_[t].looks_back != ~0u) {
            uint32_t place = terminals_[t].looks_back;
            dfa += looking_back_[place]->variant[pasts_[past(obligations)][place]];
        }
        if (dfas_[dfa] ? !dfas_[dfa]->empty() : !strings_[dfa]->is_empty()) singles.push_back(single(dfa, 0));
    }
    std::sort(singles.begin(), singles.end());
    singles.erase(std::unique(singles.begin(), singles.end()), singles.end());
    if (singles.empty()) return kNoState;
    return with_obligations(intern_set(std::move(singles)), obligations);
}

// ---- what stands before ----

void Lexer::look_back() {
    std::vector<uint32_t> obligations;
    if (!looking_back_.empty()) {
        uint32_t start = pasts_.intern(std::vector<uint32_t>(looking_back_.size(), 0));
        obligations.push_back(add_obligation({Obligation::kPast, start, 0, 0, false}));
        text_start_ = conjunction(obligations);
    }
    obligations.insert(obligations.begin(), add_obligation({Obligation::kFresh, 0, 0, 0, false}));
    std::sort(obligations.begin(), obligations.end());
    fresh_ = conjunction(obligations);
}

uint32_t Lexer::past(uint32_t obligations) const {
    for (uint32_t w : obligation_lists_[obligations])
        if (w != kSeparator && obligation_table_[w].kind == Obligation::kPast) return obligation_table_[w].subject;
    return 0;
}

uint32_t Lexer::nothing_owed(uint32_t obligations) {
    return looking_back_.empty() ? kFree : only({Obligation::kPast, past(obligations), 0, 0, false});
}

uint32_t Lexer::step_past(uint32_t past, uint8_t byte) {
    auto known = past_steps_.find(pack(past, byte));
    if (known != past_steps_.end()) return known->second;
    std::vector<uint32_t> next = pasts_[past];
    for (size_t i = 0; i < next.size(); i++) next[i] = looking_back_[i]->step(next[i], byte);
    return past_steps_[pack(past, byte)] = pasts_.intern(next);
}

std::vector<uint32_t> Lexer::all_pasts(size_t limit) {
    std::vector<uint32_t> out{text_start_};
    for (size_t i = 0; i < out.size() && !looking_back_.empty(); i++)
        for (uint8_t byte : representative_bytes()) {
            uint32_t next = step_obligations(out[i], byte);
            if (std::find(out.begin(), out.end(), next) == out.end()) out.push_back(next);
            if (out.size() > limit) return {};
        }
    return out;
}

LexState Lexer::with_obligations(LexState m, uint32_t obligations) {
    if (obligations == kFree || m == kNoState) return m;
    uint32_t& id = pair_ids_[pack(m, obligations)];
    if (id == 0) {
        pairs_.push_back({m, obligations, Pair::kUnjudged});
        bytes_ += 40;
        id = uint32_t(pairs_.size());
    }
    return kPairBit | (id - 1);
}

LexState Lexer::intern_set(std::vector<uint32_t> singles) {
    if (singles.size() == 1) return singles[0];
    const uint32_t before = set_lists_.size(), id = set_lists_.intern(singles);
    if (id == before) bytes_ += singles.size() * 4 + 64;
    return kSetBit | id;
}

LexState Lexer::step_slow(LexState s, uint8_t byte) {
    if (s < kSetBit) {
        uint32_t a = single_dfa_[s];
        work(2);
        int32_t next = strings_[a]->step(single_state_[s], byte);
        return next < 0 ? kNoState : single(a, uint32_t(next));
    }
    if (!(s & kPairBit)) return step_set(s & ~kSetBit, byte);
    Pair p = pairs_[s & ~kPairBit];
    LexState m = step(p.members, byte);
    if (m == kNoState) return kNoState;
    uint32_t obligations = step_obligations(p.obligations, byte);
    if (obligations == kViolated) return kNoState;
    return stepped(m, obligations, byte);
}

LexState Lexer::stepped(LexState m, uint32_t obligations, uint8_t byte) {
    const LexState next = with_obligations(m, obligations);
    return byte >= kFirstOfSeveral && next & kPairBit && is_dead(next & ~kPairBit) ? kNoState : next;
}

std::vector<LexState> Lexer::successors(LexState s) {
    const LexState m = members(s);
    const uint32_t d = obligations(s);
    work(representative_bytes().size());
    std::vector<LexState> found;
    std::pair<LexState, uint32_t> last{kNoState, kViolated};
    for (uint8_t byte : representative_bytes()) {
        const LexState next_members = step(m, byte);
        if (next_members == kNoState) continue;
        const std::pair next{next_members, step_obligations(d, byte)};
        if (next.second == kViolated || next == last) continue;
        last = next;
        const LexState to = stepped(next.first, next.second, byte);
        if (to != kNoState && std::find(found.begin(), found.end(), to) == found.end()) found.push_back(to);
    }
    return found;
}

LexState Lexer::step_set(uint32_t id, uint8_t byte) {
    Row& row = rows_[id];
    if (!row) {
        row.reset(new LexState[256]);
        std::fill_n(row.get(), 256, kUnknown);
        bytes_ += 1024;
    }
    if (row[byte] != kUnknown) return row[byte];
    work(5 + 2 * set_lists_[id].size());
    std::vector<uint32_t> next;
    for (uint32_t s : set_lists_[id]) {
        LexState to = step(s, byte);
        if (to != kNoState) next.push_back(to);
    }
    std::sort(next.begin(), next.end());
    LexState result = next.empty() ? kNoState : intern_set(std::move(next));
    return row[byte] = result;
}

bool Lexer::has_next(LexState m) {
    for (auto [t, q] : automata(m)) {
        const Dfa& d = *dfas_[t];
        for (uint32_t c = 0; c < d.num_classes; c++)
            if (d.table[size_t(q) * d.num_classes + c] >= 0) return true;
    }
    return false;
}

const std::vector<Lexer::Option>& Lexer::options(LexState m) {
    auto found = options_.find(m);
    if (found != options_.end()) return found->second;
    std::vector<std::pair<uint32_t, uint32_t>> accepted;  // (automaton, state)
    for (auto [t, q] : automata(m))
        if (accepting(t, q)) accepted.emplace_back(t, q);
    std::stable_sort(accepted.begin(), accepted.end(),
                     [&](auto a, auto b) { return terminals_[terminal_of_[a.first]].rank < terminals_[terminal_of_[b.first]].rank; });
    std::vector<Option> out;
    uint32_t better_fail = kFree;
    for (auto [t, q] : accepted) {
        uint32_t condition = dfas_[t]->condition[q];
        if (condition == 0) {
            out.push_back({terminal_of_[t], better_fail});
            break;
        }
        const Conditions& c = dfas_[t]->conditions[condition - 1];
        out.push_back({terminal_of_[t], all_of(better_fail, conditions_formula(t, c, false))});
        better_fail = all_of(better_fail, conditions_formula(t, c, true));
    }
    bytes_ += 64 + out.size() * sizeof(Option);
    return options_.emplace(m, std::move(out)).first->second;
}

uint32_t Lexer::refutation(LexState m) {
    uint32_t result = kFree;
    for (auto [t, q] : automata(m)) {
        const Dfa& d = *dfas_[t];
        if (!d.accepting[q]) continue;
        if (d.condition[q] == 0) return kViolated;
        result = all_of(result, conditions_formula(t, d.conditions[d.condition[q] - 1], true));
    }
    return result;
}

const std::vector<Lexer::Exit>& Lexer::exits(LexState s) {
    Exits& exits = exits_at(s);
    if (exits.known) return exits.list;
    const LexState of = members(s);
    work(5 + (of < kSetBit ? 1 : set_lists_[of & ~kSetBit].size()));
    std::vector<Exit> out;
    if (policy_ == Policy::kScannerless) {
        for (auto [t, q] : automata(s))
            if (accepting(t, q)) out.push_back({terminal_of_[t], kFree});
    } else {
        LexState m = members(s);
        uint32_t before = obligations(s);
        if (before == fresh_) before = text_start_;
        for (const Option& o : options(m)) {
            uint32_t after = all_of(before, o.condition);
            if (has_next(m)) after = all_of(after, only({Obligation::kLonger, m, 0, 0, false}));
            if (after != kViolated) out.push_back({o.terminal, after});
        }
    }
    bytes_ += out.size() * sizeof(Exit);
    exits.known = true;
    return exits.list = std::move(out);
}

std::vector<std::pair<uint32_t, uint32_t>> Lexer::automata(LexState s) const {
    std::vector<std::pair<uint32_t, uint32_t>> out;
    s = members(s);
    if (s < kSetBit) {
        out.emplace_back(single_dfa_[s], single_state_[s]);
    } else {
        for (uint32_t x : set_lists_[s & ~kSetBit]) out.emplace_back(single_dfa_[x], single_state_[x]);
    }
    return out;
}

std::vector<std::pair<uint32_t, uint32_t>> Lexer::describe(LexState s) const {
    std::vector<std::pair<uint32_t, uint32_t>> out = automata(s);
    for (auto& [dfa, state] : out) dfa = terminal_of_[dfa];
    return out;
}

const std::vector<uint8_t>& Lexer::representative_bytes() {
    if (representatives_.empty()) {
        Interner kinds;
        for (int b = 0; b < 256; b++) {
            std::vector<uint32_t> key;
            for (const auto& d : dfas_) {
                if (!d) continue;
                key.push_back(d->classes[size_t(b)]);
                for (const LookDfa& l : d->looks) key.push_back(l.classes[size_t(b)]);
            }
            for (const Past* p : looking_back_) key.push_back(p->classes[size_t(b)]);
            uint32_t before = kinds.size();
            if (kinds.intern(key) == before) representatives_.push_back(uint8_t(b));
        }
    }
    return representatives_;
}

}  // namespace derivable
