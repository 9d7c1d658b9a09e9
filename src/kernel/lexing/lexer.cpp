#include "lexing/lexer.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

TerminalId Lexer::add(const Recognizer& recognizer, uint32_t rank, uint32_t kind) {
    const TerminalId id(num_terminals());
    if (policy_ == Policy::kScannerless) {
        const auto seen = by_identity_.find(recognizer.identity());
        if (!kind && seen != by_identity_.end()) return seen->second;
        std::string key = recognizer.key();
        key.append(reinterpret_cast<const char*>(&kind), sizeof kind);
        auto [it, fresh] = by_language_.try_emplace(std::move(key), id);
        if (!fresh) return it->second;
        if (!kind && recognizer.identity()) by_identity_[recognizer.identity()] = id;
    }
    Terminal t{recognizer.copy(), rank, uint32_t(automata_.size()), ~0u};
    if (recognizer.past()) {
        for (const Recognizer& variant : recognizer.variants()) add_automaton(variant, id);
        t.looks_back = uint32_t(looking_back_.size());
        looking_back_.push_back(recognizer.past());
        look_back();
    } else {
        add_automaton(t.recognizer, id);
    }
    terminals_.add(std::move(t));
    representatives_.clear();
    any_lexeme_.clear();
    if (policy_ != Policy::kScannerless) knows_alike_ = false;
    return id;
}

void Lexer::add_automaton(const Recognizer& recognizer, TerminalId terminal) {
    const auto id = uint32_t(automata_.size());
    automata_.push_back({recognizer, terminal, 0, {}});
    number_states(id);
}

void Lexer::number_states(uint32_t automaton) {
    Automaton& a = automata_[automaton];
    a.first = uint32_t(single_automaton_.size());
    for (uint32_t s = 0; s < a.recognizer.num_states(); s++)
        single_automaton_.add(automaton), single_state_.add(s), canonical_.add(kNoState), equal_.add(kNoState);
    if (single_automaton_.size() >= kSetBit)
        throw LimitExceeded("lexer states", single_automaton_.size(), kSetBit, "the automata of all terminals of a vocabulary");
    bytes_ += a.recognizer.bytes();
}

LexState Lexer::single(uint32_t automaton, uint32_t state) {
    Automaton& a = automata_[automaton];
    if (a.recognizer.awaits_table()) {
        a.recognizer.make_table();
        terminals_[a.terminal].recognizer = a.recognizer;
        number_states(automaton);
    }
    if (a.recognizer.has_table()) return LexState(a.first + state);
    if (a.singles.size() <= state) a.singles.resize(state + 1, kNoState.index());
    if (a.singles[state] == kNoState.index()) {
        const auto number = uint32_t(single_automaton_.size());
        if (number >= kSetBit) throw LimitExceeded("lexer states", number, kSetBit, "the automata of all terminals of a vocabulary");
        work(10);
        single_automaton_.add(automaton);
        single_state_.add(state);
        canonical_.add(kNoState);
        equal_.add(kNoState);
        a.singles[state] = number;
        bytes_ += 160;
    }
    return LexState(a.singles[state]);
}

void Lexer::canonicalize(LexState s) {
    // PERF: finding out what else is the same takes 70 units of work a state, 200 ms for an enumeration of 100,000 integers. So large an
    // automaton has little in common with others.
    constexpr uint32_t kLarge = 1u << 12;
    constexpr uint64_t kLong = 100'000;
    work(10);
    Automaton& a = automata_[single_automaton_[s]];
    const uint32_t state = single_state_[s];
    if (a.recognizer.num_states() > kLarge) {
        canonical_[s] = equal_[s] = s;
    } else if (a.recognizer.has_table()) {
        // SAFETY: not a part of it can be done alone. PERF: 1.4 million units for a long regular expression: more than a walk may take, so each one was
        // broken off there, and masks beside it stayed byte by byte, 1 ms each.
        Task whole(Task::kUnbounded);
        whole.enter();
        const std::vector<uint32_t> known = a.recognizer.equal_states(languages_, a.first);
        for (uint32_t i = 0; i < known.size(); i++) {
            const int32_t alike = a.recognizer.acting_as(a.recognizer, i, longest_token_);
            canonical_[LexState(a.first + i)] = LexState(known[size_t(alike)]);
            equal_[LexState(a.first + i)] = LexState(known[i]);
        }
        num_long_settled_ += whole.spent() > kLong;
    } else if (const std::string* text = a.recognizer.text_of_any_string(state)) {
        const LexState same = in_any_string(*text, a.recognizer.escapes());
        canonical_[s] = same;
        equal_[s] = same;
    } else {
        equal_[s] = s;
        std::string key = a.recognizer.state_key(state, longest_token_);
        const LexState same = for_short_texts(s, longest_token_);  // a count is one thing where its bound is far
        canonical_[s] = key.empty() || same != s ? same : counted_.try_emplace(std::move(key), s).first->second;
    }
}

