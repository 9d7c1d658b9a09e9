// Tokens that lie in names, or go on behind one.
//
// What is within a name depends on the names that there are and on the lexer; what is behind it, on the stack and on the names that there are next. On the state
// of the meaning nothing depends but by these, so of a thousand states masks are found once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "masks/borders.hpp"
#include "masks/mask_maker.hpp"
#include "parsing/follow.hpp"
#include "sequence/lexemes.hpp"
#include "sequence/runs.hpp"
#include "support/accelerators.hpp"
#include "support/discard.hpp"
#include "support/hashing.hpp"
#include "tokens/vocabulary.hpp"

namespace derivable {

class Names {
  public:
    Names(const Engine& engine, Lexemes& lexemes, Runs& runs, Borders& borders, MaskMaker& maker, const Vocabulary& vocabulary,
          Accelerators accelerators, AcceleratorUses& uses)
        : engine_(engine),
          lexemes_(lexemes),
          runs_(runs),
          borders_(borders),
          maker_(maker),
          vocabulary_(vocabulary),
          accelerators_(accelerators),
          uses_(uses),
          adjacency_(engine.stacks.lr()) {}

    // Adds those that go on with the name in progress, below some nodes of the vocabulary's trie (null: all of it).
    void add(const Parse& name, const EmbeddedText::Nodes& nodes, std::vector<uint32_t>& words);
    // Calls visit(name, nodes) for names that begin in some tokens, behind some nodes, as above; before them the parse is in none.
    //
    // SAFETY: a copy of what is known, for whoever is called may look for others.
    template <class Visit>
    void each_begun(const Parse& t, const EmbeddedText::Nodes& nodes, Visit visit) {
        for (const Borders::Crossing& c : std::vector<Borders::Crossing>(borders_.into(t, nodes))) {
            Parse begun = c.behind;
            begun.meaning = t.meaning;
            for (LineEnd end : c.line_ends) begun.meaning = engine_.slots.read_line_end(begun.meaning, end);
            begun.slot = engine_.slots.begin(begun.meaning, c.slot);
            if (begun.slot != Slots::kNone) visit(begun, c.nodes);
        }
    }
    // Where the name has ended: before the first byte of what follows, which is one of these.
    std::vector<Parse> behind(const Parse& name, const ByteSet& first = ByteSet::all());
    // Frees all that grows with the texts that are written.
    void give_back();

  private:
    static constexpr size_t kMostKnown = size_t(1) << 16;
    static void add_nodes(std::vector<uint32_t>& key, const EmbeddedText::Nodes& nodes);
    // Many of them as words of a mask: of an alias that begins there are 64,000 of llama-3.
    class Tokens {
      public:
        explicit Tokens(std::vector<uint32_t> listed = {}, size_t words = 0);
        static Tokens of_mask(std::vector<uint32_t> words);
        void add_to(std::vector<uint32_t>& words) const;

