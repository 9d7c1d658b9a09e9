// Lists of tokens and of nodes that walks of splits come to, kept once, by content: so what is made of the same lists is seen to be the same without
// reading them.
//
// PERF: contexts differ in a few keywords, so most subtrees have been walked from the same state before. What became of their tokens is copied from there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "index/residuals.hpp"
#include "index/walk_states.hpp"
#include "support/arena.hpp"
#include "support/hashing.hpp"
#include "tokens/token_set.hpp"

namespace derivable {

class SplitLists {
  public:
    using Local = WalkStates::Local;

    explicit SplitLists(const SplitParts& parts) : parts_(parts) {}
    void clear();  // between walks

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

    size_t bytes() const { return bytes_; }

  private:
    static bool is_antichain(const Trie& t, const uint32_t* begin, const uint32_t* end);
    static std::vector<uint32_t> key_of(const Lists& lists, uint32_t kind);

    const SplitParts& parts_;
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
