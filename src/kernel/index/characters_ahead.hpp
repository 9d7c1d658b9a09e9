// Where characters lead from a lexer state, by kinds of bytes: so whole subtrees of tokens are known without a walk.
//
// Of a subtree the trie knows which kinds of bytes are in it (Trie::below). If all of these lead back to a state, whatever is below ends inside the lexeme.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "index/stretches.hpp"
#include "index/walk_states.hpp"
#include "support/byte_set.hpp"
#include "support/discard.hpp"
#include "support/hashing.hpp"

namespace derivable {

class CharactersAhead {
  public:
    using Local = WalkStates::Local;

    CharactersAhead(const SplitParts& parts, WalkStates& states)
        : states_(states),
          discarded_(parts.discarded),
          is_scannerless_(parts.lexer.policy() == Policy::kScannerless) {}
    void clear();  // where the states are cleared

    static constexpr uint32_t kBigSubtree = 4;  // nodes; below, asking steady() costs as much as walking
    // Kinds of bytes: of characters of one, those that go on in a character of several, and those that begin one.
    static constexpr uint64_t kMore = 1ULL << byte_kind(0x80), kOfOneByte = kMore - 1, kFirst = (2ULL << byte_kind(0xFF)) - 2 * kMore;
    // A state, the one that all characters of some kinds lead to from there, the one that they lead to from that, and so on: to one
    // that leads back to one of these, or so many. No lexeme ends on the way.
    struct Stretch {
        uint64_t kinds = 0;  // 0: there is none
        std::vector<Local> states;
        size_t period = 0;  // of the last ones, which follow each other for ever; 0: it ends
        ByteSet others;     // with which something else goes on from some of them
        Local behind(size_t length) const {
            if (length < states.size()) return states[length];
            const size_t more = length - states.size();
            return period ? states[states.size() - period + more % period] : states.back();
        }
        size_t longest() const { return period ? ~size_t(0) : states.size() - 1; }
    };
    // Whatever is below node i ends inside, and can be completed if a lexeme can from the state returned. kUnknown: that is not so. (A
    // lexeme may end before, too. But what can be completed that way can be completed from that state.)
    Local steady(const Trie& t, uint32_t i, Local s);
    // Kinds of characters of one byte that are known to lead back to a state; texts of them are steady there.
    uint64_t steady_kinds(Local s) { return states_[s].may_be_newline ? 0 : of(s).leading_back & kOfOneByte; }
    // Kinds of bytes such that a child of node i with no others, below it neither, comes to the same from both states, as far as that is known
    // or the subtree is worth asking.
    uint64_t agreeing_kinds(const Trie& t, uint32_t i, Local s, Local other);
    // Whatever is below node i comes to the same from both states.
    bool agree(const Trie& t, uint32_t i, Local s, Local other);
    // None: there are no such characters, or too few.
    Stretch stretch(Local s, const Stretches& stretches);

  private:
    static constexpr Local kUnknown = WalkStates::kUnknown, kDead = WalkStates::kDead;
    // Nodes: what takes many steps to find out of a state is asked for by larger subtrees, or once smaller ones of as many nodes came. PERF: a mask
    // inside a string visits most states within an escape once or twice.
    static constexpr uint32_t kWorthAsking = 64;
    // What is known of a state.
    struct Ahead {
        Utf8State place = kBetween;                            // see standing(); its
        Local home = kUnknown;                                 // is kUnknown if it was not asked for yet
        uint32_t asking = 0;                                   // nodes of small subtrees; see is_worth_asking()
        std::array<uint64_t, WalkStates::kNumReaches> calm{};  // on texts of a reach: see calm()
        std::array<bool, WalkStates::kNumReaches> calm_known{};
        uint64_t leading_back = 0, leading_away = 0;  // kinds of bytes of which that is known; see leads_back()
    };
    Ahead& of(Local s) {
        if (ahead_.size() <= s) ahead_.resize(states_.size());
        return ahead_[s];
    }
    // For a subtree of so many nodes, which are counted.
    bool is_worth_asking(Local s, uint32_t nodes) { return nodes >= kWorthAsking || (of(s).asking += nodes) >= kWorthAsking; }
    std::pair<Utf8State, Local> standing(Local s);
    Local end_of_character(Utf8State place, Local s);
    uint64_t characters(Local s);
    uint64_t calm(Local s, size_t reach);
    uint64_t deadly(Local s);
    Local behind(Local s, uint8_t first);
    const std::vector<std::pair<Local, uint64_t>>& successors(Local s);
    bool leads_back(Local s, uint8_t kind);
    uint64_t agreeing(Local s, Local other);
    std::pair<Local, Local> standing_alike(const Trie& t, uint32_t i, Local s, Local other);

    WalkStates& states_;
    Discard& discarded_;
    const bool is_scannerless_;
    std::vector<Ahead> ahead_;           // by state
    FlatMap<Local> ends_of_characters_;  // by state and place
    FlatMap<uint64_t> characters_, deadly_;
    FlatMap<uint64_t> agreeing_;  // by two states
    std::unordered_map<Local, std::vector<std::pair<Local, uint64_t>>> successors_;
};

}  // namespace derivable
