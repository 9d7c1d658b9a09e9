#include "budgets/witness_search.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace derivable {

Witness WitnessSearch::run(const Parses& from) {
    if (runs_.accepting(from)) return witnesses_.made({}, {}, {});
    // A word that is a keyword where it ends, and a name if it goes on, is at its end as it stands, and must go on.
    for (size_t most : {1, 4})
        for (const Start& start : starts(from, most)) {
            units_.clear(), keys_.assign(1, std::nullopt), steps_.clear();
            Parses parses = from;
            if (!follow(start.units, parses)) continue;
            if (rest_) return found();
            push(std::move(parses), start.stack, start.environment, start.is_newline, start.meaning);
            if (descend()) return found();
            if (refused_ > kMostRefused) return {};
        }
    return {};
}

Witness WitnessSearch::found() {
    std::vector<size_t> borders;
    for (const Step& step : steps_) borders.push_back(step.length);
    const size_t own = units_.size();
    const Witness made = witnesses_.made(std::move(units_), rest_, borders);
    if (!made) return made;
    for (size_t i = 1; i < keys_.size() && i < own; i++) {
        const Witness here{made.text, uint32_t(i)};
        if (keys_[i] && here.tokens() != FewestTokens::kNone) witnesses_.keep(std::move(*keys_[i]), here);
    }
    return made;
}

// Where blocks are open the end of the text closes them.
bool WitnessSearch::may_reach_end(Frontier stack) {
    return engine_.environments.indentations.active() || engine_.stacks.contains(engine_.stacks.accepts(stack), kEnd);
}

// What is in progress may be completed in several ways; the cheapest first.
std::vector<WitnessSearch::Start> WitnessSearch::starts(const Parses& from, size_t most_texts) {
    constexpr size_t kMost = 16;
    std::vector<Start> all;
    for (const Parse& t : from) {
        if (t.embedded) {
            add_inner_start(all, t);
            continue;
        }
        if (t.slot != Slots::kNone) {
            add_name_starts(all, t, most_texts);
            continue;
        }
        Lexer& lexer = engine_.access.lexer();
        if (lexer.is_fresh(t.lex)) {
            all.push_back({ways_.stacks().of(t.stack), {}, t.stack, t.environment, false, t.meaning});
            continue;
        }
        for (LexState member : lexer.sets.singles(lexer.members(t.lex))) {
            engine_.access.take();
            for (const std::string& text : texts(member, most_texts))
                for (Symbol symbol : engine_.terminals.of(lexer.automata.terminal_of(member))) {
                    add_start(all, t, symbol, text, t.meaning);
                    if (ways_.is_newline(symbol) && text.empty()) add_newlines(all, t, symbol);
                }
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const Start& a, const Start& b) { return a.cost < b.cost; });
    if (all.size() > kMost) all.resize(kMost);
    return all;
}

std::vector<std::string> WitnessSearch::texts(LexState member, size_t most) {
    if (most > 1) return ways_.texts().several(member, most);
    std::optional<std::string> text = ways_.texts().shortest(member);
    return text ? std::vector{std::move(*text)} : std::vector<std::string>();
}

// In a name: some that it may become.
void WitnessSearch::add_name_starts(std::vector<Start>& all, const Parse& t, size_t most_texts) {
    constexpr size_t kMost = 8;
    const Symbol slot = engine_.slots.symbol(t.slot);
    std::vector<std::string> rests = engine_.slots.rests(t.slot, kMost);
    if (rests.empty()) {
        Lexer& lexer = engine_.access.lexer();
        for (LexState member : lexer.sets.singles(lexer.members(t.lex)))
            if (lexer.automata.terminal_of(member) == engine_.terminals.to_lexer(slot))
                for (std::string& text : texts(member, most_texts)) rests.push_back(std::move(text));
    }
    for (const std::string& rest : rests) {
        Parse name = t;
        const bool is_name = std::all_of(rest.begin(), rest.end(), [&](char c) { return lexemes_.step_name(name, uint8_t(c)); });
        const Meaning::State meaning = is_name ? engine_.slots.read(t.meaning, name.slot) : Meaning::kNone;
        if (meaning != Meaning::kNone) add_start(all, t, slot, rest, meaning);
    }
}

