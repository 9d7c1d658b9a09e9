// Numbers of different things that cannot be taken for one another.
//
// Much here is numbered in the order in which it comes up: states, nodes, sets. One number looks like another, so each kind has a type of
// its own, and what is kept by it a vector that takes no other (IdVector). There is no arithmetic; who needs the number itself says so
// (`index`).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace derivable {

template <class Tag>
class Id {
  public:
    constexpr Id() = default;  // none of them
    constexpr explicit Id(uint32_t index) : index_(index) {}
    constexpr uint32_t index() const { return index_; }
    constexpr bool operator==(Id o) const { return index_ == o.index_; }
    constexpr bool operator!=(Id o) const { return index_ != o.index_; }
    constexpr bool operator<(Id o) const { return index_ < o.index_; }
    constexpr bool operator>(Id o) const { return index_ > o.index_; }

  private:
    uint32_t index_ = ~0u;
};

// What is known about all of a kind, by their ids.
template <class Key, class T>
class IdVector {
  public:
    IdVector() = default;
    explicit IdVector(size_t size, const T& value = T()) : all_(size, value) {}
    decltype(auto) operator[](Key id) { return all_[id.index()]; }
    decltype(auto) operator[](Key id) const { return all_[id.index()]; }
    bool has(Key id) const { return id.index() < all_.size(); }
    // Makes room for one, and for `size`.
    void reach(Key id, size_t size = 0, const T& value = T()) {
        if (!has(id)) all_.resize(size > id.index() ? size : size_t(id.index()) + 1, value);
    }
    size_t size() const { return all_.size(); }
    bool empty() const { return all_.empty(); }
    // All that there are now.
    struct Ids {
        struct Iterator {
            uint32_t index;
            Key operator*() const { return Key(index); }
            Iterator& operator++() { return index++, *this; }
            bool operator!=(Iterator o) const { return index != o.index; }
        };
        uint32_t size;
        Iterator begin() const { return {0}; }
        Iterator end() const { return {size}; }
    };
    Ids ids() const { return {uint32_t(all_.size())}; }
    Key add(T value) {
        all_.push_back(std::move(value));
        return Key(uint32_t(all_.size() - 1));
    }
    void pop_back() { all_.pop_back(); }
    void clear() { all_.clear(); }
    void shrink_to_fit() { all_.shrink_to_fit(); }
    T& back() { return all_.back(); }

  private:
    std::vector<T> all_;
};

// Numbers that are about to stand for other things. Whoever keeps something by them says so where it keeps it, and forgets it then.
class Renumbering {
  public:
    // A member of whoever is told, behind what it forgets. SAFETY: the numbers outlive it.
    class Told {
      public:
        Told(Renumbering& numbers, std::function<void()> forget) : numbers_(numbers), forget_(std::move(forget)) {
            numbers_.told_.push_back(this);
        }
        ~Told() {
            std::vector<Told*>& told = numbers_.told_;
            told.erase(std::find(told.begin(), told.end(), this));
        }
        Told(const Told&) = delete;
        Told& operator=(const Told&) = delete;
        void forget() const { forget_(); }

      private:
        Renumbering& numbers_;
        const std::function<void()> forget_;
    };
    // In the order in which they began.
    void happen() {
        for (const Told* told : told_) told->forget();
    }

  private:
    std::vector<Told*> told_;
};

}  // namespace derivable

template <class Tag>
struct std::hash<derivable::Id<Tag>> {
    size_t operator()(derivable::Id<Tag> id) const noexcept { return id.index(); }
};
