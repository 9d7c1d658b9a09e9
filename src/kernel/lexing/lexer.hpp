// The lexer: which lexemes are in progress, and what the text to come must still do.
//
// A lexer state is a pair of
//   members   the terminals a lexeme in progress may belong to, each with the state of its automaton, and
//   obligations    what future bytes owe to lexemes that have already ended (only under longest and basic):
//             a longer attempt that must die, a look-ahead that must hold or fail.
// Obligations are a formula in disjunctive normal form, so a state steps to exactly one state, whatever the obligations.
//
// Ending a lexeme is lazy: a lexeme that could end stays in progress until the next byte, where `exits` says how it may
// have ended before that byte.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automata/state_equivalence.hpp"
#include "lexing/recognizer.hpp"
#include "support/arena.hpp"
#include "support/byte_set.hpp"
#include "support/hashing.hpp"

namespace derivable {

class Archive;
class PackedReader;
class PackedWriter;

enum class Policy : uint8_t { kScannerless, kLongest, kBasic };

using LexState = Id<struct LexStateTag>;
using TerminalId = Id<struct TerminalTag>;      // of the lexer: several symbols of a grammar may be one
using Obligations = Id<struct ObligationsTag>;  // a formula
constexpr LexState kNoState{};

class Lexer {
  public:
    explicit Lexer(Policy policy) : policy_(policy) {
        obligation_lists_.intern({});            // kViolated: no alternative
        obligation_lists_.intern({kSeparator});  // kFree: one alternative, no obligation
        look_back();
    }

    static constexpr Obligations kViolated{0}, kFree{1};

    Policy policy() const { return policy_; }
    // Terminals are numbered in order of addition. Equal automata share a number under scannerless, where only languages count, and `kind`, which
    // says what else tells terminals apart. `rank`: lower wins between lexemes of equal length.
    TerminalId add(const Recognizer& recognizer, uint32_t rank, uint32_t kind = 0);
    // Lets go of automata, which Python may own: what is left can be freed by any thread, and no more can be done with it.
    void let_go() {
        terminals_.clear();
        for (Automaton& a : automata_) a.recognizer.let_go();
    }
    uint32_t num_terminals() const { return uint32_t(terminals_.size()); }
    const Recognizer& recognizer(TerminalId terminal) const { return terminals_[terminal].recognizer; }

    // The state before the first byte of a lexeme of one of `terminals`, with `obligations` from before. kNoState if there are none.
    LexState start(const std::vector<TerminalId>& terminals, Obligations obligations);
    LexState with_obligations(LexState members, Obligations obligations);
    LexState none() { return intern_set({}); }                                   // no terminal at all: only the end can follow
    LexState fresh(LexState s) { return with_obligations(members(s), fresh_); }  // before the first byte of a text
    bool is_fresh(LexState s) const { return obligations(s) == fresh_; }
    // Obligations at the start of a text: none. But where look-behind reaches past its own lexeme, all obligations say what stands before:
    // each alternative holds one kPast. It is never broken and owes nothing; the next lexeme is chosen by it.
    Obligations text_start() const { return text_start_; }
    bool owes(Obligations obligations) const {
        const auto& words = obligation_lists_[obligations.index()];
        return obligations != kFree && !(words.size() == 2 && obligation_table_[words[0]].kind == Obligation::kPast);
    }
    size_t size_of(Obligations obligations) const { return obligation_lists_[obligations.index()].size(); }  // in words
    uint32_t past(Obligations obligations) const;
    Obligations nothing_owed(Obligations obligations);  // the same past, and nothing owed
    // Owing nothing, after each text that look-behind tells apart; empty if there are more than `limit`.
    std::vector<Obligations> all_pasts(size_t limit);

    LexState step(LexState s, uint8_t byte) {
        if (is_single(s)) {
            const Automaton& a = automata_[single_automaton_[s]];
            if (a.recognizer.has_table()) {
                const int32_t next = a.recognizer.step_table(single_state_[s], byte);
                return next < 0 ? kNoState : LexState(a.first + uint32_t(next));
            }
        }
        return step_slow(s, byte);
    }

    // All bytes that lead on, and perhaps some that do not. Cost: one look at each member, once.
    ByteSet bytes(LexState members);

