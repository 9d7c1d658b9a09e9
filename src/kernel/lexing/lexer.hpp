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

#include <cstddef>
#include <cstdint>
#include <memory>
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

class ImageReader;
class ImageWriter;

enum class Policy : uint8_t { kScannerless, kLongest, kBasic };

using LexState = uint32_t;
constexpr LexState kNoState = ~0u;

class Lexer {
  public:
    explicit Lexer(Policy policy) : policy_(policy) {
        obligation_lists_.intern({});            // kViolated: no alternative
        obligation_lists_.intern({kSeparator});  // kFree: one alternative, no obligation
        look_back();
    }

    static constexpr uint32_t kViolated = 0, kFree = 1;

    Policy policy() const { return policy_; }
    // Terminals are numbered in order of addition. Equal automata share a number under scannerless, where only languages count.
    // `rank`: lower wins between lexemes of equal length.
    uint32_t add(const Recognizer& recognizer, uint32_t rank);
    // Lets go of automata, which Python may own: what is left can be freed by any thread, and no more can be done with it.
    void let_go() {
        terminals_.clear();
        for (Automaton& a : automata_) a.recognizer.let_go();
    }
    uint32_t num_terminals() const { return uint32_t(terminals_.size()); }
    const Recognizer& recognizer(uint32_t terminal) const { return terminals_[terminal].recognizer; }

    // The state before the first byte of a lexeme of one of `terminals`, with `obligations` from before. kNoState if there are none.
    LexState start(const std::vector<uint32_t>& terminals, uint32_t obligations);
    LexState with_obligations(LexState members, uint32_t obligations);
    LexState none() { return intern_set({}); }                                   // no terminal at all: only the end can follow
    LexState fresh(LexState s) { return with_obligations(members(s), fresh_); }  // before the first byte of a text
    bool is_fresh(LexState s) const { return obligations(s) == fresh_; }
    // Obligations at the start of a text: none. But where look-behind reaches past its own lexeme, all obligations say what stands before: each
    // alternative holds one kPast. It is never broken and owes nothing; the next lexeme is chosen by it.
    uint32_t text_start() const { return text_start_; }
    bool owes(uint32_t obligations) const {
        const auto& words = obligation_lists_[obligations];
        return obligations != kFree && !(words.size() == 2 && obligation_table_[words[0]].kind == Obligation::kPast);
    }
    uint32_t past(uint32_t obligations) const;
    uint32_t nothing_owed(uint32_t obligations);  // the same past, and nothing owed
    // Owing nothing, after each text that look-behind tells apart; empty if there are more than `limit`.
    std::vector<uint32_t> all_pasts(size_t limit);

    LexState step(LexState s, uint8_t byte) {
        if (s < kSetBit) {
            const Automaton& a = automata_[single_automaton_[s]];
            if (a.recognizer.has_table()) {
                const int32_t next = a.recognizer.step_table(single_state_[s], byte);
                return next < 0 ? kNoState : a.first + uint32_t(next);
            }
        }
        return step_slow(s, byte);
    }

    // Under scannerless: all bytes that lead on, and perhaps some that do not. Cost: one look at each member, once.
    ByteSet bytes(LexState members);

