// One function for a table's image: `archive(Archive&)` names what stands in it, in order, and the archive writes that or reads it.
//
//     void Names::archive(Archive& a) {
//         a.each(names_, 2, [&](Name& name) { a.below(name.kind, kNumKinds), a.list(name.words); });
//     }
//
// What is read comes from a file that may say anything. So a number is read with the bound that it has to keep, a count with the least that one
// thing takes, and what else has to hold is checked. What does not hold is BadArtifact. Where reading does something else than writing, `reading()`
// tells them apart.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "support/bits.hpp"
#include "support/hashing.hpp"
#include "support/ids.hpp"
#include "support/image.hpp"

namespace derivable {

class Archive {
  public:
    Archive() = default;  // to write
    explicit Archive(ImageReader in) : in_(std::move(in)), reading_(true) {}
    bool reading() const { return reading_; }
    ImageWriter& out() { return out_; }
    ImageReader& in() { return in_; }

    // Of what was read; what is written is not checked.
    void check(bool fits) const {
        if (reading_) in_.check(fits);
    }
    template <class T>
    void number(T& value) {
        if (reading_) value = T(in_.next());
        else out_.put(word(value));
    }
    template <class T>
    void below(T& value, size_t bound) {
        if (reading_) value = T(in_.below(bound));
        else out_.put(word(value));
    }
    void flag(bool& value) { below(value, 2); }
    void wide(uint64_t& value) {
        auto low = uint32_t(value), high = uint32_t(value >> 32);
        number(low), number(high);
        value = pack(high, low);
    }
    void text(std::string& value) {
        const uint32_t size = count(value.size(), 0);
        if (reading_) value = in_.text(size);
        else out_.text(value);
    }
    // As many bytes as there are, or room was made for.
    template <class Bytes>
    void bytes(Bytes& bytes) {
        if (!reading_) return out_.text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        if (!bytes.empty()) std::memcpy(bytes.data(), in_.text(bytes.size()).data(), bytes.size());
    }
    // What reads has it already, or it is of something else.
    void same(size_t value, const char* otherwise) {
        if (!reading_) out_.put(value);
        else if (in_.next() != uint32_t(value)) throw BadArtifact(otherwise);
    }
    // Of things that take at least `least` words each: `size` of them are written.
    uint32_t count(size_t size, size_t least = 1) {
        if (reading_) return in_.count(least);
        out_.put(size);
        return uint32_t(size);
    }
    void list(std::vector<uint32_t>& words) {
        if (reading_) words = in_.list();
        else out_.list(words);
    }
    void list(std::vector<uint32_t>& words, size_t bound) {
        list(words);
        for (uint32_t word : words) check(word < bound);
    }
    void bits(Bits& bits, size_t size) {
        if (reading_) bits = Bits(size);
        for (uint32_t at = 0; at < bits.words().size() * 64; at += 32) {
            auto word = uint32_t(bits.words()[at / 64] >> at % 64);
            number(word);
            if (!reading_) continue;
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
        if (reading_) items.clear(), items.resize(n);
        for (auto& item : items) fields(item);
    }
    // A map of the standard library, by ascending keys.
    template <class Map, class Fields>
    void map(Map& map, size_t least, Fields fields) {
        using Key = typename Map::key_type;
        using Value = typename Map::mapped_type;
        if (reading_) {
            for (uint32_t n = in_.count(least); n > 0; n--) {
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
        out_.put(all.size());
        for (auto& [key, value] : all) fields(key, *value);
    }
    // The lists with the numbers from `first` on. `add` gives one that was read its number again. SAFETY: no two are alike, so all but one have a word.
    template <class Add>
    void lists(Interner& lists, uint32_t first, Add add) {
        const uint32_t n = count(lists.size() - first, 2);
        if (reading_) lists.reserve(first + n);
        for (uint32_t i = first; i < first + n; i++)
            if (reading_) check(add(in_.list()) == i);
            else out_.list(lists[i]);
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

    ImageWriter out_;
    ImageReader in_;
    const bool reading_ = false;
};

}  // namespace derivable
