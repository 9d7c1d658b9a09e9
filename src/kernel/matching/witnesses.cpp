#include "matching/witnesses.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "support/task.hpp"

namespace derivable {

namespace {

std::vector<uint32_t> units_of(std::string_view text) {
    std::vector<uint32_t> units;
    for (char c : text) units.push_back(uint8_t(c));
    return units;
}

Cost cost_of_text(const FewestTokens& tokens, const std::string& text) {
    const uint32_t fewest = tokens.of(text);
    return fewest == FewestTokens::kNone ? kNoCost : cost_of(fewest, text.size());
}

std::vector<Cost> terminal_costs(const Engine& engine, const FewestTokens& tokens, LexemeTexts& texts) {
    const Terminals& terminals = engine.terminals;
    const IndentationSpec& indentation = engine.environments.indentations.spec;
    const Productions& productions = engine.stacks.lr().productions();
    std::vector<Cost> costs(terminals.size(), kNoCost);
    costs[kEnd] = 0;
    for (Symbol s = 1; s < costs.size(); s++) {
        if (!productions.is_used(s)) continue;
        const Recognizer& recognizer = engine.access.lexer().recognizer(terminals.to_lexer(s));
        // PERF: a table of numbers between bounds takes 0.3 ms to make, and few are reached.
        if (recognizer.awaits_table()) costs[s] = cost_of(1, 2);
        if (recognizer.awaits_table() || recognizer.is_empty()) continue;
        const LexState start = texts.start(terminals.to_lexer(s));
        if (start == kNoState) continue;
        if (const std::optional<std::string> text = texts.shortest(start)) costs[s] = cost_of_text(tokens, *text);
    }
    for (const TokenReference& r : terminals.references())
        if (r.negated || !r.tokens.empty()) costs[r.symbol] = cost_of(1, 1);
    // The column of a newline brings them. A byte, so that a column that has brought them already is the better one.
    if (engine.environments.indentations.active()) costs[indentation.indent] = costs[indentation.dedent] = cost_of(0, 1);
    return costs;
}

}  // namespace

Witnesses::Tables::Tables(const Engine& engine, const Vocabulary& vocabulary)
    : tokens(vocabulary),
      texts(engine.access.lexer(), tokens),
      symbols(engine.stacks.lr().productions(), terminal_costs(engine, tokens, texts)),
      stacks(engine.stacks, symbols) {
    engine.environments.tallies.each_key([&](Symbol symbol, uint32_t mark) {
        const Cost member = sum(symbols[symbol], symbols.behind(symbol));
        const auto [known, is_new] = keys.try_emplace(mark, member);
        if (!is_new) known->second = std::min(known->second, member);
    });
    if (engine.access.lexer().policy() == Policy::kScannerless) return;
    for (Symbol s = 1; s < engine.terminals.size(); s++) {
        if (!engine.terminals.is_ignored(s)) continue;
        Lexer& lexer = engine.access.lexer();
        const LexState start = texts.start(engine.terminals.to_lexer(s));
        if (start == kNoState) continue;
        const LexState blank = lexer.step(start, ' ');
        const bool is_blank = blank != kNoState && lexer.accepts_single(*lexer.singles(lexer.members(blank)).begin());
        if (is_blank) separators.insert(separators.begin(), units_of(" "));
        else if (const std::optional<std::string> text = texts.shortest(start)) separators.push_back(units_of(*text));
    }
}

Witnesses::Tables& Witnesses::tables() {
    if (!tables_) tables_ = std::make_unique<Tables>(engine_, vocabulary_);
    return *tables_;
}

void Witnesses::forget_stacks() {
    known_.clear();
    if (tables_) tables_->stacks.forget_stacks();
}

std::vector<uint32_t> Witnesses::key_of(const Parses& parses) {
    std::vector<uint32_t> key;
    for (const Parse& t : parses) key.insert(key.end(), {t.lex.index(), t.stack.index(), t.environment});
    return key;
}

// What was written of distinct items is no part of a key, and with a lookahead not all that bytes lead to can be had by tokens.
bool Witnesses::has_key(const Parses& parses) const {
    return lookahead_ == kNoLookahead && std::none_of(parses.begin(), parses.end(), [](const Parse& t) { return bool(t.writing); });
}

// -- what may follow ----------------------------------------------------------------------------------------------

void Witnesses::add_texts(Boundary& b, Symbol symbol, size_t most, bool separated) {
    const std::vector<TokenReference>& references = engine_.terminals.references();
    const auto named = std::find_if(references.begin(), references.end(), [&](const TokenReference& r) { return r.symbol == symbol; });
    if (named != references.end()) {
        if (!named->negated) {
            for (uint32_t token : named->tokens) b.options.push_back({symbol, {WitnessText::kToken | token}, 0});
            return;
        }
        for (uint32_t token = 0; token < vocabulary_.size(); token++)
            if (named->matches(token, vocabulary_.bytes[token])) return b.options.push_back({symbol, {WitnessText::kToken | token}, 0});
        return;
    }
    const LexState start = tables().texts.start(engine_.terminals.to_lexer(symbol));
    if (start == kNoState) return;
    std::vector<std::string> texts;
    if (most > 1) texts = tables().texts.several(start, most);
    else if (const std::optional<std::string> text = tables().texts.shortest(start)) texts.push_back(*text);
    for (const std::string& text : texts) {
        const Units units = units_of(text);
        b.options.push_back({symbol, units, 0});
        for (const Units& separator : separated && !b.after_newline ? tables().separators : std::vector<Units>()) {
            b.options.push_back({symbol, separator, 0});
            b.options.back().units.insert(b.options.back().units.end(), units.begin(), units.end());
        }
    }
}

// Lines that go on in a block around, or begin a deeper one: what each of them brings is known behind it.
void Witnesses::list_newlines(Boundary& b) {
    const Indentations& indentations = engine_.environments.indentations;
    constexpr uint32_t kDeeper = 4;  // columns
    uint32_t level = indentations[b.environment].level;
    const uint32_t column = indentations.level(level).column;
    std::vector<uint32_t> columns{column, column + kDeeper};
    while (level) columns.push_back(indentations.level(level = indentations.level(level).outer).column);
    for (uint32_t c : columns)
        b.options.push_back({indentations.spec.newline, units_of("\n" + std::string(c, ' ')), 0});
}

// What an object must still have, or an array.
Cost Witnesses::pending(Symbol symbol, Environment environment) {
    Tallies& tallies = engine_.environments.tallies;
    const Tallies::Missing missing = tallies.missing(symbol, environment);
    const SymbolCosts& symbols = tables().symbols;
    Cost all = 0;
    for (uint32_t mark : missing.marks) {
        const auto member = tables().keys.find(mark);
        if (member != tables().keys.end()) all = sum(all, member->second);
    }
    const uint64_t others = missing.members > missing.marks.size() ? missing.members - missing.marks.size() : 0;
    const Cost each = std::max<Cost>(sum(symbols[symbol], symbols.behind(symbol)), cost_of(1, 1));
    return others > kNoCost / std::max<Cost>(each, 1) ? kNoCost : sum(all, others * each);
}

void Witnesses::list_counted(Boundary& b) {
    Tallies& tallies = engine_.environments.tallies;
    const std::vector<Symbol> accepted = engine_.stacks.terminals(engine_.stacks.accepts(b.stack));
    for (const bool in_order : {true, false}) {
        std::vector<std::pair<Cost, Symbol>> costs;
        for (Symbol s : accepted) {
            if (s == kEnd || !tallies.allows(s, b.environment, in_order)) continue;
            const After after = lexemes_.after(s, b.stack, b.environment);
            if (after.stack == kNoFrontier) continue;
            const Cost rest = sum(tables().symbols[s], tables().stacks.of(after.stack));
            // Not every key knows what its object must have: those that no object needs come last.
            const Cost late = tallies.is_optional_key(s) ? cost_of(1u << 20, 0) : 0;
            costs.emplace_back(sum(sum(rest, pending(s, after.environment)), late), s);
        }
        std::sort(costs.begin(), costs.end());
        for (const auto& [cost, symbol] : costs)
            if (cost < kNoCost) add_texts(b, symbol, 1, false);
        if (!b.options.empty()) return;
    }
}

void Witnesses::list_best(Boundary& b) {
    if (lexemes_.members().active() && lexemes_.members().asks(engine_.stacks.accepts(b.stack))) return list_counted(b);
    const IndentationSpec& indentation = engine_.environments.indentations.spec;
    const Symbol symbol = tables().stacks.next(b.stack);
    if (symbol == kEnd) return;
    if (engine_.environments.indentations.active()) {
        if (symbol == indentation.newline && !engine_.environments.brackets(b.environment)) return list_newlines(b);
        if (symbol == indentation.indent || symbol == indentation.dedent) return;
    }
    add_texts(b, symbol, 1, true);
}

// Where the best will not do: other texts of it, then other terminals, the cheapest first.
void Witnesses::list_others(Boundary& b) {
    constexpr size_t kTexts = 64, kTerminals = 32;
    if (b.stage == 1) {
        const Symbol symbol = tables().stacks.next(b.stack);
        if (symbol != kEnd && engine_.terminals.to_lexer(symbol) != TerminalId()) add_texts(b, symbol, kTexts, false);
        return;
    }
    const IndentationSpec& indentation = engine_.environments.indentations.spec;
    const std::vector<Symbol> accepted = engine_.stacks.terminals(engine_.stacks.accepts(b.stack));
    std::vector<std::pair<Cost, Symbol>> costs;
    for (Symbol s : accepted) {
        if (s == kEnd || tables().symbols[s] >= kNoCost) continue;
        if (indentation.newline && (s == indentation.indent || s == indentation.dedent)) continue;
        const After after = lexemes_.after(s, b.stack, b.environment);
        if (after.stack != kNoFrontier) costs.emplace_back(sum(tables().symbols[s], tables().stacks.of(after.stack)), s);
    }
    std::sort(costs.begin(), costs.end());
    if (costs.size() > kTerminals) costs.resize(kTerminals);
    for (const auto& [cost, symbol] : costs) {
        if (indentation.newline && symbol == indentation.newline) list_newlines(b);
        else add_texts(b, symbol, 4, true);
    }
}

bool Witnesses::more_options(Boundary& b) {
    constexpr int kStages = 3;
    while (b.next == b.options.size() && b.stage < kStages) {
        if (b.stage == 0) list_best(b);
        else list_others(b);
        b.stage++;
    }
    return b.next < b.options.size();
}

// -- the search ---------------------------------------------------------------------------------------------------

class Witnesses::Search {
  public:
    explicit Search(Witnesses& w) : w_(w), engine_(w.engine_) {}

