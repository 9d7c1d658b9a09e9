// Lexer states on walks of splits, by small numbers.
//
// PERF: states met on a walk have rows of 256 next states, filled as they are asked for: one load a node instead of the seven that the shared tables take.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "index/prospects.hpp"
#include "index/residuals.hpp"
#include "index/split.hpp"
#include "lexing/lexer.hpp"
#include "support/arena.hpp"
#include "support/discard.hpp"
#include "support/hashing.hpp"
#include "support/lock.hpp"
#include "tokens/byte_classes.hpp"
#include "tokens/vocabulary.hpp"

namespace derivable {

// What splits are made of.
struct SplitParts {
    const Vocabulary& vocabulary;
    Lexer& lexer;
    Prospects& prospects;
    Residuals& residuals;
    Discard& discarded;          // what was forgotten
    std::atomic<size_t>& bytes;  // of all splits: what is made is counted there
};

class WalkStates {
  public:
    // `single`: of states of one member each, whose terminal is the walk's; otherwise exits have theirs.
    WalkStates(const SplitParts& parts, bool single) : parts_(parts), single_(single) { clear(); }
    bool single() const { return single_; }
    LexState step(LexState s, uint8_t byte) { return single_ ? lexer_.alike.step_canonical(s, byte) : lexer_.step(s, byte); }

    using Local = uint32_t;
    static constexpr Local kUnknown = 0, kDead = ~0u;
    static constexpr uint16_t kNoWay = 0xFFFE;
    // Texts are told apart by their length: a *reach* is one of some bounds in bytes, or, the last, none.
    static constexpr std::array<uint16_t, 3> kReaches{4, 16, 40};
    static constexpr size_t kNumReaches = kReaches.size() + 1;
    static size_t reach_of(uint16_t height) {
        return height <= kReaches[0] ? 0 : height <= kReaches[1] ? 1 : height <= kReaches[2] ? 2 : 3;
    }
    struct Group {  // of tokens that end inside
        Split::Sureness sureness;
        uint32_t key;
        Indentations::Effect effect;
    };
    struct Way {  // for a lexeme to end
        TerminalId terminal;
        Obligations obligations;
        Indentations::Effect effect;
    };
    // What a token may do in one lexer state.
    struct State {
        LexState lex;
        uint32_t group;
        bool leaves, may_be_newline;
        enum : uint8_t { kNotAsked, kYes, kNo } recurs = kNotAsked;
        const ByteClasses* classes = nullptr;
        std::array<Local, kNumReaches> alike{};  // on texts of a reach; see within(); kUnknown if it was not asked for yet
        std::vector<Lexer::Exit> exits;
        // By exit and next byte: the way it is, or that it violates an obligation; under scannerless, where nothing is owed, by exit. Empty
        // for states of one member.
        std::vector<uint16_t> ways;
    };

    // For a walk.
    void begin(Beside& beside) { beside_ = &beside; }
    // They are many.
    bool is_full() const {
        constexpr size_t kMaxStates = 4'096, kMaxWays = 32'768;
        return states_.size() > kMaxStates || ways_.size() > kMaxWays;
    }
    void clear();  // between walks

    State& operator[](Local s) { return states_[s]; }
    size_t size() const { return states_.size(); }
    const Group& group(uint32_t g) const { return groups_[g]; }
    const Way& way(uint32_t w) const { return ways_[w]; }
    Local local(LexState s);
    Local next(Local from, uint8_t byte) {
        const Local known = std::as_const(rows_)[from][byte];
        return known != kUnknown ? known : find_next(from, byte);
    }
    // PERF: an automaton that counts has thousands of states that only long texts tell apart, and the rest of a token is short.
    // A state that acts as this one on all texts below a node of some height: one for as many as are known to be alike.
    Local for_subtree(Local s, uint16_t height) { return s == kDead || !single_ ? s : within(s, reach_of(height)); }
    Local within(Local s, size_t reach) {
        if (reach == kReaches.size()) return s;
        const Local known = states_[s].alike[reach];
        return known != kUnknown ? known : find_alike(s, reach);
    }
    // A common byte leads back to it.
    bool recurs(Local s) {
        State& x = states_[s];
        if (x.recurs == State::kNotAsked) {
            bool found = false;
            for (char byte : {'e', ' ', '0', 'E'}) found = found || next(s, uint8_t(byte)) == s;
            states_[s].recurs = found ? State::kYes : State::kNo;
        }
        return states_[s].recurs == State::kYes;
    }
    uint32_t group_of(LexState s, Indentations::Effect effect = Indentations::kNothing);
    uint16_t way_of(TerminalId terminal, Obligations obligations, Indentations::Effect effect = Indentations::kNothing);
    // The way of leaving through exit `e` before `byte`; kNoWay if an obligation is violated.
    uint16_t way_out(State& x, size_t e, uint8_t byte);
    size_t bytes() const { return bytes_; }  // beside the states

  private:
    static constexpr uint16_t kUnknownWay = 0xFFFF;
    const ByteClasses* classes_of(LexState s);
    Local find_next(Local from, uint8_t byte);
    Local find_alike(Local s, size_t reach);

    const SplitParts& parts_;
    Lexer& lexer_ = parts_.lexer;
    const bool single_;
    Beside* beside_ = nullptr;   // of the walk under way
    std::vector<State> states_;  // the first is none
    FlatMap<Local> numbers_;
    std::unordered_map<const void*, ByteClasses> classes_;  // by what the lexer keeps
    Pages<std::array<Local, 256>> rows_;                    // by state and byte
    std::vector<Group> groups_;
    std::vector<Way> ways_;
    std::map<std::array<uint32_t, 3>, uint32_t> group_ids_, way_ids_;
    size_t bytes_ = 0;
};

}  // namespace derivable
