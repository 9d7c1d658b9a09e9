// Lexer states, written down and read again under the same numbers.
#include <algorithm>

#include "lexing/lexer.hpp"
#include "support/image.hpp"

namespace derivable {

namespace {
bool ascends(const std::vector<uint32_t>& words) {
    return std::adjacent_find(words.begin(), words.end(), [](uint32_t x, uint32_t y) { return x >= y; }) == words.end();
}

// The list with the next number, or one that is there, as it was written.
void restore_list(Interner& lists, uint32_t number, const std::vector<uint32_t>& words) {
    ImageReader::check(lists.intern(words) == number);
}
}  // namespace

bool Lexer::is_members(LexState s) const { return is_single(s) ? single_automaton_.has(s) : !is_pair(s) && number(s) < set_lists_.size(); }

bool Lexer::is_state(LexState s) const { return is_pair(s) ? (s.index() & ~kPairBit) < pairs_.size() : is_members(s); }

void Lexer::save(ImageWriter& out) const {
    out.put(uint32_t(policy_));
    out.put(terminals_.size());
    out.put(single_automaton_.size());
    for (const Interner* lists : {&pasts_, &set_lists_}) {
        out.put(lists->size());
        for (uint32_t i = 0; i < lists->size(); i++) out.list((*lists)[i]);
    }
    out.put(obligation_table_.size());
    for (const Obligation& d : obligation_table_)
        for (uint32_t word : {uint32_t(d.kind), d.subject, d.look, d.state, uint32_t(d.negative)}) out.put(word);
    out.put(obligation_lists_.size());
    for (uint32_t i = 0; i < obligation_lists_.size(); i++) out.list(obligation_lists_[i]);
    out.put(pairs_.size());
    for (const Pair& p : pairs_)
        for (uint32_t word : {p.members.index(), p.obligations.index(), uint32_t(p.fate)}) out.put(word);
}

void Lexer::restore(ImageReader& in) {
    if (in.next() != uint32_t(policy_) || in.next() != terminals_.size() || in.next() != single_automaton_.size())
        throw BadArtifact("its index is of another lexer");
    for (uint32_t i = 0, n = in.count(); i < n; i++) {
        const std::vector<uint32_t> past = in.list();
        ImageReader::check(past.size() == looking_back_.size());
        for (size_t k = 0; k < past.size(); k++) ImageReader::check(past[k] < looking_back_[k]->variant.size());
        restore_list(pasts_, i, past);
    }
    for (uint32_t i = 0, n = in.count(); i < n; i++) {
        const std::vector<uint32_t> singles = in.list();
        ImageReader::check(singles.size() != 1 && ascends(singles) && (singles.empty() || singles.back() < single_automaton_.size()));
        restore_list(set_lists_, i, singles);
        set_bytes_ += singles.size() * 4 + 64;
    }
    for (uint32_t i = 0, n = in.count(5); i < n; i++) restore_obligation(in, i);
    for (uint32_t i = 0, n = in.count(); i < n; i++) {
        const std::vector<uint32_t> words = in.list();
        ImageReader::check(words.empty() || words.back() == kSeparator);
        uint32_t before = kSeparator;
        for (uint32_t word : words) {
            // SAFETY: an alternative without obligations is kFree, which has nothing else.
            ImageReader::check(word == kSeparator ? before != kSeparator || words.size() == 1 : word < obligation_table_.size());
            before = word;
        }
        if (i >= obligation_lists_.size()) count_words(words.size());
        restore_list(obligation_lists_, i, words);
    }
    const uint32_t num_pairs = in.count(3);
    pair_ids_.reserve(num_pairs);
    pairs_.reserve(num_pairs);
    for (uint32_t i = 0; i < num_pairs; i++) {
        const LexState members(in.next());
        const Obligations obligations(in.below(obligation_lists_.size()));
        const uint32_t fate = in.below(Pair::kDead + 1);
        ImageReader::check(is_members(members) && obligations > kFree && with_obligations(members, obligations) == LexState(kPairBit | i));
        pairs_[i].fate = decltype(Pair::fate)(fate);
    }
    // PERF: every first byte is asked whether any lexeme begins with it, and every member whether it goes on with what is left of some tokens; by
    // and by, that was 130,000 instructions of the first masks.
    const LexState any = any_lexeme(text_start());
    if (any == kNoState || !has_kinds()) return;
    if (!is_single(members(any))) step_all(number(members(any)));
    for (LexState single : singles(members(any))) bytes(single);
}

void Lexer::restore_obligation(ImageReader& in, uint32_t number) {
    Obligation d{};
    d.kind = decltype(d.kind)(in.below(Obligation::kLook + 1));
    d.subject = in.next(), d.look = in.next(), d.state = in.next(), d.negative = in.below(2);
    bool fits = true;
    switch (d.kind) {
        case Obligation::kFresh: break;
        case Obligation::kPast: fits = d.subject < pasts_.size(); break;
        case Obligation::kLonger: fits = is_members(LexState(d.subject)); break;
        case Obligation::kLook: fits = d.subject < automata_.size() && automata_[d.subject].recognizer.has_look(d.look, d.state); break;
    }
    ImageReader::check(fits && add_obligation(d) == number);
}

}  // namespace derivable
