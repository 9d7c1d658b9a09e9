// Bytes that act alike: what a state does with one of them it does with all.
#include <algorithm>
#include <iterator>
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
    for (size_t b = 0; b < 256; b++) alike_[b] = uint8_t(b);
    // Under scannerless terminals of other grammars may be added.
    if (policy_ != Policy::kScannerless &&
        std::all_of(automata_.begin(), automata_.end(), [](const Automaton& a) { return a.recognizer.has_table(); }))
        representative_bytes(), alike_ = represented_;
    knows_alike_ = true;
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