void WitnessSearch::add_start(std::vector<Start>& all, const Parse& t, Symbol symbol, const std::string& text, Meaning::State meaning) {
    After after = lexemes_.after_ignored(t.stack, t.environment);
    Environment environment = t.environment;
    if (ways_.is_newline(symbol))
        for (char c : text) environment = engine_.environments.indentations.step(environment, uint8_t(c));
    if (!engine_.terminals.is_ignored(symbol)) after = lexemes_.after(symbol, t.stack, environment);
    if (after.stack == kNoFrontier) return;
    const uint32_t tokens = ways_.fewest_tokens().of(text);
    const Cost own = cost_of(tokens == FewestTokens::kNone ? uint32_t(text.size()) : tokens, text.size());
    const Frontier stack = engine_.stacks.minimal(after.stack);
    const Cost rest = ways_.stacks().of(stack);
    meaning = engine_.slots.read_line_end(meaning, after.line_end);
    if (rest < kNoCost)
        all.push_back({sum(own, rest), WitnessText::units_of(text), stack, after.environment, ways_.is_newline(symbol), meaning});
}

void WitnessSearch::add_inner_start(std::vector<Start>& all, const Parse& t) {
    std::optional<Units> text = t.embedded->rest();
    const After after = lexemes_.after(t.embedded->symbol(), t.stack, t.environment);
    if (!text || after.stack == kNoFrontier) return;
    const Frontier stack = engine_.stacks.minimal(after.stack);
    const Cost rest = ways_.stacks().of(stack), own = cost_of(uint32_t(text->size()), text->size());
    if (rest < kNoCost) all.push_back({sum(own, rest), std::move(*text), stack, after.environment, false});
}

// A newline goes on to lines of other columns.
void WitnessSearch::add_newlines(std::vector<Start>& all, const Parse& t, Symbol symbol) {
    WaysOn::Boundary b{t.stack, t.environment};
    ways_.list_newlines(b);
    for (const WaysOn::Option& o : b.options) add_start(all, t, symbol, std::string(o.units.begin(), o.units.end()), t.meaning);
}

// Goes along; false: it is refused. Stops where the rest is known.
bool WitnessSearch::follow(const Units& units, Parses& parses) {
    Parses next;
    for (uint32_t unit : units) {
        next.clear();
        engine_.access.pass();
        if (unit & WitnessText::kToken) runs_.step_token(parses, unit & ~WitnessText::kToken, next);
        else runs_.step(parses, uint8_t(unit), next);
        if (next.empty()) return false;
        parses.swap(next);
        units_.push_back(unit);
        keys_.push_back(witnesses_.key_of(parses));
        if (!keys_.back()) continue;
        if (const Witness* known = witnesses_.known(*keys_.back())) {
            rest_ = *known;
            return true;
        }
    }
    return true;
}

// The parse that has read the lexeme as it was meant.
const Parse* WitnessSearch::meant(const Parses& parses, const WaysOn::Boundary& from, const WaysOn::Option& option) {
    if (option.units.back() & WitnessText::kToken) return &parses.front();
    const TerminalId terminal = engine_.terminals.to_lexer(option.symbol);
    const bool is_free = engine_.spanner.lexer.policy() == Policy::kScannerless;  // parses share their stacks
    for (const Parse& t : parses) {
        if (!is_free && t.stack != from.stack) continue;
        if (t.embedded) {
            if (t.embedded->symbol() == option.symbol) return &t;
            continue;
        }
        if (engine_.terminals.is_slot(option.symbol)
                ? t.slot == Slots::kNone || engine_.slots.symbol(t.slot) != option.symbol || !engine_.slots.is_name(t.slot)
                : t.slot != Slots::kNone)
            continue;
        const std::vector<Lexer::Exit>& exits = engine_.access.lexer().exits(t.lex);
        if (std::any_of(exits.begin(), exits.end(), [&](const Lexer::Exit& e) { return e.terminal == terminal; })) return &t;
    }
    return nullptr;
}

