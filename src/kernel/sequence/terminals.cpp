#include "sequence/terminals.hpp"

#include "support/task.hpp"

namespace derivable {

void Terminals::add(Lexer& lexer, std::vector<TerminalSpec> specs, std::vector<TokenReference> references,
                    const std::vector<Symbol>& distinct, std::vector<std::shared_ptr<EmbeddedLanguage>> languages,
                    const std::vector<Slot>& slots) {
    std::unordered_map<Symbol, Symbol> bases;
    for (const Slot& slot : slots) bases[slot.symbol] = slot.base, slots_.insert(slot.symbol);
    references_ = std::move(references);
    languages_ = std::move(languages);
    to_lexer_.emplace_back();  // the end of the text is no lexeme
    ignored_.push_back(0);
    for (const TerminalSpec& t : specs) {
        work(50);
        const Symbol symbol = Symbol(to_lexer_.size());
        // SAFETY: bases come before slots (derivable.lowering).
        const auto base = bases.find(symbol);
        const bool is_other = base != bases.end() && base->second != symbol;
        const TerminalId id = is_other ? to_lexer_.at(base->second) : lexer.add(t.recognizer, t.rank, t.max_tokens);
        if (t.max_tokens != kAnyNumber) bounds_[id] = t.max_tokens;
        to_lexer_.push_back(id);
        ignored_.push_back(t.ignored);
        if (is_slot(symbol)) of_slots_.insert(id);
        else by_lexer_.push_back(symbol);
        if (t.ignored) everywhere_.push_back(id);
    }
    std::sort(by_lexer_.begin(), by_lexer_.end(), [this](Symbol a, Symbol b) { return pack(to_lexer_[a], a) < pack(to_lexer_[b], b); });
    for (uint32_t i = 0, begin = 0; i < by_lexer_.size(); i++) {
        if (to_lexer_[by_lexer_[i]] != to_lexer_[by_lexer_[begin]]) begin = i;
        ranges_[to_lexer_[by_lexer_[i]]] = {begin, i + 1 - begin};
    }
    if (!distinct.empty()) distinct_.resize(to_lexer_.size());
    for (Symbol symbol : distinct) distinct_.at(symbol) = 1;
}

}  // namespace derivable