    Witness run(const Parses& from) {
        w_.tables();
        keys_.emplace_back();
        if (reaches_end(from)) return w_.keep({}, {}, {}, {});
        for (const Start& start : starts(from)) {
            units_.clear(), keys_.resize(1), borders_.clear(), boundaries_.clear();
            Parses parses = from;
            if (!follow(start.units, parses)) continue;
            if (rest_) return found();
            boundaries_.push_back({std::move(parses), start.stack, start.environment, units_.size()});
            boundaries_.back().after_newline = start.is_newline;
            borders_.push_back(units_.size());
            if (descend()) return found();
            if (num_tried_ > kMostTried) break;
        }
        return {};
    }

  private:
    static constexpr size_t kMostTried = 4096;
    struct Start {
        Cost cost;
        Units units;
        Frontier stack;
        Environment environment;
        bool is_newline;
    };

    Witness found() { return w_.keep(std::move(units_), rest_, borders_, std::move(keys_)); }
    bool reaches_end(const Parses& parses) { return w_.runs_.accepting(parses); }
    bool is_newline(Symbol s) const {
        const Indentations& indentations = engine_.environments.indentations;
        return indentations.active() && s == indentations.spec.newline;
    }

    // What is in progress may be completed in several ways; the cheapest first.
    std::vector<Start> starts(const Parses& from) {
        constexpr size_t kMost = 16;
        std::vector<Start> all;
        for (const Parse& t : from) {
            if (engine_.access.lexer().is_fresh(t.lex)) {
                all.push_back({w_.tables().stacks.of(t.stack), {}, t.stack, t.environment, false});
                continue;
            }
            Lexer& lexer = engine_.access.lexer();
            const Lexer::Singles members = lexer.singles(lexer.members(t.lex));
            for (LexState member : members) {
                const std::optional<std::string> text = w_.tables().texts.shortest(member);
                if (!text) continue;
                const uint32_t tokens = w_.tables().tokens.of(*text);
                for (Symbol symbol : engine_.terminals.of(engine_.access.lexer().terminal_of(member))) {
                    add_start(all, t, symbol, *text, tokens);
                    // A newline goes on to lines of other columns.
                    if (is_newline(symbol) && text->empty()) add_newlines(all, t, symbol);
                }
            }
        }
        std::stable_sort(all.begin(), all.end(), [](const Start& a, const Start& b) { return a.cost < b.cost; });
        if (all.size() > kMost) all.resize(kMost);
        return all;
    }