    // Under scannerless any two states of one terminal with the same language are interchangeable to the index, whichever terminals
    // they belong to: a fixed one of them. Otherwise the state itself.
    LexState canonical(LexState single) {
        if (policy_ != Policy::kScannerless) return single;
        if (canonical_[single] == kNoState) canonicalize(single);
        return canonical_[single];
    }
    // The same for what completes a lexeme, however long: a state with the same language, a fixed one as far as that is known. What canonical states have in
    // common is what no token tells apart, and one of them may need a hundred words more than another.
    LexState equal(LexState single) {
        if (policy_ != Policy::kScannerless) return single;
        if (equal_[single] == kNoState) canonicalize(single);
        return equal_[single];
    }
    // So often that was found out for a whole automaton at once, and was much of what a walk may take.
    uint32_t num_long_settled() const { return num_long_settled_; }
    LexState step_canonical(LexState s, uint8_t byte) {
        const LexState next = step(s, byte);
        return next == kNoState ? next : canonical(next);
    }
    // Bytes of one class lead from it to the same state, by byte; null: that is not known.
    const std::array<uint8_t, 256>* classes(LexState single) const { return recognizer_of(single).classes(single_state_[single]); }
    // Under scannerless: a canonical state that acts as this one on all texts of so many bytes, one for as many states as are known to be alike.
    LexState for_short_texts(LexState canonical, uint64_t bytes);
    // Of a state of strings whose characters are counted beside an automaton, the one that does the same without the bound on their number.
    // kNoState: it is not such a state, or there is none.
    LexState without_bound(LexState single);
    // Of a canonical state between two characters of strings whose values an automaton accepts, the one that is there in any string at all.
    // Else kNoState.
    LexState any_string(LexState canonical);
    // The canonical state that is there between two characters of all JSON strings in its spelling, of one by rule.
    LexState between_characters_of_any_string(LexState like) { return in_any_string("\"", escapes(like)); }
    // As Recognizer::shortest_rest().
    std::optional<std::string> shortest_rest(LexState single, uint8_t filler) {
        return automata_[single_automaton_[single]].recognizer.shortest_rest(single_state_[single], filler);
    }
    // How they are counted, where a canonical state of them is, and the state of the same strings that is there between two characters.
    std::shared_ptr<const CountedValues> counted_values(LexState canonical) const { return recognizer_of(canonical).counted_values(); }
    std::optional<CountedValues::Place> place(LexState canonical) const { return recognizer_of(canonical).place(single_state_[canonical]); }
    LexState between_characters(LexState of, const CountedValues::Place& place);
    // A canonical state between two characters of a string whose length is bounded; how many must and may still come.
    bool is_counted(LexState canonical, uint64_t& need, uint64_t& room) const;
    // That of JSON strings by rule.
    Escapes escapes(LexState s) const { return recognizer_of(s).escapes(); }
    // Some member is in a string that may still come out as more than n different values. False in doubt.
    bool has_more_strings(LexState members, uint64_t n) const;
    // The only member is in a string of a list, which may still come out as so many values. None: it is not known.
    std::optional<uint64_t> num_strings(LexState members) const {
        return is_single(members) ? recognizer_of(members).num_values(single_state_[members]) : std::nullopt;
    }
    // Each is in a string that has more, and will be after any text of a token that does not end it. False in doubt.
    bool always_has_more_strings(LexState members, uint64_t n) const;
    // Under scannerless: this byte may follow any number of times. False in doubt.
    bool may_repeat(LexState members, uint8_t byte);
    // Canonical states of one automaton that act alike on all texts of fewer bytes. 0: not known.
    uint64_t alike_for(LexState a, LexState b) const;
    // Under scannerless: the canonical state is before or within a list of strings, and acts as off_list() but for `bytes`.
    bool on_list(LexState canonical, ByteSet& bytes) const {
        return is_single(canonical) && recognizer_of(canonical).on_list(single_state_[canonical], bytes);
    }
    LexState off_list(LexState on_list);  // kNoState: leads nowhere
    // No distinction is made between more characters than any token has: fewer states, the same masks.
    void set_longest_token(uint64_t bytes) { longest_token_ = bytes; }
    // Some states of one member each. SAFETY: valid as long as the lexer.
    class Singles {
      public:
        explicit Singles(LexState only) : only_(only.index()), size_(1) {}
        explicit Singles(const std::vector<uint32_t>& list) : list_(list.data()), size_(list.size()) {}
        struct Iterator {
            using iterator_category = std::forward_iterator_tag;
            using value_type = LexState;
            using difference_type = std::ptrdiff_t;
            using pointer = const LexState*;
            using reference = LexState;
            const uint32_t* at;
            LexState operator*() const { return LexState(*at); }
            Iterator& operator++() { return ++at, *this; }
            bool operator==(Iterator o) const { return at == o.at; }
            bool operator!=(Iterator o) const { return at != o.at; }
        };
        Iterator begin() const { return {list_ ? list_ : &only_}; }
        Iterator end() const { return {begin().at + size_}; }
        size_t size() const { return size_; }

