// Automata of patterns, against patterns matched by the sets of places where they end.
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "random_languages.hpp"

using namespace derivable;
using namespace derivable::testing;

namespace {

// All texts of so many letters at most.
std::vector<std::string> texts(size_t longest) {
    std::vector<std::string> all{""};
    for (size_t i = 0; i < all.size(); i++)
        if (all[i].size() < longest)
            for (char c : {'a', 'b', 'c'}) all.push_back(all[i] + c);
    return all;
}

}  // namespace

TEST_CASE("an automaton accepts what its pattern matches") {
    const std::vector<std::string> all = texts(5);
    for (uint32_t seed = 0; seed < 300; seed++) {
        Draw draw(seed);
        const Regex regex = Regex::random(draw, 4);
        const Dfa dfa = regex.dfa();
        REQUIRE(dfa.trimmed());
        for (const std::string& text : all) {
            CAPTURE(seed);
            CAPTURE(text);
            REQUIRE(dfa.accepts(text) == regex.matches(text));
        }
    }
}

TEST_CASE("equal languages have equal tables") {
    for (uint32_t seed = 0; seed < 100; seed++) {
        Draw draw(seed);
        const Dfa a = Regex::random(draw, 3).dfa(), b = Regex::random(draw, 3).dfa();
        const Dfa either = Dfa::product(a, b, Dfa::Op::kOr, 10'000), reversed = Dfa::product(b, a, Dfa::Op::kOr, 10'000);
        CAPTURE(seed);
        CHECK(either.fingerprint() == reversed.fingerprint());
        CHECK(Dfa::product(either, a, Dfa::Op::kAnd, 10'000).fingerprint() == a.fingerprint());
        CHECK(Dfa::product(a, either, Dfa::Op::kMinus, 10'000).empty());
    }
}

TEST_CASE("what is saved is read again") {
    for (uint32_t seed = 0; seed < 50; seed++) {
        Draw draw(seed);
        const Dfa dfa = Regex::random(draw, 4).dfa();
        CHECK(Dfa::from_saved(dfa.saved()).fingerprint() == dfa.fingerprint());
    }
}

TEST_CASE("equal trees are one node of a pattern") {
    Pattern pattern;
    const Pattern::Node a = pattern.bytes("a"), any = pattern.chars({{0, 0xD7FF}, {0xE000, 0x10FFFF}}), item = pattern.alt({a, any});
    CHECK(pattern.bytes("a") == a);
    CHECK(pattern.alt({a, any}) == item);
    CHECK(pattern.concat({a, any}) != item);
    CHECK(pattern.repeat(item, 1, 2, true) == pattern.repeat(item, 1, 2, true));
    CHECK(pattern.repeat(item, 1, 2, true) != pattern.repeat(item, 1, 2, false));
    CHECK(pattern.bytes("") != pattern.concat({}));
    const Pattern::Node look = pattern.look(any, true, false);  // for any byte
    CHECK(pattern.trees()[pattern.trees()[look].items[0]].kind == Pattern::Kind::kAny);
    CHECK(pattern.look(item, true, false) != pattern.look(item, true, true));
    const size_t size = pattern.trees().size();
    CHECK(pattern.look(any, true, false) == look);
    CHECK(pattern.trees().size() == size);
}