    // Under scannerless any two states of one terminal with the same language are interchangeable to the index, whichever terminals
    // they belong to: a fixed one of them. Otherwise the state itself.
    LexState canonical(LexState single) {
        if (policy_ != Policy::kScannerless) return single;
        if (canonical_[single] == kNoState) canonicalize(single);
        return canonical_[single];
    }
    LexState step_canonical(LexState s, uint8_t byte) {
        const LexState next = step(s, byte);
        return next == kNoState ? next : canonical(next);
    }
    // Under scannerless: a canonical state that acts as this one on all texts of so many bytes, one for as many states as are known to be alike.
    LexState for_short_texts(LexState canonical, uint64_t bytes);
    bool is_bounded(LexState single) const { return recognizer_of(single).is_bounded(); }
    // A canonical state between two characters of a string whose length is bounded; how many must and may still come.
    bool is_counted(LexState canonical, uint64_t& need, uint64_t& room) const;
    // Some member is in a string that may still come out as more than n different values. False in doubt.
    bool has_more_strings(LexState members, uint64_t n) const;
    // Canonical states of one automaton that act alike on all texts of fewer bytes. 0: not known.
    uint64_t alike_for(LexState a, LexState b) const;
    // Under scannerless: the canonical state is before or within a list of strings, and acts as off_list() but for `bytes`.
    bool on_list(LexState canonical, ByteSet& bytes) const {
        return canonical < kSetBit && recognizer_of(canonical).on_list(single_state_[canonical], bytes);
    }
    LexState off_list(LexState on_list);  // kNoState: leads nowhere
    // No distinction is made between more characters than any token has: fewer states, the same masks.
    void set_longest_token(uint64_t bytes) { longest_token_ = bytes; }
    // The members one by one, each a state of its own. `m`: without obligations; must outlive the answer.
    std::pair<const uint32_t*, const uint32_t*> singles(const LexState& m) const {
        if (m < kSetBit) return {&m, &m + 1};
        const std::vector<uint32_t>& list = set_lists_[m & ~kSetBit];
        return {list.data(), list.data() + list.size()};
    }
    // Those of the members that are to be kept, of a state without obligations; kNoState if there are none.
    template <class Keep>
    LexState members_if(LexState m, Keep keep) {
        std::vector<uint32_t> kept;
        const auto [begin, end] = singles(m);
        for (const uint32_t* single = begin; single != end; single++)
            if (keep(*single)) kept.push_back(*single);
        return kept.empty() ? kNoState : intern_set(std::move(kept));
    }
    uint32_t terminal_of(LexState single) const { return automata_[single_automaton_[single]].terminal; }
    // The state that has these members, sorted.
    LexState together(const std::vector<uint32_t>& singles) { return intern_set(singles); }
    static bool is_single(LexState s) { return s < kSetBit; }

    struct Exit {
        uint32_t terminal;
        uint32_t obligations;  // before the next byte
    };
    // How the lexeme in progress may have ended before the next byte.
    const std::vector<Exit>& exits(LexState s);
    bool accepts(LexState s) { return !exits(s).empty(); }
    bool accepts_single(LexState single) const { return recognizer_of(single).accepts(single_state_[single]); }

    LexState members(LexState s) const { return s & kPairBit ? pairs_[s & ~kPairBit].members : s; }
    uint32_t obligations(LexState s) const { return s & kPairBit ? pairs_[s & ~kPairBit].obligations : kFree; }
    uint32_t step_obligations(uint32_t obligations, uint8_t byte);
    // The obligations are met if the text ends here.
    bool obligations_hold_at_end(uint32_t obligations) const;

    // (terminal, automaton state) of every member; for explanations and analyses.
    std::vector<std::pair<uint32_t, uint32_t>> describe(LexState s) const;
    // Bytes that act differently in some terminal, one of each class (all of a class act alike).
    const std::vector<uint8_t>& representative_bytes();
    std::vector<LexState> successors(LexState s);  // one byte further, each once
    // Not under scannerless. The states as they are numbered, and the same states again for a lexer to which the same terminals were added. restore() throws
    // BadArtifact where something refers to what is not there; then the lexer is not to be used.
    void save(ImageWriter& out) const;
    void restore(ImageReader& in);
    bool is_state(LexState s) const;
    uint32_t num_obligations() const { return obligation_lists_.size(); }  // formulas
    size_t bytes() const {
        return bytes_ + languages_.bytes() + rows_.bytes() + exits_of_single_.bytes() + exits_of_set_.bytes() + exits_of_pair_.bytes();
    }

  private:
    static constexpr uint32_t kSetBit = 1u << 30, kPairBit = 1u << 31, kSeparator = ~0u;

    struct Obligation {
        enum Kind : uint32_t { kFresh, kPast, kLonger, kLook } kind;  // kLonger: a longer attempt that must die
        uint32_t subject;                                             // kPast: past; kLonger: members; kLook: automaton
        uint32_t look, state;
        bool negative;
    };
    using Row = std::unique_ptr<LexState[]>;  // [256], kUnknown until asked for
    struct Pair {
        LexState members;
        uint32_t obligations;
        enum : uint8_t { kUnjudged, kOpen, kDead } fate = kUnjudged;
    };
    struct Option {
        uint32_t terminal, condition;
    };

