// What parser stacks accept, against a chart of Earley's items.
#include <set>
#include <tuple>
#include <vector>

#include "doctest/doctest.h"
#include "parsing/stacks.hpp"
#include "random_languages.hpp"

using namespace derivable;
using namespace derivable::testing;

namespace {

// Earley's algorithm with nothing added: sets of (production, dot, origin), gone through again until nothing changes. Every nonterminal derives
// something, so a terminal that an item waits for can follow.
class Chart {
  public:
    Chart(const std::vector<Production>& productions, Symbol start, uint32_t num_terminals)
        : productions_(productions),
          start_(start),
          num_terminals_(num_terminals),
          sets_(1) {
        predict(start, sets_[0]);
        close();
    }
    std::set<Symbol> accepted() const {
        std::set<Symbol> out;
        for (const Item& item : sets_.back()) {
            const auto [p, dot, origin] = item;
            if (!is_complete(item) && next(item) <= num_terminals_) out.insert(next(item));
            if (is_complete(item) && origin == 0 && productions_[p].head == start_) out.insert(kEnd);
        }
        return out;
    }
    void shift(Symbol t) {
        std::set<Item> behind;
        for (const Item& item : sets_.back())
            if (!is_complete(item) && next(item) == t) behind.insert(moved(item));
        sets_.push_back(std::move(behind));
        close();
    }

  private:
    using Item = std::tuple<size_t, size_t, size_t>;
    Symbol next(const Item& i) const { return productions_[std::get<0>(i)].body[std::get<1>(i)]; }
    bool is_complete(const Item& i) const { return std::get<1>(i) == productions_[std::get<0>(i)].body.size(); }
    static Item moved(const Item& i) { return {std::get<0>(i), std::get<1>(i) + 1, std::get<2>(i)}; }
    void predict(Symbol head, std::set<Item>& into) const {
        for (size_t p = 0; p < productions_.size(); p++)
            if (productions_[p].head == head) into.insert(Item{p, 0, sets_.size() - 1});
    }
    void close() {
        std::set<Item>& last = sets_.back();
        for (size_t before = ~size_t(0); before != last.size();) {
            before = last.size();
            for (const Item& item : std::set<Item>(last)) {
                if (!is_complete(item)) {
                    if (next(item) > num_terminals_) predict(next(item), last);
                    continue;
                }
                const Symbol head = productions_[std::get<0>(item)].head;
                for (const Item& above : std::set<Item>(sets_[std::get<2>(item)]))
                    if (!is_complete(above) && next(above) == head) last.insert(moved(above));
            }
        }
    }

    const std::vector<Production>& productions_;
    const Symbol start_;
    const uint32_t num_terminals_;
    std::vector<std::set<Item>> sets_;
};

}  // namespace

TEST_CASE("stacks accept what a chart does") {
    uint32_t compared = 0;
    for (uint32_t seed = 0; seed < 400; seed++) {
        Draw draw(seed);
        const RandomGrammar g = RandomGrammar::random(draw);
        const uint32_t num_terminals = uint32_t(g.terminals.size()) + 1;
        LrAutomaton lr(Productions(num_terminals, g.num_nonterminals, 1 + num_terminals, g.productions));
        Stacks stacks(lr);
        for (uint32_t walk = 0; walk < 4; walk++) {
            Chart chart(g.productions, 1 + num_terminals, num_terminals);
            Frontier f = stacks.bottom();
            for (uint32_t step = 0; step < 8; step++) {
                const std::set<Symbol> expected = chart.accepted();
                const std::vector<Symbol> found = stacks.terminals(stacks.accepts(f));
                CAPTURE(seed);
                CAPTURE(step);
                REQUIRE(std::set<Symbol>(found.begin(), found.end()) == expected);
                compared++;
                std::vector<Symbol> ways(expected.begin(), expected.end());
                if (!ways.empty() && ways[0] == kEnd) ways.erase(ways.begin());
                if (ways.empty()) break;
                const Symbol t = ways[draw.below(uint32_t(ways.size()))];
                f = stacks.shift(f, t).frontier;
                REQUIRE(f != kNoFrontier);
                chart.shift(t);
            }
        }
    }
    CHECK(compared > 5'000);
}