LexState Lexer::in_any_string(const std::string& text, Escapes escapes) {
    TerminalId& terminal = any_string_[size_t(escapes)];
    if (terminal == TerminalId()) terminal = add(Recognizer::any_string(escapes), 0);
    const Automaton& any = automata_[terminals_[terminal].first];
    return canonical(LexState(any.first + any.recognizer.run(text)));
}

uint32_t Lexer::unbounded(uint32_t a) {
    if (automata_[a].recognizer.has_table()) return a;
    if (const uint32_t* known = unbounded_.find(a)) return *known;
    const std::optional<Recognizer> all = automata_[a].recognizer.unbounded();
    const uint32_t whole = all ? terminals_[add(*all, 0)].first : a;
    return unbounded_[a] = whole;
}

LexState Lexer::acting_as(uint32_t whole, LexState s, uint64_t bytes) {
    const int32_t alike = automata_[whole].recognizer.acting_as(recognizer_of(s), single_state_[s], bytes);
    if (alike == kDead) return kNoState;
    const LexState same = single(whole, uint32_t(alike));
    return same == s ? s : canonical(same);
}

LexState Lexer::for_short_texts(LexState s, uint64_t bytes) {
    const uint32_t a = single_automaton_[s], state = single_state_[s];
    if (!automata_[a].recognizer.has_table())
        if (const std::string* text = automata_[a].recognizer.text_of_any_string(state, bytes))
            return in_any_string(*text, automata_[a].recognizer.escapes());
    const uint32_t whole = unbounded(a);
    if (automata_[a].recognizer.meets_bound(state, bytes)) return s;
    const LexState alike = acting_as(whole, s, bytes);
    return alike == kNoState ? s : alike;
}

LexState Lexer::without_bound(LexState s) {
    if (!is_single(s) || !recognizer_of(s).counted_values()) return kNoState;
    const uint32_t whole = unbounded(single_automaton_[s]);
    const int32_t same = automata_[whole].recognizer.acting_as(recognizer_of(s), single_state_[s], ~0ULL);
    return same == kDead ? kNoState : single(whole, uint32_t(same));
}

LexState Lexer::any_string(LexState s) {
    if (!is_single(s) || !recognizer_of(s).is_between_characters(single_state_[s])) return kNoState;
    return in_any_string("\"", recognizer_of(s).escapes());
}

LexState Lexer::between_characters(LexState of, const CountedValues::Place& place) {
    const uint32_t a = single_automaton_[of];
    const int32_t state = automata_[a].recognizer.between_characters(place);
    return state < 0 ? kNoState : canonical(single(a, uint32_t(state)));
}

ByteSet Lexer::bytes(LexState m) {
    // Under scannerless one member may be any of all the states of large automata, each asked for once.
    const bool is_kept = !is_single(m) || policy_ != Policy::kScannerless;
    if (const ByteSet* known = is_kept ? bytes_of_.find(m) : nullptr) return *known;
    ByteSet all;
    work(10 * singles(m).size());
    for (LexState single : singles(m)) {
        const ByteSet some = recognizer_of(single).bytes(single_state_[single]);
        for (size_t w = 0; w < all.words.size(); w++) all.words[w] |= some.words[w];
    }
    if (is_kept) bytes_of_[m] = all;
    return all;
}

LexState Lexer::off_list(LexState s) {
    const uint32_t a = single_automaton_[s];
    const int32_t to = automata_[a].recognizer.off_list(single_state_[s]);
    return to < 0 ? kNoState : canonical(single(a, uint32_t(to)));
}

bool Lexer::is_counted(LexState s, uint64_t& need, uint64_t& room) const {
    const auto counted = recognizer_of(s).counted(single_state_[s]);
    if (counted) std::tie(need, room) = *counted;
    return bool(counted);
}

