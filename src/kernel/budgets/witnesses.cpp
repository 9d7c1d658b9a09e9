#include "budgets/witnesses.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "budgets/token_search.hpp"
#include "budgets/witness_search.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {
constexpr size_t kMostKnown = size_t(1) << 16;  // places, or boundaries
}

WaysOn& Witnesses::ways() {
    engine_.access.take();
    if (!ways_) ways_ = std::make_unique<WaysOn>(engine_, lexemes_, vocabulary_);
    return *ways_;
}

uint64_t Witnesses::tokens_of_bytes(std::string_view bytes) {
    const uint32_t fewest = ways().fewest_tokens().of(bytes);
    return fewest == FewestTokens::kNone ? bytes.size() : fewest;
}

// What was written of distinct items is no part of a key, and with a lookahead not all that bytes lead to can be had by tokens.
std::optional<Witnesses::Key> Witnesses::key_of(const Parses& parses) const {
    if (lookahead_ != kNoLookahead) return std::nullopt;
    Key key;
    std::vector<std::array<uint32_t, 7>> places;
    for (const Parse& t : parses) {
        if (t.writing) return std::nullopt;
        const auto text = address_words(t.embedded.get());
        places.push_back({t.lex.index(), t.stack.index(), t.environment, text[0], text[1], t.meaning, t.slot});
        if (t.embedded) key.texts.push_back(t.embedded);
    }
    std::sort(places.begin(), places.end());
    for (const auto& place : places) key.words.insert(key.words.end(), place.begin(), place.end());
    return key;
}

const Witness* Witnesses::known(const Key& key) const {
    const auto found = known_.find(key);
    return found == known_.end() ? nullptr : &found->second;
}

void Witnesses::keep(Key key, const Witness& w) {
    if (known_.size() > kMostKnown) known_.clear();
    known_.try_emplace(std::move(key), w);
}

Witness Witnesses::find(const Parses& parses) {
    std::optional<Key> key = key_of(parses);
    if (key)
        if (const Witness* found = known(*key)) return *found;
    Witness found = is_by_stacks() ? find_by_stacks(parses) : WitnessSearch(engine_, lexemes_, runs_, *this).run(parses);
    // PERF: only for vocabularies that need it. Run at every place of one mask of Java, with llama-3, it took 2.8 s.
    if (!found && !(ways().fewest_tokens().spells_everything() && lookahead_ == kNoLookahead))
        found = TokenSearch(engine_, runs_, vocabulary_, *this).run(parses);
    if (key && found) keep(std::move(*key), found);
    return found;
}

Witness Witnesses::find_by_stacks(const Parses& parses) {
    Witness best;
    std::string best_text;
    uint32_t least = FewestTokens::kNone;
    const auto offer = [&](const std::string& text, const Witness& rest) {
        if (!rest) return;
        const FewestTokens& fewest = ways().fewest_tokens();
        const uint32_t tokens = fewest.of(text, rest.bytes(fewest.longest()), rest.text->counts.data() + rest.at);
        if (tokens < least || (tokens == least && best && text.size() < best_text.size())) least = tokens, best = rest, best_text = text;
    };
    for (const Parse& t : parses) {
        if (engine_.access.lexer().is_fresh(t.lex)) {
            offer({}, at_boundary(t.stack, t.environment));
            continue;
        }
        Lexer& lexer = engine_.access.lexer();
        for (LexState member : lexer.sets.singles(lexer.members(t.lex))) {
            engine_.access.take();
            const std::optional<std::string> text = ways().texts().shortest(lexer.alike.equal(member));
            if (!text) continue;
            for (Symbol symbol : engine_.terminals.of(lexer.automata.terminal_of(member))) {
                if (engine_.terminals.is_ignored(symbol)) offer(*text, at_boundary(t.stack, t.environment));
                const After after = lexemes_.after(symbol, t.stack, t.environment);
                if (after.stack != kNoFrontier) offer(*text, at_boundary(after.stack, after.environment));
            }
        }
    }
    if (least == FewestTokens::kNone || best_text.empty()) return least == FewestTokens::kNone ? Witness() : best;
    return made(WitnessText::units_of(best_text), best, {});
}

