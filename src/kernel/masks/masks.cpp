#include "masks/masks.hpp"

#include <algorithm>
#include <functional>
#include <new>
#include <utility>

#include "masks/context.hpp"
#include "masks/member_walk.hpp"
#include "masks/plain_mask.hpp"
#include "masks/repeated_items.hpp"
#include "masks/slow_masks.hpp"
#include "masks/span_walk.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {
constexpr Reach kWhole{MaskCache::kMaxHops + 1, true, true};  // it may depend on all of the stack
bool is_same(const Parse& a, const Parse& b) { return a.lex == b.lex && a.stack == b.stack && a.environment == b.environment; }
}  // namespace

void Masks::fill(const Parses& parses, uint32_t* mask) {
    // SAFETY: what may be refused half-way is not the caller's before it is complete.
    std::vector<uint32_t> all, repeated;
    if (runs_.bounds().may_refuse(parses)) return within_bounds(parses).write(mask);
    if (engine_.terminals.embeds()) return fill_across(parses, mask);
    if (engine_.slots.active()) return fill_with_names(parses, mask);
    auto write = [&](const PackedMask& from, uint32_t* to) {
        from.write(to);
        for (uint32_t token : repeated) to[token >> 5] &= ~(1u << (token & 31));
    };
    for (const Parse& t : parses) {
        const PackedMask& known = row({t.lex, t.stack, t.environment});
        std::optional<PackedMask> lone;
        repeated.clear();
        if (t.writing && is_lone(known)) lone = known;  // SAFETY: others may replace it while this steps aside
        const PackedMask& whole = lone ? *lone : known;
        if (t.writing) repeated = repeated_by(t, whole, !lone);
        if (parses.size() == 1) return write(whole, mask);
        work(vocabulary_.words() / 40);
        std::vector<uint32_t> own(vocabulary_.words());
        write(whole, own.data());
        if (all.empty()) all.swap(own);
        else std::transform(all.begin(), all.end(), own.begin(), all.begin(), std::bit_or<>());
    }
    all.resize(vocabulary_.words());  // where there are no parses
    std::copy(all.begin(), all.end(), mask);
}

int64_t Masks::number(const Parses& parses) {
    const bool is_one = parses.size() == 1 && !parses.front().writing && accelerators_.has(Accelerator::kKnownMasks) &&
                        !engine_.terminals.embeds() && !runs_.bounds().may_refuse(parses);
    const int32_t known = is_one ? cache_.number(parses.front()) : -1;
    if (known < 0) return -1;
    counters.masks++;
    counters.uses[size_t(Accelerator::kKnownMasks)]++;
    return int64_t(cache_.num_cleared()) << 32 | known;
}

void Masks::fill_across(const Parses& parses, uint32_t* mask) {
    const bool is_slow =
        lookahead_ != kNoLookahead || std::any_of(parses.begin(), parses.end(), [](const Parse& t) { return bool(t.writing); });
    if (is_slow) return within_bounds(parses).write(mask);
    std::vector<uint32_t> words(vocabulary_.words());
    for (const Parse& t : parses) add_across(t, words);
    std::copy(words.begin(), words.end(), mask);
}

// SAFETY: what is behind a border may lie at another one, but not for ever: where no byte is between, a text ends and then others begin.
void Masks::add_across(const Parse& t, std::vector<uint32_t>& words) {
    if (t.embedded) {
        t.embedded->allow(words.data());
    } else {
        std::vector<uint32_t> own(words.size());
        row(t).write(own.data());
        std::transform(own.begin(), own.end(), words.begin(), words.begin(), std::bit_or<>());
    }
    for (const Borders::Crossing& c : borders_.of(t)) {
        if (!c.nodes) add_across(c.behind, words);
        else
            for (uint32_t token : borders_.tokens(c)) words[token >> 5] |= 1u << (token & 31);
    }
}

