#include "matching/explore.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "support/errors.hpp"
#include "support/image.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

// What a step of a matcher gives, asked for as often as it takes; false if it is refused for good.
template <class Step>
bool complete(Step step) {
    constexpr int kMost = 200;  // 10 s
    for (int i = 0; i < kMost; i++) {
        try {
            step();
            return true;
        } catch (const LimitExceeded& e) {
            if (e.limit != "max_step_work") return false;
        }
    }
    return false;
}

constexpr uint32_t kRaw = ~0u;  // a row that is like no other

size_t num_different(const std::vector<uint32_t>& row, const std::vector<uint32_t>& base) {
    size_t count = 0;
    for (size_t w = 0; w < row.size(); w++) count += row[w] != base[w];
    return count;
}

// A row as what differs from one of those just before it (0: from nothing), or as it is.
void put_row(ImageWriter& out, const std::vector<std::vector<uint32_t>>& rows, size_t i) {
    constexpr size_t kNear = 8;
    const std::vector<uint32_t>& row = rows[i];
    const std::vector<uint32_t> nothing(row.size(), 0);
    auto base = [&](size_t k) -> const std::vector<uint32_t>& { return k ? rows[i - k] : nothing; };
    size_t best = kRaw, least = row.size() / 2;
    for (size_t k = 0; k <= std::min(i, kNear); k++)
        if (const size_t count = num_different(row, base(k)); count < least) least = count, best = k;
    out.put(best == kRaw || !best ? uint32_t(best) : uint32_t(i - best + 1));
    if (best == kRaw) {
        out.run(row.data(), row.data() + row.size());
        return;
    }
    out.put(least);
    for (uint32_t w = 0; w < row.size(); w++)
        if (row[w] != base(best)[w]) out.put(w), out.put(row[w]);
}

std::vector<std::vector<uint32_t>> read_rows(ImageReader& in, const Vocabulary& vocabulary) {
    const uint32_t words = vocabulary.words(), tail = vocabulary.size() % 32;
    std::vector<std::vector<uint32_t>> rows(in.count(2));
    for (size_t i = 0; i < rows.size(); i++) {
        const uint32_t base = in.next();
        if (base == kRaw) {
            for (uint32_t w = 0; w < words; w++) rows[i].push_back(in.next());
        } else {
            if (base > i) throw BadArtifact("a mask of its index is like one that comes later");
            work(10 + words / 40);
            if (base) rows[i] = rows[base - 1];
            else rows[i].assign(words, 0);
            for (uint32_t k = in.count(2); k > 0; k--) {
                const uint32_t w = in.next();
                if (w >= words) throw BadArtifact("a mask of its index is wider than the vocabulary");
                rows[i][w] = in.next();
            }
        }
        if (tail && words && rows[i].back() >> tail) throw BadArtifact("a mask of its index is wider than the vocabulary");
    }
    return rows;
}

}  // namespace

uint64_t Explorer::found() const {
    uint64_t all = visited_;
    for (const auto& queue : waiting_) all += queue.size();
    return all;
}

// By how much of the parser tells situations apart, from nothing on. Two with one key are taken for one, and the second is not visited: nothing
// depends on it.
Explorer::Keys Explorer::keys_of(const Parses& parses) {
    constexpr uint64_t kOne = 60;
    work(kOne * parses.size());
    std::array<std::vector<uint64_t>, kKeys> keys;
    Stacks& stacks = constraint_->stacks();
    for (const Parse& t : parses) {
        std::array<uint64_t, kKeys> of_parse;
        of_parse.fill(mix(t.lex.index()));
        auto add = [&](bool are_known) {
            if (!are_known) words_.clear();
            for (size_t k = 1; k < kKeys; k++)
                for (size_t i = 0; i < std::min(k, words_.size()); i++) of_parse[k] = mix(of_parse[k] ^ words_[i]);
        };
        const MaskCache::Endings endings = constraint_->masks().endings(t);
        for (const auto& ending : endings) add(stacks.future(ending.after.stack, Reach::kDeep, kKeys - 1, false, words_, looked_));
        if (!endings.size) add(stacks.signature(t.stack, kKeys - 2, words_));
        for (size_t k = 0; k < kKeys; k++) keys[k].push_back(of_parse[k]);
    }
    Keys all;
    for (size_t k = 0; k < kKeys; k++) {
        std::sort(keys[k].begin(), keys[k].end());
        all[k] = k;
        for (uint64_t key : keys[k]) all[k] = mix(all[k] ^ key);
    }
    return all;
}