void WitnessSearch::push(Parses parses, Frontier stack, Environment environment, bool after_newline, Meaning::State meaning) {
    steps_.push_back({{stack, environment, after_newline, meaning}, std::move(parses), units_.size()});
}

bool WitnessSearch::waits_for_meaning(const WaysOn::Boundary& boundary) {
    const Symbol best = ways_.stacks().next(boundary.stack);
    return best == kEnd || (engine_.terminals.is_slot(best) && boundary.meaning != Meaning::kNone &&
                            engine_.slots.begin(boundary.meaning, best) == Slots::kNone);
}

bool WitnessSearch::end_by_meaning(const Step& step) {
    if (step.boundary.meaning == Meaning::kNone) return false;
    const Slots::Texts* missing = engine_.slots.missing(step.boundary.meaning);
    if (!missing || missing->empty()) return false;
    const Units text = WitnessText::units_of(missing->front());
    Parses parses = step.parses;
    const auto is_read = [&](const Parse& t) {
        return t.slot != Slots::kNone ||
               std::none_of(step.parses.begin(), step.parses.end(), [&](const Parse& before) { return before.meaning == t.meaning; });
    };
    const auto try_behind = [&](const Units& separator) {
        units_.resize(step.length), keys_.resize(step.length + 1);
        parses = step.parses;
        if (!follow(separator, parses) || (!rest_ && !follow(text, parses))) return false;
        return rest_ || std::any_of(parses.begin(), parses.end(), is_read);
    };
    // In a comment up to the end of the line nothing of it would be read.
    if (!try_behind({}) && !try_behind(WitnessText::units_of("\n"))) return false;
    if (rest_) return true;
    for (const Start& start : starts(parses, 1)) {
        const size_t length = units_.size();
        Parses further = parses;
        if (follow(start.units, further)) {
            if (!rest_) push(std::move(further), start.stack, start.environment, start.is_newline, start.meaning);
            return true;
        }
        units_.resize(length), keys_.resize(length + 1);
    }
    return false;
}

bool WitnessSearch::descend() {
    constexpr size_t kLongestWithNames = 4'096;
    constexpr size_t kLongest = size_t(1) << 20;
    // The costs do not know what a meaning asks for before it lets a text end, so they may lead on and on.
    const size_t longest = engine_.slots.active() ? kLongestWithNames : kLongest;
    while (!steps_.empty() && refused_ <= kMostRefused && units_.size() <= longest) {
        Step& step = steps_.back();
        if (step.boundary.next == 0 && may_reach_end(step.boundary.stack) && runs_.accepting(step.parses)) return true;
        if (engine_.slots.active() && !std::exchange(step.has_ended, true) && waits_for_meaning(step.boundary)) {
            if (end_by_meaning(Step(step))) {
                if (rest_) return true;
                continue;
            }
        }
        const WaysOn::Option* next = ways_.next(step.boundary);
        refused_ += step.boundary.next > 1 || !next;
        if (!next) {
            steps_.pop_back();
            continue;
        }
        units_.resize(step.length), keys_.resize(step.length + 1);
        const WaysOn::Option option = *next;
        Parses parses = step.parses;
        if (!follow(option.units, parses)) continue;
        if (rest_) return true;
        const Parse* t = meant(parses, step.boundary, option);
        if (!t) continue;
        Frontier stack = t->stack;
        Environment environment = t->environment;
        Meaning::State meaning = t->slot == Slots::kNone ? t->meaning : engine_.slots.read(t->meaning, t->slot);
        if (meaning == Meaning::kNone && engine_.slots.active()) continue;
        if (!(option.units.back() & WitnessText::kToken)) {
            const After after = lexemes_.after(option.symbol, stack, environment);
            if (after.stack == kNoFrontier) continue;
            stack = engine_.stacks.minimal(after.stack), environment = after.environment;
            meaning = engine_.slots.read_line_end(meaning, after.line_end);
        }
        push(std::move(parses), stack, environment, ways_.is_newline(option.symbol), meaning);
    }
    return false;
}

}  // namespace derivable