void Masks::fill_with_names(const Parses& parses, uint32_t* mask) {
    std::vector<uint32_t> words(vocabulary_.words());
    for (const Parse& t : parses) add_with_names(t, words);
    for (uint32_t e : vocabulary_.eos) words[e >> 5] &= ~(1u << (e & 31));
    if (runs_.accepting(parses)) allow_end(words);
    std::copy(words.begin(), words.end(), mask);
}

void Masks::add_with_names(const Parse& t, std::vector<uint32_t>& words) {
    each_with_names(
        t, [&](const Parse& other) { row({other.lex, other.stack, other.environment}).add_to(words.data()); },
        [&](const Parse& name, const EmbeddedText::Nodes& nodes) { names_.add(name, nodes, words); });
}

void Masks::fill_without_end(const Parses& parses, uint32_t* mask) {
    fill(parses, mask);
    std::vector<uint32_t> named;
    if (!engine_.terminals.references().empty()) {
        named.resize(vocabulary_.words());
        for (const Parse& t : parses) fill_references(t, named);
    }
    for (uint32_t token : vocabulary_.eos)
        if (named.empty() || !(named[token >> 5] >> (token & 31) & 1)) mask[token >> 5] &= ~(1u << (token & 31));
}

const PackedMask& Masks::within_bounds(const Parses& parses) {
    constexpr size_t kMost = 64;
    const auto known = std::find_if(bounded_.begin(), bounded_.end(), [&](const Bounded& b) { return b.parses == parses; });
    if (known != bounded_.end()) return known->mask;
    std::vector<uint32_t> words(vocabulary_.words());
    const auto judge = [](const Parses& behind) { return !behind.empty(); };
    runs_.judge_tokens(parses, Runs::all, judge, [&](uint32_t token, bool allowed) {
        if (allowed) words[token >> 5] |= 1u << (token & 31);
        return true;
    });
    for (const Parse& t : parses) fill_references(t, words);
    if (engine_.terminals.embeds() && runs_.names_token(parses))
        for (uint32_t token = 0; token < vocabulary_.size(); token++) {
            Parses behind;
            runs_.step_token(parses, token, behind);
            if (!behind.empty()) words[token >> 5] |= 1u << (token & 31);
        }
    if (runs_.accepting(parses)) allow_end(words);
    bounded_.push_front({parses, PackedMask(std::move(words))});
    if (bounded_.size() > kMost) bounded_.pop_back();
    return bounded_.front().mask;
}

void Masks::learn(const Parse& t) {
    const PackedMask& known = row({t.lex, t.stack, t.environment});
    if (t.writing && !is_lone(known)) repeated_by(t, known, true);
}

std::vector<uint32_t> Masks::repeated_by(const Parse& t, const PackedMask& mask, bool is_kept) {
    // Of all masks that were kept, this one's.
    std::optional<UniqueItems::Place> kept;
    if (is_kept)
        kept = UniqueItems::Place(UniquePlaces::kMask, {}).add_long(reinterpret_cast<uintptr_t>(&mask)).add_long(cache_.num_cleared());
    RepeatedItems repeated({runs_, engine_.access, engine_.terminals, vocabulary_}, t, mask, kept);
    return repeated.are_none() ? std::vector<uint32_t>() : repeated.tokens();
}

bool Masks::is_lone(const PackedMask& mask) const {
    return std::any_of(lone_.begin(), lone_.end(), [&](const Lone& lone) { return &lone.mask == &mask; });
}

