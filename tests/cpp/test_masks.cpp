// Masks by all accelerators, without each of them, and the plain way: the same, wherever a text stands.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "matching/matcher.hpp"
#include "random_languages.hpp"

using namespace derivable;
using namespace derivable::testing;

namespace {

std::vector<uint32_t> mask(Matcher& m) {
    std::vector<uint32_t> words(m.constraint().vocabulary().words());
    m.fill(words.data());
    return words;
}

std::vector<uint32_t> tokens(const std::vector<uint32_t>& words) {
    std::vector<uint32_t> all;
    for (uint32_t t = 0; t < 32 * words.size(); t++)
        if (words[t / 32] >> t % 32 & 1) all.push_back(t);
    return all;
}

std::shared_ptr<Constraint> built(const RandomGrammar& g, const std::shared_ptr<const Vocabulary>& v, Policy policy, Accelerators with,
                                  uint64_t lookahead) {
    try {
        return g.constraint(v, policy, with, lookahead);
    } catch (const BadGrammar&) { return nullptr; }  // under longest match some have no text at all
}

// One random grammar, along one random text.
struct Compared {
    uint32_t masks = 0;
    AcceleratorUses uses{};
};
Compared compare(uint32_t seed, Policy policy, const std::vector<Accelerators>& ways) {
    Compared out;
    Draw draw(seed);
    const RandomGrammar g = RandomGrammar::random(draw);
    const auto vocabulary = random_vocabulary(draw, 60 + draw.below(200));
    const uint64_t lookahead = draw.one_in(4) ? draw.below(3) : kNoLookahead;
    std::vector<std::unique_ptr<Matcher>> matchers;
    for (Accelerators with : ways) {
        const auto constraint = built(g, vocabulary, policy, with, lookahead);
        if (!constraint) return out;
        matchers.push_back(std::make_unique<Matcher>(constraint));
    }
    for (uint32_t step = 0; step < 12; step++) {
        const std::vector<uint32_t> expected = mask(*matchers[0]);
        for (size_t i = 1; i < matchers.size(); i++) {
            CAPTURE(seed);
            CAPTURE(step);
            CAPTURE(i);
            REQUIRE(mask(*matchers[i]) == expected);
        }
        out.masks++;
        const std::vector<uint32_t> allowed = tokens(expected);
        if (allowed.empty()) break;
        const uint32_t token = allowed[draw.below(uint32_t(allowed.size()))];
        if (token == vocabulary->eos[0]) {
            for (auto& m : matchers) m->reset();
            continue;
        }
        for (auto& m : matchers) REQUIRE(m->advance(token) == Matcher::Verdict::kAccepted);
    }
    const AcceleratorUses uses = matchers.back()->constraint().uses();
    for (size_t i = 0; i < uses.size(); i++) out.uses[i] += uses[i];
    return out;
}

// The plain way comes first, all accelerators last.
std::vector<Accelerators> each_left_out() {
    std::vector<Accelerators> ways{Accelerators::none()};
    for (const AcceleratorName& a : kAccelerators) ways.push_back(Accelerators::all().without(a.part));
    ways.push_back(Accelerators::all());
    return ways;
}

}  // namespace

TEST_CASE("the plain way to a mask asks each token, byte by byte") {
    for (uint32_t seed = 0; seed < 60; seed++)
        for (Policy policy : {Policy::kScannerless, Policy::kLongest, Policy::kBasic}) {
            Draw draw(seed);
            const RandomGrammar g = RandomGrammar::random(draw);
            const auto vocabulary = random_vocabulary(draw, 80);
            const auto constraint = built(g, vocabulary, policy, Accelerators::none(), kNoLookahead);
            if (!constraint) continue;
            Matcher m(constraint);
            for (uint32_t step = 0; step < 8; step++) {
                const std::vector<uint32_t> words = mask(m);
                for (uint32_t t = 0; t < vocabulary->size(); t++) {
                    CAPTURE(seed);
                    CAPTURE(t);
                    REQUIRE(m.allows(t) == bool(words[t / 32] >> t % 32 & 1));
                }
                std::vector<uint32_t> allowed = tokens(words);
                if (!allowed.empty() && allowed.back() == vocabulary->eos[0]) allowed.pop_back();
                if (allowed.empty()) break;
                m.advance(allowed[draw.below(uint32_t(allowed.size()))]);
            }
        }
}

TEST_CASE("masks are the same without any accelerator") {
    const std::vector<Accelerators> ways = each_left_out();
    for (Policy policy : {Policy::kScannerless, Policy::kLongest, Policy::kBasic}) {
        Compared all;
        for (uint32_t seed = 1000; seed < 1060; seed++) {
            const Compared one = compare(seed, policy, ways);
            all.masks += one.masks;
            for (size_t i = 0; i < all.uses.size(); i++) all.uses[i] += one.uses[i];
        }
        CHECK(all.masks > 200);
        // Those that tables of letters can bring about: the others need strings of JSON (tests/exact/test_accelerators.py).
        auto used = [&](Accelerator a) { return all.uses[size_t(a)] > 0; };
        CHECK(used(Accelerator::kKnownMasks));
        CHECK(used(Accelerator::kSplits));
        if (policy == Policy::kScannerless) {
            CHECK(used(Accelerator::kEndings));
            CHECK(used(Accelerator::kUnions));
        } else {
            CHECK(used(Accelerator::kStackTrie));
            CHECK(used(Accelerator::kResidualStates));
        }
    }
}
