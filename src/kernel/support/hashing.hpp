// Hash tables whose look-ups touch little memory, and numbers for equal lists of words.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/arena.hpp"
#include "support/ids.hpp"
#include "support/task.hpp"

namespace derivable {

inline uint64_t mix(uint64_t h) {
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53ULL;
    return h ^ (h >> 33);
}

inline uint64_t pack(uint32_t high, uint32_t low) { return (uint64_t(high) << 32) | low; }

template <class Tag, class Low>
uint64_t pack(Id<Tag> high, Low low) {
    return pack(high.index(), low);
}
template <class Tag>
uint64_t pack(uint32_t high, Id<Tag> low) {
    return pack(high, low.index());
}

// As words of a key. SAFETY: whoever keeps the key keeps what is there, or else something else may be there one day.
inline std::array<uint32_t, 2> address_words(const void* address) {
    const auto word = uint64_t(reinterpret_cast<uintptr_t>(address));
    return {uint32_t(word), uint32_t(word >> 32)};
}

struct MixHash {
    size_t operator()(uint64_t key) const { return mix(key); }
};

// So many blocks of 64 bytes. PERF: four lanes that take 16 bytes each a multiplication, for mask rows of 16 KiB: 0.8 us; with eight bytes it was 1.2.
inline uint64_t hash_blocks(const void* data, size_t blocks, uint64_t h) {
    uint64_t lanes[4] = {1, 2, 3, 4};
    for (size_t i = 0; i < blocks; i++) {
        uint64_t block[8];
        std::memcpy(block, static_cast<const char*>(data) + i * sizeof block, sizeof block);
        for (int k = 0; k < 4; k++) {
            const auto product = static_cast<unsigned __int128>(block[2 * k] ^ lanes[k] ^ 0x9e3779b97f4a7c15ULL) *
                                 (block[2 * k + 1] ^ 0x9ddfea08eb382d69ULL);
            lanes[k] = uint64_t(product) ^ uint64_t(product >> 64);
        }
    }
    for (uint64_t lane : lanes) h = mix(h ^ lane);
    return h;
}

// Of the bytes of a file: the same on every machine.
inline uint64_t checksum(const void* data, size_t size) {
    char last[64] = {};
    if (size % 64) std::memcpy(last, static_cast<const char*>(data) + size / 64 * 64, size % 64);  // SAFETY: of nothing, `data` may be null
    return hash_blocks(last, 1, hash_blocks(data, size / 64, size));
}

struct WordsHash {
    template <class Tag>
    size_t operator()(const std::vector<Id<Tag>>& ids) const {
        static_assert(sizeof(Id<Tag>) == sizeof(uint32_t), "ids are hashed as words");
        return hash(ids, [](Id<Tag> id) { return id.index(); });
    }
    size_t operator()(const std::vector<uint32_t>& words) const {
        return hash(words, [](uint32_t word) { return word; });
    }