      private:
        const uint32_t* list_ = nullptr;
        uint32_t only_ = 0;
        size_t size_;
    };
    // The members one by one, each a state of its own. `m`: without obligations.
    Singles singles(LexState m) const { return is_single(m) ? Singles(m) : Singles(set_lists_[number(m)]); }
    // Those of the members that are to be kept, of a state without obligations; kNoState if there are none.
    template <class Keep>
    LexState members_if(LexState m, Keep keep) {
        std::vector<uint32_t> kept;
        for (LexState single : singles(m))
            if (keep(single)) kept.push_back(single.index());
        return kept.empty() ? kNoState : intern_set(kept);
    }
    TerminalId terminal_of(LexState single) const { return automata_[single_automaton_[single]].terminal; }
    // The state that has these members, sorted.
    LexState together(const std::vector<LexState>& singles);
    static bool is_single(LexState s) { return s.index() < kSetBit; }

    struct Exit {
        TerminalId terminal;
        Obligations obligations;  // before the next byte
    };
    // How the lexeme in progress may have ended before the next byte.
    const std::vector<Exit>& exits(LexState s);
    bool accepts(LexState s) { return !exits(s).empty(); }
    // A lexeme whose rounds are counted is in progress: the states that it leads to are as many as there are rounds.
    bool counts_rounds(LexState members) const {
        const Singles all = singles(members);
        return std::any_of(all.begin(), all.end(), [&](LexState single) { return recognizer_of(single).counts_rounds(); });
    }
    bool accepts_single(LexState single) const { return recognizer_of(single).accepts(single_state_[single]); }

    LexState members(LexState s) const { return is_pair(s) ? pairs_[number(s)].members : s; }
    Obligations obligations(LexState s) const { return is_pair(s) ? pairs_[number(s)].obligations : kFree; }
    Obligations step_obligations(Obligations obligations, uint8_t byte);
    // What is left to owe for a lexeme that begins with this byte: all but what the byte settles, so it steps to the same. kViolated: none that
    // may end begins with it; never in doubt.
    Obligations unsettled(Obligations obligations, uint8_t byte);
    // The obligations are met if the text ends here.
    bool obligations_hold_at_end(Obligations obligations) const;

    // (terminal, automaton state) of every member; for explanations and analyses.
    std::vector<std::pair<TerminalId, uint32_t>> describe(LexState s) const;
    bool has_kinds() {  // of bytes: not under scannerless, where all is by tables
        if (!knows_alike_) find_alike();
        return has_kinds_;
    }
    // Under longest and basic a fixed one of those that do the same from any state. PERF: so that what a state does with a byte is worked out once for
    // all of these, some 60 of 256.
    uint8_t alike(uint8_t byte) { return has_kinds() ? represented_[byte] : byte; }
    // Not under scannerless: of some bytes all that lead from two states to different ones, and perhaps others. Cost: a look at what only one of the
    // states has, with each kind of byte.
    ByteSet apart(LexState a, LexState b, const ByteSet& of);
    // Bytes that act differently in some terminal, one of each class (all of a class act alike).
    const std::vector<uint8_t>& representative_bytes();
    std::vector<LexState> successors(LexState s);  // one byte further, each once
    // Not under scannerless. The states as they are numbered, read by a lexer to which the same terminals were added. Throws BadArtifact where
    // something refers to what is not there; then the lexer is not to be used.
    void archive(Archive& a);
    bool is_state(LexState s) const;
    // A state as every process knows it: by terminals, to which others give numbers, and states of their automata. And back: BadState.
    using NumberOf = std::function<uint32_t(TerminalId)>;
    using TerminalOf = std::function<TerminalId(uint64_t)>;
    void write(PackedWriter& out, LexState s, const NumberOf& number) const;
    LexState read(PackedReader& in, const TerminalOf& terminal);
    size_t set_bytes() const { return set_bytes_; }                        // of states of several members
    uint32_t num_obligations() const { return obligation_lists_.size(); }  // formulas
    size_t bytes() const {
        return bytes_ + set_bytes_ + languages_.bytes() + rows_.bytes() + exits_of_single_.bytes() + exits_of_set_.bytes() +
               exits_of_pair_.bytes();
    }

