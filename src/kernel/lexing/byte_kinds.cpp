// Bytes that act alike: what a state does with one of them it does with all.
#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "lexing/lexer.hpp"
#include "support/task.hpp"

namespace derivable {

const std::vector<uint8_t>& Lexer::representative_bytes() {
    if (representatives_.empty()) {
        Interner kinds;
        std::vector<uint8_t> found;  // SAFETY: known when it is complete, for memory may be refused
        for (size_t b = 0; b < 256; b++) {
            std::vector<uint32_t> key;
            for (const Automaton& a : automata_) a.recognizer.append_classes(uint8_t(b), key);
            for (const Past* p : looking_back_) key.push_back(p->classes[b]);
            const uint32_t before = kinds.size(), kind = kinds.intern(key);
            if (kind == before) found.push_back(uint8_t(b));
            represented_[b] = found[kind];
        }
        representatives_ = std::move(found);
    }
    return representatives_;
}

void Lexer::find_alike() {
    // Under scannerless terminals of other grammars may be added.
    has_kinds_ = policy_ != Policy::kScannerless && std::all_of(automata_.begin(), automata_.end(), [](const Automaton& a) {
                     return a.recognizer.has_table() || a.recognizer.counts_rounds();
                 });
    if (has_kinds_) representative_bytes();
    knows_alike_ = true;
}

// PERF: each table is looked up once and not for each byte. With stands_behind(), one of the slowest masks of a loaded Python constraint takes
// 513,000 instructions instead of 570,000.
void Lexer::step_all(uint32_t set) {
    const std::vector<uint32_t>& all = set_lists_[set];
    const std::vector<uint8_t>& bytes = representative_bytes();
    if (const auto& known = rows_[set].all;
        known && std::none_of(bytes.begin(), bytes.end(), [&](uint8_t b) { return known[b] == kUnknown; }))
        return;
    struct Member {
        Recognizer& recognizer;
        uint32_t automaton, state, first;
        bool has_table;
    };
    std::vector<Member> members;
    members.reserve(all.size());
    for (LexState single : singles(LexState(kSetBit | set))) {
        Automaton& a = automata_[single_automaton_[single]];
        members.push_back({a.recognizer, single_automaton_[single], single_state_[single], a.first, a.recognizer.has_table()});
    }
    work(5 * bytes.size() + bytes.size() * all.size());
    std::unique_ptr<LexState[]> to(new LexState[256]);
    std::fill_n(to.get(), 256, kUnknown);
    for (uint8_t byte : bytes) {
        stepped_.clear();
        for (const Member& m : members) {
            const int32_t next = m.has_table ? m.recognizer.step_table(m.state, byte) : m.recognizer.step(m.state, byte);
            if (next >= 0) stepped_.push_back(m.has_table ? m.first + uint32_t(next) : single(m.automaton, uint32_t(next)).index());
        }
        to[byte] = intern_stepped();
    }
    Row& row = rows_[set];
    if (!row.all) set_bytes_ += 1024;
    row.all = std::move(to);
}

std::vector<LexState> Lexer::successors(LexState s) {
    const LexState m = members(s);
    const Obligations d = obligations(s);
    if (!is_single(m) && has_kinds()) step_all(number(m));
    work((d == kFree ? 1 : 4) * representative_bytes().size());
    std::vector<LexState> found;
    std::pair<LexState, Obligations> last{kNoState, kViolated};
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

ByteSet Lexer::apart(LexState a, LexState b, const ByteSet& of) {
    std::vector<LexState> of_a, of_b, from_a, from_b;  // members of one only; where these lead
    const Singles x = singles(members(a)), y = singles(members(b));
    std::set_difference(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(of_a));
    std::set_difference(y.begin(), y.end(), x.begin(), x.end(), std::back_inserter(of_b));
    auto lead = [&](const std::vector<LexState>& from, uint8_t byte, std::vector<LexState>& to) -> const std::vector<LexState>& {
        to.clear();
        for (LexState single : from)
            if (const LexState next = step(single, byte); next != kNoState) to.push_back(next);
        std::sort(to.begin(), to.end());
        return to;
    };
    const Obligations owed = obligations(a), other = obligations(b);
    ByteSet asked, differ, all;
    of.each([&](uint8_t byte) {
        const uint8_t kind = alike(byte);
        if (!asked[kind]) {
            asked.set(kind);
            work(2 + 2 * (of_a.size() + of_b.size()));
            if (lead(of_a, kind, from_a) != lead(of_b, kind, from_b) ||
                (owed != other && step_obligations(owed, kind) != step_obligations(other, kind)))
                differ.set(kind);
        }
        if (differ[kind]) all.set(byte);
    });
    return all;
}

}  // namespace derivable
