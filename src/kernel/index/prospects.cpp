#include "index/prospects.hpp"

#include <algorithm>
#include <string>

#include "support/archive.hpp"
#include "support/task.hpp"

namespace derivable {

void Prospects::set_newline(Indentations& indentations, TerminalId newline, bool column_matters) {
    indentations_ = &indentations;
    newline_ = newline;
    column_matters_ = column_matters;
}

std::pair<Split::Sureness, uint32_t> Prospects::sureness(LexState s) {
    if (lexer_.policy() == Policy::kScannerless) return {Split::Sureness::kSure, 0};
    if (!always_alive_(s)) return {Split::Sureness::kExact, s.index()};
    if (lexer_.policy() == Policy::kBasic || has_unwanted(s)) return {Split::Sureness::kProducible, producible_set(s)};
    return {Split::Sureness::kSure, 0};
}

bool Prospects::has_unwanted(LexState s) {
    if (!may_be_unwanted_) return false;
    const auto [known, is_new] = has_unwanted_.try_emplace(s, char(0));
    if (!is_new) return known->second != 0;
    const auto members = lexer_.describe(s);
    work(members.size());
    known->second = char(std::any_of(members.begin(), members.end(), [&](const auto& m) { return may_be_unwanted_(m.first); }));
    return known->second != 0;
}

bool Prospects::may_be_newline(LexState s) {
    if (!indentations_) return false;
    auto known = may_be_newline_.find(s);
    if (known != may_be_newline_.end()) return known->second;
    const auto members = lexer_.describe(s);
    work(5 + members.size());
    return may_be_newline_[s] = std::any_of(members.begin(), members.end(), [&](const auto& m) { return m.first == newline_; });
}

uint32_t Prospects::producible_set(LexState s) {
    auto found = producible_.find(s);
    if (found != producible_.end()) return found->second;
    std::vector<LexState> todo{s};
    std::unordered_map<LexState, char> seen{{s, 1}};
    std::vector<uint32_t> winners;
    for (size_t i = 0; i < todo.size(); i++) {
        work(lexer_.kinds.representatives().size());
        for (const Lexer::Exit& e : lexer_.exits(todo[i])) winners.push_back(e.terminal.index());
        for (uint8_t b : lexer_.kinds.representatives()) {
            LexState next = lexer_.step(todo[i], b);
            if (next != kNoState && seen.try_emplace(next, 1).second) todo.push_back(next);
        }
    }
    std::sort(winners.begin(), winners.end());
    winners.erase(std::unique(winners.begin(), winners.end()), winners.end());
    return producible_[s] = producible_sets_.intern(winners);
}

void Prospects::archive(Archive& a) {
    const uint32_t effects = a.count(indentations_ ? num_effects() : 0);
    for (uint32_t i = 0; i < effects; i++) {
        std::string effect = a.reading() ? "" : indentations_->effects()[i];
        a.each(effect, 1, [&](char& byte) { a.below(byte, 128); });
        if (!a.reading()) continue;
        a.check(effect.find_first_not_of("\n \t\f.") == std::string::npos);
        a.check(indentations_ && indentations_->effect(effect) == i);
    }
    a.lists(producible_sets_, 0, [&](const std::vector<uint32_t>& set) {
        for (uint32_t terminal : set) a.check(terminal < lexer_.automata.num_terminals());
        return producible_sets_.intern(set);
    });
}

}  // namespace derivable