const PackedMask& Masks::row(Parse t) {
    counters.masks++;
    if (const PackedMask* known = find(t)) {
        counters.uses[size_t(Accelerator::kKnownMasks)]++;
        return *known;
    }
    // PERF: eight threads at the same place of one constraint made each of its masks eight times, and took ten times as long as one.
    while (is_under_way(t)) {
        engine_.access.wait();
        if (const PackedMask* known = find(t)) return *known;
    }
    const MaskCache::Endings ends = endings(t);
    if (ends.size)
        if (const PackedMask* known = cache_.find(t, ends)) {
            counters.uses[size_t(Accelerator::kEndings)]++;
            return *known;
        }
    make_room();  // SAFETY: not later, for what is computed tells its parts by numbers that are forgotten with them
    const UnderWay mine(*this, t);
    const auto begin = std::chrono::steady_clock::now();  // PERF: 25 ns, of a mask that takes thousands
    const uint64_t walked = counters.walked;
    Computed made = compute(t, ends);
    note_miss(t, begin, walked, made.reach.hops);
    if (const PackedMask* kept = keep(t, ends, made)) return *kept;
    constexpr size_t kMost = 4;
    lone_.push_front({t, packed(made)});
    if (lone_.size() > kMost) lone_.pop_back();
    return lone_.front().mask;
}

const PackedMask* Masks::find(const Parse& t) {
    if (accelerators_.has(Accelerator::kKnownMasks))
        if (const PackedMask* known = cache_.find(t)) return known;
    for (const Lone& lone : lone_)
        if (is_same(lone.parse, t)) return &lone.mask;
    return nullptr;
}

bool Masks::is_under_way(const Parse& t) const {
    return std::any_of(under_way_.begin(), under_way_.end(), [&](const Parse* other) { return is_same(*other, t); });
}

// Of each member, one symbol.
MaskCache::Endings Masks::endings(const Parse& t) {
    if (!scannerless_ || !accelerators_.has(Accelerator::kEndings) || !engine_.terminals.references().empty() ||
        engine_.spanner.lexer.is_fresh(t.lex))
        return {};
    const Lexer& lexer = engine_.access.lexer();
    const Singles members = lexer.sets.singles(lexer.members(t.lex));
    if (members.size() > MaskCache::Endings::kMost) return {};
    MaskCache::Endings out;
    for (LexState member : members) {
        const size_t before = out.size;
        for (Symbol symbol : engine_.terminals.of(lexer.automata.terminal_of(member))) {
            if (engine_.terminals.is_ignored(symbol)) return {};
            const After after = lexemes_.after(symbol, t.stack, t.environment);
            if (after.stack == kNoFrontier) continue;
            if (out.size > before) return {};
            out.all[out.size++] = {symbol, after};
        }
        if (out.size == before) return {};
    }
    return out;
}

Answer<bool> Masks::may_end(const Parse& t, const MaskCache::Endings& endings) {
    if (!endings.size) return lexemes_.may_end(t);
    Lexer& lexer = engine_.access.lexer();
    Answer<bool> answer{false, {}};
    for (const Lexer::Exit& e : lexer.exits(t.lex))
        for (Symbol symbol : engine_.terminals.of(e.terminal)) {
            const After* after = endings.of(symbol);
            if (!after) continue;
            const auto [set, reach] = engine_.stacks.accepted(after->stack);
            answer = {answer.value || engine_.stacks.contains(set, kEnd), answer.reach | reach};
        }
    return answer;
}

// PERF: nearly all of it are masks, which take microseconds where what walks have settled is known, and else hundreds.
void Masks::make_room() {
    if (engine_.access.is_suspended() || (cache_.bytes() + part_bytes() <= cache_bytes_ && !cache_.is_large())) return;
    if (2 * part_bytes() > cache_bytes_) forget();
    else forget_masks();
}

PackedMask Masks::packed(Computed& made) { return made.packed ? std::move(*made.packed) : PackedMask(std::move(made.words)); }