  private:
    static constexpr LexState kUnknown{~0u - 1};
    static constexpr uint32_t kSetBit = 1u << 30, kPairBit = 1u << 31, kSeparator = ~0u;
    static constexpr size_t kMaxWords = 1u << 12;  // of a formula over obligations, in obligation_lists_

    struct Obligation {
        enum Kind : uint32_t { kFresh, kPast, kLonger, kLook } kind;  // kLonger: a longer attempt that must die
        uint32_t subject;                                             // kPast: past; kLonger: members; kLook: automaton
        uint32_t look, state;
        bool negative;
    };
    // Where a set leads. PERF: one that a text goes through is mostly asked for one byte only, and kept: an integer divided by one of
    // eighteen took 3.7 KB and 15 us a token, and takes 0.7 KB and 10 us.
    struct Row {
        std::unique_ptr<LexState[]> all;  // [256], kUnknown until asked for; null as long as there are few
        std::array<LexState, 3> few;
        std::array<uint8_t, 3> bytes;
        uint8_t size = 0;
    };
    // Of a set of many members: those of lists that go on with a byte, and those that may go on with any. PERF: of 10,000 keys few go on with
    // the same byte; each of 256 bytes was asked of each key, 0.2 ms a byte.
    struct Ways {
        std::array<uint32_t, 257> begin{};  // in `listed`, by byte
        std::vector<uint32_t> listed, any;
        size_t bytes() const { return sizeof(Ways) + 4 * (listed.size() + any.size()); }
    };
    static constexpr size_t kManyMembers = 64;
    struct Pair {
        LexState members;
        Obligations obligations;
        enum : uint8_t { kUnjudged, kOpen, kDead } fate = kUnjudged;
    };
    struct Option {
        TerminalId terminal;
        Obligations condition;
    };

    static bool is_pair(LexState s) { return s.index() & kPairBit; }
    static uint32_t number(LexState s) { return s.index() & ~(kPairBit | kSetBit); }  // of its kind
    LexState single(uint32_t automaton, uint32_t state);
    void write_automaton(PackedWriter& out, uint32_t automaton, const NumberOf& number) const;
    void write_single(PackedWriter& out, LexState single, const NumberOf& number) const;
    void write_obligations(PackedWriter& out, Obligations formula, const NumberOf& number) const;
    void write_obligation(PackedWriter& out, const Obligation& d, const NumberOf& number) const;
    uint32_t read_automaton(PackedReader& in, const TerminalOf& terminal);
    LexState read_members(PackedReader& in, uint64_t count, const TerminalOf& terminal);
    Obligations read_obligations(PackedReader& in, const TerminalOf& terminal);
    Obligation read_obligation(PackedReader& in, const TerminalOf& terminal);
    bool is_members(LexState s) const;
    bool is_obligation(const Obligation& d) const;
    void archive_obligations(Archive& a);
    void prepare_first_bytes();
    void count_words(size_t words);  // of one more formula
    void canonicalize(LexState single);
    LexState in_any_string(const std::string& text, Escapes escapes);
    uint32_t unbounded(uint32_t automaton);  // without the bound on its texts, or itself
    LexState acting_as(uint32_t whole, LexState single, uint64_t bytes);
    const Recognizer& recognizer_of(LexState single) const { return automata_[single_automaton_[single]].recognizer; }
    void find_alike();
    void add_automaton(const Recognizer& recognizer, TerminalId terminal);
    void number_states(uint32_t automaton);                                 // of its table
    std::vector<std::pair<uint32_t, uint32_t>> progress(LexState s) const;  // (automaton, state) of every member
    void look_back();                                                       // sets text_start_ and fresh_
    uint32_t step_past(uint32_t past, uint8_t byte);
    Obligations stands_behind(uint32_t past);      // the formula that is just this
    LexState any_lexeme(Obligations obligations);  // all terminals compete
    LexState step_slow(LexState s, uint8_t byte);
    LexState stepped(LexState members, Obligations obligations, uint8_t byte);  // kNoState if that has no future
    LexState step_set(uint32_t set, uint8_t byte);
    LexState step_members(uint32_t set, uint8_t byte);
    void step_all(uint32_t set);        // by all kinds of bytes, of tables
    LexState intern_stepped();          // of stepped_
    const Ways& ways_of(uint32_t set);  // until another set is asked for
    bool is_dead(uint32_t pair);
    bool breaks(LexState single, uint32_t obligation);
    LexState intern_set(const std::vector<uint32_t>& singles);
    bool has_next(LexState members);
    const std::vector<Option>& options(LexState members);
    Obligations refutation(LexState members);  // obligations under which no terminal accepts here

