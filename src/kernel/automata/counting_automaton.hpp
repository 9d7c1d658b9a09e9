// Automata that count: `(?:\w+ ){0,399}\w+\.` without a state for each number of words.
//
// A table of such a pattern has as many states as its repeats multiplied out. Here a repeat keeps its numbers: a configuration is a state of a small
// table (of `\w+ `, of `\w+\.`) and what comes behind it, a list of *continuations*, each of which is the rest of a sequence or a repeat with how
// many rounds must and may still follow. A step takes partial derivatives (Antimirov 1996) of configurations, whose numbers go down by one
// where a round ends. A state is a set of configurations, made when a text reaches it, so a pattern costs what it says and a text what it is long.
//
// Sets stay small. A repeat of 3 to 5 rounds or of 5 to 9 is one of 3 to 9, and what another configuration covers is left out. So where rounds can be
// told in several ways, as in `(?:a|aa){0,400}`, the state is still one interval (counting sets: Turonova et al., "Regex matching with
// counting-set automata", OOPSLA 2020; for exact numbers there are as many as places where the count began).
//
// As Python's `re` reads it (in_order), the configurations of a state are a list, the preferred ones first, and of a match those behind it are left out: so
// the match is the longest text that is still accepted (Pike 1994; Cox, "Regular expression matching: the virtual machine approach", 2009). There
// intervals are not united, for one round more may be worth less than another text of the rounds so far.
//
// Two numbers are the same to texts that are too short to reach either. So to the index one state stands for all those whose bounds are far
// (acting_as), and there are as many of them as numbers that a token can reach.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "automata/dfa.hpp"
#include "automata/shortest_rests.hpp"
#include "support/byte_set.hpp"
#include "support/hashing.hpp"
#include "support/packed.hpp"

namespace derivable {

class Archive;

class CountingAutomaton {
  public:
    static constexpr uint64_t kNoMaximum = ~0ULL;

    // Of what it is made. No conditions (look-ahead) and no past (look-behind) in the tables; throws Unsupported, or LimitExceeded for its nesting.
    // A table's strings of so many characters at most.
    static CountingAutomaton table(std::shared_ptr<const Dfa> dfa, uint64_t max_characters = kNoMaximum);
    static CountingAutomaton sequence(const std::vector<CountingAutomaton>& items);
    static CountingAutomaton choice(const std::vector<CountingAutomaton>& items);
    static CountingAutomaton repeat(const CountingAutomaton& item, uint64_t min, uint64_t max, bool lazy = false);
    // The same strings without the empty one.
    CountingAutomaton without_empty() const;
    // Of an automaton of a whole expression, whose tables prefer longer texts: that of the texts which Python's `re` finds at the beginning of some text.
    // Repeats prefer another round unless they are lazy, choices their first items. Unsupported: a round may be empty.
    CountingAutomaton in_order() const;

    // States are numbered from 0, the start, as they are met. Every state can reach acceptance.
    // Cost: a step of each configuration; and of those whose table accepts, the beginnings of what may follow.
    int32_t step(uint32_t state, uint8_t byte);  // kDead if there is no way
    bool accepts(uint32_t state) const { return states_[state].accepts; }
    ByteSet next(uint32_t state) const;                               // bytes that lead on
    uint32_t num_states() const { return uint32_t(states_.size()); }  // so far
    bool is_empty() const { return parts_.empty(); }
    bool accepts_empty() const { return !states_.empty() && states_[0].accepts; }
    // Bytes of one class act alike in every state.
    const std::array<uint8_t, 256>& classes() const { return classes_; }
    // The state that stands for all those which act as this one on every text of so many bytes, as far as that is known: the same for all of them.
    uint32_t acting_as(uint32_t state, uint64_t bytes);

    // Rounds that end in a text of which only a part is known: by where it may be, how many there were at most.
    struct Configuration {
        uint32_t part, state, then;
        bool operator==(const Configuration& o) const { return part == o.part && state == o.state && then == o.then; }
        bool operator<(const Configuration& o) const { return std::tie(part, state, then) < std::tie(o.part, o.state, o.then); }
    };
    using Rounds = std::vector<std::pair<Configuration, uint32_t>>;
    // Before the known part: anywhere in a round.
    Rounds anywhere();
    // A byte more; the most that may have ended. This is the automaton of a round.
    uint32_t read(const Rounds& before, uint8_t byte, Rounds& after);
    uint64_t shortest() const { return parts_.back().shortest; }
    // What a text of which parts are asked can hold, of each repeat with a number: `most(automaton of a round)`. States are told apart by as many only.
    template <class Most>
    void bound_rounds(Most most) {
        for (uint32_t id = 0; id < parts_.size(); id++)
            if (Part& part = parts_[id]; part.kind == Part::kRepeat && (part.min > 1 || part.max != kNoMaximum)) {
                CountingAutomaton round = round_of(part.items[0]);
                part.most_rounds = most(round);
            }
    }

    // A state by what it is, not by its number; and back, BadState.
    void write(PackedWriter& out, uint32_t state) const;
    uint32_t read(PackedReader& in);

