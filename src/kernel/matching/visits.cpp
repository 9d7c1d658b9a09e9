#include "matching/visits.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "support/errors.hpp"
#include "support/image.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

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

bool take(Matcher& m, uint32_t step) {
    const char byte = char(step);
    return (step < Visits::kToken ? m.advance_bytes({&byte, 1}) : m.advance(step - Visits::kToken)) == Matcher::Verdict::kAccepted;
}

struct Mask {  // of a parse
    bool is_known = false;
    MaskCache::Key key;
    uint32_t words_behind = 0;  // by which it is kept, if it is, of its endings
    uint32_t row = 0;
};

// The masks of the parses of matchers, and their rows, each once.
class Rows {
  public:
    explicit Rows(Constraint& constraint) : constraint_(constraint), num_cleared_(constraint.masks().cache().num_cleared()) {}

    std::vector<Mask> masks_of(Matcher& m) {
        constexpr uint64_t kOne = 50;
        std::vector<Mask> masks;
        Operation operation(constraint_.access(), Task::kUnbounded);
        work(kOne);
        MaskCache& cache = constraint_.masks().cache();
        // SAFETY: a row of the cache stays where it is until all are forgotten.
        if (const uint32_t now = cache.num_cleared(); std::exchange(num_cleared_, now) != now) numbers_.clear();
        for (const Parse& t : m.parses()) {
            Mask& mask = masks.emplace_back();
            const PackedMask* row = cache.find(t, &mask.key);
            if (!row) continue;
            if (const MaskCache::Endings endings = constraint_.masks().maker().endings(t); endings.size)
                cache.find(t, endings, &mask.words_behind);
            const auto [number, fresh] = numbers_.try_emplace(row, uint32_t(rows_.size()));
            if (fresh) rows_.push_back(row->words());
            mask.is_known = true;
            mask.row = number->second;
        }
        return masks;
    }
    void save(ImageWriter& out) const {
        out.put(rows_.size());
        for (size_t i = 0; i < rows_.size(); i++) put_row(out, rows_, i);
    }

  private:
    Constraint& constraint_;
    uint32_t num_cleared_;
    std::unordered_map<const PackedMask*, uint32_t> numbers_;
    std::vector<std::vector<uint32_t>> rows_;
};

}  // namespace

std::string Visits::saved(const std::shared_ptr<Constraint>& constraint) const {
    Task task(Task::kUnbounded);
    task.enter();
    Rows rows(*constraint);
    ImageWriter steps;
    uint32_t num_there = 0;
    std::vector<std::pair<std::unique_ptr<Matcher>, uint32_t>> places(all_.size());  // and their numbers; null: it was refused this time
    for (size_t i = 0; i < all_.size(); i++) {
        const auto [from, step, is_asked] = all_[i];
        bool is_there = from == kStart;
        if (!is_there && !places[from].first) continue;
        auto m = is_there ? std::make_unique<Matcher>(constraint) : std::make_unique<Matcher>(*places[from].first);
        if (!is_there) complete([&] { is_there = take(*m, step); });
        if (!is_there) continue;
        std::vector<Mask> masks;
        if (is_asked && complete([&] { m->learn_mask(); })) masks = rows.masks_of(*m);
        steps.put(from == kStart ? kStart : places[from].second);
        steps.put(step);
        steps.put(masks.size());
        for (const Mask& mask : masks) {
            steps.put(mask.is_known ? mask.row : kRaw);
            steps.put(mask.words_behind << 16 | mask.key.hops << 8 | mask.key.beside);
        }
        places[i] = {std::move(m), num_there++};
    }
    ImageWriter out;
    rows.save(out);
    out.put(num_there);
    out.text(steps.view());
    return out.bytes();
}

uint32_t Visits::replay(const std::shared_ptr<Constraint>& constraint, std::string_view data, double seconds) {
    Constraint& c = *constraint;
    const Spanner::Exploration exploration(c.spanner());
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
            const bool accepted = from == kStart || take(m, step);
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
                const MaskCache::Endings endings = words_behind ? c.masks().maker().endings(parses[k]) : MaskCache::Endings();
                if (numbers[row] < 0) numbers[row] = cache.row_of(PackedMask(rows[row]));
                if (endings.size) cache.keep(parses[k], endings, words_behind, beside, numbers[row]);
                kept += cache.keep(parses[k], {hops, beside}, numbers[row]) != nullptr;
            }
        }
        in.check_at_end();
    } catch (const LimitExceeded&) {  // what is not there is made when it is asked for
    } catch (const TimeIsUp&) {
    } catch (const MemoryExceeded&) {}
    return kept;
}

}  // namespace derivable