uint64_t Lexer::alike_for(LexState a, LexState b) const {
    if (!is_single(a) || !is_single(b) || single_automaton_[a] != single_automaton_[b]) return 0;
    return recognizer_of(a).alike_for(single_state_[a], single_state_[b]);
}

bool Lexer::has_more_strings(LexState members, uint64_t n) const {
    const Singles all = singles(members);
    return std::any_of(all.begin(), all.end(), [&](LexState s) { return recognizer_of(s).has_more_values(single_state_[s], n); });
}

bool Lexer::always_has_more_strings(LexState members, uint64_t n) const {
    const Singles all = singles(members);
    return std::all_of(all.begin(), all.end(),
                       [&](LexState s) { return recognizer_of(s).always_has_more_values(single_state_[s], n, longest_token_); });
}

bool Lexer::may_repeat(LexState members, uint8_t byte) {
    constexpr size_t kMost = 64;
    std::vector<LexState> met;
    if (policy_ != Policy::kScannerless) return false;
    for (LexState s = members; s != kNoState && met.size() < kMost; s = step(s, byte)) {
        if (std::find(met.begin(), met.end(), s) != met.end()) return true;
        met.push_back(s);
    }
    return false;
}

LexState Lexer::start(const std::vector<TerminalId>& terminals, Obligations obligations) {
    std::vector<uint32_t> singles;
    singles.reserve(terminals.size());
    for (TerminalId t : terminals) {
        uint32_t a = terminals_[t].first;
        if (terminals_[t].looks_back != ~0u) {
            uint32_t place = terminals_[t].looks_back;
            a += looking_back_[place]->variant[pasts_[past(obligations)][place]];
        }
        if (!automata_[a].recognizer.is_empty()) singles.push_back(single(a, 0).index());
    }
    std::sort(singles.begin(), singles.end());
    singles.erase(std::unique(singles.begin(), singles.end()), singles.end());
    if (singles.empty()) return kNoState;
    return with_obligations(intern_set(singles), obligations);
}

