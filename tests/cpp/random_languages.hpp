// Small random patterns, vocabularies and grammars over a few letters, the same for the same seed.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "automata/thompson.hpp"
#include "matching/constraint.hpp"
#include "tokens/vocabulary.hpp"

namespace derivable::testing {

class Draw {
  public:
    explicit Draw(uint32_t seed) : engine_(seed) {}
    uint32_t below(uint32_t n) { return uint32_t(engine_() % n); }
    bool one_in(uint32_t n) { return below(n) == 0; }
    char letter() { return "abc"[below(3)]; }

  private:
    std::mt19937 engine_;
};

// A regular expression as a tree of its own, so that a test can read it without the automata of the kernel.
struct Regex {
    enum Kind { kLetters, kConcat, kAlt, kStar } kind;
    std::string letters;
    std::vector<Regex> items;

    static Regex random(Draw& draw, uint32_t depth) {
        switch (depth ? draw.below(6) : 0) {
            case 3: return {kConcat, "", {random(draw, depth - 1), random(draw, depth - 1)}};
            case 4: return {kAlt, "", {random(draw, depth - 1), random(draw, depth - 1)}};
            case 5: return {kStar, "", {random(draw, depth - 1)}};
            default: {
                Regex one{kLetters, std::string(1, draw.letter()), {}};
                if (draw.one_in(3)) one.letters += draw.letter();
                return one;
            }
        }
    }
    Pattern::Node node(Pattern& pattern) const {
        std::vector<Pattern::Node> nodes;
        for (const Regex& item : items) nodes.push_back(item.node(pattern));
        std::vector<std::pair<uint8_t, uint8_t>> ranges;
        for (char c : letters) ranges.emplace_back(uint8_t(c), uint8_t(c));
        switch (kind) {
            case kLetters: return pattern.byte_set(ranges);
            case kConcat: return pattern.concat(nodes);
            case kAlt: return pattern.alt(nodes);
            default: return pattern.repeat(nodes[0], 0, -1, false);
        }
    }
    // The kernel's automaton of it.
    Dfa dfa() const {
        Pattern pattern;
        const Pattern::Node root = node(pattern);
        return compile_pattern(pattern, root, false, 10'000, 10'000);
    }
    // Where its texts end that begin at `begin` in `text`.
    std::vector<bool> ends(const std::string& text, const std::vector<bool>& begins) const {
        std::vector<bool> out(text.size() + 1, false);
        switch (kind) {
            case kLetters:
                for (size_t i = 0; i < text.size(); i++)
                    if (begins[i] && letters.find(text[i]) != std::string::npos) out[i + 1] = true;
                return out;
            case kConcat: return items[1].ends(text, items[0].ends(text, begins));
            case kAlt: {
                const auto one = items[0].ends(text, begins), other = items[1].ends(text, begins);
                for (size_t i = 0; i < out.size(); i++) out[i] = one[i] || other[i];
                return out;
            }
            default: {
                out = begins;
                for (bool grows = true; grows;) {
                    grows = false;
                    const auto more = items[0].ends(text, out);
                    for (size_t i = 0; i < out.size(); i++)
                        if (more[i] && !out[i]) out[i] = grows = true;
                }
                return out;
            }
        }
    }
    bool matches(const std::string& text) const {
        std::vector<bool> begins(text.size() + 1, false);
        begins[0] = true;
        return ends(text, begins)[text.size()];
    }
};

// All letters, and some longer tokens; the last one ends a text.
inline std::shared_ptr<const Vocabulary> random_vocabulary(Draw& draw, uint32_t size) {
    auto vocabulary = std::make_shared<Vocabulary>();
    vocabulary->bytes = {"a", "b", "c", " "};
    while (vocabulary->bytes.size() < size) {
        std::string token;
        for (uint32_t i = 0, n = 2 + draw.below(4); i < n; i++) token += draw.one_in(6) ? ' ' : draw.letter();
        vocabulary->bytes.push_back(std::move(token));
    }
    vocabulary->bytes.emplace_back();
    vocabulary->eos = {vocabulary->size() - 1};
    vocabulary->index();
    return vocabulary;
}

// A grammar of a few terminals and rules. The blank is ignored under longest and basic.
struct RandomGrammar {
    std::vector<Regex> terminals;
    std::vector<Production> productions;  // nonterminals behind the terminals, the first of them is the start
    uint32_t num_nonterminals;

    static RandomGrammar random(Draw& draw) {
        RandomGrammar g;
        const uint32_t count = 2 + draw.below(3);
        while (g.terminals.size() < count) {
            Regex regex = Regex::random(draw, 3);
            if (!regex.matches("")) g.terminals.push_back(std::move(regex));
        }
        g.num_nonterminals = 1 + draw.below(3);
        auto symbol = [&] {
            return draw.one_in(2) ? 1 + draw.below(count) : 2 + count + draw.below(g.num_nonterminals);  // 1 + count is the blank
        };
        for (uint32_t head = 0; head < g.num_nonterminals; head++) {
            g.productions.push_back({2 + count + head, {1 + draw.below(count)}});  // so that it derives something
            for (uint32_t i = 0, n = 1 + draw.below(2); i < n; i++) {
                std::vector<Symbol> body;
                for (uint32_t k = 0, length = draw.below(4); k < length; k++) body.push_back(symbol());
                g.productions.push_back({2 + count + head, std::move(body)});
            }
        }
        return g;
    }

    std::shared_ptr<Constraint> constraint(std::shared_ptr<const Vocabulary> vocabulary, Policy policy, Accelerators accelerators,
                                           uint64_t lookahead = kNoLookahead) const {
        std::vector<TerminalSpec> specs;
        for (const Regex& regex : terminals)
            specs.push_back({Recognizer(std::make_shared<const Dfa>(regex.dfa().without_empty())), uint32_t(specs.size()), false});
        specs.push_back(
            {Recognizer(std::make_shared<const Dfa>(Dfa::literal(" "))), uint32_t(specs.size()), policy != Policy::kScannerless});
        const uint32_t num_terminals = uint32_t(specs.size());
        Productions rules(num_terminals, num_nonterminals, 1 + num_terminals, productions);
        ConstraintLimits limits{256, 1u << 26, 1'000'000, lookahead};
        limits.accelerators = accelerators;
        auto spanner = std::make_shared<Spanner>(vocabulary, policy, accelerators);
        return std::make_shared<Constraint>(vocabulary, spanner,
                                            ConstraintSpec{std::move(specs), {}, {}, {}, {}, {}, std::move(rules), limits, {}});
    }
};

}  // namespace derivable::testing
