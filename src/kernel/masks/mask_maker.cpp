#include "masks/mask_maker.hpp"

#include <algorithm>
#include <new>

#include "masks/member_walk.hpp"
#include "masks/plain_mask.hpp"
#include "masks/repeated_items.hpp"
#include "masks/span_walk.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {
constexpr Reach kWhole{MaskCache::kMaxHops + 1, true, true};  // it may depend on all of the stack
bool is_same(const Parse& a, const Parse& b) { return a.lex == b.lex && a.stack == b.stack && a.environment == b.environment; }
}  // namespace

// Of each member, one symbol.
MaskCache::Endings MaskMaker::endings(const Parse& t) {
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

Answer<bool> MaskMaker::may_end(const Parse& t, const MaskCache::Endings& endings) {
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

// Lexemes in progress, or stacks.
uint64_t MaskMaker::alternatives_of(const Parse& t) const {
    const Lexer& lexer = engine_.spanner.lexer;
    return std::max<uint64_t>(lexer.sets.singles(lexer.members(t.lex)).size(), engine_.stacks.nodes(t.stack).size());
}

MaskMaker::Made MaskMaker::make(const Parse& t, const MaskCache::Endings& endings) {
    work(vocabulary_.words() / 64);
    engine_.access.take();
    Made made = make_text(t, endings);
    if (made.row >= 0 || !made.parts.empty()) return made;
    if (engine_.terminals.has_distinct()) {
        const PackedMask whole(made.words);
        RepeatedItems repeated({runs_, engine_.access, engine_.terminals, vocabulary_}, t, whole, {});
        if (!repeated.are_none())
            for (uint32_t token : repeated.tokens()) made.words[token >> 5] &= ~(1u << (token & 31));
    }
    const Answer<bool> end = may_end(t, endings);
    if (end.value) allow_end(made.words);
    made.reach |= end.reach | fill_references(t, made.words);
    return made;
}

MaskMaker::Made MaskMaker::make_text(const Parse& t, const MaskCache::Endings& endings) {
    if (!accelerators_.has(Accelerator::kSplits)) {
        Made made{PlainMask(engine_, lexemes_, vocabulary_, lookahead_).run(t)};
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
    std::optional<Made> made;
    if (!resumed || dear > least) made = walk(t, endings, std::min(left(), std::max(share, least)));
    if (!made) made = by_bytes(t, resumed ? left() : left() / 2);
    if (!made) made = walk(t, endings, left());
    if (!made) made = by_bytes(t, left());
    return std::move(*made);
}

void MaskMaker::allow_end(std::vector<uint32_t>& words) const {
    for (uint32_t e : vocabulary_.eos) words[e >> 5] |= 1u << (e & 31);
}

// PERF: a mask byte by byte takes 1 to 8 ms over llama-3 where LR states are small, whatever the lexer state; a walk of a grammar whose tokens can be
// cut in many ways 100 ms. What a walk has found out is kept, and the next one begins with it: most are done at the second or third attempt, and then
// stay quick. (Lark, `(A | B)+`, A: /[a-z ]+/, `%ignore " "`: the slowest of 60 masks 149 ms, now 16; all 60 of them 1,030 ms, now 42.)
bool MaskMaker::add_behind(const Parse& t, const std::vector<uint32_t>& nodes, std::vector<uint32_t>& words) {
    std::vector<uint32_t> own(words.size());
    try {
        SpanWalk(parts(), own).run(t, &nodes);
    } catch (const TooAmbiguous&) { return false; }
    std::transform(own.begin(), own.end(), words.begin(), words.begin(), std::bit_or<>());
    return true;
}

std::optional<MaskMaker::Made> MaskMaker::walk(const Parse& t, const MaskCache::Endings& endings, uint64_t allowed) {
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
            counters_.uses[size_t(Accelerator::kSplits)]++;
            if (scannerless_) return walk_members(t, endings);
            Made made{std::vector<uint32_t>(vocabulary_.words(), 0)};
            made.reach = SpanWalk(parts(), made.words).run(t);
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
MaskMaker::Made MaskMaker::walk_members(const Parse& t, const MaskCache::Endings& endings) {
    engine_.access.take();
    const Spanner::Walk walk(engine_.spanner);
    const MemberWalk::Parts parts{engine_.access, engine_.spanner,  engine_.terminals, engine_.stacks,
                                  lexemes_,       counters_.walked, lookahead_,        sorter_};
    MemberWalk::Union all = MemberWalk(parts).run(t, endings, vocabulary_.words());
    Made made;
    made.reach = all.reach;
    const bool is_all =
        accelerators_.has(Accelerator::kUnions) && !engine_.terminals.has_distinct() && engine_.terminals.references().empty();
    Answer<bool> end{false, {}};
    if (is_all) {
        end = may_end(t, endings);
        made.reach |= end.reach;
        all.key.push_back(end.value);
        if (const uint32_t* row = by_parts_.find(all.key)) {
            made.row = int32_t(*row);
            counters_.uses[size_t(Accelerator::kUnions)]++;
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

std::deque<MaskMaker::Partial>::iterator MaskMaker::find_partial(const Parse& t) {
    return std::find_if(partials_.begin(), partials_.end(), [&](const Partial& p) { return is_same(p.parse, t); });
}

// SAFETY: of sequences side by side each must find its own again, or none of them ever gets to an end.
void MaskMaker::keep_partial(Partial p) {
    constexpr size_t kMost = 256;
    partials_.push_front(std::move(p));
    if (partials_.size() > kMost) partials_.pop_back();
}

// What was found out before it was refused is kept.
std::optional<MaskMaker::Made> MaskMaker::by_bytes(const Parse& t, uint64_t allowed) {
    Partial p{t};
    if (const auto known = find_partial(t); known != partials_.end()) {  // SAFETY: while others pass there is none
        p = std::move(*known);
        partials_.erase(known);
    }
    if (p.words.empty()) p.words.assign(vocabulary_.words(), 0);
    struct Keep {
        MaskMaker& maker;
        Partial& p;
        const uint32_t begin;
        ~Keep() {
            if (p.place.next > begin) maker.runs_.note_further();
            try {
                if (p.place.next < maker.vocabulary_.trie.size()) maker.keep_partial(std::move(p));
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
    Made made{std::move(p.words)};
    made.reach = kWhole;
    return made;
}

Reach MaskMaker::fill_references(const Parse& t, std::vector<uint32_t>& words) {
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

}  // namespace derivable
