#include "tokens/packed_mask.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "support/hashing.hpp"

namespace derivable {

PackedMask::PackedMask(std::vector<uint32_t> words) : num_words_(uint32_t(words.size())) {
    uint32_t used = 0;
    for (uint32_t w : words) used += w != 0;
    if (!is_sparse(used, words.size())) {
        words_ = std::move(words);
        return;
    }
    words_.reserve(used), places_.reserve(used);
    for (size_t i = 0; i < words.size(); i++)
        if (words[i]) words_.push_back(words[i]), places_.push_back(uint16_t(i));
}

PackedMask::PackedMask(const TokenSet& tokens, uint32_t num_words) : num_words_(num_words) {
    const std::vector<uint32_t>* list = tokens.list();
    if (!list || !is_sparse(list->size(), num_words)) {
        std::vector<uint32_t> words(num_words, 0);
        tokens.or_into(words.data());
        *this = PackedMask(std::move(words));
        return;
    }
    words_.reserve(list->size()), places_.reserve(list->size());
    uint32_t last = num_words;
    for (uint32_t t : *list) {
        if (t >> 5 != last) last = t >> 5, words_.push_back(0), places_.push_back(uint16_t(last));
        words_.back() |= 1u << (t & 31);
    }
    words_.shrink_to_fit(), places_.shrink_to_fit();
}

void PackedMask::write(uint32_t* words) const {
    if (has_all()) return void(std::copy(words_.begin(), words_.end(), words));
    std::fill(words, words + num_words_, 0);
    for (size_t i = 0; i < places_.size(); i++) words[places_[i]] = words_[i];
}

void PackedMask::add_to(uint32_t* words) const {
    if (has_all()) return void(std::transform(words_.begin(), words_.end(), words, words, std::bit_or<>()));
    for (size_t i = 0; i < places_.size(); i++) words[places_[i]] |= words_[i];
}

std::vector<uint32_t> PackedMask::words() const {
    std::vector<uint32_t> out(num_words_);
    write(out.data());
    return out;
}

bool PackedMask::holds(uint32_t token) const {
    if (has_all()) return words_[token >> 5] >> (token & 31) & 1;
    const auto at = std::lower_bound(places_.begin(), places_.end(), token >> 5);
    return at != places_.end() && *at == token >> 5 && words_[size_t(at - places_.begin())] >> (token & 31) & 1;
}

uint64_t PackedMask::hash() const { return mix(WordsHash()(words_) ^ checksum(places_.data(), places_.size() * sizeof(uint16_t))); }

}  // namespace derivable
