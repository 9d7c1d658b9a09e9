// Shared by every file of the kernel: error types that the bindings translate, and hashing of small integer keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace derivable {

// A bound of `Limits` was reached (Python: LimitError).
struct LimitExceeded : std::runtime_error {
    std::string limit, detail;
    uint64_t used, allowed;
    LimitExceeded(std::string limit_name, uint64_t used_, uint64_t allowed_, std::string detail_ = "")
        : std::runtime_error(limit_name), limit(std::move(limit_name)), detail(std::move(detail_)), used(used_), allowed(allowed_) {}
};

// Something that cannot be enforced exactly (Python: UnsupportedFeatureError).
struct Unsupported : std::runtime_error {
    std::string feature;
    Unsupported(std::string feature_name, const std::string& problem) : std::runtime_error(problem), feature(std::move(feature_name)) {}
};

// A grammar that describes nothing usable (Python: GrammarError).
struct BadGrammar : std::runtime_error {
    std::string hint;
    BadGrammar(const std::string& problem, std::string hint_) : std::runtime_error(problem), hint(std::move(hint_)) {}
};

// Saved data that cannot be read back (Python: ArtifactError).
struct BadArtifact : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline uint64_t mix(uint64_t h) {
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53ULL;
    return h ^ (h >> 33);
}

struct MixHash {
    size_t operator()(uint64_t key) const { return mix(key); }
};

struct WordsHash {
    size_t operator()(const std::vector<uint32_t>& words) const {
        // PERF: four lanes of eight bytes, for mask rows of 16 KiB: a MaskBench step of 11.9 us became 10.7 on the mean (llama-3).
        uint64_t lanes[4] = {words.size() * 0x9e3779b97f4a7c15ULL, 1, 2, 3};
        size_t i = 0;
        for (; i + 8 <= words.size(); i += 8) {
            uint64_t block[4];
            std::memcpy(block, words.data() + i, sizeof block);
            for (int k = 0; k < 4; k++) lanes[k] = (lanes[k] ^ block[k]) * 0x9ddfea08eb382d69ULL, lanes[k] ^= lanes[k] >> 29;
        }
        uint64_t h = mix(lanes[0]) ^ mix(lanes[1] + 0x51ed270bULL) ^ mix(lanes[2] + 0xa3b19535ULL) ^ mix(lanes[3] + 0xe7037ed1ULL);
        for (; i < words.size(); i++) h = (h ^ words[i]) * 0x9ddfea08eb382d69ULL, h ^= h >> 29;
        return mix(h);
    }
};

inline uint64_t pack(uint32_t high, uint32_t low) { return (uint64_t(high) << 32) | low; }

// A hash table in one array. PERF: a look-up takes one line of memory where a chain of nodes takes three; the tables of a vocabulary that
// many schemas share do not stay in caches.
template <typename Value>
class FlatMap {
  public:
    static constexpr uint64_t kNoKey = ~0ULL;
    // The value of a key, or null.
    const Value* find(uint64_t key) const {
        if (entries_.empty()) return nullptr;
        const Entry& e = entries_[place(key)];
        return e.key == key ? &e.value : nullptr;
    }
    // SAFETY: references are valid until the next call.
    Value& operator[](uint64_t key) {
        if (2 * (size_ + 1) > entries_.size()) grow();
        Entry& e = entries_[place(key)];
        if (e.key == kNoKey) e.key = key, size_++;
        return e.value;
    }

  private:
    struct Entry {
        uint64_t key = kNoKey;
        Value value{};
    };
    size_t place(uint64_t key) const {
        size_t i = mix(key) & (entries_.size() - 1);
        while (entries_[i].key != key && entries_[i].key != kNoKey) i = (i + 1) & (entries_.size() - 1);
        return i;
    }
    void grow() {
        std::vector<Entry> before(std::max<size_t>(16, 2 * entries_.size()));
        before.swap(entries_);
        for (Entry& e : before)
            if (e.key != kNoKey) entries_[place(e.key)] = std::move(e);
    }
    std::vector<Entry> entries_;
    size_t size_ = 0;
};

// Numbers equal word lists with small consecutive ids.
class Interner {
  public:
    Interner() = default;
    Interner(Interner&&) = default;  // not copyable: lists_ points into ids_
    Interner& operator=(Interner&&) = default;
    uint32_t intern(const std::vector<uint32_t>& words) {
        auto [it, fresh] = ids_.try_emplace(words, uint32_t(lists_.size()));
        if (fresh) lists_.push_back(&it->first);  // keys of a node-based map never move
        return it->second;
    }
    const std::vector<uint32_t>& operator[](uint32_t id) const { return *lists_[id]; }
    uint32_t size() const { return uint32_t(lists_.size()); }

  private:
    std::unordered_map<std::vector<uint32_t>, uint32_t, WordsHash> ids_;
    std::vector<const std::vector<uint32_t>*> lists_;
};

}  // namespace derivable
