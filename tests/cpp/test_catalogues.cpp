// Names in files: what was written is there, and whatever a file says, reading it ends within its bounds.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "automata/catalogue.hpp"
#include "automata/catalogue_records.hpp"
#include "automata/sorted_runs.hpp"
#include "doctest/doctest.h"
#include "support/errors.hpp"

using namespace derivable;

namespace {

std::mt19937 random_bits(1);
uint32_t below(size_t n) { return uint32_t(random_bits() % n); }

std::string random_text() {
    std::string text;
    const uint32_t longest = below(10) == 0 ? 600 : 8;
    for (uint32_t left = 1 + below(longest); left > 0; left--) text.push_back(char(below(4) == 0 ? below(256) : 'a' + below(2)));
    return text;
}

struct Written {
    std::string nodes;
    uint64_t root;
};

// In parts of all sizes.
Written written(const std::vector<std::string>& texts) {
    RunSorter sorter(1 + below(2'000));
    std::vector<std::string> runs;
    for (size_t i = 0; i < texts.size(); i++) {
        sorter.add(texts[i]);
        if (!sorter.is_full() && i + 1 < texts.size()) continue;
        runs.emplace_back();
        for (std::string part = sorter.spill(); !part.empty(); part = sorter.spill()) runs.back() += part;
    }
    RunMerger merger(runs.size());
    CatalogueRecords records;
    std::vector<size_t> at(runs.size());
    Written found;
    for (;;) {
        if (const auto run = merger.wanted()) {
            const std::string_view more = std::string_view(runs[*run]).substr(at[*run], 1 + below(50));
            merger.feed(more);
            at[*run] += more.size();
            continue;
        }
        const auto text = merger.next();
        if (!text) break;
        records.add(*text);
        if (below(3) == 0) found.nodes += records.take();
    }
    found.root = records.finish();
    found.nodes += records.take();
    return found;
}

// Bytes behind which nothing may be read.
struct Exact {
    explicit Exact(const std::string& from) : bytes(new char[from.size()]), size(from.size()) {
        std::copy(from.begin(), from.end(), bytes.get());
    }
    std::string_view view() const { return {bytes.get(), size}; }
    std::unique_ptr<char[]> bytes;
    size_t size;
};

void walk(const Catalogue& catalogue) {
    Catalogue::Node node = catalogue.root();
    for (int depth = 0; depth < 700; depth++) {
        std::vector<uint8_t> bytes;
        catalogue.next(node).each([&](uint8_t byte) { bytes.push_back(byte); });
        if (bytes.empty()) {
            REQUIRE(catalogue.is_text(node));
            return;
        }
        const bool some = depth % 16 != 3 || !catalogue.rests(node, 3).empty();
        REQUIRE(some);
        node = catalogue.step(node, bytes[below(bytes.size())]);
        REQUIRE(node != Catalogue::kNowhere);
    }
}

}  // namespace

TEST_CASE("a catalogue holds the texts that were written, short ones first") {
    for (int trial = 0; trial < 500; trial++) {
        std::vector<std::string> texts(1 + below(60));
        for (std::string& text : texts) text = random_text();
        const Written found = written(texts);
        const Exact bytes(found.nodes);
        const Catalogue catalogue(bytes.view(), found.root);
        const std::set<std::string> all(texts.begin(), texts.end());
        for (const std::string& text : all) REQUIRE(catalogue.contains(text));
        for (int i = 0; i < 20; i++) {
            const std::string text = random_text();
            REQUIRE(catalogue.contains(text) == (all.count(text) == 1));
        }
        std::vector<std::string> sorted(all.begin(), all.end());
        std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
        REQUIRE(catalogue.rests(catalogue.root(), 1'000) == sorted);
        sorted.resize(std::min<size_t>(5, sorted.size()));
        REQUIRE(catalogue.rests(catalogue.root(), 5) == sorted);
        for (int i = 0; i < 8; i++) walk(catalogue);
    }
}

TEST_CASE("a catalogue of any bytes has no dead end, or is refused") {
    size_t refused = 0, read = 0;
    for (int trial = 0; trial < 500; trial++) {
        std::vector<std::string> texts(1 + below(60));
        for (std::string& text : texts) text = random_text();
        Written found = written(texts);
        for (uint32_t left = 1 + below(3); left > 0; left--) {
            const size_t size = found.nodes.size(), last = std::min<size_t>(60, size);
            found.nodes[below(2) == 0 ? below(size) : size - 1 - below(last)] = char(below(256));
        }
        if (below(4) == 0) found.nodes.resize(found.root + 1 + below(found.nodes.size() - found.root));
        const Exact bytes(found.nodes);
        try {
            const Catalogue catalogue(bytes.view(), found.root);
            for (int i = 0; i < 8; i++) walk(catalogue);
            read++;
        } catch (const BadArtifact&) { refused++; }
    }
    CHECK(refused > 50);
    CHECK(read > 50);
}

TEST_CASE("what comes back from a file beside is refused if it changed") {
    RunMerger merger(1);
    CHECK(merger.wanted() == 0);
    merger.feed(std::string_view("\3\0ab", 4));
    CHECK(merger.wanted() == 0);
    CHECK_THROWS_AS(merger.feed(""), BadArtifact);
    CatalogueRecords records;
    records.add("b");
    records.add("b");
    CHECK(records.size() == 1);
    CHECK_THROWS_AS(records.add("a"), BadArtifact);
}