const PackedMask* Masks::keep(const Parse& t, const MaskCache::Endings& endings, Computed& made) {
    if (!accelerators_.has(Accelerator::kKnownMasks)) {
        if (made.row >= 0) made.packed = cache_.row(made.row);
        return nullptr;
    }
    if (made.row < 0) {
        if (made.reach.hops > MaskCache::kMaxHops) return nullptr;
        made.row = cache_.row_of(packed(made));
        if (!made.parts.empty()) cache_.by_parts().keep(std::move(made.parts), uint32_t(made.row));
    }
    const PackedMask* kept =
        endings.size ? cache_.keep(t, endings, made.reach, made.row) : cache_.keep(t, cache_.key_of(t, made.reach), made.row);
    if (!kept) made.packed = cache_.row(made.row);
    return kept;
}

// Lexemes in progress, or stacks.
uint64_t Masks::alternatives_of(const Parse& t) const {
    const Lexer& lexer = engine_.spanner.lexer;
    return std::max<uint64_t>(lexer.sets.singles(lexer.members(t.lex)).size(), engine_.stacks.nodes(t.stack).size());
}

Masks::Computed Masks::compute(const Parse& t, const MaskCache::Endings& endings) {
    work(vocabulary_.words() / 64);
    engine_.access.take();
    Computed made = compute_text(t, endings);
    if (made.row >= 0 || !made.parts.empty()) return made;
    if (engine_.terminals.has_distinct())
        for (uint32_t token : repeated_by(t, PackedMask(made.words), false)) made.words[token >> 5] &= ~(1u << (token & 31));
    const Answer<bool> end = may_end(t, endings);
    if (end.value) allow_end(made.words);
    made.reach |= end.reach | fill_references(t, made.words);
    return made;
}

Masks::Computed Masks::compute_text(const Parse& t, const MaskCache::Endings& endings) {
    if (!accelerators_.has(Accelerator::kSplits)) {
        Computed made{PlainMask(engine_, lexemes_, vocabulary_, lookahead_).run(t)};
        made.reach = kWhole;
        return made;
    }
    // A walk, byte by byte, or with large LR states (thousands of optional keys) again by a walk, which makes none twice.
    constexpr uint64_t kShare = 8;  // of what the call may take
    // What a walk may take in any case. PERF: where longest match cuts tokens they are cut in few ways, and what takes long is the first walk of a
    // loaded constraint, whose tables are empty. Broken off at 600,000 it cost 14 ms instead of 5 (Python, llama-3; Java 22 and 9, Go 17 and 8),
    // and as a mask that was made byte by byte is not kept, half of Go's masks were made again each time.
    const uint64_t least = scannerless_ ? 600'000 : 2'000'000;
    auto left = [] { return Task::current()->left(); };
    // Of many alternatives a walk asks each once, 10 us, and what it has asked is known to the next one; byte by byte each of thousands of steps asks
    // them all. PERF: of 3,000 walks of 40 ms were broken off, and masks took seven calls.
    constexpr uint64_t kAlternative = 2'000;
    const uint64_t dear = scannerless_ ? kAlternative * alternatives_of(t) : 0;
    const uint64_t share = dear > least ? std::min(dear, left() - left() / kShare) : left() / kShare;
    const bool resumed = find_partial(t) != partials_.end();
    std::optional<Computed> made;
    if (!resumed || dear > least) made = walk(t, endings, std::min(left(), std::max(share, least)));
    if (!made) made = compute_by_bytes(t, resumed ? left() : left() / 2);
    if (!made) made = walk(t, endings, left());
    if (!made) made = compute_by_bytes(t, left());
    return std::move(*made);
}

void Masks::allow_end(std::vector<uint32_t>& words) const {
    for (uint32_t e : vocabulary_.eos) words[e >> 5] |= 1u << (e & 31);
}