  private:
    template <class Words, class Word>
    static size_t hash(const Words& words, Word word) {
        uint64_t h = words.size() * 0x9e3779b97f4a7c15ULL;
        size_t i = 0;
        if (words.size() >= 64) {
            h = hash_blocks(words.data(), words.size() / 16, h);
            i = words.size() / 16 * 16;
        }
        for (; i + 2 <= words.size(); i += 2) h = (h ^ pack(word(words[i]), word(words[i + 1]))) * 0x9ddfea08eb382d69ULL, h ^= h >> 29;
        return mix(i < words.size() ? h ^ word(words[i]) : h);
    }
};

// A hash table by small integers. PERF: a look-up takes two lines of memory where a chain of nodes takes three; the tables of a vocabulary
// that many schemas share do not stay in caches. And it grows piece by piece (extendible hashing: the upper bits of a hash select a piece,
// a full piece is split in two): the tables of a vocabulary that moved as a whole stopped generations for up to 35 ms.
template <typename Value>
class FlatMap {
  public:
    static constexpr uint64_t kNoKey = ~0ULL;  // SAFETY: not to be asked for
    FlatMap() = default;
    FlatMap(const FlatMap& other) {
        other.each([this](uint64_t key, const Value& value) { (*this)[key] = value; });
    }
    FlatMap(FlatMap&&) noexcept = default;
    FlatMap& operator=(FlatMap&&) noexcept = default;
    ~FlatMap() = default;
    // The value of a key, or null.
    const Value* find(uint64_t key) const {
        if (pieces_.empty()) return nullptr;
        const uint64_t hash = mix(key);
        const Entry& e = directory_[place(hash)].entry(key, hash);
        return e.key == key ? &e.value : nullptr;
    }
    template <class Tag>
    const Value* find(Id<Tag> key) const {
        return find(key.index());
    }
    template <class Tag>
    Value& operator[](Id<Tag> key) {
        return (*this)[key.index()];
    }
    // SAFETY: references are valid until the next call.
    Value& operator[](uint64_t key) {
        const uint64_t hash = mix(key);
        for (;; grow(hash)) {
            if (pieces_.empty()) continue;
            const View& view = directory_[place(hash)];
            Entry& e = view.entry(key, hash);
            if (e.key == key) return e.value;
            Piece& piece = pieces_[view.piece];
            if (2 * piece.size > view.mask) continue;
            piece.size++;
            e.key = key;
            return e.value;
        }
    }
    bool empty() const { return pieces_.empty(); }
    // Room for so many, or about. PERF: growing was 7 of the 140 million instructions of loading Python.
    void reserve(size_t entries) {
        uint32_t capacity = kSmallest, bits = 0;
        while (capacity < kLargest && capacity < 2 * entries) capacity *= 2;
        while ((size_t(kLargest) << bits) < 2 * entries) bits++;
        FlatMap larger;
        larger.bits_ = bits;
        for (uint32_t i = 0; i < 1u << bits; i++) {
            larger.pieces_.push_back(empty_piece(capacity, bits));
            larger.directory_.push_back({larger.pieces_.back().entries.get(), capacity - 1, i});
        }
        each([&](uint64_t key, const Value& value) { larger[key] = value; });
        *this = std::move(larger);
    }
    template <class Visit>  // (key, value), in no order
    void each(Visit visit) const {
        for (size_t k = 0; k < directory_.size(); k++) {
            const View& view = directory_[k];
            if (k && directory_[k - 1].piece == view.piece) continue;
            for (uint32_t i = 0; i <= view.mask; i++)
                if (view.entries[i].key != kNoKey) visit(view.entries[i].key, view.entries[i].value);
        }
    }
    // Of a table that is not used any more: frees some entries, and returns how many.
    size_t drop_piece() {
        const size_t size = pieces_.back().size;
        pieces_.pop_back();
        return size;
    }