    // Formulas over obligations.
    uint32_t add_obligation(const Obligation& d);
    bool implies(uint32_t a, uint32_t b);
    bool matches_less(uint32_t a, uint32_t b);
    bool reduce(std::vector<uint32_t>& all);
    void absorb(std::vector<std::vector<uint32_t>>& alternatives);
    Obligations conjunction(const std::vector<uint32_t>& obligations);
    Obligations only(const Obligation& d);  // the formula that is just this
    Obligations all_of(Obligations a, Obligations b);
    Obligations any_of(std::vector<std::vector<uint32_t>> alternatives);
    std::vector<std::vector<uint32_t>> alternatives(Obligations formula) const;
    Obligations conditions_formula(uint32_t automaton, const Conditions& c, bool negated);
    Obligations no_longer_match(LexState members);
    Obligations step_obligation(const Obligation& d, uint8_t byte);
    Obligations without_settled(Obligations formula, uint8_t byte);

    Policy policy_;
    struct Terminal {
        Recognizer recognizer;
        uint32_t rank, first;       // of its automata: one for each variant of its past
        uint32_t looks_back = ~0u;  // place of its past in pasts_
    };
    struct Automaton {
        Recognizer recognizer;
        TerminalId terminal;
        uint32_t first;                 // its first single, once it has a table: the others follow
        std::vector<uint32_t> singles;  // otherwise: by state, kNoState if there is none yet
    };
    IdVector<TerminalId, Terminal> terminals_;
    std::vector<Automaton> automata_;
    FlatMap<uint32_t> unbounded_;  // automata without the bound on their length; by automaton, itself where there is none
    std::vector<const Past*> looking_back_;
    Interner pasts_;  // states of all in looking_back_
    Obligations text_start_ = kFree;
    std::unordered_map<std::string, TerminalId> by_language_;       // and kind, in the last four bytes
    std::unordered_map<const void*, TerminalId> by_identity_;       // of kind 0. PERF: saves comparing tables that are seen again and again
    IdVector<LexState, uint32_t> single_automaton_, single_state_;  // of those of one member
    IdVector<LexState, LexState> canonical_, equal_;                // kNoState if not asked for yet
    Languages languages_;
    FlatMap<ByteSet> bytes_of_;             // by members
    std::array<TerminalId, 2> any_string_;  // the terminals of all JSON strings, by their spelling
    std::unordered_map<std::string, LexState> counted_;
    uint64_t longest_token_ = ~0ULL;
    Interner set_lists_;
    std::vector<uint32_t> stepped_;            // members, to be looked up
    Pages<Row> rows_;                          // by id in set_lists_
    std::unordered_map<uint32_t, Ways> ways_;  // of the sets that were stepped last
    FlatMap<uint32_t> pair_ids_;               // and one
    std::vector<Pair> pairs_;
    std::unordered_map<uint64_t, bool, MixHash> breaks_;  // by single and obligation
    std::vector<LexState> any_lexeme_;                    // by past: members; kUnknown if not asked for yet
    FlatMap<Obligations> unsettled_;                      // by obligations and byte
    Interner obligation_ids_, obligation_lists_;
    size_t obligation_words_ = 0;  // in obligation_lists_
    std::vector<Obligation> obligation_table_;
    Pages<Obligations> only_;  // by obligation: its formula, if it was asked for
    Obligations fresh_ = kViolated;
    FlatMap<uint32_t> past_steps_;      // by past and byte
    Pages<Obligations> stands_behind_;  // by past
    FlatMap<Obligations> obligation_steps_, no_longer_match_;
    std::unordered_map<uint64_t, Obligations, MixHash> conjunctions_;
    FlatMap<bool> matches_less_;  // by two obligations
    std::unordered_map<LexState, std::vector<Option>> options_;
    struct Exits {
        bool known = false;
        std::vector<Exit> list;
    };
    Pages<Exits> exits_of_single_, exits_of_set_, exits_of_pair_;
    Exits& exits_at(LexState s) {
        return is_pair(s) ? exits_of_pair_[number(s)] : is_single(s) ? exits_of_single_[number(s)] : exits_of_set_[number(s)];
    }
    std::vector<uint8_t> representatives_;
    std::array<uint8_t, 256> represented_{};  // by byte
    bool knows_alike_ = false, has_kinds_ = false;
    uint32_t num_long_settled_ = 0;
    size_t bytes_ = 0, set_bytes_ = 0;
};

}  // namespace derivable
