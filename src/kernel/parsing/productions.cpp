#include "parsing/productions.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "parsing/lists.hpp"
#include "support/hashing.hpp"

namespace derivable {

std::vector<char> least_fixpoint(const std::vector<Production>& ps, std::vector<char> holds) {
    // PERF: the uses of a symbol that does not hold from the start lie side by side in one list, from begin[symbol].
    std::vector<uint32_t> begin(holds.size() + 1, 0), uses, missing(ps.size(), 0);
    for (uint32_t i = 0; i < ps.size(); i++)
        for (Symbol s : ps[i].body)
            if (!holds[s]) begin[s + 1]++, missing[i]++;
    for (size_t s = 1; s < begin.size(); s++) begin[s] += begin[s - 1];
    uses.resize(begin.back());
    std::vector<uint32_t> place(begin.begin(), begin.end() - 1);
    std::vector<Symbol> work;
    for (uint32_t i = 0; i < ps.size(); i++)
        for (Symbol s : ps[i].body)
            if (!holds[s]) uses[place[s]++] = i;
    auto add = [&](Symbol s) {
        if (!holds[s]) holds[s] = 1, work.push_back(s);
    };
    for (uint32_t i = 0; i < ps.size(); i++)
        if (!missing[i]) add(ps[i].head);
    while (!work.empty()) {
        Symbol s = work.back();
        work.pop_back();
        for (uint32_t k = begin[s]; k < begin[s + 1]; k++)
            if (--missing[uses[k]] == 0) add(ps[uses[k]].head);
    }
    return holds;
}

namespace {

// Symbols for "one up to n of X", where a body says X n times and X may be empty: what is left out need not be said n times, too. All their
// productions are without empty symbols as they stand.
class Counts {
  public:
    Counts(Symbol& num_symbols, std::vector<Production>& full, std::vector<Production>& units)
        : num_symbols_(num_symbols),
          full_(full),
          units_(units) {}

    Symbol up_to(Symbol x, size_t n) {
        if (n == 1) return x;
        auto [it, fresh] = known_.try_emplace(pack(x, uint32_t(n)), 0);
        if (fresh) it->second = n <= kMaxChain ? chain(x, n) : bits(x, n);
        return it->second;
    }

  private:
    static constexpr size_t kMaxChain = 12;  // beyond, there are as many parses as bits
    Symbol fresh() { return num_symbols_++; }
    // One way only: U(k) -> U(k - 1) | U(k - 1) X
    Symbol chain(Symbol x, size_t n) {
        Symbol last = x;
        for (size_t k = 2; k <= n; k++) {
            const Symbol next = fresh();
            units_.push_back({next, {last}});
            full_.push_back({next, {last, x}});
            last = next;
        }
        return last;
    }
    // F(k), fewer than 2^k of them -> F(k - 1) | B(k - 1) | B(k - 1) F(k - 1), with B(k) exactly 2^k; and the same along the bits of n.
    Symbol bits(Symbol x, size_t n) {
        Symbol block = x, fewer = 0, rest = 0;  // 0: none of them
        for (; n; n >>= 1) {
            if (n & 1) rest = either(fewer, block, rest);
            if (n == 1) break;
            fewer = either(fewer, block, fewer);
            const Symbol twice = fresh();
            full_.push_back({twice, {block, block}});
            block = twice;
        }
        return rest;
    }
    // `fewer`, or a block and perhaps `rest` behind it.
    Symbol either(Symbol fewer, Symbol block, Symbol rest) {
        const Symbol s = fresh();
        if (fewer) units_.push_back({s, {fewer}});
        units_.push_back({s, {block}});
        if (rest) full_.push_back({s, {block, rest}});
        return s;
    }

    Symbol& num_symbols_;
    std::vector<Production>&full_, &units_;
    std::unordered_map<uint64_t, Symbol, MixHash> known_;
};

// The passes from the productions of a front end to those without empty and unit ones, in the order of their calls.
class Rewriting {
  public:
    Rewriting(uint32_t num_terminals, uint32_t num_nonterminals, std::vector<Production> productions)
        : given(std::move(productions)),
          num_symbols(1 + num_terminals + num_nonterminals),
          units(num_symbols),
          num_terminals_(num_terminals) {}

