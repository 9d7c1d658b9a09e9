// The mask of a parse, made anew: by a walk of the spanner tree, or, where that is too ambiguous, byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "index/stack_trie.hpp"
#include "masks/mask_cache.hpp"
#include "masks/span_walk.hpp"
#include "sequence/runs.hpp"
#include "support/accelerators.hpp"

namespace derivable {

struct MaskCounters {
    uint64_t masks = 0, walked = 0;             // masks asked for, nodes of spanner trees
    uint64_t miss_ns = 0, longest_miss_ns = 0;  // of wall-clock time, in computing masks
    AcceleratorUses uses{};                     // those of masks
    uint64_t hits() const { return uses[size_t(Accelerator::kKnownMasks)] + uses[size_t(Accelerator::kEndings)]; }  // masks that were known
};

class MaskMaker {
  public:
    // `by_parts`: numbers of masks by what they are made of, of who keeps them.
    MaskMaker(const Engine& engine, Lexemes& lexemes, Runs& runs, const Vocabulary& vocabulary, uint64_t lookahead,
              Accelerators accelerators, ByParts& by_parts, MaskCounters& counters)
        : engine_(engine),
          lexemes_(lexemes),
          runs_(runs),
          vocabulary_(vocabulary),
          lookahead_(lookahead),
          accelerators_(accelerators),
          by_parts_(by_parts),
          counters_(counters),
          sorter_(vocabulary.words()) {}

    // What masks of a parse are kept by under scannerless; none where its lexeme may be of many terminals, or of one with several symbols.
    MaskCache::Endings endings(const Parse& t);
    // A mask, and what it depends on, told of the stacks of `endings`, if there are any.
    struct Made {
        std::vector<uint32_t> words;       // of the mask,
        std::optional<PackedMask> packed;  // or it is put together already,
        int32_t row = -1;                  // or known
        std::vector<uint32_t> parts;       // that it is made of, if these say which mask it is
        Reach reach;
    };
    Made make(const Parse& t, const MaskCache::Endings& endings);
    // Under longest and basic, adds the tokens that go on so behind some beginnings of tokens. False: there are too many ways (TooAmbiguous).
    bool add_behind(const Parse& t, const std::vector<uint32_t>& nodes, std::vector<uint32_t>& words);
    // The bits of the tokens that may be taken as terminals, and of those that end a text.
    Reach fill_references(const Parse& t, std::vector<uint32_t>& words);
    void allow_end(std::vector<uint32_t>& words) const;

    // SAFETY: between operations. What walks have settled, of which masks are put together: level 3.
    void forget() { stack_trie_ = {}; }
    void forget_partials() { partials_.clear(); }
    // By the numbers that a spanner has written or read.
    void archive(Archive& a, Spanner::Numbers& numbers) {
        stack_trie_.archive(a, numbers, engine_.spanner, vocabulary_.size(), engine_.terminals.size());
    }
    uint64_t bytes() const { return stack_trie_.bytes(); }
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

  private:
    // A mask that is made byte by byte and was refused: how far that has got.
    struct Partial {
        Parse parse;
        Runs::Place place;
        std::vector<uint32_t> words;
    };
    Made make_text(const Parse& t, const MaskCache::Endings& endings);  // the tokens of text in it, or all of it
    Answer<bool> may_end(const Parse& t, const MaskCache::Endings& endings);
    // By a walk of the spanner tree; nothing where that takes more work than `allowed`, refused if that is all that is left.
    std::optional<Made> walk(const Parse& t, const MaskCache::Endings& endings, uint64_t allowed);
    Made walk_members(const Parse& t, const MaskCache::Endings& endings);
    std::optional<Made> by_bytes(const Parse& t, uint64_t allowed);  // likewise
    SpanWalk::Parts parts() {
        return {engine_.access, engine_.spanner,  engine_.stacks, engine_.terminals, engine_.environments, lexemes_,
                stack_trie_,    counters_.walked, lookahead_,     accelerators_,     counters_.uses};
    }
    uint64_t alternatives_of(const Parse& t) const;
    std::deque<Partial>::iterator find_partial(const Parse& t);
    void keep_partial(Partial p);

    const Engine engine_;
    Lexemes& lexemes_;
    Runs& runs_;
    const Vocabulary& vocabulary_;
    const uint64_t lookahead_;
    const Accelerators accelerators_;
    ByParts& by_parts_;
    MaskCounters& counters_;
    const bool scannerless_ = engine_.spanner.lexer.policy() == Policy::kScannerless;
    StackTrie stack_trie_;  // under longest and basic
    TokenSet::Sorter sorter_;
    std::deque<Partial> partials_;
    std::unordered_map<LexState, uint32_t> long_walks_;  // that were broken off
};

}  // namespace derivable
