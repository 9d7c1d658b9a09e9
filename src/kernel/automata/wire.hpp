// What is written of automata, and read back. What is read is checked, so that a file made by somebody else can be refused and not crash.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "support/errors.hpp"

namespace derivable {

class WireWriter {
  public:
    std::string out;
    void word(uint32_t w) {
        for (int i = 0; i < 4; i++) out.push_back(char(w >> (8 * i)));
    }
    void long_word(uint64_t w) { word(uint32_t(w)), word(uint32_t(w >> 32)); }
    void text(std::string_view t) { word(uint32_t(t.size())), out += t; }
    template <class Items>
    void bytes(const Items& items) {
        for (auto b : items) out.push_back(char(b));
    }
    template <class Items>
    void words(const Items& items) {
        for (auto w : items) word(uint32_t(w));
    }
};

class WireReader {
  public:
    explicit WireReader(std::string_view data) : data_(data) {}
    uint32_t word() {
        need(4);
        uint32_t w = 0;
        for (int i = 0; i < 4; i++) w |= uint32_t(uint8_t(data_[at_ + size_t(i)])) << (8 * i);
        at_ += 4;
        return w;
    }
    uint8_t byte() {
        need(1);
        return uint8_t(data_[at_++]);
    }
    // A count of things that take at least `size` bytes each.
    uint32_t count(uint64_t size) {
        uint32_t n = word();
        need(n * size);
        return n;
    }
    void need(uint64_t n) const { check(n <= data_.size() - at_); }
    static void check(bool holds) {
        if (!holds) throw BadArtifact("an automaton in it is malformed");
    }
    bool at_end() const { return at_ == data_.size(); }
    uint64_t long_word() {
        const uint64_t low = word();
        return low | uint64_t(word()) << 32;
    }
    std::string_view text() {
        const uint32_t size = count(1);
        at_ += size;
        return data_.substr(at_ - size, size);
    }

    // Byte classes, then a table of rows of `classes` words, each at most `low` below zero or a state.
    template <class Automaton>
    uint32_t table(Automaton& a, int32_t low) {
        uint32_t states = word();
        a.num_classes = word();
        check(a.num_classes >= 1 && a.num_classes <= 256);
        for (uint8_t& c : a.classes) check((c = byte()) < a.num_classes);
        need(uint64_t(states) * a.num_classes * 4);
        a.table.resize(size_t(states) * a.num_classes);
        for (auto& t : a.table) {
            int32_t to = int32_t(word());
            check(to >= low && (to < 0 || uint32_t(to) < states));
            t = static_cast<std::decay_t<decltype(t)>>(to);
        }
        return states;
    }

  private:
    std::string_view data_;
    size_t at_ = 0;
};

}  // namespace derivable
