// A grammar compiled for a vocabulary: the four levels of the index, and the operations of a matcher on top of them.
//
// A matcher's configuration is a set of threads, each a lexer state and a frontier of parser stacks. The mask of a thread is
//
//   level 4   looked up by lexer state and as much of the stack as the answer depends on; on a miss
//   levels 1-2 unfolded: the spanner tree is walked with the parser, and the token sets of viable nodes are united.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "index/stack_trie.hpp"
#include "json/tallies.hpp"
#include "liveness/liveness.hpp"
#include "matching/history.hpp"
#include "matching/index_view.hpp"
#include "matching/operation.hpp"
#include "support/arena.hpp"
#include "support/byte_set.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

struct TerminalSpec {
    std::shared_ptr<const Dfa> dfa;  // without the empty string; no text at all if the terminal is a token reference; null: `strings`
    std::shared_ptr<const JsonStrings> strings;
    uint32_t rank;  // lower wins between lexemes of equal length
    bool ignored;
};

// A terminal that is one token by its id, whatever its text (or, negated, any one token of text but these). It has no bytes, so it
// begins and ends where tokens do: the text before it is cut as if it ended there, the text after it as if it began there.
struct TokenReference {
    Symbol symbol;
    std::vector<uint32_t> tokens;
    bool negated;
    bool matches(uint32_t t, const std::string& bytes) const {
        bool named = std::find(tokens.begin(), tokens.end(), t) != tokens.end();
        return negated ? !named && !bytes.empty() : named;
    }
};

constexpr uint64_t kNoLookahead = ~0ULL;

struct ConstraintLimits {
    uint64_t max_parses, cache_bytes, max_liveness_steps;
    uint64_t lookahead = kNoLookahead;  // lexemes that may end inside a token (DOMINO's k)
    uint64_t max_step_work = Task::kUnbounded;
};

struct Stats {
    uint64_t masks = 0, mask_hits = 0, walk_nodes = 0;
    uint64_t miss_ns = 0, longest_miss_ns = 0;  // of wall-clock time, in computing masks
    uint64_t rows = 0, lr_states = 0, stack_nodes = 0, spanner_bytes = 0, row_bytes = 0, run_bytes = 0, work = 0;
    bool separable = false;
};

class Matcher;
class Explorer;

class Constraint {
  public:
    // Terminal i of `terminals` is grammar symbol i + 1. `spanner`: under scannerless the vocabulary's, shared.
    Constraint(std::shared_ptr<const Vocabulary> vocabulary, std::shared_ptr<Spanner> spanner, std::vector<TerminalSpec> terminals,
               std::vector<TokenReference> references, IndentationSpec indentation, const std::vector<Symbol>& distinct, TallySpec tallies,
               Productions productions, ConstraintLimits limits);

    const Vocabulary& vocabulary() const { return *vocabulary_; }
    const Threads& initial() const { return initial_; }

    // One byte further; an empty result means the byte is not allowed.
    void step(const Threads& from, uint8_t byte, Threads& to);
    // As step(), but where keys may come in any order and one is listed (TallySpec::ordered), they come in that.
    void step_in_order(const Threads& from, uint8_t byte, Threads& to);
    Threads in_order(const Threads& threads);
    // All bytes of a text; false, and no threads, if some byte is not allowed. `to` is empty before.
    bool advance(const Threads& from, std::string_view bytes, Threads& to);
    // As advance(), for the bytes of one token, which may be limited by `lookahead`.
    bool advance_token(const Threads& from, std::string_view bytes, Threads& to);
    bool accepting(const Threads& threads);
    // One token further, taken as a terminal (a TokenReference); adds to `to`.
    void step_token(const Threads& from, uint32_t token, Threads& to);
    // Some token may be taken as a terminal here.
    bool names_token(const Threads& threads);
    // Some token of text may come first.
    bool can_begin();
    // Writes the mask of the threads (end-of-sequence tokens included) into vocabulary().words() words; nothing if it is refused.
    void fill(const Threads& threads, uint32_t* mask);
    // Bytes that may follow, as 256 bits.
    std::array<uint64_t, 4> next_bytes(const Threads& threads);