    uint32_t single(uint32_t automaton, uint32_t state);
    bool is_members(LexState s) const;
    void restore_obligation(ImageReader& in, uint32_t number);
    void count_words(size_t words);  // of one more formula
    void canonicalize(LexState single);
    LexState in_any_string(const std::string& text);
    const Recognizer& recognizer_of(uint32_t single) const { return automata_[single_automaton_[single]].recognizer; }
    void add_automaton(const Recognizer& recognizer, uint32_t terminal);
    std::vector<std::pair<uint32_t, uint32_t>> progress(LexState s) const;  // (automaton, state) of every member
    void look_back();                                                       // sets text_start_ and fresh_
    uint32_t step_past(uint32_t past, uint8_t byte);
    LexState step_slow(LexState s, uint8_t byte);
    static constexpr uint8_t kFirstOfSeveral = 0xC0;                         // bytes of a character, from here on
    LexState stepped(LexState members, uint32_t obligations, uint8_t byte);  // kNoState if that has no future
    LexState step_set(uint32_t set, uint8_t byte);
    bool is_dead(uint32_t pair);
    bool breaks(uint32_t single, uint32_t obligation);
    LexState intern_set(std::vector<uint32_t> singles);
    bool has_next(LexState members);
    const std::vector<Option>& options(LexState members);
    uint32_t refutation(LexState members);  // obligations under which no terminal accepts here

    // Formulas over obligations.
    uint32_t add_obligation(const Obligation& d);
    uint32_t conjunction(const std::vector<uint32_t>& obligations);
    uint32_t only(const Obligation& d);  // the formula that is just this
    uint32_t all_of(uint32_t a, uint32_t b);
    uint32_t any_of(std::vector<std::vector<uint32_t>> alternatives);
    std::vector<std::vector<uint32_t>> alternatives(uint32_t formula) const;
    uint32_t conditions_formula(uint32_t automaton, const Conditions& c, bool negated);
    uint32_t no_longer_match(LexState members);
    uint32_t step_obligation(const Obligation& d, uint8_t byte);

    Policy policy_;
    struct Terminal {
        Recognizer recognizer;
        uint32_t rank, first;       // of its automata: one for each variant of its past
        uint32_t looks_back = ~0u;  // place of its past in pasts_
    };
    struct Automaton {
        Recognizer recognizer;
        uint32_t terminal;
        uint32_t first;                 // its first single, if it has a table: the others follow
        std::vector<uint32_t> singles;  // otherwise: by state, kNoState if there is none yet
    };
    std::vector<Terminal> terminals_;
    std::vector<Automaton> automata_;
    FlatMap<uint32_t> unbounded_;  // automata without the bound on their length; by automaton, itself where there is none
    std::vector<const Past*> looking_back_;
    Interner pasts_;  // states of all in looking_back_
    uint32_t text_start_ = kFree;
    std::unordered_map<std::string, uint32_t> by_language_;
    std::unordered_map<const void*, uint32_t> by_identity_;  // PERF: saves comparing tables that are seen again and again
    std::vector<uint32_t> single_automaton_, single_state_;
    std::vector<LexState> canonical_;  // by single; kNoState if not asked for yet
    Languages languages_;
    FlatMap<ByteSet> bytes_of_;       // by set
    uint32_t any_string_ = kNoState;  // the terminal of all JSON strings
    std::unordered_map<std::string, LexState> counted_;
    uint64_t longest_token_ = ~0ULL;
    Interner set_lists_;
    Pages<Row> rows_;             // by id in set_lists_
    FlatMap<uint32_t> pair_ids_;  // and one
    std::vector<Pair> pairs_;
    std::unordered_map<uint64_t, bool, MixHash> breaks_;  // by single and obligation
    Interner obligation_ids_, obligation_lists_;
    size_t obligation_words_ = 0;  // in obligation_lists_
    std::vector<Obligation> obligation_table_;
    Pages<uint32_t> only_;  // by obligation: its formula; kViolated if not asked for yet
    uint32_t fresh_ = 0;
    std::unordered_map<uint64_t, uint32_t, MixHash> past_steps_;
    FlatMap<uint32_t> obligation_steps_, no_longer_match_;
    std::unordered_map<uint64_t, uint32_t, MixHash> conjunctions_;
    std::unordered_map<LexState, std::vector<Option>> options_;
    struct Exits {
        bool known = false;
        std::vector<Exit> list;
    };
    Pages<Exits> exits_of_single_, exits_of_set_, exits_of_pair_;
    Exits& exits_at(LexState s) {
        return s & kPairBit ? exits_of_pair_[s & ~kPairBit] : s & kSetBit ? exits_of_set_[s & ~kSetBit] : exits_of_single_[s];
    }
    std::vector<uint8_t> representatives_;
    size_t bytes_ = 0;
};

}  // namespace derivable
