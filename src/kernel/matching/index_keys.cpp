#include "matching/index_keys.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "masks/context.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

// The lexeme in progress may belong to a terminal.
bool may_be(Constraint& c, LexState lex, Symbol terminal) {
    const auto lexeme = named_lexeme(c.access().lexer(), c.terminals(), lex);
    return terminal == kEnd || std::any_of(lexeme.begin(), lexeme.end(), [&](const auto& member) { return member.first == terminal; });
}

class Collected {
  public:
    Collected(Constraint& c, const KeyBounds& bounds) : c_(c), bounds_(bounds) {}

    void add(LexState lex, const ReachTrie::Written& key, int32_t row) {
        const auto known = places_.find(row);
        const uint64_t bytes = uint64_t(c_.vocabulary().words()) * sizeof(uint32_t) * (out_.masks.size() + 1);
        if (out_.keys.size() >= bounds_.keys || (known == places_.end() && bytes > bounds_.bytes)) {
            out_.left_out++;
            return;
        }
        const auto place = uint32_t(known == places_.end() ? out_.masks.size() : known->second);
        if (known == places_.end()) {
            out_.masks.push_back(c_.masks().cache().row(row).words());
            places_.emplace(row, place);
        }
        KeyView& made = out_.keys.emplace_back(KeyView{lex.index(), named_lexeme(c_.access().lexer(), c_.terminals(), lex),
                                                       c_.stacks().levels_of(key.stack), key.environment, key.tally, place});
        LrAutomaton& lr = c_.stacks().lr();
        for (Stacks::Level& level : made.stack) {
            for (LrState state : level.states) {
                const LrAutomaton::Items items = lr.kernel(state);
                level.items.insert(level.items.end(), items.begin(), items.end());
            }
            std::sort(level.items.begin(), level.items.end());
            level.items.erase(std::unique(level.items.begin(), level.items.end()), level.items.end());
            for (auto [production, dot] : level.items) out_.productions.try_emplace(production, lr.productions()[production]);
        }
    }
    KeysView take() { return std::move(out_); }

  private:
    Constraint& c_;
    const KeyBounds bounds_;
    KeysView out_;
    std::unordered_map<int32_t, uint32_t> places_;  // of rows
};

}  // namespace

KeysView keys(Constraint& c, Symbol terminal, const KeyBounds& bounds) {
    Operation all(c.access(), Task::kUnbounded);
    c.access().take();
    std::unordered_map<uint32_t, bool> is_asked;  // by lexer state
    auto asked = [&](LexState lex) {
        const auto [at, fresh] = is_asked.try_emplace(lex.index());
        if (fresh) at->second = may_be(c, lex, terminal);
        return at->second;
    };
    struct Entry {
        LexState lex;
        ReachTrie::Written key;
        int32_t row;
        auto order() const { return std::tie(lex, key.stack, key.environment, key.tally); }
    };
    std::vector<Entry> entries;
    c.masks().cache().each_key([&](LexState lex, const ReachTrie::Written& key, int32_t row) {
        if (asked(lex)) entries.push_back({lex, key, row});
    });
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.order() < b.order(); });
    Collected collected(c, bounds);
    for (const Entry& e : entries) collected.add(e.lex, e.key, e.row);
    return collected.take();
}

KeysView keys(Constraint& c, const Parses& parses, Symbol terminal, const KeyBounds& bounds) {
    c.access().take();
    Collected collected(c, bounds);
    for (const Parse& t : parses)
        if (may_be(c, t.lex, terminal))
            if (const auto found = c.masks().cache().written(t)) collected.add(t.lex, found->first, found->second);
    return collected.take();
}

}  // namespace derivable