    // Symbols that derive no terminal string (the empty one is one) are dropped, and returned.
    std::vector<Symbol> drop_unproductive() {
        std::vector<char> terminals(num_symbols, 0);
        for (Symbol s = 0; s <= num_terminals_; s++) terminals[s] = 1;
        productive = least_fixpoint(given, std::move(terminals));
        std::vector<Symbol> dropped;
        for (Symbol s = num_terminals_ + 1; s < num_symbols; s++)
            if (!productive[s]) dropped.push_back(s);
        drop_useless(given);
        return dropped;
    }

    // What is repeated behind a symbol becomes a list with it. Then it is known which symbols may be empty.
    void join_lists() {
        make_lists(given, num_terminals_, num_symbols);
        productive.resize(num_symbols, 1);
        nullable = least_fixpoint(given, std::vector<char>(num_symbols, 0));
    }

    // What may be empty and is said several times becomes a count.
    void count_repeated() {
        std::vector<Production> unit;
        Counts counts(num_symbols, full, unit);
        // PERF: nearly none says anything twice; making all bodies anew was half of the time that productions take.
        auto again = [&](Symbol s, Symbol next) { return s == next && nullable[s]; };
        for (Production& p : given) {
            if (std::adjacent_find(p.body.begin(), p.body.end(), again) == p.body.end()) continue;
            std::vector<Symbol> body;
            for (size_t i = 0, end; i < p.body.size(); i = end) {
                end = i + 1;
                if (nullable[p.body[i]])
                    while (end < p.body.size() && p.body[end] == p.body[i]) end++;
                body.push_back(counts.up_to(p.body[i], end - i));
            }
            p.body = std::move(body);
            nullable.resize(num_symbols, 1);
            productive.resize(num_symbols, 1);
        }
        units.resize(num_symbols);
        for (const Production& p : unit) units[p.head].push_back(p.body[0]);
    }

    // Bodies with more than two symbols that may be empty: A -> X Y Z ... becomes A -> X R, R -> Y Z ...
    void split_bodies() {
        auto optional = [&](const std::vector<Symbol>& body) {
            return std::count_if(body.begin(), body.end(), [&](Symbol s) { return nullable[s]; });
        };
        std::vector<Production> split;
        for (Production& p : given) {
            while (p.body.size() > 2 && optional(p.body) > 2) {
                std::vector<Symbol> rest(p.body.begin() + 1, p.body.end());
                Symbol r = num_symbols++;
                nullable.push_back(optional(rest) == long(rest.size()));
                productive.push_back(1);
                split.push_back({p.head, {p.body[0], r}});
                p = {r, std::move(rest)};
            }
            split.push_back(std::move(p));
        }
        given = std::move(split);
        units.resize(num_symbols);
    }

    // Every way of leaving symbols out that may be empty, except all of them.
    void leave_out() {
        for (Production& p : given) {
            std::vector<uint32_t> optional;
            for (uint32_t i = 0; i < p.body.size(); i++)
                if (nullable[p.body[i]]) optional.push_back(i);
            if (optional.empty() && p.body.size() > 1) {
                full.push_back(std::move(p));
                continue;
            }
            for (uint32_t choice = 0; choice < (1u << optional.size()); choice++) {
                std::vector<Symbol> body;
                for (uint32_t i = 0, k = 0; i < p.body.size(); i++) {
                    bool out = k < optional.size() && optional[k] == i && (choice >> k++ & 1);
                    if (!out) body.push_back(p.body[i]);
                }
                if (body.size() == 1) units[p.head].push_back(body[0]);
                else if (body.size() > 1) full.push_back({p.head, std::move(body)});
            }
        }
    }

    // Symbols that derive only the empty string derive nothing now.
    void drop_empty() {
        std::vector<Production> doubtful;
        for (Symbol s = num_terminals_ + 1; s < num_symbols; s++)
            if (nullable[s]) productive[s] = 0;
        for (const Production& p : full)
            if (nullable[p.head]) doubtful.push_back(p);
        for (Symbol s = 0; s < num_symbols; s++)
            if (nullable[s])
                for (Symbol u : units[s]) doubtful.push_back({s, {u}});
        productive = least_fixpoint(doubtful, std::move(productive));
        drop_useless(full);
    }

