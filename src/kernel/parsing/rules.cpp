#include "parsing/rules.hpp"

#include <initializer_list>
#include <utility>

#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

std::vector<char> productive(const Rules& rules) {
    std::vector<char> terminals(rules.rules.size(), 0);
    std::vector<Production> bodies;
    for (Rules::Key head = 0; head < rules.rules.size(); head++) {
        const Rules::Rule& rule = rules.rules[head];
        terminals[head] = rule.kind == Rules::Kind::kTerminal;
        std::vector<Symbol> body;
        for (Rules::Key part : rule.bodies) {
            if (part == Rules::kEnd) bodies.push_back({head, std::exchange(body, {})});
            else body.push_back(part);
        }
        if (rule.kind != Rules::Kind::kMembers) continue;
        for (const Rules::Member& member : rules.members[rule.members].listed)
            if (member.required) body.push_back(member.value);
        bodies.push_back({head, std::move(body)});
    }
    return least_fixpoint(bodies, std::move(terminals));
}

namespace {

constexpr const char* kHint = "This is a bug in the lowering.";

class Flattening {
  public:
    using Key = Rules::Key;
    using Number = int64_t;  // 0: none
    Flattening(const Rules& rules, uint64_t most) : rules_(rules), most_(most), symbols_(rules.rules.size(), 0) {}

    Number symbol(Key key) {
        if (symbols_[key]) return symbols_[key];
        const Rules::Rule& rule = rules_.rules[key];
        if (rule.kind == Rules::Kind::kBodies || rule.kind == Rules::Kind::kMembers) {
            work_.push_back(key);
            return symbols_[key] = fresh(key);
        }
        made_.terminals.push_back(key);
        const Number number = symbols_[key] = Number(made_.terminals.size());
        for (Key part : rule.bodies)  // what a repeat needs rules for besides itself is met, too
            if (part != Rules::kEnd) symbol(part);
        return number;
    }

    FlatRules run(Key start, const std::vector<Key>& first) {
        made_.start = symbol(start);
        for (Key key : first) symbol(key);
        while (!work_.empty()) {
            const Key key = work_.back();
            work_.pop_back();
            const Rules::Rule& rule = rules_.rules[key];
            if (rule.kind == Rules::Kind::kMembers) members(key, rules_.members[rule.members]);
            for (Key part : rule.bodies) {
                if (part == Rules::kEnd) write(symbols_[key]);
                else body_.push_back(symbol(part));
            }
            if (too_many()) throw LimitExceeded("max_symbols", made_.productions.size(), most_, "the size of the grammar");
        }
        return std::move(made_);
    }

  private:
    bool too_many() const { return made_.productions.size() > most_; }
    Number fresh(Key name) {
        made_.nonterminals.push_back(name);
        return -Number(made_.nonterminals.size());
    }
    void write(Number head) {
        work(10 + 5 * body_.size());
        made_.productions.push_back(head);
        made_.productions.push_back(Number(body_.size()));
        made_.productions.insert(made_.productions.end(), body_.begin(), body_.end());
        body_.clear();
    }
    void write(Number head, std::initializer_list<Number> body) {
        body_ = body;
        write(head);
    }

    void members(Key name, const Rules::Members& object) {
        const Number comma = symbol(object.comma), colon = symbol(object.colon);
        if (object.ordered) in_order(name, object, comma, colon);
        else in_any_order(name, object, comma, colon);
    }
    // Members in any order; which may come is for the tally to say (json/tallies.hpp).
    void in_any_order(Key name, const Rules::Members& object, Number comma, Number colon) {
        const Number head = symbols_[name], opening = symbol(object.opening);
        Number member = 0;
        bool empty = true;
        auto add = [&](const Rules::Member& each) {
            if (too_many()) return;
            const Number key = symbol(each.key), value = symbol(each.value);
            if (!member) member = fresh(name);
            write(member, {key, colon, value});
            empty &= !each.required;
        };
        for (const Rules::Member& each : object.others) add(each);
        for (const Rules::Member& each : object.listed) add(each);
        if (empty) write(head, {opening, symbol(object.empty)});
        if (!member) return;
        const Number members = fresh(name);
        write(members, {member});
        write(members, {members, comma, member});
        write(head, {opening, members, symbol(object.closing)});
    }
    // The rules that `json_schema/emit/objects.py` tells of: A(i + 1) is `taken`, Q(i) is `decided`.
    void in_order(Key name, const Rules::Members& object, Number comma, Number colon) {
        // PERF: what stands within a member is the same wherever it stands, to the parser, too, and masks are kept by LR states: of an open object
        // of 40 keys texts came to 475 of them with members written out in each place, to 311 now.
        Number other = 0;
        Number decided = 0;  // none while there can be no member
        bool empty = true;   // there need be none
        auto write_member = [&](Number member, const Rules::Member& each) {
            const Number key = symbol(each.key), value = symbol(each.value);
            write(member, {key, colon, value});
        };
        for (const Rules::Member& each : object.others) {
            if (!other) {
                decided = fresh(name), other = fresh(name);
                write(decided, {other});
                write(decided, {decided, comma, other});
            }
            write_member(other, each);
        }
        for (const Rules::Member& each : object.listed) {
            if (too_many()) break;
            const Number member = fresh(name), taken = fresh(name);
            write_member(member, each);
            if (empty) write(taken, {member});
            if (decided) write(taken, {decided, comma, member});
            if (other) write(taken, {taken, comma, other});
            if (each.required || !decided) {
                decided = taken;
            } else if (!other) {  // nothing comes between
                write(taken, {decided});
                decided = taken;
            } else {
                const Number both = fresh(name);
                write(both, {taken});
                write(both, {decided});
                decided = both;
            }
            empty &= !each.required;
        }
        const Number head = symbols_[name], opening = symbol(object.opening);
        if (empty) write(head, {opening, symbol(object.empty)});
        if (decided) write(head, {opening, decided, symbol(object.closing)});
    }

    const Rules& rules_;
    const uint64_t most_;
    std::vector<Number> symbols_;  // by key
    std::vector<Key> work_;        // rules to be written
    std::vector<Number> body_;     // of the next production
    FlatRules made_;
};

}  // namespace

FlatRules flatten(const Rules& rules, Rules::Key start, const std::vector<Rules::Key>& first, uint64_t most) {
    return Flattening(rules, most).run(start, first);
}

Symbol symbol_of(int64_t number, size_t num_terminals, size_t num_nonterminals) {
    if (number == 0 || number > int64_t(num_terminals) || number < -int64_t(num_nonterminals))
        throw BadGrammar("a production names a symbol that does not exist", kHint);
    return Symbol(number > 0 ? number : int64_t(num_terminals) - number);
}

std::vector<Production> unpacked(const std::vector<int64_t>& productions, size_t num_terminals, size_t num_nonterminals) {
    std::vector<Production> made;
    for (size_t i = 0; i + 1 < productions.size();) {
        Production p{symbol_of(productions[i], num_terminals, num_nonterminals), {}};
        const int64_t size = productions[i + 1];
        if (productions[i] > 0 || size < 0 || uint64_t(size) > productions.size() - i - 2)
            throw BadGrammar("a production is cut short, or its head is a terminal", kHint);
        p.body.reserve(size_t(size));
        const size_t end = i + 2 + size_t(size);
        for (i += 2; i < end; i++) p.body.push_back(symbol_of(productions[i], num_terminals, num_nonterminals));
        made.push_back(std::move(p));
    }
    return made;
}

}  // namespace derivable
