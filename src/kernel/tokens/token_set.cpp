#include "tokens/token_set.hpp"

#include <algorithm>
#include <utility>

#include "support/image.hpp"

namespace derivable {

namespace {

// PERF: without an instruction for it, which not all processors have, a word is 30 instructions of a function of the compiler's: 0.13 million for a
// bitmask of llama-3. This is vector instructions.
uint32_t num_bits(const std::vector<uint32_t>& row) {
    uint32_t count = 0;
    for (uint32_t w : row) {
        w -= w >> 1 & 0x55555555u;
        w = (w & 0x33333333u) + (w >> 2 & 0x33333333u);
        w = (w + (w >> 4)) & 0x0F0F0F0Fu;
        w += w >> 8;
        count += (w + (w >> 16)) & 0x3Fu;
    }
    return count;
}

}  // namespace

TokenSet TokenSet::of(const std::vector<uint32_t>& row) {
    TokenSet out;
    out.dense_ = row;
    out.count_ = num_bits(row);
    return out;
}

TokenSet TokenSet::amended(const std::vector<uint32_t>& gone, const std::vector<uint32_t>& come, uint32_t words) const {
    TokenSet out;
    if (is_dense()) {
        out.dense_.assign(dense(), dense() + num_words());
        out.count_ = count_;
        for (uint32_t t : gone) {
            uint32_t& word = out.dense_[t >> 5];
            out.count_ -= word >> (t & 31) & 1;
            word &= ~(1u << (t & 31));
        }
        for (uint32_t t : come) {
            uint32_t& word = out.dense_[t >> 5];
            out.count_ += ~word >> (t & 31) & 1;
            word |= 1u << (t & 31);
        }
        return out;
    }
    std::vector<uint32_t> removed = gone, added = come, left, all;  // all ascend
    std::sort(removed.begin(), removed.end());
    std::sort(added.begin(), added.end());
    left.reserve(ids_.size());
    auto gone_from = removed.begin();
    for (uint32_t t : ids_) {
        while (gone_from != removed.end() && *gone_from < t) ++gone_from;
        if (gone_from == removed.end() || *gone_from != t) left.push_back(t);
    }
    all.resize(left.size() + added.size());
    std::merge(left.begin(), left.end(), added.begin(), added.end(), all.begin());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    out.count_ = uint32_t(all.size());
    out.ids_ = std::move(all);
    if (are_many(out.count_, words)) out.spread(words);
    else out.ids_.shrink_to_fit();
    return out;
}

// PERF: not inlined, for where it was the compiler did not turn it into vector instructions: 1.3 us for a bitmask of llama-3, and here 0.3.
void TokenSet::or_into(uint32_t* mask) const {
    for (uint32_t t : ids_) mask[t >> 5] |= 1u << (t & 31);
    const uint32_t* words = dense();
    for (size_t i = 0, n = num_words(); i < n; i++) mask[i] |= words[i];
}

void TokenSet::spread(uint32_t words) {
    dense_.assign(words, 0);
    for (uint32_t t : ids_) dense_[t >> 5] |= 1u << (t & 31);
    std::vector<uint32_t>().swap(ids_);
}

void TokenSet::pack() {
    std::sort(ids_.begin(), ids_.end());  // neighbouring bits one after the other
    ids_.shrink_to_fit();
}

void TokenSet::unite(const TokenSet& o, const std::vector<uint32_t>& except, uint32_t words) {
    if (dense_.empty() && (o.is_dense() || are_many(ids_.size() + o.ids_.size(), words))) spread(words);
    if (!dense_.empty()) return add_except(dense_.data(), except, [&] { o.or_into(dense_.data()); });
    if (ids_.empty()) ids_.reserve(std::max<size_t>(kShort, o.ids_.size()));
    if (except.empty()) {
        ids_.insert(ids_.end(), o.ids_.begin(), o.ids_.end());
        return;
    }
    std::vector<char> stays(o.ids_.size(), 1);
    for (uint32_t t : except)
        for (auto at = std::lower_bound(o.ids_.begin(), o.ids_.end(), t); at != o.ids_.end() && *at == t; ++at)
            stays[size_t(at - o.ids_.begin())] = 0;
    for (size_t i = 0; i < stays.size(); i++)
        if (stays[i]) ids_.push_back(o.ids_[i]);
}

void TokenSet::normalize(Sorter& sorter) {
    if (ids_.size() <= kShort) {
        std::sort(ids_.begin(), ids_.end());
        ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
        return;
    }
    // PERF: sorting 200 ids takes 3 us, reading them off a bitmask of llama-3 one, and off the words of it that are used half of that.
    for (uint32_t t : ids_) {
        sorter.bits[t >> 6] |= 1ULL << (t & 63);
        sorter.words_used[t >> 12] |= 1ULL << (t >> 6 & 63);
    }
    auto each_bit = [](uint64_t& bits, auto act) {
        for (uint64_t rest = std::exchange(bits, 0); rest; rest &= rest - 1) act(uint32_t(__builtin_ctzll(rest)));
    };
    ids_.clear();
    for (uint32_t i = 0; i < sorter.words_used.size(); i++)
        each_bit(sorter.words_used[i],
                 [&](uint32_t w) { each_bit(sorter.bits[64 * i + w], [&](uint32_t t) { ids_.push_back(64 * (64 * i + w) + t); }); });
}

void TokenSet::save(ImageWriter& out) const {
    out.put(2 * count_ + is_dense());
    if (!is_dense()) return out.list(ids_);
    out.put(num_words());
    out.run(dense(), dense() + num_words());
}

TokenSet TokenSet::restored(ImageReader& in, uint32_t vocabulary_size) {
    const uint32_t head = in.next();
    TokenSet out;
    out.count_ = head / 2;
    if (head % 2) {
        const uint32_t size = in.count(), rest = vocabulary_size % 32;
        const uint32_t* words = in.run(size);
        in.check(size == (vocabulary_size + 31) / 32 && size > 0 && !(rest && words[size - 1] >> rest));
        out.lent_ = words;
        out.num_lent_ = size;
    } else {
        out.ids_ = in.list();
        in.check(out.ids_.size() == out.count_);  // room is made by it
        for (uint32_t token : out.ids_) in.check(token < vocabulary_size);
    }
    return out;
}

uint32_t SetNumbers::add(const TokenSet& set) {
    if (const uint32_t* number = find(set)) return *number;
    ImageWriter one;
    set.save(one);
    const auto [number, fresh] = known_.try_emplace(one.bytes(), size());
    if (fresh) sets_.push_back(&set);
    return numbers_[&set] = number->second;
}

const uint32_t* SetNumbers::find(const TokenSet& set) const {
    const auto known = numbers_.find(&set);
    return known == numbers_.end() ? nullptr : &known->second;
}

void SetNumbers::save(ImageWriter& out) const {
    out.put(sets_.size());
    for (const TokenSet* set : sets_) set->save(out);
}

}  // namespace derivable
