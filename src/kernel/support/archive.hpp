// One function for a table's image: `archive(Archive&)` names what stands in it, in order, and the archive writes that or reads it.
//
//     void Names::archive(Archive& a) {
//         a.each(names_, 2, [&](Name& name) { a.below(name.kind, kNumKinds), a.list(name.words); });
//     }
//
// What is read comes from a file that may say anything. So a number is read with the bound that it has to keep, a count with the least that one thing
// takes, and what else has to hold is checked. Where reading does something else than writing, `reading()` tells them apart.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/bits.hpp"
#include "support/hashing.hpp"
#include "support/ids.hpp"
#include "support/image.hpp"

namespace derivable {

class Archive {
  public:
    explicit Archive(ImageWriter& out) : out_(&out) {}
    explicit Archive(ImageReader& in) : in_(&in) {}
    bool reading() const { return in_; }
    ImageWriter& out() { return *out_; }
    ImageReader& in() { return *in_; }

    // Of what was read; what is written is not checked.
    void check(bool fits) const {
        if (in_) ImageReader::check(fits);
    }
    template <class T>
    void number(T& value) {
        if (in_) value = T(in_->next());
        else out_->put(word(value));
    }
    template <class T>
    void below(T& value, size_t bound) {
        if (in_) value = T(in_->below(bound));
        else out_->put(word(value));
    }
    void flag(bool& value) { below(value, 2); }
    // What reads has it already, or it is of something else.
    void same(size_t value, const char* otherwise = ImageReader::kMisplaced) {
        if (!in_) out_->put(value);
        else if (in_->next() != uint32_t(value)) throw BadArtifact(otherwise);
    }
    // Of things that take at least `least` words each: `size` of them are written.
    uint32_t count(size_t size, size_t least = 1) {
        if (in_) return in_->count(least);
        out_->put(size);
        return uint32_t(size);
    }
    void list(std::vector<uint32_t>& words) {
        if (in_) words = in_->list();
        else out_->list(words);
    }
    void list(std::vector<uint32_t>& words, size_t bound) {
        list(words);
        for (uint32_t word : words) check(word < bound);
    }
    void bits(Bits& bits, size_t size) {
        if (in_) bits = Bits(size);
        for (uint32_t at = 0; at < bits.words().size() * 64; at += 32) {
            auto word = uint32_t(bits.words()[at / 64] >> at % 64);
            number(word);
            if (!in_) continue;
            for (; word; word &= word - 1) {
                const uint32_t i = at + uint32_t(__builtin_ctz(word));
                check(i < size);
                bits.add(i);
            }
        }
    }
    // SAFETY: room is made for as many things as a file has words for.
    template <class Items, class Fields>
    void each(Items& items, size_t least, Fields fields) {
        const uint32_t n = count(items.size(), least);
        if (in_) items.clear(), items.resize(n);
        for (auto& item : items) fields(item);
    }
    // A map of the standard library, by ascending keys.
    template <class Map, class Fields>
    void map(Map& map, size_t least, Fields fields) {
        using Key = typename Map::key_type;
        using Value = typename Map::mapped_type;
        if (in_) {
            for (uint32_t n = in_->count(least); n > 0; n--) {
                Key key{};
                Value value{};
                fields(key, value);
                map[key] = std::move(value);
            }
            return;
        }
        std::vector<std::pair<Key, Value*>> all;
        for (auto& [key, value] : map) all.emplace_back(key, &value);
        std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        out_->put(all.size());
        for (auto& [key, value] : all) fields(key, *value);
    }
    // The lists with the numbers from `first` on. `add` gives one that was read its number again. SAFETY: all but one have a word.
    template <class Add>
    void lists(Interner& lists, uint32_t first, Add add) {
        const uint32_t n = count(lists.size() - first, 2);
        if (in_) lists.reserve(first + n);
        for (uint32_t i = first; i < first + n; i++)
            if (in_) check(add(in_->list()) == i);
            else out_->list(lists[i]);
    }

  private:
    template <class T>
    static uint32_t word(T value) {
        return uint32_t(value);
    }
    template <class Tag>
    static uint32_t word(Id<Tag> id) {
        return id.index();
    }

    ImageWriter* out_ = nullptr;
    ImageReader* in_ = nullptr;
};

}  // namespace derivable
