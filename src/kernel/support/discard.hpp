// Large tables that nobody needs any more, freed a little at a time.
//
// PERF: freeing what splits have in common at once, 16 MB in 200,000 pieces, was a stall of 15 to 25 ms in some mask.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/hashing.hpp"

namespace derivable {

class Discard {
  public:
    // Empties a table; what was in it is freed later.
    template <class Table>
    void take(Table& table) {
        auto taken = std::make_shared<Table>(std::exchange(table, Table()));
        tables_.push_back([taken](size_t n) { return free_some(*taken, n); });
    }
    // Frees so many entries.
    void some(size_t n) {
        while (n > 0 && !tables_.empty())
            if ((n = tables_.back()(n)) > 0) tables_.pop_back();
    }

  private:
    // What is left of n: 0 unless all is freed.
    template <class Table>
    static size_t free_some(Table& table, size_t n) {
        while (n > 0 && !table.empty()) n -= std::min(n, free_one(table));
        return n;
    }
    // Returns how many entries went.
    template <class T>
    static size_t free_one(std::vector<T>& table) {
        return table.pop_back(), 1;
    }
    template <class T>
    static size_t free_one(std::deque<T>& table) {
        return table.pop_back(), 1;
    }
    template <class Key, class T>
    static size_t free_one(std::map<Key, T>& table) {
        return table.erase(table.begin()), 1;
    }
    template <class Key, class T, class Hash>
    static size_t free_one(std::unordered_map<Key, T, Hash>& table) {
        return table.erase(table.begin()), 1;
    }
    template <class T>
    static size_t free_one(FlatMap<T>& table) {
        return table.drop_piece();
    }
    static size_t free_one(NumbersByHash& table) { return table.drop_piece(); }

    std::vector<std::function<size_t(size_t)>> tables_;
};

}  // namespace derivable