// Terminal by terminal, until the text may end or the rest is known. Only keys, counts and the like can refuse the best way on.
Witness Witnesses::at_boundary(Frontier stack, Environment environment) {
    constexpr size_t kMostRefused = 4096, kLongest = size_t(1) << 20;
    const auto key = [](const WaysOn::Boundary& b) { return pack(b.stack, b.environment); };
    struct Step {
        WaysOn::Boundary boundary;
        size_t length;  // of the units before it
    };
    stack = engine_.stacks.minimal(stack);
    if (const Witness* known = by_boundary_.find(pack(stack, environment)); known && *known) return *known;
    std::vector<Step> steps{{{stack, environment}, 0}};
    WaysOn::Units units;
    Witness rest;
    bool complete = false;
    for (size_t refused = 0; !steps.empty() && refused < kMostRefused && units.size() < kLongest;) {
        WaysOn::Boundary& b = steps.back().boundary;
        engine_.access.pass();
        units.resize(steps.back().length);
        if (const Witness* known = by_boundary_.find(key(b)); known && *known) rest = *known;
        complete = rest || engine_.stacks.contains(engine_.stacks.accepts(b.stack), kEnd);
        if (complete) break;
        const WaysOn::Option* option = ways().next(b);
        if (!option) {
            steps.pop_back(), refused++;
            continue;
        }
        const After after = lexemes_.after(option->symbol, b.stack, b.environment);
        if (after.stack == kNoFrontier) {
            refused++;
            continue;
        }
        units.insert(units.end(), option->units.begin(), option->units.end());
        steps.push_back({{engine_.stacks.minimal(after.stack), after.environment}, units.size()});
    }
    if (!complete) return {};
    const Witness found = made(std::move(units), rest, {});
    if (!found) return found;
    if (num_boundaries_ += steps.size(); num_boundaries_ > kMostKnown) by_boundary_ = {}, num_boundaries_ = steps.size();
    for (const Step& step : steps) {
        const Witness here{found.text, uint32_t(step.length)};
        if (here.tokens() != FewestTokens::kNone) by_boundary_[key(step.boundary)] = here;
    }
    return found;
}

Witness Witnesses::made(WaysOn::Units units, const Witness& rest, const std::vector<size_t>& borders) {
    auto text = std::make_shared<WitnessText>();
    const size_t own = units.size();
    text->units = std::move(units);
    if (rest) text->units.insert(text->units.end(), rest.text->units.begin() + rest.at, rest.text->units.end());
    const size_t size = text->units.size();
    for (uint32_t unit : text->units) text->bytes.push_back(char(unit));
    text->counts.assign(size + 1, FewestTokens::kNone);
    text->counts[size] = 0;
    if (rest) std::copy(rest.text->counts.begin() + rest.at, rest.text->counts.end(), text->counts.begin() + long(own));
    work(4 * own + size / 8);
    size_t end = own;  // of what a token may span
    while (end < size && !(text->units[end] & WitnessText::kToken)) end++;
    for (size_t i = own; i-- > 0;) {
        uint32_t& fewest = text->counts[i];
        if (lookahead_ != kNoLookahead && std::find(borders.begin(), borders.end(), i + 1) != borders.end()) end = i + 1;
        if (text->units[i] & WitnessText::kToken) {
            if (text->counts[i + 1] != FewestTokens::kNone) fewest = text->counts[i + 1] + 1;
            end = i;
            continue;
        }
        ways().fewest_tokens().each_prefix(std::string_view(text->bytes).substr(i, end - i), [&](size_t length, uint32_t) {
            if (const uint32_t left = text->counts[i + length]; left != FewestTokens::kNone) fewest = std::min(fewest, left + 1);
        });
    }
    if (text->counts[0] == FewestTokens::kNone) return {};
    return {std::move(text), 0};
}

}  // namespace derivable