    // A shortest text from a state to acceptance; none where it is a megabyte or more.
    std::optional<std::string> shortest_rest(uint32_t state) const;
    // From each state some text of so many bytes leads to acceptance.
    uint64_t longest_rest() const { return parts_.empty() ? 0 : parts_.back().longest_rest; }
    // Bytes with which texts begin, and with which they end.
    std::pair<ByteSet, ByteSet> outer_bytes() const;

    size_t bytes() const;  // of its tables, about
    // As bytes, and back (BadArtifact if they are not what saved() wrote). Equal for equal automata that were made in the same way.
    std::string saved() const;
    static CountingAutomaton from_saved(std::string_view data);

  private:
    // An expression of which tables are the leaves. Parts come behind those that they are made of; the last one is the whole.
    struct Part {
        enum Kind : uint8_t { kTable, kSequence, kChoice, kRepeat } kind;
        std::vector<uint32_t> items{};
        uint64_t min = 0, max = kNoMaximum;  // kRepeat; kTable: at most so many characters
        bool lazy = false;                   // kRepeat: in order it prefers what comes behind it to another round
        uint64_t most_rounds = kNoMaximum;   // that end in a text of which parts are asked
        std::shared_ptr<const Dfa> dfa{};
        std::shared_ptr<const ShortestRests> rests{};
        std::vector<char> ends{};        // by state of the table: nothing leads on
        std::vector<uint32_t> fewest{};  // by state, if characters are counted: so many must still begin
        uint32_t most_fewest = 0;        // of these
        bool nullable = false;
        uint64_t shortest = 0, longest_rest = 0;  // bytes: of a shortest text, and as longest_rest()
        uint32_t depth = 1;
    };
    // What comes behind a part: of a sequence the items from `min` on; of a repeat, whose round has ended, `min` to `max` rounds more. Then `next`. Of a
    // table whose characters are counted, `max` may still begin.
    struct Continuation {
        uint32_t part;
        uint64_t min, max;
        uint32_t next;
        bool operator==(const Continuation& o) const { return part == o.part && min == o.min && max == o.max && next == o.next; }
        bool operator<(const Continuation& o) const { return std::tie(part, next, min, max) < std::tie(o.part, o.next, o.min, o.max); }
    };
    static constexpr uint32_t kEnd = 0;  // the continuation of the whole
    using Configurations = std::vector<Configuration>;
    struct State {
        Configurations configurations;
        bool accepts;
    };

    static constexpr uint64_t kLongest = 1ULL << 40;  // of what is said of lengths
    static uint64_t plus(uint64_t a, uint64_t b) { return std::min(a + b, kLongest); }
    static uint64_t less_one(uint64_t rounds) { return rounds && rounds != kNoMaximum ? rounds - 1 : rounds; }
    static uint64_t times(uint64_t a, uint64_t b) { return a && b > kLongest / a ? kLongest : a * b; }
    static void archive(Archive& a, bool& without_empty, bool& in_order, std::vector<Part>& parts);
    static CountingAutomaton of(std::vector<Part> parts, bool in_order = false);
    static void describe(std::vector<Part>& parts);
    static uint32_t append(std::vector<Part>& parts, const CountingAutomaton& other);
    CountingAutomaton round_of(uint32_t item) const;
    uint32_t read_behind(PackedReader& in, uint32_t part);
    uint32_t whole() const { return uint32_t(parts_.size() - 1); }
    uint32_t continuation(const Continuation& c);
    uint32_t rounds(uint32_t part, uint64_t min, uint64_t max, uint32_t next);
    bool counts_characters(const Part& part) const { return part.kind == Part::kTable && part.max != kNoMaximum; }
    uint32_t behind(const Configuration& c) const { return counts_characters(parts_[c.part]) ? continuations_[c.then].next : c.then; }
    void begin(uint32_t part, uint32_t then, Configurations& out);
    bool go_on(uint32_t then, Configurations& out);
    bool begin_in_order(uint32_t part, uint32_t then, Configurations& out);
    bool go_on_in_order(uint32_t then, Configurations& out);
    bool covers(uint32_t one, uint32_t other) const;
    void reduce(Configurations& all);
    static const char* refusal_in_order(const std::vector<Part>& parts);  // null: none
    void leave_out_covered(Configurations& all) const;
    void reduce_behind(std::vector<uint32_t>& thens);
    int32_t stepped(uint32_t state, uint8_t byte);
    uint32_t number(Configurations configurations, bool accepts);
    uint32_t far(uint32_t then, uint64_t bytes);
    uint64_t shortest_behind(uint32_t then) const;
    void append_shortest(uint32_t part, std::string& out) const;

    std::vector<Part> parts_;
    std::array<uint8_t, 256> classes_{};
    std::vector<Continuation> continuations_;
    NumbersByHash continuation_numbers_;
    std::vector<State> states_;
    NumbersByHash numbers_;
    FlatMap<int32_t> steps_;   // by state and class of a byte
    FlatMap<uint32_t> alike_;  // by state and bytes: a state, and one
    bool without_empty_ = false, in_order_ = false;
};

}  // namespace derivable
