// Masks: known (level 4), or computed by a walk of the spanner tree, or, where that is too ambiguous, byte by byte.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "index/stack_trie.hpp"
#include "masks/borders.hpp"
#include "masks/mask_cache.hpp"
#include "masks/names.hpp"
#include "masks/repeated_items.hpp"
#include "sequence/runs.hpp"
#include "support/accelerators.hpp"

namespace derivable {

class Masks {
  public:
    // `serial`: the constraint's, for whoever monitors it (masks/slow_masks.hpp).
    Masks(const Engine& engine, Lexemes& lexemes, Runs& runs, const Vocabulary& vocabulary, uint64_t lookahead, uint64_t cache_bytes,
          uint64_t serial, Accelerators accelerators)
        : engine_(engine),
          lexemes_(lexemes),
          runs_(runs),
          vocabulary_(vocabulary),
          lookahead_(lookahead),
          cache_bytes_(cache_bytes),
          serial_(serial),
          accelerators_(accelerators),
          cache_(engine.stacks, engine.environments),
          borders_(engine, lexemes, runs, vocabulary),
          names_(engine, lexemes, runs, vocabulary),
          sorter_(vocabulary.words()) {}

    // Writes the mask of the parses (end-of-sequence tokens included) into vocabulary.words() words; nothing if it is refused.
    void fill(const Parses& parses, uint32_t* mask);
    // What names the mask that fill() would write, where that is one that is kept, unchanged; else -1. No other mask of the constraint ever has it.
    int64_t number(const Parses& parses);
    // Of a mask with names: visits the parses that are in none, whose rows are part of it, and names in progress or that begin in some tokens.
    //
    // SAFETY: behind a name that ends where the token begins another one may begin, and end there only if it has no bytes; lexemes have some.
    template <class Other, class Name>
    void each_with_names(const Parse& t, Other other, Name name) {
        if (t.slot != Slots::kNone) {
            name(t, EmbeddedText::Nodes());
            for (const Parse& behind : names_.behind(t)) each_with_names(behind, other, name);
            return;
        }
        other(t);
        for (const Borders::Crossing& c : borders_.of(t)) {
            Parse begun = c.behind;
            begun.meaning = t.meaning;
            for (LineEnd end : c.line_ends) begun.meaning = engine_.slots.read_line_end(begun.meaning, end);
            begun.slot = engine_.slots.begin(begun.meaning, c.slot);
            if (begun.slot != Slots::kNone) name(begun, c.nodes);
        }
    }
    Names& names() { return names_; }
    // The same without those that only end the text.
    void fill_without_end(const Parses& parses, uint32_t* mask);
    // The mask of one parse, whatever it has written; valid until the next call.
    const PackedMask& row(Parse t);
    // That, and what it may have to take out for what it has written.
    void learn(const Parse& t);
    // What masks of a parse are kept by under scannerless; none where its lexeme may be of many terminals, or of one with several symbols.
    MaskCache::Endings endings(const Parse& t);
    MaskCache& cache() { return cache_; }
    // Some token may come first.
    bool allows_some(const Parses& parses);

    // SAFETY: between operations. Masks, which are put together again from what walks have settled; and that, too: level 4, all of it.
    void forget_masks() { cache_.clear(); }
    void forget() {
        cache_.clear();
        stack_trie_ = {};
    }
    // What walks have settled, by the numbers that a spanner has written or read.
    void archive(Archive& a, Spanner::Numbers& numbers) {
        stack_trie_.archive(a, numbers, engine_.spanner, vocabulary_.size(), engine_.terminals.size());
    }
    void forget_partials() { partials_.clear(); }
    // Stack nodes are about to be freed.
    void forget_stacks() { lone_.clear(), bounded_.clear(), borders_.forget_stacks(), names_.forget_stacks(); }
    uint64_t part_bytes() const { return stack_trie_.bytes(); }  // of what masks are put together from
    // Calls visit(parse) for the parses whose masks are half made.
    template <class Visit>
    void each_partial(Visit visit) const {
        for (const Partial& p : partials_) {
            visit(p.parse);
            for (const Runs::Layers& layers : p.place.path)
                for (const Parses& parses : layers)
                    for (const Parse& t : parses) visit(t);
        }
    }

    struct Counters {
        uint64_t masks = 0, walked = 0;             // masks asked for, nodes of spanner trees
        uint64_t miss_ns = 0, longest_miss_ns = 0;  // of wall-clock time, in computing masks
        AcceleratorUses uses{};                     // those of masks
        uint64_t hits() const {
            return uses[size_t(Accelerator::kKnownMasks)] + uses[size_t(Accelerator::kEndings)];
        }  // masks that were known
    };
    Counters counters;