LexState Lexer::any_lexeme(Obligations obligations) {
    const uint32_t before = past(obligations);
    if (any_lexeme_.size() <= before) any_lexeme_.resize(before + 1, kUnknown);
    if (any_lexeme_[before] == kUnknown) {
        std::vector<TerminalId> all;
        for (TerminalId t : terminals_.ids()) all.push_back(t);
        const LexState first = start(all, obligations);
        any_lexeme_[before] = first == kNoState ? first : members(first);
    }
    return with_obligations(any_lexeme_[before], obligations);
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

uint32_t Lexer::past(Obligations obligations) const {
    for (uint32_t w : obligation_lists_[obligations.index()])
        if (w != kSeparator && obligation_table_[w].kind == Obligation::kPast) return obligation_table_[w].subject;
    return 0;
}

Obligations Lexer::nothing_owed(Obligations obligations) { return looking_back_.empty() ? kFree : stands_behind(past(obligations)); }

Obligations Lexer::stands_behind(uint32_t past) {
    Obligations& formula = stands_behind_[past];
    if (formula == Obligations()) formula = only({Obligation::kPast, past, 0, 0, false});
    return formula;
}

uint32_t Lexer::step_past(uint32_t past, uint8_t byte) {
    if (const uint32_t* known = past_steps_.find(pack(past, byte))) return *known;
    std::vector<uint32_t> next = pasts_[past];
    for (size_t i = 0; i < next.size(); i++) next[i] = looking_back_[i]->step(next[i], byte);
    const uint32_t to = pasts_.intern(next);
    return past_steps_[pack(past, byte)] = to;
}

std::vector<Obligations> Lexer::all_pasts(size_t limit) {
    std::vector<Obligations> out{text_start_};
    for (size_t i = 0; i < out.size() && !looking_back_.empty(); i++)
        for (uint8_t byte : representative_bytes()) {
            const Obligations next = step_obligations(out[i], byte);
            if (std::find(out.begin(), out.end(), next) == out.end()) out.push_back(next);
            if (out.size() > limit) return {};
        }
    return out;
}

LexState Lexer::with_obligations(LexState m, Obligations obligations) {
    if (obligations == kFree || m == kNoState) return m;
    uint32_t& id = pair_ids_[pack(m, obligations)];
    if (id == 0) {
        pairs_.push_back({m, obligations, Pair::kUnjudged});
        bytes_ += 40;
        id = uint32_t(pairs_.size());
    }
    return LexState(kPairBit | (id - 1));
}

LexState Lexer::intern_set(const std::vector<uint32_t>& singles) {
    if (singles.size() == 1) return LexState(singles[0]);
    const uint32_t before = set_lists_.size(), id = set_lists_.intern(singles);
    if (id == before) set_bytes_ += singles.size() * 4 + 64;
    return LexState(kSetBit | id);
}

LexState Lexer::together(const std::vector<LexState>& singles) {
    std::vector<uint32_t> words;
    for (LexState single : singles) words.push_back(single.index());
    return intern_set(words);
}

LexState Lexer::step_slow(LexState s, uint8_t byte) {
    if (is_single(s)) {
        const uint32_t a = single_automaton_[s];
        work(2);
        const int32_t next = automata_[a].recognizer.step(single_state_[s], byte);
        return next < 0 ? kNoState : single(a, uint32_t(next));
    }
    if (!is_pair(s)) return step_set(number(s), alike(byte));
    Pair p = pairs_[number(s)];
    LexState m = step(p.members, byte);
    if (m == kNoState) return kNoState;
    const Obligations obligations = step_obligations(p.obligations, byte);
    if (obligations == kViolated) return kNoState;
    return stepped(m, obligations, byte);
}

// A name directly behind a keyword would have been one longer name, so a state within its first character has no future. But it cannot end there either, and
// only is_dead() sees what its last byte will break. A blank of Unicode may begin with the same byte, so every byte of a character is looked at.
LexState Lexer::stepped(LexState m, Obligations obligations, uint8_t byte) {
    constexpr uint8_t kOfSeveral = 0x80;  // bytes of a character, from here on
    const LexState next = with_obligations(m, obligations);
    return byte >= kOfSeveral && is_pair(next) && is_dead(number(next)) ? kNoState : next;
}

LexState Lexer::step_set(uint32_t id, uint8_t byte) {
    Row& row = rows_[id];
    if (row.all) {
        if (row.all[byte] == kUnknown) row.all[byte] = step_members(id, byte);
        return row.all[byte];
    }
    for (size_t i = 0; i < row.size; i++)
        if (row.bytes[i] == byte) return row.few[i];
    const LexState to = step_members(id, byte);
    if (row.size < row.few.size()) {
        row.bytes[row.size] = byte;
        row.few[row.size++] = to;
        return to;
    }
    std::unique_ptr<LexState[]> all(new LexState[256]);
    std::fill_n(all.get(), 256, kUnknown);
    for (size_t i = 0; i < row.size; i++) all[row.bytes[i]] = row.few[i];
    set_bytes_ += 1024;
    row.all = std::move(all);
    return row.all[byte] = to;
}

LexState Lexer::step_members(uint32_t set, uint8_t byte) {
    const std::vector<uint32_t>& all = set_lists_[set];
    stepped_.clear();
    auto take = [&](const uint32_t* begin, const uint32_t* end) {
        work(5 + 2 * size_t(end - begin));
        for (; begin != end; ++begin)
            if (const LexState to = step(LexState(*begin), byte); to != kNoState) stepped_.push_back(to.index());
    };
    if (all.size() < kManyMembers || policy_ != Policy::kScannerless || rows_[set].size == 0) {
        take(all.data(), all.data() + all.size());
    } else {
        const Ways& ways = ways_of(set);
        take(ways.any.data(), ways.any.data() + ways.any.size());
        take(ways.listed.data() + ways.begin[byte], ways.listed.data() + ways.begin[byte + 1]);
    }
    return intern_stepped();
}

LexState Lexer::intern_stepped() {
    // PERF: those of tables, numbered one automaton behind the other, mostly are.
    if (!std::is_sorted(stepped_.begin(), stepped_.end())) std::sort(stepped_.begin(), stepped_.end());
    return stepped_.empty() ? kNoState : intern_set(stepped_);
}

const Lexer::Ways& Lexer::ways_of(uint32_t set) {
    const auto known = ways_.find(set);
    if (known != ways_.end()) return known->second;
    constexpr size_t kMost = 32;
    if (ways_.size() >= kMost) {
        for (const auto& [_, ways] : ways_) bytes_ -= ways.bytes();
        ways_.clear();
    }
    const std::vector<uint32_t>& all = set_lists_[set];
    work(10 * all.size());
    Ways ways;
    std::vector<std::pair<uint8_t, uint32_t>> listed;
    for (uint32_t single : all) {
        ByteSet bytes;
        if (recognizer_of(LexState(single)).only_listed(single_state_[LexState(single)], bytes))
            bytes.each([&](uint8_t b) { listed.emplace_back(b, single), ways.begin[b + 1]++; });
        else ways.any.push_back(single);
    }
    for (size_t b = 0; b < 256; b++) ways.begin[b + 1] += ways.begin[b];
    std::array<uint32_t, 257> at = ways.begin;
    ways.listed.resize(listed.size());
    for (auto [b, single] : listed) ways.listed[at[b]++] = single;
    bytes_ += ways.bytes();
    return ways_.emplace(set, std::move(ways)).first->second;
}

bool Lexer::has_next(LexState m) {
    const Singles all = singles(m);
    return std::any_of(all.begin(), all.end(), [&](LexState s) { return recognizer_of(s).has_next(single_state_[s]); });
}

const std::vector<Lexer::Option>& Lexer::options(LexState m) {
    auto found = options_.find(m);
    if (found != options_.end()) return found->second;
    std::vector<std::pair<uint32_t, uint32_t>> accepted;  // (automaton, state)
    for (auto [a, q] : progress(m))
        if (automata_[a].recognizer.accepts(q)) accepted.emplace_back(a, q);
    auto rank = [this](uint32_t automaton) { return terminals_[automata_[automaton].terminal].rank; };
    std::stable_sort(accepted.begin(), accepted.end(), [&](auto x, auto y) { return rank(x.first) < rank(y.first); });
    std::vector<Option> out;
    Obligations better_fail = kFree;
    for (auto [a, q] : accepted) {
        const Conditions* c = automata_[a].recognizer.conditions(q);
        if (!c) {
            out.push_back({automata_[a].terminal, better_fail});
            break;
        }
        out.push_back({automata_[a].terminal, all_of(better_fail, conditions_formula(a, *c, false))});
        better_fail = all_of(better_fail, conditions_formula(a, *c, true));
    }
    bytes_ += 64 + out.size() * sizeof(Option);
    return options_.emplace(m, std::move(out)).first->second;
}

Obligations Lexer::refutation(LexState m) {
    Obligations result = kFree;
    for (LexState single : singles(m)) {
        if (!accepts_single(single)) continue;
        const Conditions* c = recognizer_of(single).conditions(single_state_[single]);
        if (!c) return kViolated;
        result = all_of(result, conditions_formula(single_automaton_[single], *c, true));
    }
    return result;
}

const std::vector<Lexer::Exit>& Lexer::exits(LexState s) {
    Exits& exits = exits_at(s);
    if (exits.known) return exits.list;
    const LexState of = members(s);
    work(5 + singles(of).size());
    std::vector<Exit> out;
    if (policy_ == Policy::kScannerless) {
        for (auto [a, q] : progress(s))
            if (automata_[a].recognizer.accepts(q)) out.push_back({automata_[a].terminal, kFree});
    } else {
        LexState m = members(s);
        Obligations before = obligations(s);
        if (before == fresh_) before = text_start_;
        for (const Option& o : options(m)) {
            Obligations after = all_of(before, o.condition);
            if (has_next(m)) after = all_of(after, only({Obligation::kLonger, m.index(), 0, 0, false}));
            if (after != kViolated) out.push_back({o.terminal, after});
        }
    }
    bytes_ += out.size() * sizeof(Exit);
    exits.known = true;
    return exits.list = std::move(out);
}

std::vector<std::pair<uint32_t, uint32_t>> Lexer::progress(LexState s) const {
    std::vector<std::pair<uint32_t, uint32_t>> out;
    for (LexState single : singles(members(s))) out.emplace_back(single_automaton_[single], single_state_[single]);
    return out;
}

std::vector<std::pair<TerminalId, uint32_t>> Lexer::describe(LexState s) const {
    std::vector<std::pair<TerminalId, uint32_t>> out;
    for (auto [automaton, state] : progress(s)) out.emplace_back(automata_[automaton].terminal, state);
    return out;
}

}  // namespace derivable