void Explorer::meet(std::unique_ptr<Matcher> matcher, uint32_t from, uint32_t step, Way way) {
    Keys keys;
    {
        Operation operation(constraint_->access(), Task::kUnbounded);
        keys = keys_of(matcher->parses());
    }
    if (known_.count(keys.back())) return;
    size_t first = kKeys;
    for (size_t k = kKeys; k-- > 0;)
        if (known_.insert(keys[k]).second) first = k;
    waiting_[way.free > kLongText ? kKeys : first].push_back({std::move(matcher), from, step, way});
}

// Bytes of characters of several bytes that go on with what is named (a key, a constant), not with any character: of those that begin, or go on
// with, as many characters as others do, few lead to the same.
ByteSet Explorer::named_bytes(LexState lex, const ByteSet& likely) {
    constexpr size_t kFew = 6;
    if (const auto known = named_.find(lex); known != named_.end()) return known->second;
    Lexer& lexer = constraint_->access().lexer();
    std::vector<std::pair<LexState, ByteSet>> led_to;
    likely.each([&](uint8_t byte) {
        // E0, ED and from EE on: few characters begin so, named or not.
        if (byte < 0x80 || byte == 0xE0 || byte >= 0xED) return;
        const LexState to = lexer.step(lex, byte);
        if (to == kNoState) return;
        auto known = std::find_if(led_to.begin(), led_to.end(), [&](const auto& x) { return x.first == to; });
        if (known == led_to.end()) known = led_to.insert(known, {to, {}});
        known->second.set(byte);
    });
    ByteSet named;
    for (const auto& [to, bytes] : led_to)
        if (size_t(__builtin_popcountll(bytes.words[2]) + __builtin_popcountll(bytes.words[3])) <= kFew)
            bytes.each([&](uint8_t byte) { named.set(byte); });
    return named_[lex] = named;
}

// Bytes that lead to situations not met before, one of those that lead to the same: but no escapes, and within characters of several bytes
// only the letters of names. All others are nearly all of the situations of a schema (five ways to spell each
// character of a name, twenty places within a character in each string), and models seldom write them.
//
// PERF: in the middle of a string nearly all bytes lead to the same situation, so what stands behind them is looked at before a matcher is
// made for it; and where no lexeme can have ended, the lexer state alone tells.
std::vector<Explorer::Step> Explorer::fresh_steps(const Matcher& m) {
    struct Met {
        uint64_t key;
        uint32_t bytes;  // that lead there
        uint8_t first;
        bool is_fresh;
    };
    std::vector<Met> met;
    std::vector<std::pair<LexState, size_t>> led_to;
    Operation operation(constraint_->access(), constraint_->limits().max_step_work);
    const Parses& parses = m.parses();
    ByteSet likely;
    if (constraint_->spanner().lexer.policy() == Policy::kScannerless) likely = constraint_->runs().likely_bytes(parses);
    else likely.words.fill(~0ULL);
    const ByteSet named = parses.size() == 1 ? named_bytes(parses[0].lex, likely) : ByteSet();
    likely.words[2] = named.words[2], likely.words[3] = named.words[3];
    const bool inside = parses.size() == 1 && !parses[0].writing && !constraint_->access().lexer().accepts(parses[0].lex);
    Parses next;
    auto place = [&](uint8_t byte) -> size_t {
        constraint_->runs().step(parses, byte, next);
        if (next.empty()) return kNowhere;
        const uint64_t key = keys_of(next).back();
        const auto known = std::find_if(met.begin(), met.end(), [&](const Met& x) { return x.key == key; });
        if (known != met.end()) return size_t(known - met.begin());
        met.push_back({key, 0, byte, !known_.count(key)});
        return met.size() - 1;
    };
    likely.each([&](uint8_t byte) {
        if (byte == '\\') return;
        constraint_->access().pass();
        const LexState to = inside ? constraint_->access().lexer().step(parses[0].lex, byte) : kNoState;
        if (inside && to == kNoState) return;
        auto known = std::find_if(led_to.begin(), led_to.end(), [&](const auto& x) { return inside && x.first == to; });
        if (known == led_to.end()) known = led_to.insert(known, {to, place(byte)});
        if (known->second != kNowhere) met[known->second].bytes++;
    });
    constexpr uint32_t kFew = 6;
    std::vector<Step> out;
    for (const Met& x : met)
        if (x.is_fresh) out.push_back({x.first, x.bytes > kFew});
    return out;
}