    struct Explanation {
        std::vector<std::pair<uint32_t, uint32_t>> lexeme;  // (terminal symbol, automaton state) in progress
        std::vector<uint32_t> accepts;                      // terminal symbols that may follow, behind it if it may end; kEnd for the end
    };
    std::vector<Explanation> explain(const Threads& threads);
    // What the places of threads are told apart by, in every process alike (constraint_context.cpp): lexer states, and the uppermost `hops` + 1 LR states.
    uint64_t context(const Threads& of, int64_t hops);
    Stats locked_stats();
    const uint64_t serial = next_serial_++;  // in this process
    // For people (matching/index_view.cpp): what is known, and the spanner trees of threads, `most` nodes of them.
    IndexView view();
    std::vector<SpanView> unfold(const Threads& threads, uint64_t most);
    const std::vector<Symbol>& unproductive() { return lr_.productions().unproductive(); }

    // SAFETY: guards everything but vocabulary_; taken around each operation (Operation).
    FairLock lock;
    Operation* operation = nullptr;  // the one under way
    // An operation lets others have the constraint, and goes on. Nothing that it may refer to is freed meanwhile, and what it noted is its own.
    Noted suspend() {
        suspended_++;
        return {looked_at_environment_, tally_depth_, std::exchange(forcing_, false)};
    }
    void resume(Noted noted) {
        suspended_--;
        looked_at_environment_ = noted.looked_at_environment;
        tally_depth_ = noted.tally_depth;
        forcing_ = noted.forcing;
    }
    // There is much to be freed, between operations.
    bool is_full() const { return stacks.wants_collection() || tallies_.wants_collection() || uses_too_much(); }
    std::atomic<int64_t> run_bytes{0};  // allocated by operations and not freed
    uint64_t allowed_bytes() const { return limits_.cache_bytes + kWorkspace; }
    uint64_t max_step_work() const { return limits_.max_step_work; }
    Spanner& spanner() { return *spanner_; }

  private:
    static inline std::atomic<uint64_t> next_serial_{1};
    LrAutomaton lr_;

  public:
    Stacks stacks;
    Places places;
    Moments moments;
    // Between operations. Frees stack nodes if there are many; and all that can be made again, if there is too much of it.
    void collect_if_needed();
    void give_back();