  private:
    // A mask that is computed byte by byte and was refused: how far that has got.
    struct Partial {
        Parse parse;
        Runs::Place place;
        std::vector<uint32_t> words;
    };
    struct Lone {
        Parse parse;
        PackedMask mask;
    };
    // Masks that are being computed, by operations that are under way side by side.
    class UnderWay {
      public:
        UnderWay(Masks& masks, const Parse& t) : masks_(masks), parse_(t) { masks_.under_way_.push_back(&parse_); }
        ~UnderWay() {
            auto& all = masks_.under_way_;
            all.erase(std::remove(all.begin(), all.end(), &parse_), all.end());
        }
        UnderWay(const UnderWay&) = delete;
        UnderWay& operator=(const UnderWay&) = delete;

      private:
        Masks& masks_;
        const Parse& parse_;
    };
    // Tokens of a mask that the parse may not have for what it has written. `is_kept`: the mask stands in the cache.
    std::vector<uint32_t> repeated_by(const Parse& t, const PackedMask& mask, bool is_kept);
    bool is_lone(const PackedMask& mask) const;
    bool is_under_way(const Parse& t) const;
    uint64_t alternatives_of(const Parse& t) const;
    // A mask, and what it depends on, told of the stacks of `endings`, if there are any.
    struct Computed {
        std::vector<uint32_t> words;       // of the mask,
        std::optional<PackedMask> packed;  // or it is put together already,
        int32_t row = -1;                  // or known
        std::vector<uint32_t> parts;       // that it is made of, if these say which mask it is
        Reach reach;
    };
    Computed compute(const Parse& t, const MaskCache::Endings& endings);
    // ... the tokens of text in it, or all of it.
    Computed compute_text(const Parse& t, const MaskCache::Endings& endings);
    void allow_end(std::vector<uint32_t>& words) const;
    // The mask where some lexeme in progress has few tokens left: byte by byte.
    const PackedMask& within_bounds(const Parses& parses);
    // Takes the mask of one that is not known.
    static PackedMask packed(Computed& made);
    // Null: it cannot be kept. Then its `packed` is there.
    const PackedMask* keep(const Parse& t, const MaskCache::Endings& endings, Computed& made);
    Answer<bool> may_end(const Parse& t, const MaskCache::Endings& endings);
    // By a walk of the spanner tree; nothing where that takes more work than `allowed`, refused if that is all that is left.
    std::optional<Computed> walk(const Parse& t, const MaskCache::Endings& endings, uint64_t allowed);
    Computed walk_members(const Parse& t, const MaskCache::Endings& endings);
    std::optional<Computed> compute_by_bytes(const Parse& t, uint64_t allowed);  // likewise
    const PackedMask* find(const Parse& t);
    void make_room();
    std::deque<Partial>::iterator find_partial(const Parse& t);
    void keep_partial(Partial p);
    // Where there are inner languages: all of a mask.
    void fill_across(const Parses& parses, uint32_t* mask);
    void add_across(const Parse& t, std::vector<uint32_t>& words);
    // Where there are slots: likewise.
    void fill_with_names(const Parses& parses, uint32_t* mask);
    void add_with_names(const Parse& t, std::vector<uint32_t>& words);
    // The bits of the tokens that may be taken as terminals.
    Reach fill_references(const Parse& t, std::vector<uint32_t>& words);
    // A mask was computed since then: for whoever monitors it.
    void note_miss(const Parse& t, std::chrono::steady_clock::time_point begin, uint64_t walked, int hops);

    const Engine engine_;
    Lexemes& lexemes_;
    Runs& runs_;
    const Vocabulary& vocabulary_;
    const uint64_t lookahead_, cache_bytes_, serial_;
    const Accelerators accelerators_;
    const bool scannerless_ = engine_.spanner.lexer.policy() == Policy::kScannerless;
    MaskCache cache_;
    StackTrie stack_trie_;  // under longest and basic
    Borders borders_;       // where there are inner languages
    Names names_;           // where there are slots
    TokenSet::Sorter sorter_;
    std::deque<Partial> partials_;
    std::deque<Lone> lone_;  // the last masks that are not for the cache, for those who ask for the same
    struct Bounded {
        Parses parses;
        PackedMask mask;
    };
    std::deque<Bounded> bounded_;  // the last ones within_bounds()
    std::vector<const Parse*> under_way_;
    std::unordered_map<LexState, uint32_t> long_walks_;  // that were broken off
};

}  // namespace derivable
