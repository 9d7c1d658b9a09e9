// An array or object that is open while values are written that must differ, for the files that implement `Writing`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/distinct_items.hpp"
#include "json/number_text.hpp"
#include "json/unique_values.hpp"
#include "support/hashing.hpp"

namespace derivable {

// Of the innermost frame, the outermost being at 0. SAFETY: values are compared, written, read and freed recursively.
constexpr uint32_t kMaxDepth = 2'000;

inline uint64_t hash_of(std::string_view text) { return mix(std::hash<std::string_view>()(text)); }

inline ValueRef finished(JsonValue v) {
    uint64_t h = mix(uint64_t(v.kind) + 1) ^ hash_of(v.text);
    for (const ValueRef& item : v.items) h = mix(h ^ item->hash) + 1;
    for (const auto& [key, value] : v.members) h = mix(mix(h ^ hash_of(key)) ^ value->hash) + 2;
    v.hash = h;
    return std::make_shared<const JsonValue>(std::move(v));
}

// A value in the order in which its text is written: its kind, then a number with its sign and whether it is below 1, the others as they are. Of
// arrays and objects the hash.
inline std::string index_text(const JsonValue& v) {
    std::string out(1, char('0' + int(v.kind)));
    if (v.kind == JsonValue::Kind::kNumber && v.text != "0") {
        out += NumberText::leading_power(v.text) > 0 ? '>' : '<';
        if (v.text[0] != '-') out += '+';
    }
    if (v.kind == JsonValue::Kind::kArray || v.kind == JsonValue::Kind::kObject)
        return out + std::string(reinterpret_cast<const char*>(&v.hash), sizeof v.hash);
    return out + v.text;
}
inline std::string index_text(JsonValue::Kind kind, std::string_view text) { return std::string(1, char('0' + int(kind))).append(text); }

inline const ValueRef* member(const std::vector<std::pair<std::string, ValueRef>>& members, const std::string& key) {
    for (const auto& m : members)
        if (m.first == key) return &m.second;
    return nullptr;
}

// An array or object that is open.
struct Writing::Frame {
    using Kind = JsonValue::Kind;
    FrameRef below;
    Kind kind;
    bool distinct = false;
    uint32_t depth = 0;
    Items<ValueRef> items;
    PrefixCounts::Ref index;                                // of the items, where they are distinct
    std::vector<std::pair<std::string, ValueRef>> members;  // in the order of the text, without repetition
    std::string key;                                        // of the member in progress
    std::vector<ValueRef> likes;                            // of this kind, and equal as far as this has got
    uint64_t hash = 0;                                      // of all but `likes`, which follow from the frames below

    // What the value in progress in this frame may come out equal to: items of this one are in the index.
    template <class Visit>
    void each_inherited_inside(Visit&& visit) const {
        for (const ValueRef& like : likes) {
            if (kind == Kind::kArray) {
                if (like->items.size() > items.size()) visit(like->items[items.size()]);
            } else if (const ValueRef* found = member(like->members, key)) {
                visit(*found);
            }
        }
    }
    template <class Fits>
    size_t count_inherited(Fits&& fits) const {
        size_t count = 0;
        each_inherited_inside([&](const ValueRef& like) { count += fits(*like); });
        return count;
    }
    size_t count_of(Kind k) const { return PrefixCounts::count(index, index_text(k, "")); }
    // Those of its kind that it began with: a key that is repeated takes its value back, and then they count again.
    std::vector<ValueRef> likes_anew() const {
        std::vector<ValueRef> out;
        if (!below) return out;
        auto add = [&](const ValueRef& like) {
            if (like->kind == kind) out.push_back(like);
        };
        below->each_inherited_inside(add);
        if (below->count_of(kind)) below->items.each(add);
        return out;
    }
    void note() {
        hash = mix((below ? below->hash : 0) ^ (uint64_t(kind) << 1 | uint64_t(distinct)));
        hash = mix(hash ^ items.hash());
        uint64_t unordered = 0;
        for (const auto& [k, value] : members) unordered += mix(hash_of(k) ^ mix(value->hash));
        hash = mix(hash ^ unordered) ^ hash_of(key);
    }
    bool operator==(const Frame& other) const {
        for (const Frame *a = this, *b = &other;; a = a->below.get(), b = b->below.get()) {
            if (a == b) return true;
            if (!a || !b || a->hash != b->hash || a->kind != b->kind || a->distinct != b->distinct || a->key != b->key) return false;
            if (!(a->items == b->items)) return false;
            if (!std::equal(a->members.begin(), a->members.end(), b->members.begin(), b->members.end(),
                            [](const auto& x, const auto& y) { return x.first == y.first && *x.second == *y.second; }))
                return false;
        }
    }
};

}  // namespace derivable