  private:
    friend class Matcher;
    friend class SpanWalk;
    friend class Explorer;
    static constexpr uint64_t kWorkspace = 64u << 20;  // bytes beside the cache, for what is under way
    // The lexer, to be used now.
    Lexer& lexer() {
        operation->take();
        return spanner_->lexer;
    }
    void pass() {
        if (operation->is_wanted()) operation->pass();
    }
    std::vector<std::pair<Symbol, uint32_t>> named_lexeme(LexState lex);
    const std::vector<uint32_t>& row(Thread t);
    // Level 4: the mask of a thread if it is known, by so many hops and what was looked at of its environment; and making it known (null: it cannot be).
    struct RowKey {
        uint32_t hops = 0;
        uint8_t looked_at_environment = 0;
    };
    const std::vector<uint32_t>* find_row(const Thread& t, RowKey* key = nullptr);
    const std::vector<uint32_t>* keep_row(const Thread& t, RowKey key, const std::vector<uint32_t>& words);
    // A mask was computed since then: for whoever monitors it.
    void note_miss(Thread t, std::chrono::steady_clock::time_point begin, uint64_t nodes, int hops);
    int compute(Thread t, std::vector<uint32_t>& words);  // returns the hops that the answer depends on
    // Calls visit(token) for every token of text that the threads allow, until it says no; from node `next` of the trie on, which is moved on.
    template <typename Visit>
    void each_token(const Threads& threads, uint32_t& next, Visit&& visit);
    // A mask that is computed byte by byte, as far as it has got.
    struct Partial {
        Thread thread;
        uint32_t next = 0;  // node of the vocabulary's trie
        std::vector<uint32_t> words;
    };
    Partial* find_partial(const Thread& t);
    void compute_by_bytes(Thread t, std::vector<uint32_t>& words);
    bool thread_accepts(Thread t, int* hops);
    // Calls `at(stack, accept set, above)` for every stack on which the text may stop here and owe nothing, until it returns true.
    template <class At>
    bool stops(Thread t, int& looked, At at);
    // What a lexeme does to parser and environment. `stack` is kNoFrontier if it is not allowed here.
    struct After {
        Frontier stack;
        Environment environment;
        int hops, above;  // as Stacks::Shifted
    };
    After after_lexeme(Symbol symbol, Frontier f, Environment environment, bool at_end = false);
    After after_newline(Frontier f, Environment environment, bool at_end);
    bool ends(Frontier f, Environment environment, int above, int& looked);
    bool alive_in_newline(LexState lex, Frontier f, Environment environment, int* hops);
    bool newline_goes_on();
    // What may become of a lexeme that may be a newline, whatever the stack: how it may end, and the states in which it is none any more.
    struct Rest {
        std::vector<Lexer::Exit> exits;
        std::vector<LexState> others;
    };
    const Rest& rest_of_newline(LexState lex);
    const std::vector<uint8_t>& bytes_in_newlines();
    uint64_t environment_key(const Thread& t, uint8_t looked) const;
    void add_thread(Threads& to, Thread t);
    ByteSet likely_bytes(const Threads& threads);
    // Arrays of distinct items (matching/unique_items.cpp).
    bool opens_distinct(Symbol symbol) const { return symbol < distinct_.size() && distinct_[symbol]; }
    bool can_be_distinct(const Thread& t);
    void take_repeated(const Thread& t, uint32_t* words);
    // Threads by how many lexemes have ended inside the token so far.
    using Layers = std::vector<Threads>;
    // Adds to `stays` the threads whose lexeme goes on, to `leaves` (if any) those that begin one with the byte.
    void step_into(const Threads& from, uint8_t byte, Threads& stays, Threads* leaves);
    bool step_layers(const Layers& from, uint8_t byte, bool first, Layers& to);
    bool step_path(std::vector<Layers>& path, size_t depth, uint8_t byte);
    LexState between_lexemes(Frontier stack, Environment environment = kNoEnvironment);
    int fill_references(Thread t, std::vector<uint32_t>& words);
    // The state before a lexeme of what a stack accepts and the tally allows.
    LexState lexeme_start(uint32_t accept_set, uint32_t obligations, Environment environment) {
        return tallies_.active() && asks_tally(accept_set) ? start_by_tally(accept_set, environment)
                                                           : lexeme_start(accept_set, obligations);
    }
    LexState lexeme_start(uint32_t accept_set, uint32_t obligations);
    // Tallies (matching/counted_members.cpp).
    bool asks_tally(uint32_t accept_set);
    LexState start_by_tally(uint32_t accept_set, Environment tally);
    After after_counted(Symbol symbol, Frontier f, Environment tally);
    void look_at_tally(Environment tally) {
        if (tallies_.depth(tally) <= tally_depth_) looked_at_environment_ |= tallies_.depth(tally) == tally_depth_ ? kTopTally : kTallies;
    }
    uint64_t tally_key(Environment tally, uint8_t looked) const;
    struct Symbols {
        const Symbol *first = nullptr, *last = nullptr;
        const Symbol* begin() const { return first; }
        const Symbol* end() const { return last; }
    };
    // The terminal symbols of a lexer terminal (none if it is another grammar's).
    Symbols symbols_of(uint32_t lexer_terminal) const {
        const auto* range = ranges_.find(lexer_terminal);
        return range ? Symbols{&by_lexer_[range->first], &by_lexer_[range->first] + range->second} : Symbols{};
    }
    bool alive(Frontier stack, Environment environment, const Split::Inside& group, int* hops);
    bool alive(Thread t) {
        if (scannerless_) return true;
        return spanner_->may_be_newline(t.lex) && !spanner_->lexer.is_fresh(t.lex)
                   ? alive_in_newline(t.lex, t.stack, t.environment, nullptr)
                   : liveness_.alive(t.lex, t.stack, indentations_[t.environment].depth);
    }
    // Answers that look further down the stack than this are not worth a key; the stack nodes remember what they found anyway.
    static constexpr int kMaxKeyHops = 32;
    void drop_rows();
    void collect();
    bool uses_too_much() const {
        const auto used = uint64_t(std::max<int64_t>(0, run_bytes.load(std::memory_order_relaxed)));
        return used > limits_.cache_bytes + kWorkspace / 2 && used > 2 * left_after_giving_back_;
    }
    uint64_t left_after_giving_back_ = 0;
    static constexpr size_t kManyTerminals = 32;
    void warm();

