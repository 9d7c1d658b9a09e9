#include "automata/shortest_rests.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "support/task.hpp"

namespace derivable {

const std::vector<uint8_t>& ShortestRests::order() {
    static const std::vector<uint8_t> order = [] {
        std::vector<uint8_t> out;
        std::array<bool, 256> taken{};
        const auto take = [&](int b) {
            if (!std::exchange(taken[size_t(b)], true)) out.push_back(uint8_t(b));
        };
        for (char c : std::string("abc\"10)]};:,.=")) take(uint8_t(c));
        for (int b = 'd'; b <= 'z'; b++) take(b);
        for (int b = 0x21; b < 0x7F; b++)
            if (b != '\\') take(b);
        for (int b = 0; b < 256; b++) take((b + ' ') % 256);
        return out;
    }();
    return order;
}

// Backwards from acceptance, level by level.
ShortestRests::ShortestRests(const Dfa& dfa, const ByteSet& bytes)
    : lengths_(dfa.num_states(), kNone),
      byte_of_class_(dfa.num_classes, 0),
      has_byte_(dfa.num_classes, 0) {
    for (uint8_t b : order())
        if (bytes[b] && !has_byte_[dfa.classes[b]]) byte_of_class_[dfa.classes[b]] = b, has_byte_[dfa.classes[b]] = 1;
    const uint32_t n = dfa.num_states();
    work(size_t(n) * dfa.num_classes / 4);
    std::vector<uint32_t> begin(n + 1, 0), from, todo;
    const auto each_step = [&](auto visit) {
        for (uint32_t s = 0; s < n; s++)
            for (uint32_t c = 0; c < dfa.num_classes; c++)
                if (const int32_t to = dfa.table[size_t(s) * dfa.num_classes + c]; to >= 0 && has_byte_[c]) visit(s, uint32_t(to));
    };
    each_step([&](uint32_t, uint32_t to) { begin[to + 1]++; });
    for (uint32_t s = 0; s < n; s++) begin[s + 1] += begin[s];
    from.resize(begin[n]);
    std::vector<uint32_t> place(begin.begin(), begin.end() - 1);
    each_step([&](uint32_t s, uint32_t to) { from[place[to]++] = s; });
    for (uint32_t s = 0; s < n; s++)
        if (dfa.accepting[s]) lengths_[s] = 0, todo.push_back(s);
    for (size_t i = 0; i < todo.size(); i++)
        for (uint32_t k = begin[todo[i]]; k < begin[todo[i] + 1]; k++)
            if (lengths_[from[k]] == kNone) lengths_[from[k]] = lengths_[todo[i]] + 1, todo.push_back(from[k]);
}

std::string ShortestRests::text(const Dfa& dfa, uint32_t state) const {
    std::string out;
    while (lengths_[state]) {
        uint32_t best = 0;
        int32_t next = kDead;
        size_t rank = ~size_t(0);
        for (uint32_t c = 0; c < dfa.num_classes; c++) {
            const int32_t to = dfa.table[size_t(state) * dfa.num_classes + c];
            if (to < 0 || !has_byte_[c] || lengths_[uint32_t(to)] + 1 != lengths_[state]) continue;
            const size_t r = size_t(std::find(order().begin(), order().end(), byte_of_class_[c]) - order().begin());
            if (r < rank) rank = r, best = c, next = to;
        }
        out.push_back(char(byte_of_class_[best]));
        state = uint32_t(next);
    }
    work(dfa.num_classes * (out.size() + 1) / 4);
    return out;
}

}  // namespace derivable
