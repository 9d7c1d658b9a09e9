// What walks of splits keep from one to the next: lexer states by small numbers, and what becomes of whole subtrees. Those of one walk at a
// time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "index/prospects.hpp"
#include "index/residuals.hpp"
#include "index/split.hpp"
#include "index/stretches.hpp"
#include "lexing/lexer.hpp"
#include "support/arena.hpp"
#include "support/byte_set.hpp"
#include "support/discard.hpp"
#include "support/hashing.hpp"
#include "support/lock.hpp"
#include "tokens/byte_classes.hpp"
#include "tokens/token_set.hpp"
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

// PERF: lexer states met on a walk get small numbers with rows of 256 next states, filled as they are asked for: one load a node instead
// of the seven that the shared tables take. Contexts differ in a few keywords, so most subtrees have been walked from the same state
// before: what became of their tokens is copied from there. Lists of tokens and nodes are kept once, by content, so that what is made of
// the same lists is seen to be the same without reading them.
class SplitTables {
  public:
    // `single`: of states of one member each, whose terminal is the walk's; otherwise exits have theirs.
    SplitTables(const SplitParts& parts, bool single) : parts_(parts), single_(single) { clear(); }
    bool single() const { return single_; }
    LexState step(LexState s, uint8_t byte) { return single_ ? lexer_.step_canonical(s, byte) : lexer_.step(s, byte); }

    using Local = uint32_t;
    // Texts are told apart by their length: a *reach* is one of some bounds in bytes, or, the last, none.
    static constexpr std::array<uint16_t, 3> kReaches{4, 16, 40};
    static constexpr size_t kNumReaches = kReaches.size() + 1;
    static size_t reach_of(uint16_t height) {
        return height <= kReaches[0] ? 0 : height <= kReaches[1] ? 1 : height <= kReaches[2] ? 2 : 3;
    }
    static constexpr Local kUnknown = 0, kDead = ~0u;
    static constexpr uint16_t kNoWay = 0xFFFE;
    static constexpr uint32_t kBigSubtree = 4;  // nodes; below, asking steady() costs as much as walking
    // Nodes: what takes many steps to find out of a state is asked for by larger subtrees, or once smaller ones of as many nodes came. PERF: a mask
    // inside a string visits most states within an escape once or twice.
    static constexpr uint32_t kWorthAsking = 64;
    // For a subtree of so many nodes, which are counted.
    bool is_worth_asking(Local s, uint32_t nodes) { return nodes >= kWorthAsking || (states_[s].asking += nodes) >= kWorthAsking; }
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
    // What a token may do in one lexer state.
    struct State {
        LexState lex;
        uint32_t group;
        bool leaves, may_be_newline;
        enum : uint8_t { kNotAsked, kYes, kNo } recurs = kNotAsked;
        Utf8State place = kBetween;  // see standing(); its
        Local home = kUnknown;       // is kUnknown if it was not asked for yet
        const ByteClasses* classes = nullptr;
        uint32_t asking = 0;         // nodes of small subtrees; see is_worth_asking()
        struct Habits {              // on texts of a reach
            Local alike = kUnknown;  // see within(); kUnknown if it was not asked for yet
            bool calm_known = false;
            uint64_t calm = 0;  // see calm()
        };
        std::array<Habits, kNumReaches> habits{};
        uint64_t leading_back = 0, leading_away = 0;  // kinds of bytes of which that is known; see leads_back()
        std::vector<Lexer::Exit> exits;
        // By exit and next byte: the way it is, or that it violates a obligation; under scannerless, where nothing is owed, by exit. Empty
        // for states of one member.
        std::vector<uint16_t> ways;
    };
    // Ranges of a trie's tokens (begin and end), or nodes of it.
    struct List {
        const Trie* trie;
        const uint32_t *begin, *end;
        bool of_nodes, antichain;  // no node lies below another
    };
    using ListId = uint32_t;
    // Lists that are kept, and some that are not worth it.
    struct Lists {
        std::vector<ListId> kept;
        std::vector<TrieNodes> own;
    };
    struct Outcome {                                     // of a walk
        std::vector<std::pair<uint32_t, Lists>> inside;  // by group: ranges
        std::vector<std::pair<uint32_t, Lists>> exits;   // by way: nodes
    };
    // What becomes of the tokens of a subtree that is entered in some state.
    struct Piece {
        std::vector<std::pair<uint32_t, ListId>> inside;  // by group: ranges
        std::vector<std::pair<uint32_t, ListId>> exits;   // by way: nodes
    };

