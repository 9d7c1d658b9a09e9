#include "lexing/member_sets.hpp"

#include <utility>

#include "support/archive.hpp"
#include "support/packed.hpp"
#include "support/task.hpp"

namespace derivable {

LexState MemberSets::of(const std::vector<uint32_t>& singles) {
    if (singles.size() == 1) return LexState(singles[0]);
    const uint32_t before = sets_.size(), id = sets_.intern(singles);
    if (id == before) set_bytes_ += singles.size() * 4 + 64;
    return LexState(StateNumber::kSetBit | id);
}

LexState MemberSets::of(const std::vector<LexState>& singles) {
    std::vector<uint32_t> words;
    for (LexState single : singles) words.push_back(single.index());
    return of(words);
}

ByteSet MemberSets::bytes(LexState m) {
    // Under scannerless one member may be any of all the states of large automata, each asked for once.
    const bool is_kept = !StateNumber::is_single(m) || automata_.policy() != Policy::kScannerless;
    if (const ByteSet* known = is_kept ? bytes_of_.find(m) : nullptr) return *known;
    ByteSet all;
    work(10 * singles(m).size());
    for (LexState single : singles(m)) {
        const ByteSet some = automata_.recognizer_of(single).bytes(automata_.state_of(single));
        for (size_t w = 0; w < all.words.size(); w++) all.words[w] |= some.words[w];
    }
    if (is_kept) bytes_of_[m] = all;
    return all;
}

bool MemberSets::has_next(LexState m) const {
    return any(m, [&](LexState single) { return automata_.recognizer_of(single).has_next(automata_.state_of(single)); });
}

LexState MemberSets::step_set(uint32_t set, uint8_t byte) {
    Row& row = rows_[set];
    if (row.all) {
        if (row.all[byte] == kUnknown) row.all[byte] = step_members(set, byte);
        return row.all[byte];
    }
    for (size_t i = 0; i < row.size; i++)
        if (row.bytes[i] == byte) return row.few[i];
    const LexState to = step_members(set, byte);
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

LexState MemberSets::step_members(uint32_t set, uint8_t byte) {
    const std::vector<uint32_t>& all = sets_[set];
    stepped_.clear();
    auto take = [&](const uint32_t* begin, const uint32_t* end) {
        work(5 + 2 * size_t(end - begin));
        for (; begin != end; ++begin)
            if (const LexState to = automata_.step(LexState(*begin), byte); to != kNoState) stepped_.push_back(to.index());
    };
    if (all.size() < kManyMembers || automata_.policy() != Policy::kScannerless || rows_[set].size == 0) {
        take(all.data(), all.data() + all.size());
    } else {
        const Ways& ways = ways_of(set);
        take(ways.any.data(), ways.any.data() + ways.any.size());
        take(ways.listed.data() + ways.begin[byte], ways.listed.data() + ways.begin[byte + 1]);
    }
    return of_stepped();
}

LexState MemberSets::of_stepped() {
    // PERF: those of tables, numbered one automaton behind the other, mostly are.
    if (!std::is_sorted(stepped_.begin(), stepped_.end())) std::sort(stepped_.begin(), stepped_.end());
    return stepped_.empty() ? kNoState : of(stepped_);
}

const MemberSets::Ways& MemberSets::ways_of(uint32_t set) {
    const auto known = ways_.find(set);
    if (known != ways_.end()) return known->second;
    constexpr size_t kMost = 32;
    if (ways_.size() >= kMost) {
        for (const auto& [_, ways] : ways_) bytes_ -= ways.bytes();
        ways_.clear();
    }
    const std::vector<uint32_t>& all = sets_[set];
    work(10 * all.size());
    Ways ways;
    std::vector<std::pair<uint8_t, uint32_t>> listed;
    for (uint32_t single : all) {
        ByteSet bytes;
        if (automata_.ask(&JsonStrings::only_listed, LexState(single), bytes))
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

// PERF: each table is looked up once and not for each byte. With Formulas::stands_behind(), one of the slowest masks of a loaded Python constraint takes
// 513,000 instructions instead of 570,000.
void MemberSets::step_with_all(LexState m) {
    if (StateNumber::is_single(m) || !kinds_.are_known()) return;
    const uint32_t set = StateNumber::of(m);
    const std::vector<uint8_t>& bytes = kinds_.representatives();
    if (const auto& known = rows_[set].all;
        known && std::none_of(bytes.begin(), bytes.end(), [&](uint8_t b) { return known[b] == kUnknown; }))
        return;
    struct Member {
        Recognizer& recognizer;
        uint32_t automaton, state, first;
        bool has_table;
    };
    std::vector<Member> members;
    members.reserve(sets_[set].size());
    for (LexState single : singles(m)) {
        const uint32_t automaton = automata_.automaton_of(single), state = automata_.state_of(single);
        Recognizer& recognizer = automata_.at(automaton);
        members.push_back({recognizer, automaton, state, single.index() - state, recognizer.has_table()});
    }
    work(5 * bytes.size() + bytes.size() * members.size());
    std::unique_ptr<LexState[]> to(new LexState[256]);
    std::fill_n(to.get(), 256, kUnknown);
    for (uint8_t byte : bytes) {
        stepped_.clear();
        for (const Member& member : members) {
            const int32_t next =
                member.has_table ? member.recognizer.step_table(member.state, byte) : member.recognizer.step(member.state, byte);
            if (next < 0) continue;
            stepped_.push_back(member.has_table ? member.first + uint32_t(next)
                                                : automata_.state(member.automaton, uint32_t(next)).index());
        }
        to[byte] = of_stepped();
    }
    Row& row = rows_[set];
    if (!row.all) set_bytes_ += 1024;
    row.all = std::move(to);
}

ByteSet MemberSets::apart(LexState a, LexState b, const ByteSet& of) {
    std::vector<LexState> of_a, of_b, from_a, from_b;  // members of one only; where these lead
    const Singles x = singles(a), y = singles(b);
    std::set_difference(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(of_a));
    std::set_difference(y.begin(), y.end(), x.begin(), x.end(), std::back_inserter(of_b));
    auto lead = [&](const std::vector<LexState>& from, uint8_t byte, std::vector<LexState>& to) -> const std::vector<LexState>& {
        to.clear();
        for (LexState single : from)
            if (const LexState next = automata_.step(single, byte); next != kNoState) to.push_back(next);
        std::sort(to.begin(), to.end());
        return to;
    };
    ByteSet asked, differ, all;
    of.each([&](uint8_t byte) {
        const uint8_t kind = kinds_.like(byte);
        if (!asked[kind]) {
            asked.set(kind);
            work(2 + 2 * (of_a.size() + of_b.size()));
            if (lead(of_a, kind, from_a) != lead(of_b, kind, from_b)) differ.set(kind);
        }
        if (differ[kind]) all.set(byte);
    });
    return all;
}

void MemberSets::write(PackedWriter& out, LexState single, const TerminalAutomata::NumberOf& number) const {
    automata_.write_automaton(out, automata_.automaton_of(single), number);
    automata_.recognizer_of(single).write(out, automata_.state_of(single));
}

LexState MemberSets::read(PackedReader& in, uint64_t count, const TerminalAutomata::TerminalOf& terminal) {
    std::vector<uint32_t> all;
    for (; count > 0; count--) {  // SAFETY: each takes a byte
        const uint32_t automaton = automata_.read_automaton(in, terminal);
        all.push_back(automata_.state(automaton, automata_.at(automaton).read(in)).index());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return of(all);
}

void MemberSets::archive(Archive& a) {
    const auto ascends = [](const std::vector<uint32_t>& words) {
        return std::adjacent_find(words.begin(), words.end(), [](uint32_t x, uint32_t y) { return x >= y; }) == words.end();
    };
    a.lists(sets_, 0, [&](std::vector<uint32_t>&& singles) {
        a.check(singles.size() != 1 && ascends(singles) && (singles.empty() || singles.back() < automata_.num_states()));
        set_bytes_ += singles.size() * 4 + 64;
        return sets_.intern(std::move(singles));
    });
}

}  // namespace derivable