    void add_start(std::vector<Start>& all, const Parse& t, Symbol symbol, const std::string& text, uint32_t tokens) {
        After after = w_.lexemes_.after_ignored(t.stack, t.environment);
        Environment environment = t.environment;
        if (is_newline(symbol))
            for (char c : text) environment = engine_.environments.indentations.step(environment, uint8_t(c));
        if (!engine_.terminals.is_ignored(symbol)) after = w_.lexemes_.after(symbol, t.stack, environment);
        if (after.stack == kNoFrontier) return;
        const Cost own = tokens == FewestTokens::kNone ? cost_of(uint32_t(text.size()), text.size()) : cost_of(tokens, text.size());
        const Frontier stack = engine_.stacks.minimal(after.stack);
        const Cost rest = w_.tables().stacks.of(stack);
        if (rest < kNoCost) all.push_back({sum(own, rest), units_of(text), stack, after.environment, is_newline(symbol)});
    }

    void add_newlines(std::vector<Start>& all, const Parse& t, Symbol symbol) {
        Boundary b{{}, t.stack, t.environment, 0};
        w_.list_newlines(b);
        for (const Option& o : b.options) {
            const std::string text(o.units.begin(), o.units.end());
            add_start(all, t, symbol, text, w_.tables().tokens.of(text));
        }
    }

