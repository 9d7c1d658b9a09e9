#include "index/prospects.hpp"

#include <algorithm>
#include <string>

#include "support/image.hpp"
#include "support/task.hpp"

namespace derivable {

void Prospects::set_newline(Indentations& indentations, uint32_t newline, bool column_matters) {
    indentations_ = &indentations;
    newline_ = newline;
    column_matters_ = column_matters;
}

std::pair<Split::Sureness, uint32_t> Prospects::sureness(LexState s) {
    if (lexer_.policy() == Policy::kScannerless) return {Split::Sureness::kSure, 0};
    if (!always_alive_(s)) return {Split::Sureness::kExact, s};
    if (lexer_.policy() == Policy::kBasic) return {Split::Sureness::kProducible, producible_set(s)};
    return {Split::Sureness::kSure, 0};
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
        work(lexer_.representative_bytes().size());
        for (const Lexer::Exit& e : lexer_.exits(todo[i])) winners.push_back(e.terminal);
        for (uint8_t b : lexer_.representative_bytes()) {
            LexState next = lexer_.step(todo[i], b);
            if (next != kNoState && seen.try_emplace(next, 1).second) todo.push_back(next);
        }
    }
    std::sort(winners.begin(), winners.end());
    winners.erase(std::unique(winners.begin(), winners.end()), winners.end());
    return producible_[s] = producible_sets_.intern(winners);
}

namespace {

void put_effect(ImageWriter& out, const std::string& effect) {
    out.put(effect.size());
    for (char c : effect) out.put(uint8_t(c));
}

std::string read_effect(ImageReader& in) {
    std::string effect;
    for (uint32_t n = in.count(); n > 0; n--) effect.push_back(char(in.below(128)));
    ImageReader::check(effect.find_first_not_of("\n \t\f.") == std::string::npos);
    return effect;
}

}  // namespace

void Prospects::save(ImageWriter& out) const {
    const size_t effects = indentations_ ? num_effects() : 0;
    out.put(effects);
    for (size_t i = 0; i < effects; i++) put_effect(out, indentations_->effects()[i]);
    out.put(producible_sets_.size());
    for (uint32_t i = 0; i < producible_sets_.size(); i++) out.list(producible_sets_[i]);
}

void Prospects::restore(ImageReader& in) {
    for (uint32_t i = 0, n = in.count(); i < n; i++) {
        const std::string effect = read_effect(in);
        ImageReader::check(indentations_ && indentations_->effect(effect) == i);
    }
    for (uint32_t i = 0, n = in.count(); i < n; i++) {
        const std::vector<uint32_t> set = in.list();
        for (uint32_t terminal : set) ImageReader::check(terminal < lexer_.num_terminals());
        ImageReader::check(producible_sets_.intern(set) == i);
    }
}

}  // namespace derivable
