// What the walks of splits have in common, kept from one to the next: lexer states by small numbers, and what becomes of whole subtrees.
#pragma once

#include <array>
#include <map>

#include "spanner.hpp"

namespace derivable {

// PERF: lexer states met on a walk get small numbers with rows of 256 next states, filled as they are asked for: one load a node instead
// of the seven that the shared tables take. Contexts differ in a few keywords, so most subtrees have been walked from the same state
// before: what became of their tokens is copied from there.
class SplitTables {
  public:
    explicit SplitTables(Spanner& spanner) : spanner_(spanner), lexer_(spanner.lexer) { clear(); }

    using Local = uint32_t;
    static constexpr Local kDead = 0;
    static constexpr uint16_t kNoWay = 0xFFFE;
    struct Group {  // of tokens that end inside
        Split::Sureness sureness;
        uint32_t key;
        Layouts::Effect effect;
    };
    struct Way {  // for a lexeme to end
        uint32_t terminal, duties;
        Layouts::Effect effect;
    };
    // What a token may do in one lexer state.
    struct State {
        LexState lex;
        uint32_t group;
        bool leaves, may_be_newline;
        uint64_t steady = 0, unsteady = 0;  // kinds of bytes known to change nothing (the state stays, no lexeme ends), or something
        std::vector<Lexer::Exit> exits;
        // By exit and next byte: the way it is, or that it violates a duty. Empty under scannerless.
        std::vector<std::array<uint16_t, 256>> ways;
    };
    // What becomes of the tokens of a subtree that is entered in some state.
    struct Piece {
        using Lists = std::vector<std::pair<uint32_t, std::vector<uint32_t>>>;
        Lists inside;  // by group: ranges of the trie's tokens, begin and end
        Lists exits;   // by way: nodes
    };

    // Around a walk. Walks nest; what is kept is forgotten between them if it has grown.
    void enter() {
        constexpr size_t kMaxStates = 4'096, kMaxWays = 32'768, kMaxPieces = 16u << 20;
        if (users_++ == 0 && (states_.size() > kMaxStates || ways_.size() > kMaxWays || piece_bytes_ > kMaxPieces)) clear();
    }
    void leave() { users_--; }

    State& operator[](Local s) { return states_[s]; }
    const Group& group(uint32_t g) const { return groups_[g]; }
    const Way& way(uint32_t w) const { return ways_[w]; }
    Local local(LexState s);
    Local next(Local from, uint8_t byte) {
        Local known = rows_[size_t(from) * 256 + byte];
        if (known != kUnknown) return known;
        Local to = local(spanner_.step(states_[from].lex, byte));
        return rows_[size_t(from) * 256 + byte] = to;
    }
    uint32_t group_of(LexState s, Layouts::Effect effect = Layouts::kNothing);
    uint16_t way_of(uint32_t terminal, uint32_t duties, Layouts::Effect effect = Layouts::kNothing);
    // The way of leaving through exit `e` before `byte`; kNoWay if a duty is violated.
    uint16_t way_out(State& x, size_t e, uint8_t byte);
    // Whatever is below node i ends where node i does.
    bool is_steady(const Trie& t, uint32_t i, Local s);

    const Piece* find(const Trie& t, uint32_t node, Local s) const {
        auto it = pieces_.find({pack(t.id, node), s});
        return it == pieces_.end() ? nullptr : &it->second;
    }
    const Piece* keep(const Trie& t, uint32_t node, Local s, Piece piece) {
        piece_bytes_ += sizeof(Piece) + 64;
        for (const Piece::Lists* lists : {&piece.inside, &piece.exits})
            for (const auto& [id, items] : *lists) piece_bytes_ += items.size() * 4 + 32;
        return &pieces_.emplace(std::make_pair(pack(t.id, node), s), std::move(piece)).first->second;
    }

  private:
    static constexpr Local kUnknown = ~0u;
    static constexpr uint16_t kUnknownWay = 0xFFFF;
    struct PieceHash {
        size_t operator()(const std::pair<uint64_t, Local>& key) const { return mix(key.first * 31 + key.second); }
    };
    void clear();

    Spanner& spanner_;
    Lexer& lexer_;
    size_t users_ = 0;
    std::vector<State> states_;  // kDead comes first
    FlatMap<Local> numbers_;
    std::vector<Local> rows_;  // [state][byte]
    std::vector<Group> groups_;
    std::vector<Way> ways_;
    std::map<std::array<uint32_t, 3>, uint32_t> group_ids_, way_ids_;
    std::unordered_map<std::pair<uint64_t, Local>, Piece, PieceHash> pieces_;  // by trie and node, and state
    size_t piece_bytes_ = 0;
};

}  // namespace derivable