// PERF: a mask byte by byte takes 1 to 8 ms over llama-3 where LR states are small, whatever the lexer state; a walk of a grammar whose tokens can be
// cut in many ways 100 ms. What a walk has found out is kept, and the next one begins with it: most are done at the second or third attempt, and then
// stay quick. (Lark, `(A | B)+`, A: /[a-z ]+/, `%ignore " "`: the slowest of 60 masks 149 ms, now 16; all 60 of them 1,030 ms, now 42.)
std::optional<Masks::Computed> Masks::walk(const Parse& t, const MaskCache::Endings& endings, uint64_t allowed) {
    constexpr uint32_t kAttempts = 8;   // of one lexer state
    constexpr size_t kMost = 1u << 16;  // lexer states
    const bool all = allowed >= Task::current()->left();
    const auto known = long_walks_.find(t.lex);
    if (!all && known != long_walks_.end() && known->second >= kAttempts) return std::nullopt;
    for (bool is_ambiguous = false, again = true; again && !is_ambiguous;) {
        const uint32_t settled = engine_.spanner.lexer.alike.num_long_settled();
        Task task(allowed);
        task.enter();
        try {
            counters.uses[size_t(Accelerator::kSplits)]++;
            if (scannerless_) return walk_members(t, endings);
            Computed made{std::vector<uint32_t>(vocabulary_.words(), 0)};
            const SpanWalk::Parts parts{engine_.access, engine_.spanner, engine_.stacks, engine_.terminals, engine_.environments, lexemes_,
                                        stack_trie_,    counters.walked, lookahead_,     accelerators_,     counters.uses};
            made.reach = SpanWalk(parts, made.words).run(t);
            return made;
        } catch (const TooAmbiguous&) { is_ambiguous = true; } catch (const LimitExceeded&) {
            if (all) throw;
        }
        task.leave();
        // PERF: what was allowed went there, and the next walk finds it.
        again = settled != engine_.spanner.lexer.alike.num_long_settled();
        if (again) work();  // it may have been too much for the whole
    }
    if (long_walks_.size() > kMost) long_walks_.clear();
    long_walks_[t.lex]++;
    return std::nullopt;
}

// PERF: most masks that are new under their stack are known ones. By what they are made of they are found without being put together: of llama-3
// 16 KiB to be filled, united and hashed.
Masks::Computed Masks::walk_members(const Parse& t, const MaskCache::Endings& endings) {
    engine_.access.take();
    const Spanner::Walk walk(engine_.spanner);
    const MemberWalk::Parts parts{engine_.access, engine_.spanner, engine_.terminals, engine_.stacks,
                                  lexemes_,       counters.walked, lookahead_,        sorter_};
    MemberWalk::Union all = MemberWalk(parts).run(t, endings, vocabulary_.words());
    Computed made;
    made.reach = all.reach;
    const bool is_all =
        accelerators_.has(Accelerator::kUnions) && !engine_.terminals.has_distinct() && engine_.terminals.references().empty();
    Answer<bool> end{false, {}};
    if (is_all) {
        end = may_end(t, endings);
        made.reach |= end.reach;
        all.key.push_back(end.value);
        if (const uint32_t* row = cache_.by_parts().find(all.key)) {
            made.row = int32_t(*row);
            counters.uses[size_t(Accelerator::kUnions)]++;
            return made;
        }
        made.parts = std::move(all.key);
        if (all.are_few(vocabulary_.words())) {
            TokenSet tokens = all.tokens(vocabulary_.words());
            if (end.value)
                for (uint32_t e : vocabulary_.eos) tokens.add(e, vocabulary_.words());
            tokens.normalize(sorter_);
            made.packed.emplace(tokens, vocabulary_.words());
            return made;
        }
    }
    made.words.assign(vocabulary_.words(), 0);
    all.or_into(made.words.data());
    if (end.value) allow_end(made.words);
    return made;
}

std::deque<Masks::Partial>::iterator Masks::find_partial(const Parse& t) {
    return std::find_if(partials_.begin(), partials_.end(), [&](const Partial& p) { return is_same(p.parse, t); });
}

// SAFETY: of sequences side by side each must find its own again, or none of them ever gets to an end.
void Masks::keep_partial(Partial p) {
    constexpr size_t kMost = 256;
    partials_.push_front(std::move(p));
    if (partials_.size() > kMost) partials_.pop_back();
}

