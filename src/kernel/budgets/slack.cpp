#include "budgets/slack.hpp"

#include <algorithm>
#include <vector>

#include "costs/left_corners.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {
constexpr uint64_t kLexeme = 2;  // a lexeme and what separates it from the next one
constexpr uint64_t kMargin = 8;  // the end, a lexeme in progress, columns
constexpr uint64_t kName = 1;    // a name, which takes no more tokens when it is written again
}  // namespace

Slack::Slack(const Engine& engine, Lexemes& lexemes, WaysOn& ways) : engine_(engine), lexemes_(lexemes), ways_(ways) { find_per_token(); }

// Inner texts begin behind lexemes of this grammar, one behind each.
void Slack::find_per_token() {
    constexpr uint64_t kMostChains = 200'000;
    if (!ways_.fewest_tokens().spells_everything()) return;
    const Productions& productions = engine_.stacks.lr().productions();
    const LeftCorners corners(productions, ways_.symbols(), kMostChains);
    per_object_ = ways_.most_pending();
    inner_ = most_of_inner(corners);
    if (inner_ >= kNone / 4) return;
    std::vector<TerminalId> terminals;
    TerminalId widest{};  // words, as a rule: what ends other words
    size_t width = 0;
    for (Symbol s = 1; s < engine_.terminals.size(); s++) {
        if (!productions.is_used(s) && !engine_.terminals.is_ignored(s)) continue;
        engine_.access.take();
        const TerminalId terminal = engine_.terminals.to_lexer(s);
        if (engine_.spanner.lexer.automata.recognizer(terminal).is_empty()) continue;
        const LexemeTexts::Outline& outline = ways_.texts().outline(terminal);
        rest_ = std::max(rest_, outline.longest_rest * ways_.longest_spelling());
        const Cost growth = engine_.terminals.is_ignored(s) ? 0 : corners.growth(s);
        if (growth >= kNoCost || rest_ >= kNone / 4) return;
        uint64_t more = separated_ * tokens_of(growth) + kLexeme + inner_;
        if (engine_.environments.tallies.opens(s)) more += per_object_;
        if (engine_.terminals.is_slot(s)) more += written(engine_.slots.growth(s)) + kName;
        for (int b = 0; b < 256; b++)
            if (outline.first[uint8_t(b)]) begins_[size_t(b)] = std::max(begins_[size_t(b)], more);
        terminals.push_back(terminal);
        if (outline.first.size() > width) width = outline.first.size(), widest = terminal;
    }
    ByteSet first;
    for (size_t b = 0; b < begins_.size(); b++)
        if (begins_[b]) first.set(uint8_t(b));
    std::sort(terminals.begin(), terminals.end());
    terminals.erase(std::unique(terminals.begin(), terminals.end()), terminals.end());
    for (TerminalId terminal : terminals) engine_.access.take(), ways_.texts().add_followers(terminal, widest, first, followers_);
    engine_.access.take();
    per_token_ = engine_.spanner.begins().most(begins_, followers_) + in_token();
}

uint64_t Slack::in_token() const { return inner_ + (engine_.slots.active() ? kName : 0); }

const LexemeBegins::Each& Slack::by_token() {
    if (!by_token_.below.empty() || per_token_ == kNone) return by_token_;
    engine_.access.take();
    LexemeBegins::Each each = engine_.spanner.begins().each(begins_, followers_);
    // Of tokens that the grammar names it is not told by their bytes what they add.
    for (const TokenReference& r : engine_.terminals.references()) {
        if (r.negated) std::fill(each.by_token.begin(), each.by_token.end(), LexemeBegins::Each::kMost);
        for (uint32_t token : r.tokens)
            if (token < each.by_token.size()) each.by_token[token] = LexemeBegins::Each::kMost;
    }
    if (!engine_.terminals.references().empty()) std::fill(each.below.begin(), each.below.end(), LexemeBegins::Each::kMost);
    each.sort();
    return by_token_ = std::move(each);
}

uint64_t Slack::written(const Slots::Texts& texts) {
    uint64_t all = 0;
    for (const std::string& text : texts) all += ways_.fewest_tokens().of(text) + 1;  // it spells everything
    return all;
}