    // Goes along; false: it is refused. Stops where the rest is known.
    bool follow(const Units& units, Parses& parses) {
        Parses next;
        for (uint32_t unit : units) {
            next.clear();
            engine_.access.pass();
            if (unit & WitnessText::kToken) w_.runs_.step_token(parses, unit & ~WitnessText::kToken, next);
            else w_.runs_.step(parses, uint8_t(unit), next);
            if (next.empty()) return false;
            parses.swap(next);
            units_.push_back(unit);
            keys_.emplace_back();
            if (!w_.has_key(parses)) continue;
            keys_.back() = key_of(parses);
            const auto known = w_.known_.find(keys_.back());
            if (known == w_.known_.end()) continue;
            rest_ = known->second;
            return true;
        }
        return true;
    }

    // The parse that has read the lexeme as it was meant.
    const Parse* meant(const Parses& parses, const Boundary& from, const Option& option) {
        if (option.units.back() & WitnessText::kToken) return &parses.front();
        const TerminalId terminal = engine_.terminals.to_lexer(option.symbol);
        const bool free = engine_.spanner.lexer.policy() == Policy::kScannerless;
        for (const Parse& t : parses) {
            if (!free && t.stack != from.stack) continue;
            const std::vector<Lexer::Exit>& exits = engine_.access.lexer().exits(t.lex);
            if (std::any_of(exits.begin(), exits.end(), [&](const Lexer::Exit& e) { return e.terminal == terminal; })) return &t;
        }
        return nullptr;
    }

