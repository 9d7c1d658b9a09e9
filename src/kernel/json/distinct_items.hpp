// The items of an array that must differ: immutable, so that rollback and fork share them, and asked about without looking at all of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/hashing.hpp"

namespace derivable {

// Texts in a radix tree: how many begin with a prefix, and what stands behind it. Adding one copies the way to it.
//
// PERF: looked at one by one, the items of an array of 694 numbers took 134 ms a mask.
class PrefixCounts {
  public:
    using Ref = std::shared_ptr<const PrefixCounts>;

    static Ref with(const Ref& tree, std::string_view text) {
        if (!tree) return leaf(text, 1);
        const size_t same = common(tree->label_, text);
        auto out = std::make_shared<PrefixCounts>(*tree);
        out->count_ = tree->count_ + 1;
        if (same < tree->label_.size()) {  // what was one edge becomes two
            auto below = std::make_shared<PrefixCounts>(*tree);
            below->label_.erase(0, same);
            out->label_.resize(same);
            out->ends_ = 0;
            out->children_.assign(1, std::move(below));
        }
        text.remove_prefix(same);
        if (text.empty()) {
            out->ends_++;
            return out;
        }
        auto at = out->place(text[0]);
        if (at != out->children_.end() && (*at)->label_[0] == text[0]) *at = with(*at, text);
        else out->children_.insert(at, leaf(text, 1));
        return out;
    }
    // How many begin so.
    static size_t count(const Ref& tree, std::string_view prefix) {
        size_t inside = 0;
        const PrefixCounts* n = find(tree, prefix, inside);
        return n ? n->count_ : 0;
    }
    static bool contains(const Ref& tree, std::string_view text) {
        size_t inside = 0;
        const PrefixCounts* n = find(tree, text, inside);
        return n && inside == n->label_.size() && n->ends_;
    }
    // Calls visit(byte) for each byte that stands behind the prefix.
    template <class Visit>
    static void each_next(const Ref& tree, std::string_view prefix, Visit&& visit) {
        size_t inside = 0;
        const PrefixCounts* n = find(tree, prefix, inside);
        if (!n) return;
        if (inside < n->label_.size()) return visit(uint8_t(n->label_[inside]));
        for (const Ref& c : n->children_) visit(uint8_t(c->label_[0]));
    }
    // Calls visit(rest) for what stands behind the prefix in each text that begins so.
    template <class Visit>
    static void each_rest(const Ref& tree, std::string_view prefix, Visit&& visit) {
        size_t inside = 0;
        if (const PrefixCounts* n = find(tree, prefix, inside)) n->each_text(n->label_.substr(inside), visit);
    }

  private:
    template <class Visit>
    void each_text(const std::string& read, Visit&& visit) const {
        if (ends_) visit(std::string_view(read));
        for (const Ref& c : children_) c->each_text(read + c->label_, visit);
    }
    static size_t common(std::string_view a, std::string_view b) {
        return size_t(std::mismatch(a.begin(), a.begin() + long(std::min(a.size(), b.size())), b.begin()).first - a.begin());
    }
    static Ref leaf(std::string_view label, size_t ends) {
        auto out = std::make_shared<PrefixCounts>();
        out->label_ = label;
        out->count_ = out->ends_ = ends;
        return out;
    }
    std::vector<Ref>::iterator place(char first) {
        return std::lower_bound(children_.begin(), children_.end(), first, [](const Ref& c, char f) { return c->label_[0] < f; });
    }
    // The node in whose edge (so far inside) the prefix ends.
    static const PrefixCounts* find(const Ref& tree, std::string_view prefix, size_t& inside) {
        for (const PrefixCounts* n = tree.get(); n;) {
            inside = common(n->label_, prefix);
            if (inside == prefix.size()) return n;
            if (inside < n->label_.size()) return nullptr;
            prefix.remove_prefix(inside);
            auto at = const_cast<PrefixCounts*>(n)->place(prefix[0]);
            if (at == n->children_.end() || (*at)->label_[0] != prefix[0]) return nullptr;
            n = at->get();
        }
        return nullptr;
    }

    std::string label_;            // of the edge to it
    size_t count_ = 0, ends_ = 0;  // texts below, and here
    std::vector<Ref> children_;    // by the first bytes of their labels
};

// A list that grows at its end, the last first.
template <class Value>
class Items {
  public:
    Items() = default;
    size_t size() const { return last_ ? last_->size : 0; }
    bool empty() const { return !last_; }
    uint64_t hash() const { return last_ ? last_->hash : 0; }
    void push_back(Value value) {
        auto item = std::make_shared<Item>();
        item->size = size() + 1;
        item->hash = mix(hash() ^ value->hash) + 1;
        item->value = std::move(value);
        item->before = std::move(last_);
        last_ = std::move(item);
    }
    // From the last to the first.
    template <class Visit>
    void each(Visit&& visit) const {
        for (const Item* i = last_.get(); i; i = i->before.get()) visit(i->value);
    }
    std::vector<Value> in_order() const {
        std::vector<Value> out;
        out.reserve(size());
        each([&](const Value& v) { out.push_back(v); });
        std::reverse(out.begin(), out.end());
        return out;
    }
    bool operator==(const Items& other) const {
        if (size() != other.size() || hash() != other.hash()) return false;
        for (const Item *a = last_.get(), *b = other.last_.get(); a != b; a = a->before.get(), b = b->before.get())
            if (!(*a->value == *b->value)) return false;
        return true;
    }

  private:
    struct Item {
        Value value;
        std::shared_ptr<Item> before;
        size_t size;
        uint64_t hash;
        // SAFETY: not by recursion, whose depth would be the length of the list.
        ~Item() {
            for (std::shared_ptr<Item> next = std::move(before); next && next.use_count() == 1;) {
                std::shared_ptr<Item> after = std::move(next->before);
                next = std::move(after);
            }
        }
    };
    std::shared_ptr<Item> last_;
};

}  // namespace derivable
