// Rules as front ends write them, and how they become productions: numbered symbols, the members of objects written out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "parsing/productions.hpp"

namespace derivable {

// What rules name has a key each, from 0 up: rules and terminals, and the expressions that stand within bodies.
class Rules {
  public:
    using Key = uint32_t;
    static constexpr Key kEnd = ~0u;

    enum class Kind {
        kTerminal,  // whatever else it is
        kBodies,
        kMembers,
        kRepeat  // a terminal to who has no rule for it. Its bodies tell one round, and none if there may be none.
    };
    // A key, its value, and whether it must be there.
    struct Member {
        Key key, value;
        bool required;
    };
    // A JSON object (`derivable.expr.Members`).
    struct Members {
        Key opening, closing, empty, comma, colon;
        bool ordered;
        std::vector<Member> listed, others;
    };
    struct Rule {
        Kind kind = Kind::kTerminal;
        std::vector<Key> bodies;  // each with kEnd behind it
        uint32_t members = 0;     // kMembers: its place in `members`
    };

    std::vector<Rule> rules;  // by key
    std::vector<Members> members;
};

// Of each key, whether it derives a text: some body of its is made of such.
std::vector<char> productive(const Rules& rules);

// Terminals are the numbers from 1 up, nonterminals those from -1 down, both in the order in which they are met.
struct FlatRules {
    std::vector<Rules::Key> terminals;     // of each its key
    std::vector<Rules::Key> nonterminals;  // of each its key, or that of the object that it is a part of
    std::vector<int64_t> productions;      // head, length of the body, body; one production after the other
    int64_t start = 0;
};

// The productions of a rule or terminal, and of all rules it leads to; `first` are numbered right after it. Throws LimitExceeded where there are more
// numbers in the productions than `most`.
FlatRules flatten(const Rules& rules, Rules::Key start, const std::vector<Rules::Key>& first, uint64_t most);

// Such numbers as the parser has them: terminals first, from 1 up. Throw BadGrammar where there is no such symbol, or a production is cut short.
Symbol symbol_of(int64_t number, size_t num_terminals, size_t num_nonterminals);
std::vector<Production> unpacked(const std::vector<int64_t>& productions, size_t num_terminals, size_t num_nonterminals);

}  // namespace derivable
