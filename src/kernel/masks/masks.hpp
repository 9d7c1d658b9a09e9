// Masks of a matcher's parses: known (level 4), or made (MaskMaker), with what inner languages, names and distinct items add and take out.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "masks/borders.hpp"
#include "masks/mask_cache.hpp"
#include "masks/mask_maker.hpp"
#include "masks/names.hpp"
#include "masks/repeated_items.hpp"
#include "sequence/runs.hpp"

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
          maker_(engine, lexemes, runs, vocabulary, lookahead, accelerators, cache_.by_parts(), counters),
          borders_(engine, lexemes, runs, vocabulary),
          names_(engine, lexemes, runs, borders_, maker_, vocabulary, accelerators, counters.uses) {}

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
        names_.each_begun(t, nullptr, name);
    }
    Names& names() { return names_; }
    // The same without those that only end the text.
    void fill_without_end(const Parses& parses, uint32_t* mask);
    // The mask of one parse, whatever it has written; valid until the next call.
    const PackedMask& row(Parse t);
    // That, and what it may have to take out for what it has written.
    void learn(const Parse& t);
    MaskMaker& maker() { return maker_; }
    MaskCache& cache() { return cache_; }
    // Some token may come first.
    bool allows_some(const Parses& parses);

    // SAFETY: between operations. Masks, which are put together again from what walks have settled; and that, too: level 4, all of it.
    void forget_masks() { cache_.clear(); }
    void forget() { cache_.clear(), maker_.forget(); }
    // And what is known of places of walks, borders and names.
    void give_back() { forget(), maker_.forget_partials(), borders_.give_back(), names_.give_back(); }
    MaskCounters counters;

  private:
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
    // The mask where some lexeme in progress has few tokens left: byte by byte.
    const PackedMask& within_bounds(const Parses& parses);
    // Takes the mask of one that is not known.
    static PackedMask packed(MaskMaker::Made& made);
    // Null: it cannot be kept. Then its `packed` is there.
    const PackedMask* keep(const Parse& t, const MaskCache::Endings& endings, MaskMaker::Made& made);
    const PackedMask* find(const Parse& t);
    void make_room();
    // Where there are inner languages: all of a mask.
    void fill_across(const Parses& parses, uint32_t* mask);
    void add_across(const Parse& t, std::vector<uint32_t>& words);
    // Where there are slots: likewise.
    void fill_with_names(const Parses& parses, uint32_t* mask);
    void add_with_names(const Parse& t, std::vector<uint32_t>& words);
    // A mask was computed since then: for whoever monitors it.
    void note_miss(const Parse& t, std::chrono::steady_clock::time_point begin, uint64_t walked, int hops);

    const Engine engine_;
    Lexemes& lexemes_;
    Runs& runs_;
    const Vocabulary& vocabulary_;
    const uint64_t lookahead_, cache_bytes_, serial_;
    const Accelerators accelerators_;
    MaskCache cache_;
    MaskMaker maker_;
    Borders borders_;        // where there are inner languages
    Names names_;            // where there are slots
    std::deque<Lone> lone_;  // the last masks that are not for the cache, for those who ask for the same
    struct Bounded {
        Parses parses;
        PackedMask mask;
    };
    std::deque<Bounded> bounded_;  // the last ones within_bounds()
    std::vector<const Parse*> under_way_;
    const Renumbering::Told nodes_{engine_.stacks.nodes(), [this] { lone_.clear(), bounded_.clear(); }};
    const Renumbering::Told tallies_{engine_.environments.tallies.numbers(), [this] { forget(); }};
};

}  // namespace derivable