    // Depth first, from the last boundary on.
    bool descend() {
        constexpr size_t kLongest = size_t(1) << 20;
        while (!boundaries_.empty()) {
            Boundary& b = boundaries_.back();
            if (b.next == 0 && engine_.stacks.contains(engine_.stacks.accepts(b.stack), kEnd) && reaches_end(b.parses)) return true;
            if (++num_tried_ > kMostTried || units_.size() > kLongest) return false;
            if (!w_.more_options(b)) {
                boundaries_.pop_back();
                borders_.pop_back();
                continue;
            }
            units_.resize(b.length), keys_.resize(b.length + 1);
            const Option option = b.options[b.next++];
            Parses parses = b.parses;
            if (!follow(option.units, parses)) continue;
            if (rest_) return true;
            const Parse* t = meant(parses, b, option);
            if (!t) continue;
            Frontier stack = t->stack;
            Environment environment = t->environment;
            if (!(option.units.back() & WitnessText::kToken)) {
                const After after = w_.lexemes_.after(option.symbol, stack, environment);
                if (after.stack == kNoFrontier) continue;
                stack = engine_.stacks.minimal(after.stack), environment = after.environment;
            }
            boundaries_.push_back({std::move(parses), stack, environment, units_.size()});
            boundaries_.back().after_newline = is_newline(option.symbol);
            borders_.push_back(units_.size());
        }
        return false;
    }

    Witnesses& w_;
    const Engine& engine_;
    Units units_;
    std::vector<std::vector<uint32_t>> keys_;  // of the places before each unit, and behind the last; empty: there is none
    std::vector<size_t> borders_;
    std::vector<Boundary> boundaries_;
    Witness rest_;
    size_t num_tried_ = 0;
};

Witness Witnesses::find(const Parses& parses) {
    const bool keyed = has_key(parses);
    std::vector<uint32_t> key;
    if (keyed) {
        key = key_of(parses);
        if (const auto known = known_.find(key); known != known_.end()) return known->second;
    }
    const Witness made = Search(*this).run(parses);
    if (keyed && made) known_.try_emplace(std::move(key), made);
    return made;
}

// `borders`: units at which a lexeme begins; with a lookahead no token spans one.
Witness Witnesses::keep(Units units, const Witness& rest, const std::vector<size_t>& borders, std::vector<std::vector<uint32_t>> keys) {
    constexpr size_t kMostKnown = size_t(1) << 16;
    auto text = std::make_shared<WitnessText>();
    const size_t own = units.size();
    text->units = std::move(units);
    if (rest) text->units.insert(text->units.end(), rest.text->units.begin() + rest.at, rest.text->units.end());
    const size_t size = text->units.size();
    text->tokens.assign(size + 1, FewestTokens::kNone);
    text->tokens[size] = 0;
    if (rest) std::copy(rest.text->tokens.begin() + rest.at, rest.text->tokens.end(), text->tokens.begin() + long(own));
    work(4 * own + size / 8);
    std::string bytes;
    for (uint32_t unit : text->units) bytes.push_back(char(unit));
    for (size_t i = own, end = size; i-- > 0;) {
        uint32_t& fewest = text->tokens[i];
        if (text->units[i] & WitnessText::kToken) {
            if (text->tokens[i + 1] != FewestTokens::kNone) fewest = text->tokens[i + 1] + 1;
            end = i;
            continue;
        }
        if (i + 1 == own)  // up to where a token is named, or a lexeme ends
            for (end = i + 1; end < size && !(text->units[end] & WitnessText::kToken);) end++;
        if (lookahead_ != kNoLookahead && std::find(borders.begin(), borders.end(), i + 1) != borders.end()) end = i + 1;
        tables().tokens.each_prefix(std::string_view(bytes).substr(i, end - i), [&](size_t length, uint32_t) {
            if (const uint32_t left = text->tokens[i + length]; left != FewestTokens::kNone) fewest = std::min(fewest, left + 1);
        });
    }
    if (text->tokens[0] == FewestTokens::kNone) return {};
    if (known_.size() > kMostKnown) known_.clear();
    for (size_t i = 1; i < keys.size() && i < own; i++)
        if (!keys[i].empty() && text->tokens[i] != FewestTokens::kNone) known_.try_emplace(std::move(keys[i]), Witness{text, uint32_t(i)});
    return {text, 0};
}

}  // namespace derivable