  private:
    static constexpr uint32_t kSmallest = 16, kLargest = 1024;  // entries of a piece
    struct Entry {
        uint64_t key = kNoKey;
        Value value{};
    };
    struct Piece {
        std::unique_ptr<Entry[]> entries;
        uint32_t size, bits;  // entries in use; upper bits of a hash that they share
    };
    struct View {  // of a piece
        Entry* entries;
        uint32_t mask, piece;
        Entry& entry(uint64_t key, uint64_t hash) const {
            uint32_t i = uint32_t(hash) & mask;
            while (entries[i].key != key && entries[i].key != kNoKey) i = (i + 1) & mask;
            return entries[i];
        }
    };
    size_t place(uint64_t hash) const { return bits_ ? hash >> (64 - bits_) : 0; }
    static Piece empty_piece(uint32_t capacity, uint32_t bits) { return {std::make_unique<Entry[]>(capacity), 0, bits}; }
    void enter(uint32_t piece, uint32_t capacity, size_t begin, size_t end) {
        std::fill(directory_.begin() + long(begin), directory_.begin() + long(end),
                  View{pieces_[piece].entries.get(), capacity - 1, piece});
    }
    // The piece of a hash: twice as large, or split in two. SAFETY: memory may be refused (MemoryExceeded). All of it is there before a piece is given up.
    void grow(uint64_t hash) {
        if (pieces_.empty()) {
            directory_.resize(1);
            pieces_.push_back(empty_piece(kSmallest, 0));
            return enter(0, kSmallest, 0, 1);
        }
        const uint32_t piece = directory_[place(hash)].piece, capacity = directory_[place(hash)].mask + 1, bits = pieces_[piece].bits;
        const bool splits = capacity == kLargest;
        if (splits && bits == bits_) {
            std::vector<View> wider;
            for (const View& view : directory_) wider.insert(wider.end(), 2, view);
            directory_ = std::move(wider);
            bits_++;
        }
        const size_t width = size_t(1) << (bits_ - bits), begin = place(hash) & ~(width - 1);
        const uint32_t larger = splits ? kLargest : 2 * capacity;
        Piece lower = empty_piece(larger, bits + splits);
        if (splits) pieces_.push_back(empty_piece(larger, bits + 1));
        const Piece before = std::exchange(pieces_[piece], std::move(lower));
        enter(piece, larger, begin, begin + (splits ? width / 2 : width));
        if (splits) enter(uint32_t(pieces_.size() - 1), larger, begin + width / 2, begin + width);
        for (uint32_t i = 0; i < capacity; i++)
            if (Entry& e = before.entries[i]; e.key != kNoKey) {
                const uint64_t h = mix(e.key);
                const View& view = directory_[place(h)];
                view.entry(e.key, h) = std::move(e);
                pieces_[view.piece].size++;
            }
    }

    std::vector<View> directory_;  // by the upper bits of hashes
    uint32_t bits_ = 0;            // so many
    std::vector<Piece> pieces_;
};

// Numbers of things that are kept elsewhere, by hashes of what they are made of.
class NumbersByHash {
  public:
    // Of the thing with such a hash that is the `same(number)`; null if it has none. The hash is then one by which it can be put.
    template <class Same>
    const uint32_t* find(uint64_t& hash, Same same) const {
        for (;; hash++) {
            if (hash == FlatMap<uint32_t>::kNoKey) continue;
            const uint32_t* known = numbers_.find(hash);
            if (!known || same(*known)) return known;
        }
    }
    void put(uint64_t hash, uint32_t number) { numbers_[hash] = number; }
    void reserve(size_t numbers) { numbers_.reserve(numbers); }
    bool empty() const { return numbers_.empty(); }
    size_t drop_piece() { return numbers_.drop_piece(); }  // see FlatMap

  private:
    FlatMap<uint32_t> numbers_;
};

// Numbers equal word lists with small consecutive ids.
class Interner {
  public:
    // Null if they have none.
    const uint32_t* find(const std::vector<uint32_t>& words) const {
        uint64_t hash;
        return find(words, hash);
    }
    uint32_t intern(const std::vector<uint32_t>& words) {
        uint64_t hash;
        const uint32_t* known = find(words, hash);
        return known ? *known : add(words, hash);
    }
    uint32_t intern(std::vector<uint32_t>&& words) {
        uint64_t hash;
        const uint32_t* known = find(words, hash);
        return known ? *known : add(std::move(words), hash);
    }
    const std::vector<uint32_t>& operator[](uint32_t id) const { return lists_[id]; }
    uint32_t size() const { return size_; }
    void reserve(size_t lists) { ids_.reserve(lists); }

  private:
    // `hash`: where they are, or else may be.
    const uint32_t* find(const std::vector<uint32_t>& words, uint64_t& hash) const {
        hash = WordsHash()(words);
        return ids_.find(hash, [&](uint32_t id) { return lists_[id] == words; });
    }

    uint32_t add(std::vector<uint32_t> words, uint64_t hash) {
        lists_[size_] = std::move(words);
        ids_.put(hash, size_);
        return size_++;  // SAFETY: last, so no number is lost where there is no memory
    }

    NumbersByHash ids_;
    Pages<std::vector<uint32_t>> lists_;
    uint32_t size_ = 0;
};

}  // namespace derivable
