// Rules that become productions, and which of them derive a text.
#include <algorithm>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "parsing/rules.hpp"
#include "parsing/stacks.hpp"
#include "random_languages.hpp"

using namespace derivable;
using namespace derivable::testing;

namespace {

using Key = Rules::Key;
constexpr Key kEndOfBody = Rules::kEnd;

Rules::Rule bodies(std::vector<Key> keys, Rules::Kind kind = Rules::Kind::kBodies) { return {kind, std::move(keys), 0}; }

// The stacks of what rules became.
struct Parser {
    explicit Parser(const FlatRules& flat)
        : lr(Productions(uint32_t(flat.terminals.size()), uint32_t(flat.nonterminals.size()),
                         symbol_of(flat.start, flat.terminals.size(), flat.nonterminals.size()),
                         unpacked(flat.productions, flat.terminals.size(), flat.nonterminals.size()))),
          stacks(lr) {}
    bool accepts(const std::vector<Symbol>& text) {
        Frontier f = stacks.bottom();
        for (Symbol terminal : text) {
            f = stacks.shift(f, terminal).frontier;
            if (f == kNoFrontier) return false;
        }
        const std::vector<Symbol> next = stacks.terminals(stacks.accepts(f));
        return std::find(next.begin(), next.end(), kEnd) != next.end();
    }

    LrAutomaton lr;
    Stacks stacks;
};

}  // namespace

TEST_CASE("rules and terminals are numbered as they are met") {
    const Key a = 0, b = 1, t = 2, u = 3, repeat = 4;
    Rules rules;
    rules.rules = {bodies({b, t, kEndOfBody, b, repeat, kEndOfBody, kEndOfBody}),
                   bodies({t, kEndOfBody}),
                   {},
                   {},
                   bodies({u, kEndOfBody, kEndOfBody}, Rules::Kind::kRepeat)};
    const FlatRules flat = flatten(rules, a, {}, 100);
    CHECK(flat.start == -1);
    CHECK(flat.nonterminals == std::vector<Key>{a, b});
    CHECK(flat.terminals == std::vector<Key>{t, repeat, u});  // a repeat is a terminal to who has no rule for it, and its item is one, too
    CHECK(flat.productions == std::vector<int64_t>{-1, 2, -2, 1, -1, 2, -2, 2, -1, 0, -2, 1, 1});
    CHECK(flatten(rules, a, {u, t}, 100).terminals == std::vector<Key>{u, t, repeat});
    CHECK(flatten(rules, t, {}, 100).start == 1);
    CHECK_THROWS_AS(flatten(rules, a, {}, 3), LimitExceeded);
}

TEST_CASE("the rules that derive a text are those of the definition") {
    for (uint32_t seed = 0; seed < 300; seed++) {
        Draw draw(seed);
        const uint32_t count = 8;
        Rules rules;
        rules.rules.resize(count + 1);  // the last one is a terminal
        for (Key key = 0; key < count; key++) {
            if (draw.one_in(4)) {
                rules.rules[key] = {Rules::Kind::kMembers, {}, uint32_t(rules.members.size())};
                const Rules::Member one{count, draw.below(count), draw.one_in(2)}, other{count, draw.below(count), draw.one_in(2)};
                rules.members.push_back({count, count, count, count, count, true, {one, other}, {{count, draw.below(count), false}}});
                continue;
            }
            rules.rules[key] = bodies({});
            for (uint32_t n = draw.below(3); n > 0; n--) {
                for (uint32_t parts = draw.below(3); parts > 0; parts--) rules.rules[key].bodies.push_back(draw.below(count + 1));
                rules.rules[key].bodies.push_back(kEndOfBody);
            }
        }
        std::vector<char> expected(count + 1, 0);
        expected[count] = 1;
        for (bool grows = true; grows;) {
            grows = false;
            for (Key key = 0; key < count; key++) {
                bool derives = false, body = true;
                for (Key part : rules.rules[key].bodies) {
                    derives |= part == kEndOfBody && body;
                    body = part == kEndOfBody || (body && expected[part]);
                }
                if (rules.rules[key].kind == Rules::Kind::kMembers) {
                    const auto& listed = rules.members[rules.rules[key].members].listed;
                    derives = std::all_of(listed.begin(), listed.end(), [&](auto& m) { return !m.required || expected[m.value]; });
                }
                if (derives && !expected[key]) expected[key] = 1, grows = true;
            }
        }
        CAPTURE(seed);
        REQUIRE(productive(rules) == expected);
    }
}

