// The parts of the lexer, each by itself: against the patterns that its terminals were made of.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "lexing/lexer.hpp"
#include "random_languages.hpp"

using namespace derivable;
using namespace derivable::testing;

namespace {

constexpr char kLetters[] = {'a', 'b', 'c'};

// A few random terminals that match no empty text, and their recognizers.
struct RandomTerminals {
    std::vector<Regex> patterns;

    explicit RandomTerminals(Draw& draw, uint32_t count = 3) {
        while (patterns.size() < count) {
            Regex regex = Regex::random(draw, 3);
            if (!regex.matches("")) patterns.push_back(std::move(regex));
        }
    }
    Recognizer recognizer(size_t i) const { return Recognizer(std::make_shared<const Dfa>(patterns[i].dfa().without_empty())); }
    std::vector<TerminalId> add_to(Lexer& lexer) const {
        std::vector<TerminalId> out;
        for (size_t i = 0; i < patterns.size(); i++) out.push_back(lexer.add(recognizer(i), uint32_t(i)));
        return out;
    }
};

std::string random_text(Draw& draw, uint32_t longest) {
    std::string text;
    for (uint32_t i = 0, n = draw.below(longest + 1); i < n; i++) text += draw.letter();
    return text;
}

LexState step_all(Lexer& lexer, LexState s, const std::string& text) {
    for (char c : text)
        if (s != kNoState) s = lexer.step(s, uint8_t(c));
    return s;
}

// Calls act(draw, terminals, lexer, numbers of the terminals) for many lexers of random terminals.
template <class Act>
void for_each_lexer(Policy policy, Act act) {
    for (uint32_t seed = 0; seed < 60; seed++) {
        CAPTURE(seed);
        Draw draw(seed);
        const RandomTerminals terminals(draw);
        Lexer lexer(policy);
        const std::vector<TerminalId> ids = terminals.add_to(lexer);
        act(draw, terminals, lexer, ids);
    }
}

using Ids = std::vector<TerminalId>;

}  // namespace

TEST_CASE("the members that accept are the terminals that match the text") {
    for_each_lexer(Policy::kScannerless, [](Draw& draw, const RandomTerminals& terminals, Lexer& lexer, const Ids& ids) {
        for (int i = 0; i < 10; i++) {
            const std::string text = random_text(draw, 4);
            const LexState s = step_all(lexer, lexer.start(ids, Formulas::kFree), text);
            for (size_t t = 0; t < ids.size(); t++) {
                const bool accepts = s != kNoState && lexer.sets.any(s, [&](LexState m) {
                    return lexer.automata.terminal_of(m) == ids[t] && lexer.automata.accepts(m);
                });
                CAPTURE(text);
                REQUIRE(accepts == terminals.patterns[t].matches(text));  // equal patterns are one terminal
            }
        }
    });
}

TEST_CASE("bytes of one kind lead every state to the same") {
    for_each_lexer(Policy::kLongest, [](Draw& draw, const RandomTerminals&, Lexer& lexer, const Ids& ids) {
        REQUIRE(lexer.kinds.are_known());
        const LexState first = lexer.start(ids, lexer.formulas.text_start());
        for (int i = 0; i < 10; i++) {
            const LexState s = step_all(lexer, first, random_text(draw, 3));
            if (s == kNoState) continue;
            for (uint32_t byte = 0; byte < 256; byte++) {
                const auto of = lexer.sets.singles(lexer.members(s));
                for (LexState single : std::vector<LexState>(of.begin(), of.end()))
                    REQUIRE(lexer.automata.step(single, uint8_t(byte)) == lexer.automata.step(single, lexer.kinds.like(uint8_t(byte))));
            }
        }
    });
}

TEST_CASE("canonical states are equal where, and only where, their languages are") {
    for_each_lexer(Policy::kScannerless, [](Draw& draw, const RandomTerminals&, Lexer& lexer, const Ids& ids) {
        std::vector<std::pair<LexState, std::string>> met;  // a state, and what it accepts of all short texts
        for (size_t t = 0; t < ids.size(); t++)
            for (int i = 0; i < 5; i++) {
                const LexState s = step_all(lexer, lexer.start({ids[t]}, Formulas::kFree), random_text(draw, 3));
                if (s == kNoState) continue;
                std::string accepted;
                std::vector<std::string> texts{""};
                for (size_t k = 0; k < texts.size(); k++) {
                    const LexState at = step_all(lexer, s, texts[k]);
                    accepted += at != kNoState && lexer.automata.accepts(at) ? '1' : '0';
                    if (texts[k].size() < 6)
                        for (char c : kLetters) texts.push_back(texts[k] + c);
                }
                met.emplace_back(s, std::move(accepted));
            }
        for (const auto& [s, of_s] : met)
            for (const auto& [o, of_o] : met) { REQUIRE((lexer.alike.canonical(s) == lexer.alike.canonical(o)) == (of_s == of_o)); }
    });
}

TEST_CASE("an exit owes that no longer attempt matches") {
    for_each_lexer(Policy::kLongest, [](Draw& draw, const RandomTerminals& terminals, Lexer& lexer, const Ids& ids) {
        for (int i = 0; i < 20; i++) {
            const std::string text = random_text(draw, 4), behind = random_text(draw, 3);
            const LexState s = step_all(lexer, lexer.start(ids, lexer.formulas.text_start()), text);
            if (s == kNoState) continue;
            bool matches = false, longer = false;
            for (const Regex& pattern : terminals.patterns) {
                matches = matches || pattern.matches(text);
                for (size_t n = 1; n <= behind.size(); n++) longer = longer || pattern.matches(text + behind.substr(0, n));
            }
            const std::vector<Lexer::Exit> exits = lexer.exits(s);
            CAPTURE(text);
            CAPTURE(behind);
            REQUIRE(exits.size() == size_t(matches));  // of equal length the first one wins, and without look-ahead it is sure
            for (const Lexer::Exit& exit : exits) {
                Obligations owed = exit.obligations;
                for (char c : behind) owed = lexer.formulas.step(owed, uint8_t(c));
                REQUIRE((owed == Formulas::kViolated) == longer);
            }
        }
    });
}

TEST_CASE("both of two formulas are owed until the first of them is violated") {
    for_each_lexer(Policy::kLongest, [](Draw& draw, const RandomTerminals&, Lexer& lexer, const Ids& ids) {
        std::vector<Obligations> owed;
        for (int i = 0; i < 20; i++) {
            const LexState s = step_all(lexer, lexer.start(ids, lexer.formulas.text_start()), random_text(draw, 3));
            if (s == kNoState) continue;
            for (const Lexer::Exit& exit : lexer.exits(s)) owed.push_back(exit.obligations);
        }
        for (Obligations a : owed)
            for (Obligations b : owed) {
                const std::string text = random_text(draw, 4);
                Obligations first = a, second = b, both = lexer.formulas.all_of(a, b);
                for (char c : text)
                    for (Obligations* each : {&first, &second, &both}) *each = lexer.formulas.step(*each, uint8_t(c));
                REQUIRE((both == Formulas::kViolated) == (first == Formulas::kViolated || second == Formulas::kViolated));
            }
    });
}
