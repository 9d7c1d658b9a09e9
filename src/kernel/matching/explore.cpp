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

// Counted as far as `most`. PERF: a look after each block, for within one it is counted several words at a time.
size_t num_different(const std::vector<uint32_t>& row, const std::vector<uint32_t>& base, size_t most) {
    constexpr size_t kBlock = 256;  // words
    size_t count = 0;
    for (size_t begin = 0; begin < row.size() && count < most; begin += kBlock) {
        const size_t end = std::min(begin + kBlock, row.size());
        uint32_t in_block = 0;
        for (size_t w = begin; w < end; w++) in_block += row[w] != base[w];
        count += in_block;
    }
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
        if (const size_t count = num_different(row, base(k), least); count < least) least = count, best = k;
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
    Keys all{};
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
        for (size_t k = 0; k < kKeys; k++) all[k] += mix(of_parse[k] + k);  // in whatever order
    }
    for (uint64_t& key : all) key >>= 1;  // none is FlatMap's kNoKey
    return all;
}

Explorer::Keys Explorer::keys_of(const Matcher& m) {
    Operation operation(constraint_->access(), Task::kUnbounded);
    return keys_of(m.parses());
}

void Explorer::meet(std::unique_ptr<Matcher> matcher, uint32_t from, uint32_t step, Way way) {
    const Keys keys = keys_of(*matcher);
    meet(std::move(matcher), from, step, way, keys);
}

void Explorer::meet(std::unique_ptr<Matcher> matcher, uint32_t from, uint32_t step, Way way, const Keys& keys) {
    if (known_.find(keys.back())) return;
    size_t first = kKeys;
    for (size_t k = kKeys; k-- > 0;)
        if (!know(keys[k])) first = k;
    waiting_[way.free > kLongText ? kKeys : first].push_back({std::move(matcher), from, step, way});
}

