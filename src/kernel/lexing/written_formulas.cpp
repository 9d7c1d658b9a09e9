// Formulas, written down and read again: under the same numbers, or as every process knows them.
#include <algorithm>
#include <utility>

#include "lexing/formulas.hpp"
#include "support/archive.hpp"
#include "support/packed.hpp"

namespace derivable {

// ---- as they are numbered ----

bool Formulas::is_known(const Obligation& d) const {
    switch (d.kind) {
        case Obligation::kFresh: return true;
        case Obligation::kPast: return d.subject < pasts_.size();
        case Obligation::kLonger: return sets_.has(LexState(d.subject));
        case Obligation::kLook: return d.subject < automata_.num_automata() && automata_.at(d.subject).has_look(d.look, d.state);
    }
    return false;
}

void Formulas::archive_pasts(Archive& a) {
    a.lists(pasts_, 0, [&](const std::vector<uint32_t>& past) {
        const std::vector<const Past*>& all = automata_.looking_back();
        a.check(past.size() == all.size());
        for (size_t k = 0; k < past.size(); k++) a.check(past[k] < all[k]->variant.size());
        return pasts_.intern(past);
    });
}

void Formulas::archive(Archive& a) {
    const uint32_t count = a.count(obligations_.size(), 5);
    for (uint32_t i = 0; i < count; i++) {
        Obligation d = a.reading() ? Obligation{} : obligations_[i];
        a.below(d.kind, Obligation::kLook + 1);
        for (uint32_t* word : {&d.subject, &d.look, &d.state}) a.number(*word);
        a.flag(d.negative);
        if (a.reading()) a.check(is_known(d) && add(d) == i);
    }
    a.lists(lists_, 0, [&](std::vector<uint32_t>&& words) {
        a.check(words.empty() || words.back() == kSeparator);
        uint32_t before = kSeparator;
        for (uint32_t word : words) {
            // SAFETY: an alternative without obligations is kFree, which has nothing else.
            a.check(word == kSeparator ? before != kSeparator || words.size() == 1 : word < obligations_.size());
            before = word;
        }
        const size_t size = words.size();
        const uint32_t next = lists_.size(), number = lists_.intern(std::move(words));
        if (number == next) count_words(size);
        return number;
    });
}

// ---- as every process knows them: a list of alternatives, each a list of obligations ----

void Formulas::write(PackedWriter& out, Obligations formula, const TerminalAutomata::NumberOf& number) const {
    const Alternatives all = alternatives(formula);
    out.put(all.size());
    for (const std::vector<uint32_t>& some : all) {
        out.put(some.size());
        for (uint32_t one : some) write(out, obligations_[one], number);
    }
}

void Formulas::write(PackedWriter& out, const Obligation& d, const TerminalAutomata::NumberOf& number) const {
    out.put(d.kind);
    switch (d.kind) {
        case Obligation::kFresh: break;
        case Obligation::kPast:
            for (uint32_t state : pasts_[d.subject]) out.put(state);
            break;
        case Obligation::kLonger: {
            const Singles all = sets_.singles(LexState(d.subject));
            out.put(all.size());
            for (LexState single : all) sets_.write(out, single, number);
            break;
        }
        case Obligation::kLook:
            automata_.write_automaton(out, d.subject, number);
            out.put(d.look), out.put(d.state), out.put(d.negative);
            break;
    }
}

// SAFETY: where look-behind reaches past lexemes, each alternative holds what stands before, and all of them the same.
Obligations Formulas::read(PackedReader& in, const TerminalAutomata::TerminalOf& terminal) {
    Alternatives all(in.count());
    in.check(!all.empty());
    std::vector<uint32_t> pasts;
    size_t words = 0;
    for (std::vector<uint32_t>& some : all) {
        const size_t count = in.count();
        words += count + 1;
        in.check(count > 0 && words <= kMaxWords);  // any_of() takes the square of that
        for (size_t i = 0; i < count; i++) {
            const Obligation d = read_obligation(in, terminal);
            if (d.kind == Obligation::kPast) pasts.push_back(d.subject);
            some.push_back(add(d));
        }
        std::sort(some.begin(), some.end());
        some.erase(std::unique(some.begin(), some.end()), some.end());
    }
    in.check(pasts.size() == (automata_.looking_back().empty() ? 0 : all.size()));
    in.check(std::all_of(pasts.begin(), pasts.end(), [&](uint32_t past) { return past == pasts[0]; }));
    return any_of(std::move(all));
}

Formulas::Obligation Formulas::read_obligation(PackedReader& in, const TerminalAutomata::TerminalOf& terminal) {
    Obligation d{};
    d.kind = decltype(d.kind)(in.below(Obligation::kLook + 1));
    in.check(d.kind != Obligation::kFresh);  // which is never owed with something else
    if (d.kind == Obligation::kPast) {
        std::vector<uint32_t> past;
        for (const Past* of : automata_.looking_back()) past.push_back(in.below(of->variant.size()));
        in.check(!past.empty());
        d.subject = pasts_.intern(past);
    } else if (d.kind == Obligation::kLonger) {
        const size_t count = in.count();
        in.check(count > 0);
        d.subject = sets_.read(in, count, terminal).index();
    } else {
        d.subject = automata_.read_automaton(in, terminal);
        d.look = in.below(UINT32_MAX), d.state = in.below(UINT32_MAX), d.negative = in.flag();
        in.check(is_known(d));
    }
    return d;
}

}  // namespace derivable
