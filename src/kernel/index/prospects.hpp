// What becomes of a lexeme in which a token ends: how sure it is that it can be completed, by which terminals, and whether it may be a
// newline.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "index/split.hpp"
#include "lexing/indentation.hpp"
#include "lexing/lexer.hpp"
#include "support/hashing.hpp"

namespace derivable {

class Prospects {
  public:
    explicit Prospects(Lexer& lexer) : lexer_(lexer) {}
    // From the constraint, under longest and basic: Liveness::always_alive. A token that ends in any other state is decided exactly.
    void set_always_alive(std::function<bool(LexState)> always_alive) { always_alive_ = std::move(always_alive); }
    // From the constraint: terminals that may compete for a lexeme and that the parser does not want (Slots). Not under scannerless.
    void set_unwanted(std::function<bool(TerminalId)> may_be_unwanted) { may_be_unwanted_ = std::move(may_be_unwanted); }
    // Such a one is among those that a lexeme in progress may become.
    bool has_unwanted(LexState s);
    uint32_t producible_set(LexState s);
    // From the constraint, if the grammar has indentation. `column_matters`: a newline lexeme cannot always go on to another line.
    void set_newline(Indentations& indentations, TerminalId newline, bool column_matters);

    // With the key that belongs to it.
    std::pair<Split::Sureness, uint32_t> sureness(LexState s);
    // One of the terminals that may win a lexeme in progress, of such a set, is as asked for.
    template <class Holds>
    bool any_producible(uint32_t set, Holds holds) const {
        const std::vector<uint32_t>& terminals = producible_sets_[set];
        return std::any_of(terminals.begin(), terminals.end(), [&](uint32_t terminal) { return holds(TerminalId(terminal)); });
    }
    uint32_t num_producible_sets() const { return producible_sets_.size(); }

    bool may_be_newline(LexState s);
    TerminalId newline() const { return newline_; }
    bool column_matters() const { return column_matters_; }
    Indentations::Effect step_effect(Indentations::Effect effect, uint8_t byte) { return indentations_->step_effect(effect, byte); }
    size_t num_effects() const { return indentations_ ? indentations_->effects().size() : 1; }

    void archive(Archive& a);

  private:
    Lexer& lexer_;
    std::function<bool(LexState)> always_alive_;
    std::function<bool(TerminalId)> may_be_unwanted_;
    std::unordered_map<LexState, char> has_unwanted_;
    Indentations* indentations_ = nullptr;
    TerminalId newline_;
    bool column_matters_ = false;
    std::unordered_map<LexState, bool> may_be_newline_;
    Interner producible_sets_;
    std::unordered_map<LexState, uint32_t> producible_;
};

}  // namespace derivable