// A name that is in progress adds what names may, and itself.
uint64_t Slack::of_meaning(const Parse& t) {
    if (!engine_.slots.active() || t.meaning == Meaning::kNone) return 0;
    if (Meaning::is_any(t.meaning)) {
        const Meaning::State behind = t.slot == Slots::kNone ? t.meaning : engine_.slots.read(t.meaning, t.slot);
        return Slots::added_to(behind).value_or(kNone);  // no more tokens than bytes
    }
    const Slots::Texts* missing = engine_.slots.missing(t.meaning);
    if (!missing) return kNone;
    if (t.slot == Slots::kNone) return written(*missing);
    const uint64_t added = written(engine_.slots.growth(engine_.slots.symbol(t.slot)));
    return written(*missing) + added + ways_.fewest_tokens().of(engine_.slots.text(t.slot)) + kName;
}

bool Slack::knows_meaning(const Parses& parses) {
    return std::all_of(parses.begin(), parses.end(), [&](const Parse& t) { return of_meaning(t) != kNone; });
}

uint64_t Slack::most_of_inner(const LeftCorners& corners) const {
    uint64_t most = 0;
    for (const auto& language : engine_.terminals.languages()) {
        if (!engine_.stacks.lr().productions().is_used(language->symbol())) continue;
        const EmbeddedText::Slack slack = language->begin()->slack();
        const Cost growth = corners.growth(language->symbol());
        if (slack.per_token == kNone || growth >= kNoCost) return kNone;
        most = std::max(most, separated_ * tokens_of(growth) + kLexeme + slack.needed + slack.per_token);
    }
    return most;
}

uint64_t Slack::of_stack(Cost cost, Environment environment) const {
    if (cost >= kNoCost) return kNone / 4;
    const bool counts = engine_.environments.tallies.active();
    return separated_ * tokens_of(cost) + (counts ? engine_.environments.tallies.depth(environment) * per_object_ : 0);
}

EmbeddedText::Slack Slack::of(const Parses& parses) {
    if (per_token_ == kNone) return {};
    uint64_t most = 0, inner = 0, per_token = 0;
    for (const Parse& t : parses) {
        const uint64_t asked = of_meaning(t);
        const auto look = [&](Frontier stack, Environment environment) {
            if (stack == kNoFrontier) return;
            most = std::max(most, of_stack(ways_.stacks().most(stack), environment) + (asked == kNone ? 0 : asked));
        };
        if (t.embedded) {
            const After after = lexemes_.after(t.embedded->symbol(), t.stack, t.environment);
            look(after.stack, after.environment);
            const EmbeddedText::Slack slack = t.embedded->slack();
            if (slack.per_token == kNone) return {};
            inner = std::max(inner, slack.needed), per_token = std::max(per_token, slack.per_token);
            continue;
        }
        look(t.stack, t.environment);
        each_behind(t, [&](const After& after, auto&&) { look(after.stack, after.environment); });
    }
    return {most + inner + rest_ + kMargin, per_token_ + per_token};
}

// Calls visit(after, rest) for each way in which the lexeme in progress may end; rest(): tokens until then.
template <class Visit>
void Slack::each_behind(const Parse& t, Visit visit) {
    if (t.slot != Slots::kNone) {
        const After after = lexemes_.after(engine_.slots.symbol(t.slot), t.stack, t.environment);
        if (after.stack != kNoFrontier) visit(after, [&] { return rest_of_name(t); });
        return;
    }
    Lexer& lexer = engine_.access.lexer();
    if (lexer.is_fresh(t.lex)) return;
    for (LexState single : lexer.sets.singles(lexer.members(t.lex)))
        for (Symbol symbol : engine_.terminals.of(engine_.access.lexer().automata.terminal_of(single))) {
            After after{t.stack, t.environment};
            if (!engine_.terminals.is_ignored(symbol)) after = lexemes_.after(symbol, t.stack, t.environment);
            if (after.stack != kNoFrontier) visit(after, [&] { return rest_of(single); });
            else if (ways_.is_newline(symbol)) each_column(t, symbol, single, visit);
        }
}