    std::shared_ptr<const Vocabulary> vocabulary_;
    std::shared_ptr<Spanner> spanner_;
    std::vector<uint32_t> to_lexer_;  // terminal symbol -> lexer terminal
    std::vector<Symbol> by_lexer_;    // terminal symbols in the order of their lexer terminals
    // Begin and length in by_lexer_. PERF: not a table by lexer terminal, of which many schemas together have tens of thousands.
    FlatMap<std::pair<uint32_t, uint32_t>> ranges_;
    std::vector<char> ignored_;   // by terminal symbol
    std::vector<char> distinct_;  // by terminal symbol: it opens an array of distinct items; empty if none does
    bool searching_ = false;      // in can_be_distinct()
    std::unordered_map<uint64_t, bool, MixHash> can_be_distinct_;  // by lexer state, frontier, writing
    std::vector<uint32_t> ignored_lexer_;
    std::vector<TokenReference> references_;
    Indentations indentations_;
    // What answers looked at of a environment, while a mask is computed.
    static constexpr uint8_t kDepth = 1, kLevels = 2, kTopTally = 4, kTallies = 8;
    uint8_t looked_at_environment_ = 0;
    uint32_t tally_depth_ = 0;  // of the thread
    Tallies tallies_;
    bool forcing_ = false;               // where the order of keys is free, it is the listed one
    std::vector<char> asks_tally_;       // by accept set: 1 no, 2 yes
    FlatMap<LexState> starts_by_tally_;  // by set of keys, whether forcing, and accept set; and one
    uint32_t suspended_ = 0;             // operations
    struct NewlineAnswer {
        bool alive;
        uint8_t looked_at_environment;
        int hops;
    };
    FlatMap<uint32_t> newline_questions_;  // by lexer state and environment: consecutive numbers from 1 on
    uint32_t num_newline_questions_ = 0;
    FlatMap<NewlineAnswer> newline_alive_;  // by one of those and the frontier
    std::unordered_map<LexState, Rest> rests_;
    uint32_t num_collections_ = 0;
    std::vector<uint8_t> bytes_in_newlines_;
    ConstraintLimits limits_;
    Liveness liveness_;
    Threads initial_;
    const bool scannerless_;
    std::deque<Partial> partials_;
    std::vector<std::vector<LexState>> starts_;  // by past and accept set: members; kUnknownStart if not asked for yet

    // Level 4: a trie keyed by lexer state, then the words of Stacks::signature.
    struct PrefixNode {
        int32_t row = -1;
        uint32_t first = kNoNode;  // nearly all have one child, most often the next node in memory
        uint64_t first_word = 0;
        uint8_t looked_at_tally = 0;  // by rows below, which are kept by it
        std::unique_ptr<std::unordered_map<uint64_t, uint32_t, MixHash>> others;
        static constexpr uint32_t kNoNode = ~0u;
        uint32_t child(uint64_t word) const {
            if (first == kNoNode || first_word == word) return first;
            if (!others) return kNoNode;
            auto it = others->find(word);
            return it == others->end() ? kNoNode : it->second;
        }
        void add_child(uint64_t word, uint32_t node) {
            if (first == kNoNode) {
                first = node, first_word = word;
            } else {
                if (!others) others = std::make_unique<std::unordered_map<uint64_t, uint32_t, MixHash>>();
                others->emplace(word, node);
            }
        }
    };
    struct PrefixRoot {
        uint32_t node, hops;                // longest key so far
        uint8_t looked_at_environment = 0;  // by some answer
    };
    std::unordered_map<LexState, PrefixRoot> prefix_roots_;
    Pages<PrefixNode> prefixes_;
    uint32_t num_prefixes_ = 0;
    std::unordered_map<std::vector<uint32_t>, uint32_t, WordsHash> row_ids_;
    std::vector<const std::vector<uint32_t>*> rows_;
    StackTrie stack_trie_;  // under longest and basic
    std::vector<uint32_t> scratch_;
    std::vector<uint64_t> signature_;
    Stats stats_;
};

}  // namespace derivable