    // What of the tokens of a subtree differs if it is entered in one state and not in another: those that end inside, and nodes before which a
    // lexeme may end, of the one only and of the other only.
    struct Difference {
        std::vector<uint32_t> added, removed, exits_added, exits_removed;
        size_t size() const { return added.size() + removed.size() + exits_added.size() + exits_removed.size(); }
    };

    // Before a walk: what is kept is forgotten if it has grown.
    void begin(Beside& beside) {
        constexpr size_t kMaxStates = 4'096, kMaxWays = 32'768, kMaxBytes = 16u << 20;
        if (states_.size() > kMaxStates || ways_.size() > kMaxWays || bytes_ > kMaxBytes) clear();
        beside_ = &beside;
    }
    void clear();  // between walks

    State& operator[](Local s) { return states_[s]; }
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
        const Local known = states_[s].habits[reach].alike;
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
    // The way of leaving through exit `e` before `byte`; kNoWay if a obligation is violated.
    uint16_t way_out(State& x, size_t e, uint8_t byte);
    // Whatever is below node i ends inside, and can be completed if a lexeme can from the state returned. kUnknown: that is not so. (A
    // lexeme may end before, too. But what can be completed that way can be completed from that state.)
    Local steady(const Trie& t, uint32_t i, Local s);
    // Kinds of characters of one byte that are known to lead back to a state; texts of them are steady there.
    uint64_t steady_kinds(Local s) const { return states_[s].may_be_newline ? 0 : states_[s].leading_back & kOfOneByte; }
    // Kinds of bytes such that a child of node i with no others, below it neither, comes to the same from both states, as far as that is known
    // or the subtree is worth asking.
    uint64_t agreeing_kinds(const Trie& t, uint32_t i, Local s, Local other);
    // Whatever is below node i comes to the same from both states.
    bool agree(const Trie& t, uint32_t i, Local s, Local other);
    std::pair<Utf8State, Local> standing(Local s);
    Local end_of_character(Utf8State place, Local s);
    uint64_t characters(Local s);
    uint64_t calm(Local s, size_t reach);
    Stretch stretch(Local s, const Stretches& stretches);
    uint64_t deadly(Local s);
    Local behind(Local s, uint8_t first);
    const std::vector<std::pair<Local, uint64_t>>& successors(Local s);
    bool leads_back(Local s, uint8_t kind, bool by_characters);
    uint64_t agreeing(Local s, Local other);
    std::pair<Local, Local> standing_alike(const Trie& t, uint32_t i, Local s, Local other);