    std::vector<Production> given, full;
    uint32_t num_symbols;
    std::vector<char> productive, nullable;  // by symbol
    std::vector<std::vector<Symbol>> units;

  private:
    void drop_useless(std::vector<Production>& productions) const {
        auto useless = [&](const Production& p) {
            return !productive[p.head] || std::any_of(p.body.begin(), p.body.end(), [&](Symbol s) { return !productive[s]; });
        };
        productions.erase(std::remove_if(productions.begin(), productions.end(), useless), productions.end());
    }

    const uint32_t num_terminals_;
};

}  // namespace

Productions::Productions(uint32_t num_terminals, uint32_t num_nonterminals, Symbol start, std::vector<Production> given)
    : num_terminals_(num_terminals) {
    Rewriting r(num_terminals, num_nonterminals, std::move(given));
    unproductive_ = r.drop_unproductive();
    if (!r.productive[start])
        throw BadGrammar("the grammar describes no text at all: its start rule never ends",
                         "Give every recursive rule an alternative that does not recurse.");
    r.join_lists();
    start_nullable_ = r.nullable[start];
    r.count_repeated();
    r.split_bodies();
    r.leave_out();
    r.drop_empty();

    places_.assign(r.num_symbols, 0);
    places_[start] = 1;
    by_head_.resize(r.num_symbols - num_terminals - 1);
    for (Relation* relation : {&units_, &users_}) relation->resize(r.num_symbols);
    visited_.resize(r.num_symbols);
    used_.assign(num_terminals + 1, 0);
    productions_.push_back({r.num_symbols, {start, kEnd}});
    if (r.productive[start]) keep_reached(start, std::move(r.full), r.units, r.productive);
    else productions_[0].body = {kEnd, kEnd};  // only the empty text: `start_nullable` says so, nothing else is ever accepted
}

void Productions::keep_reached(Symbol start, std::vector<Production> full, const Relation& units, const std::vector<char>& productive) {
    const size_t num_symbols = units.size();
    std::vector<uint32_t> begin(num_symbols + 1, 0), order(full.size());
    for (const Production& p : full) begin[p.head + 1]++;
    for (size_t i = 1; i < begin.size(); i++) begin[i] += begin[i - 1];
    std::vector<uint32_t> place(begin.begin(), begin.end() - 1);
    for (uint32_t i = 0; i < full.size(); i++) order[place[full[i].head]++] = i;
    std::vector<char> reached(num_symbols, 0);
    std::vector<Symbol> work{start};
    reached[start] = 1;
    auto reach = [&](Symbol s) {
        if (!reached[s]) reached[s] = 1, work.push_back(s);
    };
    while (!work.empty()) {
        Symbol s = work.back();
        work.pop_back();
        if (is_terminal(s)) {
            used_[s] = 1;
            continue;
        }
        for (Symbol u : units[s])
            if (productive[u] && u != s) reach(u), units_[s].push_back(u), users_[u].push_back(s);
        std::sort(order.begin() + begin[s], order.begin() + begin[s + 1],
                  [&](uint32_t a, uint32_t b) { return full[a].body < full[b].body; });
        for (uint32_t k = begin[s]; k < begin[s + 1]; k++) {
            Production& p = full[order[k]];
            if (k > begin[s] && productions_.back().body == p.body) continue;
            for (size_t i = 0; i < p.body.size(); i++) {
                reach(p.body[i]);
                places_[p.body[i]] += i || p.body[i] != p.head;
            }
            by_head_[s - num_terminals_ - 1].push_back(uint32_t(productions_.size()));
            productions_.push_back(std::move(p));
        }
    }
}

bool Productions::is_in_one_place(Symbol s) {
    uint32_t places = 0;
    for (Symbol u : reaching(s))
        if ((places += places_[u]) > 1) return false;
    return true;
}

const std::vector<Symbol>& Productions::closure(Symbol s, const Relation& step, Relation& known) {
    if (known.empty()) known.resize(step.size());
    if (!known[s].empty()) return known[s];
    visit_++;
    visited_[s] = visit_;
    closed_.assign(1, s);
    for (size_t i = 0; i < closed_.size(); i++)
        for (Symbol u : step[closed_[i]])
            if (std::exchange(visited_[u], visit_) != visit_) closed_.push_back(u);
    return known[s] = closed_;
}

}  // namespace derivable
