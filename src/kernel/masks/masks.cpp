#include "masks/masks.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "masks/context.hpp"
#include "masks/repeated_items.hpp"
#include "masks/slow_masks.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {
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
    if (runs_.accepting(parses)) maker_.allow_end(words);
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
        for (const Parse& t : parses) maker_.fill_references(t, named);
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
    for (const Parse& t : parses) maker_.fill_references(t, words);
    if (engine_.terminals.embeds() && runs_.names_token(parses))
        for (uint32_t token = 0; token < vocabulary_.size(); token++) {
            Parses behind;
            runs_.step_token(parses, token, behind);
            if (!behind.empty()) words[token >> 5] |= 1u << (token & 31);
        }
    if (runs_.accepting(parses)) maker_.allow_end(words);
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
    const MaskCache::Endings ends = maker_.endings(t);
    if (ends.size)
        if (const PackedMask* known = cache_.find(t, ends)) {
            counters.uses[size_t(Accelerator::kEndings)]++;
            return *known;
        }
    make_room();  // SAFETY: not later, for what is computed tells its parts by numbers that are forgotten with them
    const UnderWay mine(*this, t);
    const auto begin = std::chrono::steady_clock::now();  // PERF: 25 ns, of a mask that takes thousands
    const uint64_t walked = counters.walked;
    MaskMaker::Made made = maker_.make(t, ends);
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

// PERF: nearly all of it are masks, which take microseconds where what walks have settled is known, and else hundreds.
void Masks::make_room() {
    if (engine_.access.is_suspended() || (cache_.bytes() + maker_.bytes() <= cache_bytes_ && !cache_.is_large())) return;
    if (2 * maker_.bytes() > cache_bytes_) forget();
    else forget_masks();
}

PackedMask Masks::packed(MaskMaker::Made& made) { return made.packed ? std::move(*made.packed) : PackedMask(std::move(made.words)); }

const PackedMask* Masks::keep(const Parse& t, const MaskCache::Endings& endings, MaskMaker::Made& made) {
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

bool Masks::allows_some(const Parses& parses) {
    bool found = false;
    Runs::Place place;
    runs_.each_token(parses, place, [&](uint32_t) {
        found = true;
        return false;
    });
    if (found || runs_.accepting(parses)) return true;
    std::vector<uint32_t> words(vocabulary_.words(), 0);
    for (const Parse& t : parses) maker_.fill_references(t, words);
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
