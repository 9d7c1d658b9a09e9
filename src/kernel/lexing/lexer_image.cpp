// Lexer states, written down and read again under the same numbers.
#include <algorithm>
#include <utility>

#include "lexing/lexer.hpp"
#include "support/archive.hpp"

namespace derivable {

namespace {
bool ascends(const std::vector<uint32_t>& words) {
    return std::adjacent_find(words.begin(), words.end(), [](uint32_t x, uint32_t y) { return x >= y; }) == words.end();
}
}  // namespace

bool Lexer::is_members(LexState s) const { return is_single(s) ? single_automaton_.has(s) : !is_pair(s) && number(s) < set_lists_.size(); }

bool Lexer::is_state(LexState s) const { return is_pair(s) ? (s.index() & ~kPairBit) < pairs_.size() : is_members(s); }

bool Lexer::is_obligation(const Obligation& d) const {
    switch (d.kind) {
        case Obligation::kFresh: return true;
        case Obligation::kPast: return d.subject < pasts_.size();
        case Obligation::kLonger: return is_members(LexState(d.subject));
        case Obligation::kLook: return d.subject < automata_.size() && automata_[d.subject].recognizer.has_look(d.look, d.state);
    }
    return false;
}

void Lexer::archive(Archive& a) {
    for (size_t number : {size_t(policy_), terminals_.size(), single_automaton_.size()}) a.same(number, "its index is of another lexer");
    a.lists(pasts_, 0, [&](const std::vector<uint32_t>& past) {
        a.check(past.size() == looking_back_.size());
        for (size_t k = 0; k < past.size(); k++) a.check(past[k] < looking_back_[k]->variant.size());
        return pasts_.intern(past);
    });
    a.lists(set_lists_, 0, [&](std::vector<uint32_t>&& singles) {
        a.check(singles.size() != 1 && ascends(singles) && (singles.empty() || singles.back() < single_automaton_.size()));
        set_bytes_ += singles.size() * 4 + 64;
        return set_lists_.intern(std::move(singles));
    });
    archive_obligations(a);
    const uint32_t num_pairs = a.count(pairs_.size(), 3);
    if (a.reading()) pair_ids_.reserve(num_pairs), pairs_.reserve(num_pairs);
    for (uint32_t i = 0; i < num_pairs; i++) {
        Pair pair = a.reading() ? Pair{} : pairs_[i];
        a.number(pair.members);
        a.below(pair.obligations, obligation_lists_.size());
        a.below(pair.fate, Pair::kDead + 1);
        if (!a.reading()) continue;
        a.check(is_members(pair.members) && pair.obligations > kFree);
        a.check(with_obligations(pair.members, pair.obligations) == LexState(kPairBit | i));
        pairs_[i].fate = pair.fate;
    }
    if (a.reading()) prepare_first_bytes();
}

void Lexer::archive_obligations(Archive& a) {
    const uint32_t count = a.count(obligation_table_.size(), 5);
    for (uint32_t i = 0; i < count; i++) {
        Obligation d = a.reading() ? Obligation{} : obligation_table_[i];
        a.below(d.kind, Obligation::kLook + 1);
        for (uint32_t* word : {&d.subject, &d.look, &d.state}) a.number(*word);
        a.flag(d.negative);
        if (a.reading()) a.check(is_obligation(d) && add_obligation(d) == i);
    }
    a.lists(obligation_lists_, 0, [&](std::vector<uint32_t>&& words) {
        a.check(words.empty() || words.back() == kSeparator);
        uint32_t before = kSeparator;
        for (uint32_t word : words) {
            // SAFETY: an alternative without obligations is kFree, which has nothing else.
            a.check(word == kSeparator ? before != kSeparator || words.size() == 1 : word < obligation_table_.size());
            before = word;
        }
        const size_t size = words.size();
        const uint32_t next = obligation_lists_.size(), number = obligation_lists_.intern(std::move(words));
        if (number == next) count_words(size);
        return number;
    });
}

// PERF: every first byte is asked whether any lexeme begins with it, and every member whether it goes on with what is left of some tokens; by and by,
// that was 130,000 instructions of the first masks.
void Lexer::prepare_first_bytes() {
    const LexState any = any_lexeme(text_start());
    if (any == kNoState || !has_kinds()) return;
    if (!is_single(members(any))) step_all(number(members(any)));
    for (LexState single : singles(members(any))) bytes(single);
}

}  // namespace derivable
