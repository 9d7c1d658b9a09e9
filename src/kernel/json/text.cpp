#include "json/text.hpp"

#include <deque>
#include <unordered_map>
#include <utility>

#include "json/string_literals.hpp"
#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

// The automaton of characters runs beside the decoder of JsonStrings. Raw bytes step both; an escape steps the former by the UTF-8
// of its code point once all digits are known. What digits lead to is a tree of nodes with sixteen children, equal ones
// shared; digits are groups of four bits and UTF-8 has groups of six, hence `third` and `fourth`.
class Encoder {
  public:
    Encoder(const Dfa& decoded, uint64_t max_states) : from_(decoded), max_(max_states) {}

    Dfa run() {
        if (from_.empty()) return from_;
        find_classes();
        uint32_t start = row();
        end_ = int32_t(row());
        out_.accepting[size_t(end_)] = 1;
        set(start, '"', boundary(0));
        while (!pending_.empty()) {
            Pending p = pending_.front();
            pending_.pop_front();
            if (p.decoder == StringDecoder::kBoundary) fill_boundary(p);
            else fill_raw(p);
        }
        out_.minimize();
        return std::move(out_);
    }

  private:
    using Digits = std::array<int32_t, 16>;  // by value of the digit
    using Pairs = std::array<int32_t, 4>;    // by the third digit of a low surrogate less C; all dead if none came before
    struct Pending {
        uint32_t id;
        int32_t state;    // of from_
        uint8_t decoder;  // StringDecoder::kBoundary, or within a raw character
        Pairs pairs;
    };
    static constexpr Pairs kNoPairs{kDead, kDead, kDead, kDead};

    static int hex_value(int b) {
        return b >= '0' && b <= '9' ? b - '0' : b >= 'a' && b <= 'f' ? b - 'a' + 10 : b >= 'A' && b <= 'F' ? b - 'A' + 10 : 16;
    }
    static int short_escape(int b) {
        switch (b) {
            case '"':
            case '\\':
            case '/': return b;
            case 'b': return 8;
            case 'f': return 12;
            case 'n': return 10;
            case 'r': return 13;
            case 't': return 9;
            default: return 0;
        }
    }

    void find_classes() {
        Interner kinds;
        for (int b = 0; b < 256; b++) {
            std::vector<uint32_t> key{from_.classes[size_t(b)], uint32_t(hex_value(b)), uint32_t(short_escape(b)), uint32_t(b == 'u')};
            for (uint8_t d = 0; d < StringDecoder::kNumDecoders; d++) key.push_back(StringDecoder::decode(Escapes::kAny, d, uint8_t(b)));
            uint32_t before = kinds.size(), id = kinds.intern(key);
            if (id == before) bytes_.push_back(uint8_t(b));
            out_.classes[size_t(b)] = uint8_t(id);
        }
        out_.num_classes = kinds.size();
    }

    uint32_t row() {
        work(out_.num_classes);
        if (out_.num_states() >= max_)
            throw LimitExceeded("max_dfa_states", out_.num_states() + 1, max_, "a pattern's or format's automaton over JSON text");
        out_.table.resize(out_.table.size() + out_.num_classes, kDead);
        out_.accepting.push_back(0);
        out_.condition.push_back(0);
        return out_.num_states() - 1;
    }
    void set(uint32_t id, uint8_t byte, int32_t to) { out_.table[size_t(id) * out_.num_classes + out_.classes[byte]] = to; }
    int32_t step(int32_t state, uint32_t byte) const { return state < 0 ? kDead : from_.step(uint32_t(state), uint8_t(byte)); }

    int32_t place(const std::vector<uint32_t>& key, const Pending& p) {
        work(5);
        auto [it, fresh] = places_.try_emplace(key, 0);
        if (fresh) {
            it->second = int32_t(row());
            pending_.push_back(p);
            pending_.back().id = uint32_t(it->second);
        }
        return it->second;
    }
    int32_t boundary(int32_t state, const Pairs& pairs = kNoPairs) {
        if (state < 0 && pairs == kNoPairs) return kDead;
        std::vector<uint32_t> key{uint32_t(state)};
        if (pairs != kNoPairs) key.insert(key.end(), pairs.begin(), pairs.end());
        return place(key, {0, state, StringDecoder::kBoundary, pairs});
    }
    int32_t raw(int32_t state, uint8_t decoder) {
        if (state < 0) return kDead;
        return place({uint32_t(state), decoder}, {0, state, decoder, kNoPairs});
    }

    void fill_raw(const Pending& p) {
        for (uint8_t b : bytes_) {
            uint8_t d = StringDecoder::decode(Escapes::kAny, p.decoder, b);
            if (d != StringDecoder::kStuck)
                set(p.id, b, d == StringDecoder::kBoundary ? boundary(step(p.state, b)) : raw(step(p.state, b), d));
        }
    }

