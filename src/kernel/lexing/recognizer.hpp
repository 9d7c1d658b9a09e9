// What recognizes the lexemes of a terminal: an automaton, given by a table or by rule. Others need not know by which.
//
// Tables (Dfa) have states of fixed numbers, conditions (look-ahead) and a past (look-behind). The states of those by rule (JsonStrings,
// CountingAutomaton) come into being, and get their numbers, as a text reaches them; they have neither. Every state can reach acceptance; 0 is
// the start.
//
// The table of a range of numbers is made when a text reaches its start. PERF: it takes 0.4 ms, and of the keys of a large object few are
// reached: 10,000 with a bound each took 4.6 s to compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "automata/counting_automaton.hpp"
#include "automata/dfa.hpp"
#include "automata/k_equivalence.hpp"
#include "automata/shortest_rests.hpp"
#include "automata/state_equivalence.hpp"
#include "json/number_range.hpp"
#include "json/string_literals.hpp"
#include "support/byte_set.hpp"

namespace derivable {

// Cost: a step in a table is one load behind a look at which of the two it is; a step by rule makes a state if it is the first one there.
class Recognizer {
  public:
    explicit Recognizer(std::shared_ptr<const Dfa> table) : table_(table.get()), owned_(std::move(table)) {}
    explicit Recognizer(std::shared_ptr<JsonStrings> rule) : rule_(std::move(rule)) {}
    explicit Recognizer(std::shared_ptr<CountingAutomaton> counting) : counting_(std::move(counting)) {}
    // It is small, and has numbers.
    explicit Recognizer(std::shared_ptr<const NumberRange> range) : range_(std::move(range)) {}
    // With states of its own. SAFETY: so they come into being under the lock of who has it.
    Recognizer copy() const {
        if (counting_) return Recognizer(std::make_shared<CountingAutomaton>(*counting_));
        return rule_ ? Recognizer(std::make_shared<JsonStrings>(*rule_)) : *this;
    }
    // All JSON strings of a spelling.
    static Recognizer any_string(Escapes escapes);  // by a table
    // Where rounds are counted: most(automaton of a round) may end in one token. Of a copy.
    template <class Most>
    void bound_rounds(Most most) {
        if (counting_) counting_->bound_rounds(most);
    }
    bool counts_rounds() const { return bool(counting_); }
    // Of a table, which Python may own. No more can be done with it.
    void let_go() { table_ = nullptr, owned_.reset(); }

    // Its states have fixed numbers.
    bool has_table() const { return table_; }
    // Its table is still to be made; until then it can only be asked whether it is empty, its key and its size.
    bool awaits_table() const { return !table_ && range_; }
    void make_table();
    uint32_t num_states() const { return table_ ? table_->num_states() : 0; }  // of the table
    int32_t step_table(uint32_t state, uint8_t byte) const { return table_->step(state, byte); }
    int32_t step(uint32_t state, uint8_t byte) {
        return table_ ? table_->step(state, byte) : rule_ ? rule_->step(state, byte) : counting_->step(state, byte);
    }
    bool accepts(uint32_t state) const {
        return table_ ? bool(table_->accepting[state]) : rule_ ? rule_->accepts(state) : counting_->accepts(state);
    }
    bool is_empty() const { return table_ ? table_->empty() : rule_ ? rule_->is_empty() : counting_ && counting_->is_empty(); }
    bool has_next(uint32_t state) const;  // of a table or one that counts: some byte leads on
    ByteSet bytes(uint32_t state) const;  // all that lead on, and perhaps some that do not
    // Bytes of one class act alike in the state, by byte; null: that is not known.
    const std::array<uint8_t, 256>* classes(uint32_t state) const {
        return table_ ? &table_->classes : rule_ ? rule_->kinds(state) : &counting_->classes();
    }
    // A state as every process knows it; and back, of what has its table, if it has one: BadState.
    void write(PackedWriter& out, uint32_t state) const;
    uint32_t read(PackedReader& in);
    // Appends what tells a byte from others.
    void append_classes(uint8_t byte, std::vector<uint32_t>& key) const;

    // A text that completes a lexeme from a state on, a shortest one as a rule, which may be refused: as JsonStrings::shortest_rest(). Not where a table is
    // still to be made.
    std::optional<std::string> shortest_rest(uint32_t state, uint8_t filler);
    // From wherever a lexeme stands, some text of so many bytes completes it.
    uint64_t longest_rest();
    // Bytes with which texts begin, and with which they end.
    std::pair<ByteSet, ByteSet> outer_bytes() const;
    // A byte that all of its texts hold, if that is easily found.
    std::optional<uint8_t> needed_byte() const;

    // Equal for equal languages, but a table and a rule are never equal. `identity`: the table itself, which is asked sooner; null for a
    // rule.
    std::string key() const;
    // Equal for equal languages that were given in the same way, whether the table was made or not.
    std::string content() const { return range_ ? "number " + range_->key() : key(); }
    const void* identity() const { return table_; }
    size_t bytes() const;  // about

    // Look-ahead of an accepting state; null: it accepts whatever follows.
    const Conditions* conditions(uint32_t state) const;
    const LookDfa& look(uint32_t i) const { return table_->looks[i]; }
    bool has_look(uint32_t i, uint32_t state) const;
    // Look-behind; null: it is the same after all texts. Otherwise the recognizers by what stands before.
    const Past* past() const { return table_ ? table_->past.get() : nullptr; }
    std::vector<Recognizer> variants() const;

    // ---- states that act alike ----

    // By state of a table, numbered from `first`: the first one of all with the same language.
    std::vector<uint32_t> equal_states(Languages& all, uint32_t first) const { return all.add(*table_, first); }
    // The same texts and longer ones, if they are strings whose values an automaton accepts, up to a length.
    std::optional<Recognizer> unbounded() const;
    // The state, of a table or of the other's unbounded(), that acts as the other's does, but for the bound, on all texts of so many bytes: one
    // for as many as are known to be alike. kDead: none is known.
    int32_t acting_as(const Recognizer& other, uint32_t state, uint64_t bytes);
    uint32_t run(const std::string& text) const { return uint32_t(table_->run(text)); }

    // JSON strings by rule, which can be asked more; null: it is something else.
    JsonStrings* strings() const { return rule_.get(); }

  private:
    const Dfa* table_ = nullptr;  // PERF: steps ask for nothing else
    std::shared_ptr<const Dfa> owned_;
    std::shared_ptr<JsonStrings> rule_;
    std::shared_ptr<CountingAutomaton> counting_;
    std::shared_ptr<const NumberRange> range_;
    std::shared_ptr<const KEquivalence> short_texts_;  // of the table, if it was asked for
    std::shared_ptr<const ShortestRests> shortest_;    // likewise
};

}  // namespace derivable