TEST_CASE("members come in their order with others between, or in any order") {
    enum : Key { kObject, kOpening, kClosing, kEmpty, kComma, kColon, kValue, kOther, kA, kB, kKeys };
    const std::vector<Key> keys{kA, kB, kOther};
    for (uint32_t options = 0; options < 16; options++) {
        const bool ordered = options & 1, a = options & 2, b = options & 4, others = options & 8;
        Rules rules;
        rules.rules.resize(kKeys);
        rules.rules[kObject].kind = Rules::Kind::kMembers;
        rules.members.push_back({kOpening, kClosing, kEmpty, kComma, kColon, ordered, {{kA, kValue, a}, {kB, kValue, b}}, {}});
        if (others) rules.members[0].others.push_back({kOther, kValue, false});
        const FlatRules flat = flatten(rules, kObject, {kOther}, 1'000);
        Parser parser(flat);
        auto symbol = [&](Key key) {
            const auto found = std::find(flat.terminals.begin(), flat.terminals.end(), key);
            return found == flat.terminals.end() ? Symbol(0) : Symbol(found - flat.terminals.begin() + 1);
        };
        CAPTURE(options);
        const bool may_be_empty = !a && !b;
        if (may_be_empty) CHECK(parser.accepts({symbol(kOpening), symbol(kEmpty)}));
        else CHECK(symbol(kEmpty) == 0);
        for (uint32_t text = 1; text < 81; text++) {  // up to four digits in base 3, the last is a key
            std::vector<Key> members;
            for (uint32_t rest = text; rest > 0; rest /= 3) members.push_back(keys[rest % 3]);
            std::vector<Symbol> written{symbol(kOpening)};
            for (Key key : members) {
                if (written.size() > 1) written.push_back(symbol(kComma));
                written.insert(written.end(), {symbol(key), symbol(kColon), symbol(kValue)});
            }
            written.push_back(symbol(kClosing));
            const auto times = [&](Key key) { return std::count(members.begin(), members.end(), key); };
            const auto place = [&](Key key) { return std::find(members.begin(), members.end(), key); };
            const bool in_order = times(kA) <= 1 && times(kB) <= 1 && (!times(kA) || !times(kB) || place(kA) < place(kB));
            const bool has_required = (times(kA) || !a) && (times(kB) || !b);
            const bool expected = (others || !times(kOther)) && (!ordered || (in_order && has_required));
            CAPTURE(text);
            REQUIRE(parser.accepts(written) == expected);
        }
    }
}

TEST_CASE("productions that are cut short, or name what is not there, are refused") {
    const std::vector<int64_t> whole{-1, 2, 1, -2, -2, 0};
    const std::vector<Production> found = unpacked(whole, 1, 2);
    REQUIRE(found.size() == 2);
    CHECK(found[0].head == 2);
    CHECK(found[0].body == std::vector<Symbol>{1, 3});
    CHECK(found[1].body.empty());
    const std::vector<std::vector<int64_t>> bad{{-1, 3, 1},  {1, 1, 1},  {-1, -1, 1},       {-1, 1, 2},
                                                {-1, 1, -3}, {-1, 1, 0}, {-1, INT64_MAX, 1}};
    for (const auto& productions : bad) CHECK_THROWS_AS(unpacked(productions, 1, 2), BadGrammar);
}
