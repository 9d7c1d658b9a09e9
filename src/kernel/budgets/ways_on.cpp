#include "budgets/ways_on.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "costs/witness.hpp"
#include "support/task.hpp"

namespace derivable {

WaysOn::WaysOn(const Engine& engine, Lexemes& lexemes, const Vocabulary& vocabulary)
    : engine_(engine),
      lexemes_(lexemes),
      vocabulary_(vocabulary),
      symbols_(engine.stacks.lr().productions(), terminal_costs()),
      stacks_(engine.stacks, symbols_) {
    engine_.environments.tallies.each_key([&](Symbol symbol, uint32_t mark) {
        const Cost member = sum(symbols_[symbol], symbols_.behind(symbol));
        const auto [known, is_new] = keys_.try_emplace(mark, member);
        if (!is_new) known->second = std::min(known->second, member);
    });
    list_separators();
}

// Blanks first, then line feeds, since only these end most comments; of what is neither a shortest text.
void WaysOn::list_separators() {
    Lexer& lexer = engine_.access.lexer();
    if (lexer.policy() == Policy::kScannerless) return;
    std::vector<LexState> starts;  // of ignored terminals
    for (Symbol s = 1; s < engine_.terminals.size(); s++)
        if (engine_.terminals.is_ignored(s)) starts.push_back(texts().start(engine_.terminals.to_lexer(s)));
    starts.erase(std::remove(starts.begin(), starts.end(), kNoState), starts.end());
    const auto takes = [&](LexState start, char blank) {
        const LexState behind = lexer.step(start, uint8_t(blank));
        return behind != kNoState && lexer.automata.accepts(behind);
    };
    for (const char blank : {' ', '\n'})
        if (std::any_of(starts.begin(), starts.end(), [&](LexState start) { return takes(start, blank); }))
            separators_.push_back(WitnessText::units_of({&blank, 1}));
    for (LexState start : starts) {
        if (takes(start, ' ') || takes(start, '\n')) continue;
        if (const std::optional<std::string> text = texts().shortest(start)) separators_.push_back(WitnessText::units_of(*text));
    }
}

bool WaysOn::is_indentation(Symbol s) const {
    const Indentations& indentations = engine_.environments.indentations;
    return indentations.active() && (s == indentations.spec.indent || s == indentations.spec.dedent);
}

bool WaysOn::is_newline(Symbol s) const {
    const Indentations& indentations = engine_.environments.indentations;
    return indentations.active() && s == indentations.spec.newline;
}

std::vector<Cost> WaysOn::terminal_costs() {
    const Terminals& terminals = engine_.terminals;
    const Productions& productions = engine_.stacks.lr().productions();
    std::vector<Cost> costs(terminals.size(), kNoCost);
    costs[kEnd] = 0;
    for (Symbol s = 1; s < costs.size(); s++) {
        if (!productions.is_used(s)) continue;
        if (is_indentation(s)) {
            // The column of a newline brings them. A byte, so that a column that has brought them already is the better one.
            costs[s] = cost_of(0, 1);
            continue;
        }
        if (terminals.is_slot(s)) {  // a name that there will be takes no more than that
            const auto [bytes, names] = engine_.slots.longest(s);
            uint32_t tokens = names.empty() ? bytes : 1;
            for (const std::string& name : names) tokens = std::max(tokens, std::min(bytes, fewest_of(name)));
            costs[s] = cost_of(tokens, bytes);
            continue;
        }
        const Recognizer& recognizer = engine_.access.lexer().automata.recognizer(terminals.to_lexer(s));
        // PERF: a table of numbers between bounds takes 0.3 ms to make, and few are reached. What they take is guessed from the digits of the bounds.
        if (recognizer.awaits_table()) costs[s] = cost_of(uint32_t(1 + recognizer.key().size() / 8), recognizer.key().size());
        if (recognizer.awaits_table() || recognizer.is_empty()) continue;
        const LexState start = texts().start(terminals.to_lexer(s));
        const std::optional<std::string> text = start == kNoState ? std::nullopt : texts().shortest(start);
        const uint32_t tokens = text ? fewest_of(*text) : FewestTokens::kNone;
        if (tokens != FewestTokens::kNone) costs[s] = cost_of(tokens, text->size());
        else if (text) costs[s] = cost_of(uint32_t(text->size()), text->size());  // only together with others, if at all
    }
    for (const TokenReference& r : terminals.references())
        if (r.negated || !r.tokens.empty()) costs[r.symbol] = cost_of(1, 1);
    for (const auto& language : terminals.languages())
        if (const std::optional<Units> text = language->begin()->rest(); text && productions.is_used(language->symbol()))
            costs[language->symbol()] = cost_of(uint32_t(text->size() * longest_spelling_), text->size());
    return costs;
}

// SAFETY: where it is encoded, no fewer than its bytes, for a token may write less than it does by itself.
uint32_t WaysOn::fewest_of(const std::string& text) {
    return longest_spelling_ == 1 ? fewest_tokens().of(text) : uint32_t(text.size() * longest_spelling_);
}

void WaysOn::add_texts(Boundary& b, Symbol symbol, size_t most, bool separated) {
    for (const auto& language : engine_.terminals.languages()) {
        if (language->symbol() != symbol) continue;
        std::optional<Units> text = language->begin()->rest();
        if (text && !text->empty()) b.options.push_back({symbol, std::move(*text)});  // the empty text is no lexeme
        return;
    }
    const std::vector<TokenReference>& references = engine_.terminals.references();
    const auto named = std::find_if(references.begin(), references.end(), [&](const TokenReference& r) { return r.symbol == symbol; });
    if (named != references.end()) {
        const auto add = [&](uint32_t token) { b.options.push_back({symbol, {WitnessText::kToken | token}}); };
        if (!named->negated) return void(std::for_each(named->tokens.begin(), named->tokens.end(), add));
        for (uint32_t token = 0; token < vocabulary_.size(); token++)
            if (named->matches(token, vocabulary_.bytes[token])) return add(token);
        return;
    }
    engine_.access.take();
    const LexState start = texts().start(engine_.terminals.to_lexer(symbol));
    if (start == kNoState) return;
    std::vector<std::string> all;
    constexpr size_t kNames = 8;
    if (engine_.terminals.is_slot(symbol)) {
        const Slots::Place begun = b.meaning == Meaning::kNone ? Slots::kNone : engine_.slots.begin(b.meaning, symbol);
        if (begun == Slots::kNone) return;
        all = engine_.slots.rests(begun, kNames);
    }
    // SAFETY: of a bounded lexeme only the shortest text is known to fit, wherever in it the bound is met.
    if (!all.empty()) {  // names
    } else if (most > 1 && engine_.terminals.max_tokens(engine_.terminals.to_lexer(symbol)) == kAnyNumber)
        all = texts().several(start, most);
    else if (const std::optional<std::string> text = texts().shortest(start)) all.push_back(*text);
    for (const std::string& text : all) {
        const Units units = WitnessText::units_of(text);
        b.options.push_back({symbol, units});
        if (!separated || b.after_newline) continue;
        for (const Units& separator : separators_) {
            b.options.push_back({symbol, separator});
            b.options.back().units.insert(b.options.back().units.end(), units.begin(), units.end());
        }
    }
}

std::vector<uint32_t> WaysOn::columns(Environment environment) const {
    const Indentations& indentations = engine_.environments.indentations;
    const uint32_t deeper = indentations.spec.step ? indentations.spec.step : 4;
    uint32_t level = indentations[environment].level;
    const uint32_t column = indentations.level(level).column;
    std::vector<uint32_t> columns{column, column + deeper};
    while (level) columns.push_back(indentations.level(level = indentations.level(level).outer).column);
    return columns;
}

// The column that leads to the least first: where a block must be followed by another part of its statement, as that of `try` by `except`, staying in the block
// would lead on and on.
void WaysOn::list_newlines(Boundary& b) {
    Indentations& indentations = engine_.environments.indentations;
    std::vector<std::pair<Cost, std::string>> lines;
    for (uint32_t c : columns(b.environment)) {
        const std::string text = "\n" + std::string(c, ' ');
        Environment environment = b.environment;
        for (char byte : text) environment = indentations.step(environment, uint8_t(byte));
        const After after = lexemes_.after(indentations.spec.newline, b.stack, environment);
        lines.emplace_back(after.stack == kNoFrontier ? kNoCost : stacks_.of(engine_.stacks.minimal(after.stack)), text);
    }
    std::stable_sort(lines.begin(), lines.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    for (const auto& [cost, text] : lines) b.options.push_back({indentations.spec.newline, WitnessText::units_of(text)});
}

// What the object, or array, must still have.
Cost WaysOn::pending(Symbol symbol, Environment environment) {
    const Tallies::Missing missing = engine_.environments.tallies.missing(symbol, environment);
    Cost all = 0;
    for (uint32_t mark : missing.marks)
        if (const auto member = keys_.find(mark); member != keys_.end()) all = sum(all, member->second);
    const uint64_t others = missing.members > missing.marks.size() ? missing.members - missing.marks.size() : 0;
    const Cost each = std::max<Cost>(sum(symbols_[symbol], symbols_.behind(symbol)), cost_of(1, 1));
    return others > kNoCost / each ? kNoCost : sum(all, others * each);
}

uint64_t WaysOn::most_pending() const {
    constexpr uint64_t kComma = 1;
    uint64_t each = 1;  // of the dearest member
    for (const auto& [mark, cost] : keys_) each = std::max(each, tokens_of(cost) + kComma);
    engine_.environments.tallies.each_counting(
        [&](Symbol symbol) { each = std::max(each, tokens_of(sum(symbols_[symbol], symbols_.behind(symbol))) + kComma); });
    uint64_t most = 0;
    for (const Membership& m : engine_.environments.tallies.memberships()) {
        // What clauses want is among the keys.
        const uint64_t keys = m.clauses.empty() ? m.required.size() : m.keys.size();
        most = std::max(most, each * std::max<uint64_t>(keys, std::min<uint64_t>(m.low, 1u << 30)));
    }
    return most;
}

void WaysOn::list_counted(Boundary& b) {
    constexpr Cost kLate = cost_of(1u << 20, 0);
    Tallies& tallies = engine_.environments.tallies;
    const std::vector<Symbol> accepted = engine_.stacks.terminals(engine_.stacks.accepts(b.stack));
    for (const bool in_order : {true, false}) {
        std::vector<std::pair<Cost, Symbol>> costs;
        bool needs_key = false;
        for (Symbol s : accepted) {
            if (s == kEnd || !tallies.allows(s, b.environment, in_order)) continue;
            const After after = lexemes_.after(s, b.stack, b.environment);
            if (after.stack == kNoFrontier) continue;
            needs_key |= tallies.is_needed_key(s);
            costs.emplace_back(sum(sum(symbols_[s], stacks_.of(after.stack)), pending(s, after.environment)), s);
        }
        // Not every key knows what its object must have: one that some object needs comes before other members, of which there may be any number.
        for (auto& [cost, s] : costs)
            if (needs_key && !tallies.is_needed_key(s) && !tallies.closes(s)) cost = sum(cost, kLate);
        std::sort(costs.begin(), costs.end());
        for (const auto& [cost, symbol] : costs)
            if (cost < kNoCost) add_texts(b, symbol, 1, false);
        if (!b.options.empty()) return;
    }
}

void WaysOn::list_best(Boundary& b) {
    if (lexemes_.members().active() && lexemes_.members().asks(engine_.stacks.accepts(b.stack))) return list_counted(b);
    const Symbol symbol = stacks_.next(b.stack);
    if (symbol == kEnd || is_indentation(symbol)) return;
    if (is_newline(symbol) && !engine_.environments.brackets(b.environment)) list_newlines(b);
    else add_texts(b, symbol, 1, true);
}

void WaysOn::list_others(Boundary& b) {
    constexpr size_t kTexts = 64, kFewTexts = 4, kTerminals = 32;
    if (b.stage == 1) {
        const Symbol symbol = stacks_.next(b.stack);
        if (symbol != kEnd && !is_indentation(symbol)) add_texts(b, symbol, kTexts, false);
        return;
    }
    const std::vector<Symbol> accepted = engine_.stacks.terminals(engine_.stacks.accepts(b.stack));
    std::vector<std::pair<Cost, Symbol>> costs;
    for (Symbol s : accepted) {
        if (s == kEnd || symbols_[s] >= kNoCost || is_indentation(s)) continue;
        const After after = lexemes_.after(s, b.stack, b.environment);
        if (after.stack != kNoFrontier) costs.emplace_back(sum(symbols_[s], stacks_.of(after.stack)), s);
    }
    std::sort(costs.begin(), costs.end());
    if (costs.size() > kTerminals) costs.resize(kTerminals);
    for (const auto& [cost, symbol] : costs) {
        if (is_newline(symbol)) list_newlines(b);
        else add_texts(b, symbol, kFewTexts, true);
    }
}

const WaysOn::Option* WaysOn::next(Boundary& b) {
    constexpr int kStages = 3;
    for (; b.next == b.options.size() && b.stage < kStages; b.stage++) {
        if (b.stage == 0) list_best(b);
        else list_others(b);
    }
    return b.next < b.options.size() ? &b.options[b.next++] : nullptr;
}

}  // namespace derivable
