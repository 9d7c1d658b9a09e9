#include "parsing/lists.hpp"

#include <utility>

#include "support/hashing.hpp"

namespace derivable {

namespace {

// R -> w ... w | R w, and nothing else.
struct Repeat {
    uint32_t productions = 0;
    Symbol item = 0;       // of R -> R w; 0: there is none
    uint32_t least = ~0u;  // items of the other one; ~0: it is not made of items
};

std::vector<Repeat> repeats_of(const std::vector<Production>& productions, Symbol num_symbols) {
    std::vector<Repeat> repeats(num_symbols);
    for (const Production& p : productions) {
        Repeat& r = repeats[p.head];
        r.productions++;
        if (p.body.size() == 2 && p.body[0] == p.head && p.body[1] != p.head) r.item = p.body[1];
    }
    for (const Production& p : productions) {
        Repeat& r = repeats[p.head];
        bool is_items = p.body.size() != 2 || p.body[0] != p.head;
        for (Symbol s : p.body) is_items &= s == r.item;
        if (is_items) r.least = uint32_t(p.body.size());
    }
    for (Repeat& r : repeats)
        if (r.productions != 2 || r.least == ~0u) r.item = 0;
    return repeats;
}

}  // namespace

void make_lists(std::vector<Production>& productions, uint32_t num_terminals, Symbol& num_symbols) {
    const std::vector<Repeat> repeats = repeats_of(productions, num_symbols);
    FlatMap<Symbol> lists;  // by what they begin with, and their items
    std::vector<Production> made;
    // Whether there is still one stack. Behind an item of `L w y` it is open whether it is one of L or the last one; where y is a terminal the next lexeme
    // tells.
    auto is_told = [&](const Production& p, size_t i) {
        const Repeat& r = repeats[p.body[i]];
        if (!r.least) return true;
        return r.least == 1 && i + 1 < p.body.size() && p.body[i + 1] <= num_terminals && p.body[i + 1] != r.item;
    };
    std::vector<Symbol> body;
    for (Production& p : productions) {
        if (repeats[p.head].item) continue;
        body.clear();
        bool is_changed = false;
        for (size_t i = 0; i < p.body.size(); i++) {
            const Repeat& r = repeats[p.body[i]];
            if (!r.item || body.empty() || !is_told(p, i)) {
                body.push_back(p.body[i]);
                continue;
            }
            Symbol& list = lists[pack(body.back(), r.item)];
            if (!list) {
                list = num_symbols++;
                made.push_back({list, {body.back()}});
                made.push_back({list, {list, r.item}});
            }
            body.back() = list;
            body.insert(body.end(), r.least, r.item);
            is_changed = true;
        }
        if (is_changed) p.body = body;
    }
    for (Production& p : made) productions.push_back(std::move(p));
}

}  // namespace derivable
