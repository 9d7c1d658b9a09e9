#include "masks/mask_cache.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace derivable {

const After* MaskCache::Endings::of(Symbol symbol) const {
    const Ending* found = std::find_if(begin(), end(), [&](const Ending& e) { return e.symbol == symbol; });
    return found == end() ? nullptr : &found->after;
}

Reach MaskCache::own(const Endings& endings, size_t words) const {
    Reach all;
    for (size_t i = 0; i < endings.size; i++) {
        const After& after = endings.all[i].after;
        const size_t last = std::min((words + endings.size - 1) / endings.size, looked_[i].size());
        all |= after.reach | Reach{std::max(0, looked_[i][last - 1] + after.above)};
    }
    return all;
}

bool MaskCache::sign(const Parse& t, Key key) { return key.hops <= kMaxHops && stacks_.signature(t.stack, key.hops, signature_); }

// Those of each stack side by side; one that a stack does not have is kNone.
void MaskCache::put_words(size_t number, size_t stacks) {
    constexpr uint64_t kNone = 1ULL << 60;  // SAFETY: no word of a stack, nor of an environment (ReachTrie), nor FlatMap's kNoKey
    for (size_t i = 0; i < stacks; i++) signature_.push_back(number < futures_[i].size() ? futures_[i][number] : kNone);
}

bool MaskCache::sign(const Endings& endings, uint32_t hops, size_t most) {
    size_t words = 0;
    for (size_t i = 0; i < endings.size; i++) {
        if (!stacks_.future(endings.all[i].after.stack, hops, most, true, futures_[i], looked_[i])) return false;
        words = std::max(words, futures_[i].size());
    }
    signature_.clear();
    for (size_t k = 0; k < words; k++) put_words(k, endings.size);
    return true;
}

int32_t MaskCache::number(const Parse& t, Key* key) {
    const ReachTrie::Root* root = by_stack_.root(t.lex.index());
    if (!root || !stacks_.signature(t.stack, root->words, signature_)) return -1;
    const ReachTrie::Found found = by_stack_.find(*root, t.environment, signature_, [] { return false; });
    if (key) *key = {uint32_t(std::max<size_t>(found.words, 1) - 1), found.beside};
    return found.value;
}

const PackedMask* MaskCache::find(const Parse& t, Key* key) {
    const int32_t known = number(t, key);
    return known < 0 ? nullptr : &row(known);
}

const PackedMask* MaskCache::find(const Parse& t, const Endings& endings, uint32_t* most) {
    const ReachTrie::Root* root = by_endings_.root(t.lex.index());
    if (!root) return nullptr;
    std::array<std::optional<Stacks::Future>, Endings::kMost> futures;
    for (size_t i = 0; i < endings.size; i++)
        futures[i].emplace(stacks_, endings.all[i].after.stack, Reach::kDeep, root->words, true, futures_[i], looked_[i]);
    signature_.clear();
    const ReachTrie::Found found = by_endings_.find(*root, t.environment, signature_, [&] {
        const size_t k = signature_.size() / endings.size;
        bool are_more = false;
        for (size_t i = 0; i < endings.size; i++) are_more |= futures_[i].size() > k || futures[i]->more();
        if (are_more) put_words(k, endings.size);
        return are_more;
    });
    if (found.value < 0) return nullptr;
    if (most) *most = uint32_t(found.words / endings.size);
    Key key = key_of(t, own(endings, found.words));
    key.beside |= found.beside;
    if (sign(t, key)) by_stack_.put(t.lex.index(), t.environment, key.beside, key.hops, signature_, found.value);
    return &row(found.value);
}

const PackedMask* MaskCache::keep(const Parse& t, Key key, int32_t row) {
    if (!sign(t, key)) return nullptr;
    by_stack_.put(t.lex.index(), t.environment, key.beside, key.hops, signature_, row);
    return &this->row(row);
}

const PackedMask* MaskCache::keep(const Parse& t, const Endings& endings, Reach behind, int32_t row) {
    if (behind.hops > kMaxHops || !sign(endings, uint32_t(behind.hops), ~size_t(0))) return nullptr;
    const auto most = uint32_t(signature_.size() / endings.size);
    const uint8_t beside = key_of(t, behind | own(endings, signature_.size())).beside;
    // Of several, those that have told less than the others go on until they have told as much.
    return endings.size == 1 ? keep_signed(t, endings, most, beside, row) : keep(t, endings, most, beside, row);
}

const PackedMask* MaskCache::keep(const Parse& t, const Endings& endings, uint32_t most, uint8_t beside, int32_t row) {
    return sign(endings, Reach::kDeep, most) ? keep_signed(t, endings, most, beside, row) : nullptr;
}

const PackedMask* MaskCache::keep_signed(const Parse& t, const Endings& endings, uint32_t most, uint8_t beside, int32_t row) {
    const Key of_stack{uint32_t(own(endings, signature_.size()).hops), beside};
    by_endings_.put(t.lex.index(), t.environment, beside, most, signature_, row);
    if (sign(t, of_stack)) by_stack_.put(t.lex.index(), t.environment, beside, of_stack.hops, signature_, row);
    return &this->row(row);
}

int32_t MaskCache::row_of(PackedMask mask) {
    uint64_t hash = mask.hash();
    if (const uint32_t* known = row_numbers_.find(hash, [&](uint32_t number) { return rows_[number] == mask; })) return int32_t(*known);
    const size_t bytes = mask.bytes() + sizeof(PackedMask) + 32;
    rows_[num_rows_] = std::move(mask);
    row_numbers_.put(hash, num_rows_);
    bytes_ += bytes;
    return int32_t(num_rows_++);  // SAFETY: last, so no number is lost where there is no memory
}

void MaskCache::clear() {
    num_cleared_++;
    by_stack_.clear();
    by_endings_.clear();
    by_parts_.clear();
    row_numbers_ = {};
    rows_ = {};
    num_rows_ = 0;
    bytes_ = 0;
}

void MaskCache::each(const std::function<void(LexState, const std::vector<const PackedMask*>&, uint64_t, uint64_t)>& visit) const {
    by_stack_.each([&](uint32_t lex, const std::vector<int32_t>& rows, uint64_t keys, uint64_t deepest) {
        std::vector<const PackedMask*> masks;
        for (int32_t number : rows) masks.push_back(&row(number));
        visit(LexState(lex), masks, keys, deepest);
    });
}

void MaskCache::each_key(const std::function<void(LexState, const ReachTrie::Written&, int32_t)>& visit) const {
    by_stack_.each_key([&](uint32_t lex, const ReachTrie::Written& key, int32_t row) { visit(LexState(lex), key, row); });
}

std::optional<std::pair<ReachTrie::Written, int32_t>> MaskCache::written(const Parse& t) {
    const ReachTrie::Root* root = by_stack_.root(t.lex.index());
    if (!root || !stacks_.signature(t.stack, root->words, signature_)) return std::nullopt;
    const ReachTrie::Found found = by_stack_.find(*root, t.environment, signature_, [] { return false; });
    if (found.value < 0) return std::nullopt;
    return std::pair(by_stack_.written(*root, t.environment, signature_, found), found.value);
}

}  // namespace derivable