// What was found out before it was refused is kept.
std::optional<Masks::Computed> Masks::compute_by_bytes(const Parse& t, uint64_t allowed) {
    Partial p{t};
    if (const auto known = find_partial(t); known != partials_.end()) {  // SAFETY: while others pass there is none
        p = std::move(*known);
        partials_.erase(known);
    }
    if (p.words.empty()) p.words.assign(vocabulary_.words(), 0);
    struct Keep {
        Masks& masks;
        Partial& p;
        const uint32_t begin;
        ~Keep() {
            if (p.place.next > begin) masks.runs_.note_further();
            try {
                if (p.place.next < masks.vocabulary_.trie.size()) masks.keep_partial(std::move(p));
            } catch (const std::bad_alloc&) {}  // then it is begun anew
        }
    } keep{*this, p, p.place.next};
    const bool is_made = done_within(allowed, [&] {
        runs_.each_token({t}, p.place, [&](uint32_t token) {
            p.words[token >> 5] |= 1u << (token & 31);
            return true;
        });
    });
    if (!is_made) return std::nullopt;
    Computed made{std::move(p.words)};
    made.reach = kWhole;
    return made;
}

Reach Masks::fill_references(const Parse& t, std::vector<uint32_t>& words) {
    const std::vector<TokenReference>& references = engine_.terminals.references();
    if (references.empty()) return {};
    std::vector<char> done(references.size(), 0);
    auto take = [&](const TokenReference& r) {
        if (!r.negated)
            for (uint32_t v : r.tokens) words[v >> 5] |= 1u << (v & 31);
        else
            for (uint32_t v = 0; v < vocabulary_.size(); v++)
                if (r.matches(v, vocabulary_.bytes[v])) words[v >> 5] |= 1u << (v & 31);
    };
    auto fill = [&](Frontier f, AcceptSet set, Environment environment) -> Answer<bool> {
        Reach looked;
        for (size_t i = 0; i < references.size(); i++) {
            if (done[i] || !engine_.stacks.contains(set, references[i].symbol)) continue;
            const Stacks::Shifted s = engine_.stacks.shift(f, references[i].symbol);
            looked |= s.reach;
            if (!scannerless_) {
                const LexState next = lexemes_.between(s.frontier, kNoEnvironment);
                const Answer<bool> alive = engine_.liveness.alive(next, s.frontier, engine_.environments.brackets(environment));
                looked |= alive.reach.below(s.above);
                if (!alive.value) continue;
            }
            done[i] = 1;
            take(references[i]);
        }
        return {false, looked};
    };
    return lexemes_.stops(t, fill).reach;
}

bool Masks::allows_some(const Parses& parses) {
    bool found = false;
    Runs::Place place;
    runs_.each_token(parses, place, [&](uint32_t) {
        found = true;
        return false;
    });
    if (found || runs_.accepting(parses)) return true;
    std::vector<uint32_t> words(vocabulary_.words(), 0);
    for (const Parse& t : parses) fill_references(t, words);
    return std::any_of(words.begin(), words.end(), [](uint32_t w) { return w != 0; });
}

void Masks::note_miss(const Parse& t, std::chrono::steady_clock::time_point begin, uint64_t walked, int hops) {
    const int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
    counters.miss_ns += uint64_t(ns);
    counters.longest_miss_ns = std::max(counters.longest_miss_ns, uint64_t(ns));
    if (ns < SlowMasks::threshold.load(std::memory_order_relaxed)) return;
    auto* listener = SlowMasks::listener.load();
    if (!listener) return;
    std::vector<uint32_t> lexeme;
    for (auto [symbol, state] : named_lexeme(engine_.access.lexer(), engine_.terminals, t.lex)) lexeme.push_back(symbol);
    listener({serial_, ns, counters.walked - walked, hops > MaskCache::kMaxHops, std::move(lexeme)});
}

}  // namespace derivable