    void fill_boundary(const Pending& p) {
        for (uint8_t b : bytes_) {
            uint8_t d = StringDecoder::decode(Escapes::kAny, StringDecoder::kBoundary, b);
            if (d == StringDecoder::kStuck || b == '"' || b == '\\' || p.state < 0) continue;
            int32_t to = step(p.state, b);
            set(p.id, b, d == StringDecoder::kBoundary ? boundary(to) : raw(to, d));
        }
        if (p.state >= 0 && from_.accepting[size_t(p.state)]) set(p.id, '"', end_);
        uint32_t escape = row();
        set(p.id, '\\', int32_t(escape));
        for (char b : {'"', '\\', '/', 'b', 'f', 'n', 'r', 't'})
            set(escape, uint8_t(b), boundary(step(p.state, uint32_t(short_escape(b)))));
        Digits first;
        first[0] = below_1000(p.state);
        for (uint32_t d = 1; d < 16; d++)
            if (d != 13) first[d] = digits([&, s = step(p.state, 0xE0 | d)](uint32_t d2) { return third(s, d2); });
        std::array<int32_t, 4> high = highs(p.state);
        first[13] = digits([&, s = step(p.state, 0xED)](uint32_t d2) {
            if (d2 >= 8 && d2 < 12) return high[d2 - 8];
            return d2 >= 12 && p.pairs != kNoPairs ? p.pairs[d2 - 12] : third(s, d2);
        });
        set(escape, 'u', node(first));
    }

    // A node for a digit.
    int32_t node(const Digits& to) {
        std::vector<uint32_t> key(to.begin(), to.end());
        auto found = nodes_.find(key);
        if (found != nodes_.end()) return found->second;
        int32_t id = kDead;
        for (int32_t t : to)
            if (t >= 0) id = 0;
        if (id == 0) {
            id = int32_t(row());
            for (uint8_t b : bytes_)
                if (hex_value(b) < 16) set(uint32_t(id), b, to[size_t(hex_value(b))]);
        }
        return nodes_[key] = id;
    }
    template <class F>
    int32_t digits(F to) {
        work(20);
        Digits all;
        for (uint32_t d = 0; d < 16; d++) all[d] = to(d);
        return node(all);
    }
    // The last digit, before the last byte, of which the two bits `high` are known.
    int32_t fourth(int32_t state, uint32_t high) {
        if (state < 0) return kDead;
        auto found = fourths_.find(pack(uint32_t(state), high));
        if (found != fourths_.end()) return found->second;
        return fourths_[pack(uint32_t(state), high)] = digits([&](uint32_t d) { return boundary(step(state, 0x80 | high << 4 | d)); });
    }
    // The last two digits, before the last two bytes, of which the four bits `high` are known.
    int32_t third(int32_t state, uint32_t high) {
        if (state < 0) return kDead;
        auto found = thirds_.find(pack(uint32_t(state), high));
        if (found != thirds_.end()) return found->second;
        return thirds_[pack(uint32_t(state), high)] =
                   digits([&](uint32_t d) { return fourth(step(state, 0x80 | high << 2 | d >> 2), d & 3); });
    }
    // \u0...
    int32_t below_1000(int32_t state) {
        if (state < 0) return kDead;
        return digits([&](uint32_t d2) {
            if (d2 >= 8) return third(step(state, 0xE0), d2);
            return digits([&](uint32_t d3) {
                if (d2 || d3 >= 8) return fourth(step(state, 0xC0 | d2 << 2 | d3 >> 2), d3 & 3);
                return digits([&](uint32_t d4) { return boundary(step(state, d3 << 4 | d4)); });
            });
        });
    }
    // \ud8.. to \udb..: what a lone one leads to, beside what the pair with a low one does.
    std::array<int32_t, 4> highs(int32_t state) {
        std::vector<uint32_t> key{uint32_t(step(state, 0xED))};
        for (uint32_t lead = 0xF0; lead < 0xF5; lead++) key.push_back(uint32_t(step(state, lead)));
        auto [it, fresh] = highs_.try_emplace(key, kNoPairs);
        if (!fresh) return it->second;
        std::array<int32_t, 4> out;
        for (uint32_t d2 = 0; d2 < 4; d2++)
            out[d2] = digits([&](uint32_t d3) {
                int32_t lone = step(int32_t(key[0]), 0xA0 | d2 << 2 | d3 >> 2);
                return digits([&](uint32_t d4) {
                    uint32_t top = 64 + (d2 << 8 | d3 << 4 | d4);  // the code point's bits from the tenth up
                    int32_t two = step(int32_t(key[1 + (top >> 8)]), 0x80 | (top >> 2 & 63));
                    Pairs pairs;
                    for (uint32_t e = 0; e < 4; e++) pairs[e] = third(two, (top & 3) << 2 | e);
                    return boundary_after_high(step(lone, 0x80 | (d3 & 3) << 4 | d4), pairs);
                });
            });
        return highs_[key] = out;
    }
    // Without any pair the lone one must still be told from a half: a low one that follows leads nowhere.
    int32_t boundary_after_high(int32_t state, const Pairs& pairs) {
        if (pairs != kNoPairs || state < 0) return boundary(state, pairs);
        if (nowhere_ == kDead) nowhere_ = int32_t(row());  // accepts nothing, so minimizing removes it
        return boundary(state, {nowhere_, nowhere_, nowhere_, nowhere_});
    }

    const Dfa& from_;
    uint64_t max_;
    Dfa out_;
    std::vector<uint8_t> bytes_;  // the first of each class
    int32_t end_ = kDead, nowhere_ = kDead;
    std::deque<Pending> pending_;
    std::unordered_map<std::vector<uint32_t>, int32_t, WordsHash> places_, nodes_;
    std::unordered_map<uint64_t, int32_t, MixHash> thirds_, fourths_;
    std::unordered_map<std::vector<uint32_t>, std::array<int32_t, 4>, WordsHash> highs_;
};

}  // namespace

Dfa json_text(const Dfa& decoded, uint64_t max_states) { return Encoder(decoded, max_states).run(); }

}  // namespace derivable