    const Piece* find(const Trie& t, uint32_t node, Local s) const {
        const uint32_t* known = piece_ids_.find(pack(t.first_id + node, s));
        return known ? &pieces_[*known] : nullptr;
    }
    const Piece& keep(const Trie& t, uint32_t node, Local s, Piece piece) {
        bytes_ += sizeof(Piece) + (piece.inside.size() + piece.exits.size()) * 8 + 64;
        piece_ids_[pack(t.first_id + node, s)] = uint32_t(pieces_.size());
        return pieces_.emplace_back(std::move(piece));
    }
    // PERF: behind nearly all first bytes a pattern that may stand anywhere, or goes on with any character but a few, is where it was before: a third
    // of the nodes that comparisons of 600 schemas' strings walk (llama-3).
    const Difference* find(const Trie& t, uint32_t node, Local s, Local other) const {
        const uint32_t* known = difference_ids_.find({t.first_id + node, s, other});
        return known ? &differences_[*known] : nullptr;
    }
    void keep(const Trie& t, uint32_t node, Local s, Local other, Difference difference) {
        bytes_ += sizeof(Difference) + difference.size() * 4 + 128;
        differences_.resize(difference_ids_.size());  // SAFETY: there before it is known; one whose number was refused is dropped
        differences_.push_back(std::move(difference));
        difference_ids_.intern({t.first_id + node, s, other});
    }
    ListId list(const Trie& t, const std::vector<uint32_t>& items, bool of_nodes);
    const List& items(ListId id) const { return lists_[id]; }
    bool is_antichain(const Lists& lists) const;
    template <typename Visit>  // (trie, begin, end)
    void each(const Lists& lists, Visit&& visit) const {
        each_but(lists, {}, visit);
    }
    // Without those that are among some that are kept.
    template <typename Visit>
    void each_but(const Lists& lists, const std::vector<ListId>& others, Visit&& visit) const {
        for (ListId id : lists.kept)
            if (std::find(others.begin(), others.end(), id) == others.end()) visit(*lists_[id].trie, lists_[id].begin, lists_[id].end);
        for (const TrieNodes& l : lists.own) visit(*l.trie, l.nodes.data(), l.nodes.data() + l.nodes.size());
    }
    // The nodes of some lists, without those that are among some that are kept.
    std::vector<TrieNodes> nodes(const Lists& lists, const std::vector<ListId>& others) const;
    // The tokens of some lists, with those of a bitmask (which may be empty), and the residual below the nodes of some: made once if some of the
    // lists are kept.
    std::shared_ptr<const TokenSet> tokens(const Lists& lists, std::vector<uint32_t>& beside);
    ResidualId residual(const Lists& lists, bool once);

  private:
    const ByteClasses* classes_of(LexState s);
    Local find_next(Local from, uint8_t byte);
    Local find_alike(Local s, size_t reach);
    static constexpr uint16_t kUnknownWay = 0xFFFF;
    static bool is_antichain(const Trie& t, const uint32_t* begin, const uint32_t* end);
    static std::vector<uint32_t> key_of(const Lists& lists, uint32_t kind);

    const SplitParts parts_;
    Lexer& lexer_ = parts_.lexer;
    const bool single_;
    Beside* beside_ = nullptr;   // of the walk under way
    std::vector<State> states_;  // the first is none
    FlatMap<Local> numbers_;
    FlatMap<Local> ends_of_characters_;  // by state and place
    FlatMap<uint64_t> characters_, deadly_;
    FlatMap<uint64_t> agreeing_;  // by two states
    std::unordered_map<Local, std::vector<std::pair<Local, uint64_t>>> successors_;
    std::unordered_map<const void*, ByteClasses> classes_;  // by what the lexer keeps
    Pages<std::array<Local, 256>> rows_;                    // by state and byte
    std::vector<Group> groups_;
    std::vector<Way> ways_;
    std::map<std::array<uint32_t, 3>, uint32_t> group_ids_, way_ids_;
    FlatMap<uint32_t> piece_ids_;  // by node and state
    std::deque<Piece> pieces_;
    Interner difference_ids_;  // by node and two states
    std::deque<Difference> differences_;
    // PERF: not one table of vectors: of 300,000 lists it was a stall of 60 ms each time it grew.
    NumbersByHash list_ids_;
    std::deque<List> lists_;
    Arena<uint32_t> list_items_;
    std::unordered_map<std::vector<uint32_t>, std::shared_ptr<const TokenSet>, WordsHash> token_sets_;
    std::unordered_map<std::vector<uint32_t>, ResidualId, WordsHash> residuals_;
    size_t bytes_ = 0;
};

}  // namespace derivable
