#include "matching/constraint.hpp"

#include <algorithm>

#include "support/errors.hpp"

namespace derivable {

namespace {
constexpr LexState kUnknownStart = ~0u - 2;
}  // namespace

Constraint::Constraint(std::shared_ptr<const Vocabulary> vocabulary, std::shared_ptr<Spanner> spanner, std::vector<TerminalSpec> terminals,
                       std::vector<TokenReference> references, IndentationSpec indentation, const std::vector<Symbol>& distinct,
                       TallySpec tallies, Productions productions, ConstraintLimits limits)
    : lr_(std::move(productions)),
      stacks(lr_),
      vocabulary_(std::move(vocabulary)),
      spanner_(std::move(spanner)),
      references_(std::move(references)),
      indentations_(std::move(indentation)),
      tallies_(std::move(tallies)),
      limits_(limits),
      liveness_(spanner_->lexer, stacks, to_lexer_, ignored_, limits.max_liveness_steps),
      scannerless_(spanner_->lexer.policy() == Policy::kScannerless) {
    Operation all(*this, Task::kUnbounded);
    Lexer& lexer = this->lexer();
    to_lexer_.push_back(0);  // the end of the text is no lexeme
    ignored_.push_back(0);
    for (TerminalSpec& t : terminals) {
        Symbol symbol = Symbol(to_lexer_.size());
        uint32_t id = t.strings ? lexer.add(*t.strings) : lexer.add(std::move(t.dfa), t.rank);
        to_lexer_.push_back(id);
        ignored_.push_back(t.ignored);
        by_lexer_.push_back(symbol);
        if (t.ignored) ignored_lexer_.push_back(id);
    }
    std::sort(by_lexer_.begin(), by_lexer_.end(), [this](Symbol a, Symbol b) { return pack(to_lexer_[a], a) < pack(to_lexer_[b], b); });
    for (uint32_t i = 0, begin = 0; i < by_lexer_.size(); i++) {
        if (to_lexer_[by_lexer_[i]] != to_lexer_[by_lexer_[begin]]) begin = i;
        ranges_[to_lexer_[by_lexer_[i]]] = {begin, i + 1 - begin};
    }
    if (!distinct.empty()) distinct_.resize(to_lexer_.size());
    for (Symbol symbol : distinct) distinct_.at(symbol) = 1;
    if (indentations_.active()) {
        const IndentationSpec& l = indentations_.spec;
        ignored_lexer_.push_back(to_lexer_[l.newline]);  // competes everywhere, like those
        liveness_.set_indentation(l);
        spanner_->indentations = &indentations_;
        spanner_->newline = to_lexer_[l.newline];
        spanner_->column_matters = !newline_goes_on();
    }
    if (lexer.policy() != Policy::kScannerless) spanner_->always_alive = [this](LexState s) { return liveness_.always_alive(s); };
    initial_ = {{between_lexemes(stacks.bottom()), stacks.bottom()}};
    if (!alive(initial_[0]) && !thread_accepts(initial_[0], nullptr))
        throw BadGrammar("under longest match no text at all is in the language: some lexeme always swallows the next one",
                         "Separate lexemes that can run together, for example with an ignored white space terminal.");
    // What every text needs, rather now than in the middle of one.
    if (lexer.policy() != Policy::kScannerless) {
        constexpr uint64_t kWorthwhile = 10;  // steps
        try {
            Task task(std::min(limits_.max_step_work, Task::kUnbounded / kWorthwhile) * kWorthwhile);
            task.enter();
            liveness_.prepare();
            row(initial_[0]);
            if (lexer.policy() == Policy::kLongest && to_lexer_.size() > kManyTerminals) warm();
        } catch (const LimitExceeded&) {  // will be met again where it matters
        }
        stats_ = {};
    }
    all.forget_bytes();  // counted by who compiles
}

LexState Constraint::lexeme_start(uint32_t accept_set, uint32_t obligations) {
    uint32_t past = scannerless_ ? 0 : spanner_->lexer.past(obligations);
    if (starts_.size() <= past) starts_.resize(past + 1);
    std::vector<LexState>& starts = starts_[past];
    if (starts.size() <= accept_set) starts.resize(accept_set + 1, kUnknownStart);
    if (starts[accept_set] == kUnknownStart) {
        Lexer& lexer = this->lexer();
        std::vector<uint32_t> candidates;
        work(5 + stacks.terminals(accept_set).size());
        if (lexer.policy() == Policy::kBasic) {
            candidates.assign(to_lexer_.begin() + 1, to_lexer_.end());
        } else {
            candidates = ignored_lexer_;
            for (Symbol s : stacks.terminals(accept_set))
                if (s != kEnd) candidates.push_back(to_lexer_[s]);
        }
        LexState s = lexer.start(candidates, obligations);
        starts[accept_set] = s == kNoState ? s : lexer.members(s);
    }
    LexState s = starts[accept_set];
    return scannerless_ || s == kNoState ? s : spanner_->lexer.with_obligations(s, obligations);
}

// Adds a thread unless it has no future or is there already.
void Constraint::add_thread(Threads& to, Thread t) {
    const Lexer& lexer = spanner_->lexer;
    if (t.lex == kNoState) return;
    work(1 + to.size() / 4);
    // Under basic it depends on the stack what a lexeme may become.
    const bool sure = scannerless_ || ((lexer.policy() == Policy::kLongest || lexer.is_fresh(t.lex)) && liveness_.always_alive(t.lex));
    if (!sure && !alive(t)) return;
    if (t.writing && !can_be_distinct(t)) return;
    for (Thread& other : to) {
        if (other.lex != t.lex || other.environment != t.environment) continue;
        if (other.writing != t.writing && !(other.writing && t.writing && *other.writing == *t.writing)) continue;
        if (other.stack == t.stack) return;
        if (scannerless_) {  // candidates do not depend on the parse, so the parses may share a thread
            other.stack = stacks.merge(other.stack, t.stack);
            return;
        }
    }
    if (to.size() >= limits_.max_parses) throw LimitExceeded("max_parses", to.size() + 1, limits_.max_parses, "parses of one text");
    to.push_back(std::move(t));
}

void Constraint::step(const Threads& from, uint8_t byte, Threads& to) {
    to.clear();
    step_into(from, byte, to, &to);
}

void Constraint::step_into(const Threads& from, uint8_t byte, Threads& stays, Threads* leaves) {
    // A byte further in a lexeme that may still be a newline, or in any other.
    auto add = [&](Threads& to, LexState lex, Frontier stack, Environment environment, WritingRef writing) {
        if (lex == kNoState) return;
        if (indentations_.active())
            environment = spanner_->may_be_newline(lex) ? indentations_.step(environment, byte) : indentations_.idle(environment);
        if (writing && !Writing::step(writing, byte)) return;
        add_thread(to, {lex, stack, environment, std::move(writing)});
    };
    for (const Thread& t : from) {
        work(2);
        Lexer& lexer = this->lexer();
        add(stays, lexer.step(t.lex, byte), t.stack, t.environment, t.writing);
        if (!leaves) continue;
        for (const Lexer::Exit& e : this->lexer().exits(t.lex)) {
            uint32_t obligations = lexer.step_obligations(e.obligations, byte);
            if (obligations == Lexer::kViolated) continue;
            auto begin = [&](Frontier f, Environment environment, Symbol after = kEnd) {
                LexState s = lexeme_start(stacks.accepts(f), e.obligations, environment);
                if (s == kNoState) return;
                this->lexer();
                s = lexer.step(lexer.members(s), byte);
                if (s != kNoState)
                    add(*leaves, lexer.with_obligations(s, obligations), f, environment,
                        opens_distinct(after) ? Writing::distinct_array(t.writing) : t.writing);
            };
            for (Symbol symbol : symbols_of(e.terminal)) {
                if (ignored_[symbol]) begin(t.stack, indentations_.idle(t.environment));
                if (ignored_[symbol] && !scannerless_) continue;
                operation->rest();
                After after = after_lexeme(symbol, t.stack, t.environment);
                if (after.stack != kNoFrontier) begin(stacks.minimal(after.stack), after.environment, symbol);
            }
        }
    }
    // Where several lexemes met in one thread.
    if (scannerless_ && leaves)
        for (Thread& t : *leaves) t.stack = stacks.minimal(t.stack);
}

bool Constraint::advance(const Threads& from, std::string_view bytes, Threads& to) {
    if (bytes.empty()) to = from;
    Threads now;
    for (size_t i = 0; i < bytes.size(); i++) {
        pass();
        step(i ? now : from, uint8_t(bytes[i]), to);
        if (to.empty()) return false;
        if (i + 1 < bytes.size()) now.swap(to);
    }
    return true;
}

// One byte of a token further. A lexeme that ends before the token's first byte ends outside of it.
bool Constraint::step_layers(const Layers& from, uint8_t byte, bool first, Layers& to) {
    to.assign(std::min<size_t>(from.size() + !first, size_t(limits_.lookahead) + 1), {});
    bool some = false;
    for (size_t ended = 0; ended < from.size(); ended++) {
        size_t more = ended + !first;
        step_into(from[ended], byte, to[ended], more < to.size() ? &to[more] : nullptr);
    }
    for (const Threads& layer : to) some |= !layer.empty();
    return some;
}

bool Constraint::advance_token(const Threads& from, std::string_view bytes, Threads& to) {
    if (limits_.lookahead == kNoLookahead) return advance(from, bytes, to);
    Layers now{from}, next;
    for (size_t i = 0; i < bytes.size(); i++) {
        if (!step_layers(now, uint8_t(bytes[i]), i == 0, next)) return false;
        now.swap(next);
    }
    for (const Threads& layer : now)
        for (const Thread& t : layer) add_thread(to, t);
    return true;
}

template <class At>
bool Constraint::stops(Thread t, int& looked, At at) {
    Lexer& lexer = this->lexer();
    auto stop = [&](Frontier f, Environment environment, int above) {
        int hops = 0;
        uint32_t set = stacks.accepts(f, &hops);
        looked = std::max(looked, above + hops);
        return at(f, set, environment, above);
    };
    if (lexer.is_fresh(t.lex)) return stop(t.stack, t.environment, 0);
    for (const Lexer::Exit& e : lexer.exits(t.lex)) {
        if (!scannerless_ && !lexer.obligations_hold_at_end(e.obligations)) continue;
        for (Symbol symbol : symbols_of(e.terminal)) {
            work(2);
            if (ignored_[symbol] && stop(t.stack, indentations_.idle(t.environment), 0)) return true;
            After s = after_lexeme(symbol, t.stack, t.environment, true);
            looked = std::max(looked, s.hops);
            if (s.stack != kNoFrontier && stop(s.stack, s.environment, s.above)) return true;
        }
    }
    return false;
}

bool Constraint::thread_accepts(Thread t, int* hops) {
    int looked = 0;
    bool accepts = stops(t, looked, [&](Frontier f, uint32_t set, Environment environment, int above) {
        return indentations_.active() ? ends(f, environment, above, looked) : stacks.contains(set, kEnd);
    });
    if (hops) *hops = looked;
    return accepts;
}

bool Constraint::names_token(const Threads& threads) {
    int looked = 0;
    auto named = [&](Frontier, uint32_t set, Environment, int) {
        return std::any_of(references_.begin(), references_.end(), [&](const TokenReference& r) { return stacks.contains(set, r.symbol); });
    };
    return !references_.empty() && std::any_of(threads.begin(), threads.end(), [&](const Thread& t) { return stops(t, looked, named); });
}

LexState Constraint::between_lexemes(Frontier stack, Environment environment) {
    const uint32_t accepts = stacks.accepts(stack);
    Lexer& lexer = this->lexer();
    LexState start = lexeme_start(accepts, lexer.text_start(), environment);
    return lexer.fresh(start == kNoState ? lexer.none() : start);
}

void Constraint::step_token(const Threads& from, uint32_t token, Threads& to) {
    int looked = 0;
    for (const TokenReference& r : references_)
        if (r.matches(token, vocabulary_->bytes[token]))
            for (const Thread& t : from)
                stops(t, looked, [&](Frontier f, uint32_t, Environment environment, int) {
                    Frontier after = stacks.shift(f, r.symbol).frontier;
                    if (after != kNoFrontier) add_thread(to, {between_lexemes(after, environment), after, environment, t.writing});
                    return false;
                });
}

// The bits of the tokens that may be taken as terminals; returns the hops that they depend on.
int Constraint::fill_references(Thread t, std::vector<uint32_t>& words) {
    int looked = 0;
    if (references_.empty()) return 0;
    std::vector<char> done(references_.size(), 0);
    stops(t, looked, [&](Frontier f, uint32_t set, Environment environment, int above) {
        for (size_t i = 0; i < references_.size(); i++) {
            const TokenReference& r = references_[i];
            if (done[i] || !stacks.contains(set, r.symbol)) continue;
            Stacks::Shifted s = stacks.shift(f, r.symbol);
            looked = std::max(looked, above + s.hops);
            if (!scannerless_) {
                int below = 0;
                bool alive = liveness_.alive(between_lexemes(s.frontier), s.frontier, indentations_[environment].depth, &below);
                if (liveness_.looked_at_depth()) looked_at_environment_ |= kDepth;
                looked = std::max(looked, above + s.above + below);
                if (!alive) continue;
            }
            done[i] = 1;
            if (!r.negated) {
                for (uint32_t v : r.tokens) words[v >> 5] |= 1u << (v & 31);
                continue;
            }
            for (uint32_t v = 0; v < vocabulary_->size(); v++)
                if (r.matches(v, vocabulary_->bytes[v])) words[v >> 5] |= 1u << (v & 31);
        }
        return false;
    });
    return looked;
}

bool Constraint::accepting(const Threads& threads) {
    return std::any_of(threads.begin(), threads.end(), [&](const Thread& t) { return thread_accepts(t, nullptr); });
}

bool Constraint::alive(Frontier stack, Environment environment, const Split::Inside& group, int* hops) {
    switch (group.sureness) {
        case Split::Sureness::kSure: *hops = 0; return true;
        case Split::Sureness::kProducible: {
            uint32_t set = stacks.accepts(stack, hops);
            for (uint32_t lexer_terminal : spanner_->producible(group.key))
                for (Symbol s : symbols_of(lexer_terminal))
                    if (ignored_[s] || stacks.contains(set, s)) return true;
            return false;
        }
        case Split::Sureness::kExact: {
            if (spanner_->may_be_newline(group.key))
                return alive_in_newline(group.key, stack, indentations_.apply(group.effect, environment), hops);
            bool result = liveness_.alive(group.key, stack, indentations_[environment].depth, hops);
            if (liveness_.looked_at_depth()) looked_at_environment_ |= kDepth;
            return result;
        }
    }
    return false;
}

// Bytes that may follow, and perhaps some that may not: what the lexemes in progress and those that may begin can take.
ByteSet Constraint::likely_bytes(const Threads& threads) {
    ByteSet all;
    auto add = [&](LexState s) {
        if (s == kNoState) return;
        const ByteSet some = lexer().bytes(spanner_->lexer.members(s));
        for (size_t w = 0; w < all.words.size(); w++) all.words[w] |= some.words[w];
    };
    for (const Thread& t : threads) {
        add(t.lex);
        for (const Lexer::Exit& e : lexer().exits(t.lex))
            for (Symbol symbol : symbols_of(e.terminal)) {
                if (ignored_[symbol]) add(lexeme_start(stacks.accepts(t.stack), e.obligations, t.environment));
                operation->rest();
                const After after = after_lexeme(symbol, t.stack, t.environment);
                if (after.stack != kNoFrontier) add(lexeme_start(stacks.accepts(after.stack), e.obligations, after.environment));
            }
    }
    return all;
}

std::array<uint64_t, 4> Constraint::next_bytes(const Threads& threads) {
    ByteSet likely, out;
    if (scannerless_) likely = likely_bytes(threads);
    else likely.words.fill(~0ULL);
    Threads next;
    likely.each([&](uint8_t byte) {
        step(threads, byte, next);
        if (!next.empty()) out.set(byte);
    });
    return out.words;
}

std::vector<Constraint::Explanation> Constraint::explain(const Threads& threads) {
    std::vector<Explanation> out;
    for (const Thread& t : threads) {
        Explanation e;
        for (auto [terminal, state] : lexer().describe(t.lex))
            for (Symbol s : symbols_of(terminal)) e.lexeme.emplace_back(s, state);
        std::set<Symbol> next;
        auto may_follow = [&](Frontier f, Environment environment) {
            for (Symbol s : stacks.terminals(stacks.accepts(f)))
                if (tallies_.allows(s, environment, false)) next.insert(s);
        };
        if (spanner_->lexer.is_fresh(t.lex)) {
            e.lexeme.clear();
            may_follow(t.stack, t.environment);
        } else {
            for (const Lexer::Exit& exit : lexer().exits(t.lex))
                for (Symbol s : symbols_of(exit.terminal)) {
                    if (ignored_[s]) may_follow(t.stack, t.environment);
                    const After after = tallies_.counts(s) ? after_counted(s, t.stack, t.environment)
                                                           : After{stacks.shift(t.stack, s).frontier, t.environment, 0, 0};
                    if (after.stack != kNoFrontier) may_follow(after.stack, after.environment);
                }
        }
        e.accepts.assign(next.begin(), next.end());
        out.push_back(std::move(e));
    }
    return out;
}

Stats Constraint::locked_stats() {
    Operation all(*this, Task::kUnbounded);
    operation->take();
    Stats s = stats_;
    s.run_bytes = uint64_t(std::max<int64_t>(0, run_bytes.load()));
    s.rows = rows_.size();
    s.row_bytes += stack_trie_.bytes();
    s.lr_states = lr_.num_states();
    s.stack_nodes = stacks.num_live();
    s.spanner_bytes = spanner_->bytes();
    s.separable = scannerless_ || liveness_.always_alive(between_lexemes(stacks.bottom()));
    return s;
}

}  // namespace derivable
