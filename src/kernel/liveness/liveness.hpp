// Dead ends. Under longest match a stack that the parser likes may still have no future: after `NAME` in `NAME NAME ";"` every
// letter makes the first name longer, so nothing can ever start the second. (Park et al. assume this away in Lemma C.7.)
//
// A boundary and a stack are decided by the first of these that can:
//
//   1  alive  the stack can be completed with terminals that lexing is sure to deliver from here (`Spelling`, `SafeRegions`, `Completion`);
//   2  dead   it cannot even be completed with those that lexing may deliver;
//   3  both   a search of what can really come next, from lexeme to lexeme, up to a bound: 1 and 2 decide its leaves;
//   4  both   `Summaries`, exact under `basic`, and under `longest` where no parse is ever undecided.
//
// In grammars with blanks 1 decides nearly everything, and once for all stacks: `always_alive`. What is left over is refused: whether a
// stack has a future under `longest`, where which terminals compete depends on several undecided parses, is not decidable in general (the
// future of one parse may hang on the complement of another, and inclusion of context-free languages is undecidable).
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "lexing/indentation.hpp"
#include "liveness/completion.hpp"
#include "liveness/safe_regions.hpp"
#include "liveness/summaries.hpp"
#include "support/bits.hpp"
#include "support/hashing.hpp"

namespace derivable {

class Liveness {
  public:
    Liveness(Lexer& lexer, Stacks& stacks, const std::vector<TerminalId>& to_lexer, const std::vector<char>& ignored, uint64_t max_steps)
        : lexer_(lexer),
          stacks_(stacks),
          adjacency_(stacks.lr()),
          spelling_(lexer, adjacency_, stacks.lr().productions(), to_lexer, ignored),
          summaries_(lexer, stacks, spelling_, max_steps),
          max_steps_(max_steps) {}

    // A lexeme in progress (state `s`) can be completed to a member of the language, whatever the stack (it was begun on). Under basic:
    // as soon as the stack accepts one of the terminals that it may become.
    bool always_alive(LexState s);
    // Works out what does not depend on where a text stands.
    void prepare() {
        spelling_.allow(max_steps_);
        spelling_.spellable();
        safe_regions();
    }
    // Some text completes a lexeme in progress on these stacks to a member of the language. `depth`: of brackets that are open there.
    Answer<bool> alive(LexState s, Frontier f, uint32_t depth);
    // The same between two lexemes, under these obligations.
    Answer<bool> alive_after(Obligations obligations, Frontier f, uint32_t depth);
    // As Spelling::reaches_main().
    bool reaches_main(Obligations obligations) { return spelling_.reaches_main(obligations); }
    // As Spelling::archive(), with the states whose lexemes can always be completed.
    void archive(Archive& a);
    void set_indentation(const IndentationSpec& indentation);
    // As Spelling::set_alike(). Before all else.
    void set_alike(const std::vector<Symbol>& others) { spelling_.set_alike(others); }

  private:
    // `max_steps` counts bytes that lexing is tried on, per question; looking behind a boundary counts as so many.
    static constexpr uint64_t kStepsPerLook = 100;

    enum class Verdict : uint8_t { kDead, kAlive, kUnknown };
    using Landing = Spelling::Landing;

    // `where`: a text may have been in before it.
    bool always_alive_after(const Landing& l, Regions::Set where);
    // `inside`: brackets are open on the stack.
    Answer<bool> may_end_behind(const Landing& l, Frontier f);
    Answer<Verdict> judge(Obligations obligations, Frontier f, bool inside);
    enum class Order : uint8_t { kNearestFirst, kLowestFirst };
    // What can follow, behind `patience` boundaries, and in the work of as many.
    Answer<Verdict> search(Obligations obligations, Frontier f, uint32_t depth, uint64_t patience, Order order);
    Answer<Verdict> look_behind_boundaries(Obligations obligations, Frontier f, uint32_t depth, uint64_t patience, Order order);
    Answer<bool> ends_at_once(Obligations obligations, Frontier f, uint32_t depth);
    Answer<bool> decide(Obligations obligations, Frontier f, uint32_t depth);
    Answer<bool> find_alive(LexState s, Frontier f, uint32_t depth);
    Completion& completion(const Bits& terminals);
    const Dots& dots();
    // Where a recurrent boundary does not do for all stacks, and there are regions in which other terminals can come; else null.
    SafeRegions* safe_regions();
    std::unique_ptr<const Regions> find_regions();
    // Where the text may be in which a lexeme in progress was begun; where it is, by the state on top of a stack.
    Regions::Set regions_of(LexState s);
    Regions::Set regions_of(LrState state);
    Answer<bool> is_safe(Obligations obligations, Frontier f);

    Lexer& lexer_;
    Stacks& stacks_;
    Adjacency adjacency_;
    Spelling spelling_;
    Summaries summaries_;
    uint64_t max_steps_;
    Symbol newline_ = kEnd;
    std::vector<char> opens_, closes_;  // by symbol: brackets that all it derives opens or closes; empty without a indentation

    std::unordered_map<LexState, bool> always_alive_;
    std::unique_ptr<SafeRegions> safe_regions_;
    bool looked_for_regions_ = false;
    uint32_t regions_attempts_ = 0;
    IdVector<LrState, Regions::Set> regions_of_;  // 0 if not asked for yet
    std::unique_ptr<const Dots> dots_;            // once there is a completion
    std::vector<std::unique_ptr<Completion>> completions_;
    // A production closes the brackets that it opens, so the stacks say how many are open: the depth is no part of the keys.
    // PERF: one array each, because they are thrown away with the stacks: entry by entry that was a stall
    // of 4 ms after 20,000 situations of Python, and is 2 ms.
    FlatMap<Answer<bool>> alive_;    // by (lexer state, frontier)
    FlatMap<Answer<bool>> decided_;  // by (obligations, frontier)
    const Renumbering::Told nodes_{stacks_.nodes(), [this] { alive_ = {}, decided_ = {}; }};
    const Renumbering::Told states_{stacks_.states(), [this] { regions_of_ = {}; }};
};

}  // namespace derivable