      private:
        std::vector<uint32_t> listed_, words_;  // one of them
    };
    // Places where names may end, and something follows in the vocabulary.
    struct End {
        LexState lex;
        Environment environment;
        Slots::Place slot;
        ByteSet first;                                       // of what follows
        std::shared_ptr<const std::vector<uint32_t>> nodes;  // ascending
        uint32_t number;                                     // of these, where the lexeme is so
        std::vector<uint32_t> without{};                     // of the nodes; ascending
    };
    // A text of the lexeme, below which it may have ended.
    struct Text {
        uint32_t node;
        LexState lex;
        Environment environment;
        std::string text;
        ByteSet first;  // of what may follow
    };
    struct Inside {
        EmbeddedText::Nodes nodes;  // SAFETY: it keeps what the key has the address of
        std::shared_ptr<const Tokens> tokens;
        std::vector<End> ends;
        bool is_of_columns = false;  // some lexeme may be a newline, too: it is of one environment
    };
    // The same of any text: those behind which the same may follow are taken together, but where one of them is written again in the same token.
    struct AnyText {
        struct Group {
            LexState lex;
            ByteSet first;
            std::vector<std::string> some;                 // of its texts, which none of its tokens writes again
            std::shared_ptr<std::vector<uint32_t>> nodes;  // ascending
            std::vector<Text> texts;                       // of these nodes
            uint32_t number;
        };
        EmbeddedText::Nodes nodes;
        std::shared_ptr<const Tokens> tokens;
        std::vector<Group> groups;
        std::vector<Text> alone;
    };
    struct Behind {
        Slots::Asked asked;
        Tokens tokens;
        std::vector<std::pair<uint32_t, uint32_t>> by_node;  // of several nodes: which of them, ascending, and the token
    };
    std::vector<std::vector<uint32_t>> apart(const std::vector<uint32_t>& nodes) const;
    void add_without(const Behind& behind, const std::vector<uint32_t>& without, std::vector<uint32_t>& words) const;
    // A text stands in some token behind a name that has ended.
    bool occurs(const End& end, const std::string& text);
    std::shared_ptr<const Inside> inside(const Parse& name, const EmbeddedText::Nodes& nodes);
    std::optional<Inside> inside_any(const Parse& name, const EmbeddedText::Nodes& nodes);
    // Null: its lexeme may be that of a newline, too.
    std::shared_ptr<const AnyText> any_text(const Parse& name, const EmbeddedText::Nodes& nodes);
    struct Walked {
        std::vector<uint32_t> tokens;  // that end in the name
        std::vector<Text> ends;
    };
    // Adds what lies below a node of the vocabulary, where the name is `text` further, at `at` of the names.
    void walk(uint32_t node, const Parse& name, NameSet& names, NameSet::Node at, std::string& text, Walked& to);
    // Likewise, whatever the names are: as it is known, or found anew.
    void walk_any(uint32_t node, const Parse& name, const std::string& text, Walked& to);
    void expand_any(uint32_t node, const Parse& name, const std::string& text, Walked& to);
    // visit(child) for the children of a node of the vocabulary whose byte is one of these.
    template <class Visit>
    void each_child(uint32_t node, const ByteSet& bytes, Visit visit);
    End end_of(const Parse& name, const Text& text, std::shared_ptr<const std::vector<uint32_t>> nodes);
    void add_behind(const End& end, const Parse& ended, std::vector<uint32_t>& words);
    // Behind a name that has ended: what goes on without another name, and with some. Nothing: that is not worth it, or too ambiguous.
    std::optional<Tokens> by_parts(const End& end, const std::vector<Parse>& parses);
    // The same, byte by byte. Adds to `by_node` what Behind has.
    Tokens by_bytes(const End& end, const std::vector<Parse>& parses, std::vector<std::pair<uint32_t, uint32_t>>& by_node);
    std::vector<uint32_t> followers(const Parse& name, uint32_t node);
    // One of the states of a lexeme behind which the same may follow.
    LexState alike(LexState lex, Symbol slot);
    // One of the states before a lexeme that are the same behind its first byte.
    LexState alike_at_start(LexState lex, Symbol slot);
    ByteSet bytes_of(const std::vector<uint32_t>& nodes) const;
    // Some token, read from this node on, writes the text; or it begins the text where it ends, so that the next one may write the rest.
    enum class Written { kWhole, kBegun };
    bool is_written_below(uint32_t node, const std::string& text, Written how) const;
    // Bytes with which what follows a slot may begin, and perhaps others.
    const ByteSet& next_bytes(Symbol slot);
    // Adds where texts lead from a node, in any case: some that have been read so far, ascending and in small letters. `next`: their next letters.
    void add_below(uint32_t node, const std::string* first, const std::string* last, const ByteSet& next, const std::string& read,
                   std::vector<Text>& found);
    // Rests of a name of any text that are not like all others, but for the empty one: in small letters, since nodes are looked for in any case and looked
    // at one by one. Null: it is not of any text.
    struct Unlike {
        std::vector<std::string> texts;  // ascending
        ByteSet first;                   // letters, in any case
    };
    std::shared_ptr<const Unlike> unlike_others(Slots::Place place);

    const Engine engine_;
    Lexemes& lexemes_;
    Runs& runs_;
    Borders& borders_;
    MaskMaker& maker_;
    const Vocabulary& vocabulary_;
    const Accelerators accelerators_;
    AcceleratorUses& uses_;
    Adjacency adjacency_;
    std::unordered_map<Symbol, ByteSet> next_bytes_;
    template <class Value>
    using Memo = std::unordered_map<std::vector<uint32_t>, Value, WordsHash>;
    Memo<std::shared_ptr<const Inside>> inside_;
    Memo<std::shared_ptr<const AnyText>> any_;
    std::unordered_map<Slots::Place, std::shared_ptr<const Unlike>> unlike_;
    Memo<std::shared_ptr<const Walked>> below_;                      // of any text, by node of the vocabulary and lexer state
    Memo<LexState> owing_;                                           // by what is owed behind it
    Memo<LexState> starting_;                                        // by where bytes lead
    std::unordered_map<uint64_t, LexState> alike_, alike_at_start_;  // by state and terminal
    Memo<std::vector<std::shared_ptr<const Behind>>> behind_;
    Memo<uint32_t> numbers_;  // of ends at one node, by it and what the lexeme is
    // PERF: all at once, they were half of a stall of 270 ms, once in 4,000 tokens of Python (llama-3).
    Discard discarded_;
    static constexpr size_t kDiscarded = 8;  // when something is added
    std::unordered_map<std::string, bool> occurs_;
    uint32_t num_ends_ = 0;
    std::vector<uint32_t> first_;  // by byte: the node of the vocabulary's trie that begins with it
    void forget() { discarded_.take(behind_), discarded_.take(inside_), discarded_.take(numbers_), discarded_.take(unlike_); }
    const Renumbering::Told nodes_{engine_.stacks.nodes(), [this] { forget(); }};  // and of names, which are collected with them
};

// PERF: of all that begins a token only one byte goes on with most names in progress. Where each of 256 was looked at, most first masks in a catalogue took 4.2 us, and now 1.7.
template <class Visit>
void Names::each_child(uint32_t node, const ByteSet& bytes, Visit visit) {
    const Trie& trie = vocabulary_.trie;
    if (node != Runs::kRoot) return trie.each_child(node, bytes, [&](uint32_t child, uint8_t) { visit(child); });
    if (first_.empty()) {
        first_.resize(256, Runs::kRoot);
        for (uint32_t child = 0; child < trie.size(); child = trie.end[child]) first_[trie.byte[child]] = child;
    }
    bytes.each([&](uint8_t byte) {
        if (first_[byte] != Runs::kRoot) visit(first_[byte]);
    });
}

}  // namespace derivable