// A newline whose column fits no block yet, as one behind the colon of Python, takes blanks until it does.
template <class Visit>
void Slack::each_column(const Parse& t, Symbol newline, LexState single, Visit visit) {
    Indentations& indentations = engine_.environments.indentations;
    const uint32_t now = indentations[t.environment].column;
    for (uint32_t column : ways_.columns(t.environment)) {
        if (column <= now) continue;
        const std::string blanks(column - now, ' ');
        Lexer& lexer = engine_.access.lexer();
        LexState state = single;
        Environment environment = t.environment;
        for (char blank : blanks)
            if (state != kNoState) state = lexer.step(state, uint8_t(blank)), environment = indentations.step(environment, uint8_t(blank));
        if (state == kNoState) continue;
        const After after = lexemes_.after(newline, t.stack, environment);
        if (after.stack != kNoFrontier) visit(after, [&] { return ways_.fewest_tokens().of(blanks) + rest_of(state); });
    }
}

// Where any text may stand one more token is enough, a quotation mark. A name that cannot end as it is, as `left` where that is a keyword, gets longer by that
// token, and may take one more when it is written again. Of names that are not known the rest takes no more than all of one.
uint64_t Slack::rest_of_name(const Parse& t) {
    const Symbol slot = engine_.slots.symbol(t.slot);
    const uint64_t whole = tokens_of(ways_.symbols()[slot]);
    if (Meaning::is_any(t.meaning)) return std::max(whole, 1 + 2 * kName);
    if (!engine_.slots.names(t.slot).unlike(engine_.slots.node(t.slot))) {
        const std::vector<std::string> rests = engine_.slots.rests(t.slot, 1);
        return rests.empty() ? whole : ways_.fewest_tokens().of(rests[0]);  // it spells everything
    }
    Lexer& lexer = engine_.access.lexer();
    for (LexState single : lexer.sets.singles(lexer.members(t.lex)))
        if (lexer.automata.terminal_of(single) == engine_.terminals.to_lexer(slot) && lexer.automata.accepts(single)) return 1;
    return 1 + 2 * kName;
}

uint64_t Slack::longer_names(Slots::Place place) {
    const std::vector<std::string>* names = engine_.slots.names(place).listed();
    if (!names) return 0;
    const uint64_t promised = tokens_of(ways_.symbols()[engine_.slots.symbol(place)]);
    uint64_t most = promised;
    for (const std::string& name : *names)
        if (name.size() > most) most = std::max<uint64_t>(most, ways_.fewest_tokens().of(name));
    work(names->size() / 8);
    return most - promised;
}

// Tokens that complete the lexeme in progress.
uint64_t Slack::rest_of(LexState single) {
    if (const uint32_t* known = rests_.find(single.index())) return *known;
    engine_.access.take();
    const std::optional<std::string> text = ways_.texts().shortest(single);
    const uint64_t tokens = text ? ways_.fewest_tokens().of(*text) : rest_;
    return rests_[single.index()] = uint32_t(std::min(rest_, tokens));
}

uint64_t Slack::least(const Parses& parses) {
    uint64_t least = kNone;
    if (per_token_ == kNone) return least;
    for (const Parse& t : parses) {
        const uint64_t asked = of_meaning(t);
        if (asked == kNone) continue;
        const auto look = [&](const After& after, uint64_t rest) {
            const Cost cost = ways_.stacks().of(engine_.stacks.minimal(after.stack));
            if (cost < kNoCost) least = std::min(least, rest + of_stack(cost, after.environment) + asked + end_);
        };
        if (t.embedded) {
            const uint64_t rest = t.embedded->least();
            const After after = rest == kNone ? After{} : lexemes_.after(t.embedded->symbol(), t.stack, t.environment);
            if (rest != kNone && after.stack != kNoFrontier) look(after, rest);
            continue;
        }
        if (t.slot == Slots::kNone && engine_.access.lexer().is_fresh(t.lex)) look({t.stack, t.environment}, 0);
        each_behind(t, [&](const After& after, auto&& rest) { look(after, rest()); });
    }
    return least;
}

uint64_t Slack::free_steps(const Parses& parses, uint64_t left) {
    const EmbeddedText::Slack slack = of(parses);
    if (slack.per_token == kNone) return 0;
    const uint64_t needed = slack.needed + slack.per_token;
    return left < needed ? 0 : 1 + (left - needed) / (slack.per_token + 1);
}

}  // namespace derivable
