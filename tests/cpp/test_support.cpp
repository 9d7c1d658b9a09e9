// Tables, sets and counted work.
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "support/accelerators.hpp"
#include "support/byte_set.hpp"
#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/ids.hpp"
#include "support/task.hpp"

using namespace derivable;

TEST_CASE("who keeps something by numbers is told before they are others, as long as it is there") {
    Renumbering numbers;
    std::string told;
    const Renumbering::Told first(numbers, [&] { told += 'a'; });
    std::optional<Renumbering::Told> second;
    second.emplace(numbers, [&] { told += 'b'; });
    const Renumbering::Told third(numbers, [&] { told += 'c'; });
    numbers.happen();
    second.reset();
    numbers.happen();
    REQUIRE(told == "abcac");
}

TEST_CASE("a FlatMap holds what a map does") {
    std::mt19937_64 random(1);
    FlatMap<uint32_t> flat;
    std::map<uint64_t, uint32_t> map;
    for (uint32_t i = 0; i < 20'000; i++) {
        const uint64_t key = random() % 3'000;
        flat[key] += i;
        map[key] += i;
    }
    for (const auto& [key, value] : map) {
        REQUIRE(flat.find(key));
        REQUIRE(*flat.find(key) == value);
    }
    REQUIRE(!flat.find(3'001));
    size_t size = 0;
    flat.each([&](uint64_t key, uint32_t value) {
        size++;
        REQUIRE(map.at(key) == value);
    });
    CHECK(size == map.size());
    const FlatMap<uint32_t> copy(flat);
    for (const auto& [key, value] : map) REQUIRE(*copy.find(key) == value);
}

TEST_CASE("a ByteSet is in order, and knows the rank of a byte") {
    ByteSet set;
    const std::vector<uint8_t> bytes{0, 1, 63, 64, 127, 128, 200, 255};
    for (uint8_t b : bytes) set.set(b);
    std::vector<uint8_t> found;
    set.each([&](uint8_t b) {
        CHECK(set.rank(b) == found.size());
        found.push_back(b);
    });
    CHECK(found == bytes);
    set.remove(64);
    CHECK(!set[64]);
    CHECK(set.rank(127) == 3);
}

TEST_CASE("work past its bound is refused, and counts as the outer task's once the inner one is left") {
    Task outer(100);
    outer.enter();
    {
        Task inner(10);
        inner.enter();
        CHECK_THROWS_AS(work(11), LimitExceeded);
        CHECK(inner.left() == 0);
    }
    CHECK(outer.left() == 89);
    CHECK_NOTHROW(work(1));
    {
        Task inner(1'000);
        inner.enter();
        CHECK_NOTHROW(work(150));
        CHECK(inner.left() == 850);
    }
    CHECK(outer.left() == 0);
    CHECK_THROWS_AS(work(5'000), LimitExceeded);
}

TEST_CASE("accelerators are known by their names, each once") {
    Accelerators left = Accelerators::all();
    for (const AcceleratorName& a : kAccelerators) {
        REQUIRE(Accelerators::named(a.name) == a.part);
        REQUIRE(left.has(a.part));
        left = left.without(a.part);
    }
    CHECK(left == Accelerators::none());
    CHECK(!Accelerators::named("no such thing"));
}