namespace {
bool is_letter(uint8_t byte) { return byte >= 0x80 || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'); }
}  // namespace

// The node of the vocabulary's trie for the letters that the text ends with, as many as stand in one token, after one more byte.
uint32_t Explorer::word_after(uint32_t word, uint8_t byte) const {
    if (!is_letter(byte)) return kNoWord;
    const Trie& trie = constraint_->vocabulary().trie;
    ByteSet only;
    only.set(byte);
    uint32_t found = kNoWord;
    if (word != kNoWord) trie.each_child(word, only, [&](uint32_t child, uint8_t) { found = child; });
    if (found != kNoWord) return found;
    for (uint32_t i = 0; i < trie.size(); i = trie.end[i])
        if (trie.byte[i] == byte) return i;
    return kNoWord;
}

// Whether a model's text has an end of a token here: not in the middle of a word that may go on within one. PERF: a name of twelve letters is
// a token or two, and was twelve masks.
bool Explorer::may_be_between_tokens(const Waiting& w, const std::vector<Step>& next) const {
    if (w.way.word == kNoWord || next.empty()) return true;
    const Trie& trie = constraint_->vocabulary().trie;
    return std::any_of(next.begin(), next.end(), [&](Step step) {
        const uint32_t after = word_after(w.way.word, step.byte);
        return after == kNoWord || trie.depth[after] == 0;
    });
}

std::vector<Explorer::Mask> Explorer::masks_of(Matcher& m) {
    constexpr uint64_t kOne = 50;
    std::vector<Mask> masks;
    Operation operation(constraint_->access(), Task::kUnbounded);
    work(kOne);
    // SAFETY: a row of the cache stays where it is until all are forgotten.
    if (const uint32_t now = constraint_->masks().cache().num_cleared(); std::exchange(num_cleared_, now) != now) row_numbers_.clear();
    for (const Parse& t : m.parses()) {
        Mask& mask = masks.emplace_back();
        MaskCache& cache = constraint_->masks().cache();
        const std::vector<uint32_t>* row = cache.find(t, &mask.key);
        if (!row) continue;
        if (const MaskCache::Endings endings = constraint_->masks().endings(t); endings.size) cache.find(t, endings, &mask.words_behind);
        const auto [number, fresh] = row_numbers_.try_emplace(row, uint32_t(rows_.size()));
        if (fresh) rows_.push_back(*row);
        mask.known = true;
        mask.row = number->second;
    }
    return masks;
}

void Explorer::visit_one(Waiting& w, const Bounds& bounds) {
    mask_.resize(constraint_->vocabulary().words());
    Matcher& m = *w.matcher;
    visited_++;
    std::vector<Step> steps;
    const bool looks_further = found() < bounds.known && complete([&] { steps = fresh_steps(m); });
    const bool is_between = may_be_between_tokens(w, steps);
    const bool filled = is_between && complete([&] { m.fill(mask_.data()); });
    const uint32_t here = uint32_t(record_.size());
    record_.push_back({w.from, w.step, filled ? masks_of(m) : std::vector<Mask>()});
    if (!is_between && bounds.as_worth) passed_.push_back({std::make_unique<Matcher>(m), here});
    if (!looks_further) return;
    auto go = [&](uint32_t step, Way way, auto advance) {
        auto after = std::make_unique<Matcher>(m);
        bool accepted = false;
        if (complete([&] { accepted = advance(*after); }) && accepted) meet(std::move(after), here, step, way);
    };
    for (Step step : steps) {
        const char byte = char(step.byte);
        go(step.byte, {word_after(w.way.word, step.byte), step.is_free ? w.way.free + 1 : 0},
           [&](Matcher& x) { return x.advance_bytes({&byte, 1}); });
    }
    for (uint32_t token : tokens_) go(kToken + token, {}, [&](Matcher& x) { return x.advance(token) == Matcher::Verdict::kAccepted; });
}

void Explorer::fill_passed() {
    const Passed& p = passed_.front();
    if (complete([&] { p.matcher->fill(mask_.data()); })) record_[p.record].masks = masks_of(*p.matcher);
    passed_.pop_front();
}

Explorer::Kind Explorer::kind_of_next() const {
    if (!waiting_[0].empty() || !waiting_[1].empty()) return kByTop;
    return passed_.empty() || is_enough(kPassed) ? kBelow : kPassed;
}

bool Explorer::is_enough(Kind kind) const {
    constexpr uint64_t kLeast = 100'000, kMost = 16'000'000;  // units of work, about 0.5 and 100 ms
    return spent_[kByTop] + spent_[kPassed] + spent_[kBelow] > kMost ||
           (kind != kByTop && spent_[kind] > std::max(kLeast, spent_[kByTop] / 4));
}

Explorer::End Explorer::visit(const Bounds& bounds) {
    Task task(Task::kUnbounded, {}, bounds.seconds);
    task.enter();
    for (uint64_t i = 0; i < bounds.most; i++) {
        const Kind kind = kind_of_next();
        const auto queue = std::find_if(waiting_.begin(), waiting_.end(), [](const auto& q) { return !q.empty(); });
        if (kind != kPassed && queue == waiting_.end()) return End::kNone;
        if (bounds.as_worth && is_enough(kind)) return End::kEnough;
        if (constraint_->access().run_bytes() > bounds.bytes) return End::kMemory;
        const uint64_t before = task.spent();
        Waiting next;
        if (kind != kPassed) {
            next = std::move(queue->front());
            queue->pop_front();
        }
        try {
            task.look();
            if (kind == kPassed) fill_passed();
            else visit_one(next, bounds);
            spent_[kind] += task.spent() - before;
        } catch (const TimeIsUp&) {  // what was found out is kept, and asking again goes on from there
            if (kind != kPassed) queue->push_front(std::move(next));
            return End::kTime;
        } catch (const MemoryExceeded&) { return End::kMemory; }
    }
    return End::kMost;
}

std::string Explorer::saved() const {
    ImageWriter out;
    out.put(rows_.size());
    for (size_t i = 0; i < rows_.size(); i++) put_row(out, rows_, i);
    out.put(record_.size());
    for (const Visited& v : record_) {
        out.put(v.from);
        out.put(v.step);
        out.put(v.masks.size());
        for (const Mask& m : v.masks) {
            out.put(m.known ? m.row : kRaw);
            out.put(m.words_behind << 16 | m.key.hops << 8 | m.key.beside);
        }
    }
    return out.bytes();
}

uint32_t Explorer::replay(const std::shared_ptr<Constraint>& constraint, std::string_view data, double seconds) {
    Constraint& c = *constraint;
    Task task(Task::kUnbounded, {}, seconds);
    task.enter();
    uint32_t kept = 0;
    try {
        ImageReader in(data);
        const std::vector<std::vector<uint32_t>> rows = read_rows(in, c.vocabulary());
        MaskCache& cache = c.masks().cache();
        std::vector<int32_t> numbers(rows.size(), -1);  // in the cache
        std::vector<std::unique_ptr<Matcher>> places(in.count(3));
        for (size_t i = 0; i < places.size(); i++) {
            const uint32_t from = in.next(), step = in.next(), count = in.count(2);
            if (from != kStart && from >= i) throw BadArtifact("its index leads to a place from one that comes later");
            task.look();
            places[i] = from == kStart ? std::make_unique<Matcher>(constraint) : std::make_unique<Matcher>(*places[from]);
            Matcher& m = *places[i];
            const char byte = char(step);
            const bool accepted =
                from == kStart || (step < kToken ? m.advance_bytes({&byte, 1}) : m.advance(step - kToken) == Matcher::Verdict::kAccepted);
            Operation operation(c.access(), Task::kUnbounded);
            const Parses& parses = m.parses();
            if (!accepted || (count && parses.size() != count)) throw BadArtifact("its index leads where no text can");
            for (uint32_t k = 0; k < count; k++) {
                const uint32_t row = in.next(), key = in.next();
                if (row == kRaw) continue;
                const uint32_t words_behind = key >> 16, hops = key >> 8 & 0xFF;
                const uint8_t beside = uint8_t(key);
                if (row >= rows.size() || hops > uint32_t(MaskCache::kMaxHops) || beside > ReachTrie::kAll)
                    throw BadArtifact("its index names a mask that is not there");
                if (cache.bytes() > c.limits().cache_bytes / 2 || cache.is_large()) return kept;
                const MaskCache::Endings endings = words_behind ? c.masks().endings(parses[k]) : MaskCache::Endings();
                if (numbers[row] < 0) numbers[row] = cache.row_of(rows[row]);
                if (endings.size) cache.keep(parses[k], endings, words_behind, beside, numbers[row]);
                kept += cache.keep(parses[k], {hops, beside}, numbers[row]) != nullptr;
            }
        }
        if (!in.at_end()) throw BadArtifact("its index is longer than it says");
    } catch (const LimitExceeded&) {  // what is not there is made when it is asked for
    } catch (const TimeIsUp&) {
    } catch (const MemoryExceeded&) {}
    return kept;
}

}  // namespace derivable