// Pieces of literals, and bytes beside them, that lead to situations not met before, one of those that lead to the same: but no escapes, and no
// other bytes of characters of several. All those are nearly all of the situations of a schema (five ways to spell each
// character of a name, twenty places within a character in each string), and models seldom write them.
//
// PERF: in the middle of a string nearly all bytes lead to the same situation, so what stands behind them is looked at before a matcher is
// made for it; and where no lexeme can have ended, the lexer state alone tells.
std::vector<Explorer::Step> Explorer::fresh_steps(const Matcher& m, Literals::Place literal) {
    struct Met {
        Keys keys;
        uint32_t bytes;  // that lead there
        std::string first;
        bool is_fresh;
    };
    std::vector<Met> met;
    std::vector<std::pair<LexState, size_t>> led_to;
    Operation operation(constraint_->access(), constraint_->limits().max_step_work);
    const Parses& parses = m.parses();
    ByteSet likely;
    if (constraint_->spanner().lexer.policy() == Policy::kScannerless) likely = constraint_->runs().likely_bytes(parses);
    else likely.words.fill(~0ULL);
    const bool inside = parses.size() == 1 && !parses[0].writing && !constraint_->access().lexer().accepts(parses[0].lex);
    Parses from, next;
    auto place = [&](std::string_view text) -> size_t {
        from = parses;
        for (char byte : text) {
            constraint_->runs().step(from, uint8_t(byte), next);
            if (next.empty()) return kNowhere;
            from.swap(next);
        }
        const Keys keys = keys_of(from);
        const auto known = std::find_if(met.begin(), met.end(), [&](const Met& x) { return x.keys.back() == keys.back(); });
        if (known != met.end()) return size_t(known - met.begin());
        met.push_back({keys, 0, std::string(text), !known_.find(keys.back())});
        return met.size() - 1;
    };
    auto leads_on = [&](std::string_view text) {
        constraint_->access().pass();
        LexState to = kNoState;
        if (inside) {
            to = parses[0].lex;
            for (size_t i = 0; i < text.size() && to != kNoState; i++) to = constraint_->access().lexer().step(to, uint8_t(text[i]));
            if (to == kNoState) return false;
        }
        auto known = std::find_if(led_to.begin(), led_to.end(), [&](const auto& x) { return inside && x.first == to; });
        if (known == led_to.end()) known = led_to.insert(known, {to, place(text)});
        if (known->second == kNowhere) return false;
        met[known->second].bytes++;
        return true;
    };
    ByteSet begun;  // by a piece
    for (const std::string& piece : literals_.pieces(literal))
        if (const auto first = uint8_t(piece[0]); likely[first] && leads_on(piece)) begun.set(first);
    likely.words[2] = likely.words[3] = 0;
    likely.each([&](uint8_t byte) {
        const char c = char(byte);
        if (byte != '\\' && !begun[byte]) leads_on({&c, 1});
    });
    constexpr uint32_t kFew = 6;
    std::vector<Step> out;
    for (Met& x : met)
        if (x.is_fresh) out.push_back({std::move(x.first), x.bytes > kFew, x.keys});
    return out;
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

uint32_t Explorer::put(uint32_t from, uint32_t step, std::vector<Mask> masks) {
    if (!is_saved_) return 0;
    record_.push_back({from, step, std::move(masks)});
    return uint32_t(record_.size() - 1);
}

uint32_t Explorer::note(Matcher& m, uint32_t from, uint32_t step) {
    const bool known = complete([&] { m.learn_mask(); });
    return put(from, step, known && is_saved_ ? masks_of(m) : std::vector<Mask>());
}

void Explorer::visit_one(Waiting& w, const Bounds& bounds) {
    Matcher& m = *w.matcher;
    visited_++;
    std::vector<Step> steps;
    const bool looks_further = found() < bounds.known && complete([&] { steps = fresh_steps(m, w.way.literal); });
    const uint32_t here = w.step == kNoted ? w.from : note(m, w.from, w.step);
    if (!looks_further) return;
    auto go = [&](auto advance) {
        auto after = std::make_unique<Matcher>(m);
        bool accepted = false;
        return complete([&] { accepted = advance(*after); }) && accepted ? std::move(after) : nullptr;
    };
    for (const Step& step : steps) {
        auto after = go([&](Matcher& x) { return x.advance_bytes(step.bytes); });
        if (!after) continue;
        Way way{w.way.literal, step.is_free ? w.way.free + 1 : 0};
        uint32_t from = here;
        for (size_t i = 0; i < step.bytes.size(); i++) {
            way.literal = literals_.after(way.literal, uint8_t(step.bytes[i]));
            if (i) from = put(from, uint8_t(step.bytes[i - 1]), {});
        }
        meet(std::move(after), from, uint8_t(step.bytes.back()), way, step.keys);
    }
    for (uint32_t token : tokens_)
        if (auto after = go([&](Matcher& x) { return x.advance(token) == Matcher::Verdict::kAccepted; }))
            meet(std::move(after), here, kToken + token, {});
}

Explorer::End Explorer::follow(const std::vector<uint32_t>& tokens, double seconds, uint64_t bytes, uint64_t worth) {
    Task task(Task::kUnbounded, {}, seconds);
    task.enter();
    Matcher m(constraint_);
    Way way;
    uint32_t from = kStart, step = 0;
    try {
        for (size_t i = 0;; i++) {
            task.look();
            if (worth && task.spent() > worth) return End::kEnough;
            if (constraint_->access().run_bytes() > bytes) return End::kMemory;
            followed_++;
            from = note(m, from, step);
            if (const Keys keys = keys_of(m); !known_.find(keys.back())) meet(std::make_unique<Matcher>(m), from, kNoted, way, keys);
            if (i == tokens.size()) return End::kNone;
            bool accepted = false;
            const bool done = complete([&] { accepted = m.advance(tokens[i]) == Matcher::Verdict::kAccepted; });
            if (!done || !accepted) return End::kNone;
            step = kToken + tokens[i];
            for (char byte : constraint_->vocabulary().bytes[tokens[i]]) way.literal = literals_.after(way.literal, uint8_t(byte));
        }
    } catch (const TimeIsUp&) { return End::kTime; } catch (const MemoryExceeded&) {
        return End::kMemory;
    }
}

std::vector<uint32_t> Explorer::cut(std::string_view text) const {
    Task task(Task::kUnbounded);
    task.enter();
    std::vector<uint32_t> tokens;
    for (const std::string& piece : byte_pairs_.cut(text))
        if (const uint32_t token = byte_pairs_.token_of(piece); token != BytePairs::kNoToken) tokens.push_back(token);
    return tokens;
}

bool Explorer::is_enough(Kind kind, const Bounds& bounds) const {
    constexpr uint64_t kLeast = 100'000;  // units of work, about 0.5 ms
    return spent_[kByTop] + spent_[kBelow] > bounds.worth ||
           (kind == kBelow && spent_[kBelow] > std::max(kLeast, uint64_t(double(spent_[kByTop]) * bounds.below)));
}

Explorer::End Explorer::visit(const Bounds& bounds) {
    Task task(Task::kUnbounded, {}, bounds.seconds);
    task.enter();
    for (uint64_t i = 0; i < bounds.most; i++) {
        const auto queue = std::find_if(waiting_.begin(), waiting_.end(), [](const auto& q) { return !q.empty(); });
        if (queue == waiting_.end()) return End::kNone;
        const Kind kind = queue - waiting_.begin() < 2 ? kByTop : kBelow;
        if (bounds.worth && is_enough(kind, bounds)) return End::kEnough;
        if (constraint_->access().run_bytes() > bounds.bytes) return End::kMemory;
        const uint64_t before = task.spent();
        Waiting next = std::move(queue->front());
        queue->pop_front();
        try {
            task.look();
            visit_one(next, bounds);
            spent_[kind] += task.spent() - before;
        } catch (const TimeIsUp&) {  // what was found out is kept, and asking again goes on from there
            queue->push_front(std::move(next));
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
