// Sets of members: states of a lexeme in progress that several terminals may still win.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <vector>

#include "lexing/byte_kinds.hpp"
#include "lexing/terminal_automata.hpp"
#include "support/arena.hpp"
#include "support/byte_set.hpp"
#include "support/hashing.hpp"

namespace derivable {

class Archive;

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

// States are of one member or of several here, without obligations.
class MemberSets {
  public:
    MemberSets(TerminalAutomata& automata, ByteKinds& kinds) : automata_(automata), kinds_(kinds) {}

    // The members one by one, each a state of its own.
    Singles singles(LexState m) const { return StateNumber::is_single(m) ? Singles(m) : Singles(sets_[StateNumber::of(m)]); }
    // The state that has these members, sorted.
    LexState of(const std::vector<uint32_t>& singles);
    LexState of(const std::vector<LexState>& singles);
    // Those of the members that are to be kept; kNoState if there are none.
    template <class Keep>
    LexState keep_if(LexState m, Keep keep) {
        std::vector<uint32_t> kept;
        for (LexState single : singles(m))
            if (keep(single)) kept.push_back(single.index());
        return kept.empty() ? kNoState : of(kept);
    }
    bool has(LexState m) const {
        return StateNumber::is_single(m) ? m.index() < automata_.num_states()
                                         : !StateNumber::is_pair(m) && StateNumber::of(m) < sets_.size();
    }

    LexState step(LexState m, uint8_t byte) {
        return StateNumber::is_single(m) ? automata_.step(m, byte) : step_set(StateNumber::of(m), kinds_.like(byte));
    }
    // With all bytes at once, where kinds of bytes are known; for a set that is to be stepped with most of them.
    void step_with_all(LexState m);
    // Of some bytes all that lead from two states to different ones, and perhaps others. Cost: a look at what only one of the states has, with each kind.
    ByteSet apart(LexState a, LexState b, const ByteSet& of);
    // All bytes that lead on, and perhaps some that do not. Cost: one look at each member, once.
    ByteSet bytes(LexState m);
    bool has_next(LexState m) const;
    // A lexeme whose rounds are counted is in progress: the states that it leads to are as many as there are rounds.
    bool counts_rounds(LexState m) const {
        return any(m, [&](LexState single) { return automata_.recognizer_of(single).counts_rounds(); });
    }
    // Some member says so.
    template <class Ask>
    bool any(LexState m, Ask ask) const {
        const Singles all = singles(m);
        return std::any_of(all.begin(), all.end(), ask);
    }

    // As TerminalAutomata::write_automaton().
    void write(PackedWriter& out, LexState single, const TerminalAutomata::NumberOf& number) const;
    LexState read(PackedReader& in, uint64_t count, const TerminalAutomata::TerminalOf& terminal);
    // The sets as they are numbered.
    void archive(Archive& a);
    size_t bytes_of_sets() const { return set_bytes_; }
    size_t bytes() const { return bytes_ + set_bytes_ + rows_.bytes(); }

  private:
    static constexpr LexState kUnknown{~0u - 1};
    static constexpr size_t kManyMembers = 64;
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
    LexState step_set(uint32_t set, uint8_t byte);
    LexState step_members(uint32_t set, uint8_t byte);
    LexState of_stepped();
    const Ways& ways_of(uint32_t set);  // until another set is asked for

    TerminalAutomata& automata_;
    ByteKinds& kinds_;
    Interner sets_;
    std::vector<uint32_t> stepped_;            // members, to be looked up
    Pages<Row> rows_;                          // by set
    std::unordered_map<uint32_t, Ways> ways_;  // of the sets that were stepped last
    FlatMap<ByteSet> bytes_of_;                // by members
    size_t bytes_ = 0, set_bytes_ = 0;
};

}  // namespace derivable
