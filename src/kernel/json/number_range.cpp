#include "json/number_range.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

constexpr int32_t kFar = std::numeric_limits<int32_t>::max();  // an exponent without a bound

// A bound of magnitudes, ready to be compared with digits.
struct Magnitude {
    std::string whole, decimals, digits;
    int32_t exponent;
    bool open;

    explicit Magnitude(const NumberRange::Bound& bound)
        : whole(bound.value.whole()),
          decimals(bound.value.decimals()),
          digits(bound.value.digits),
          exponent(int32_t(bound.value.exponent)),
          open(bound.open) {}
    bool is_zero() const { return digits.empty(); }
};

// What is asked of the magnitudes of numbers of one sign.
struct Side {
    bool possible = true;
    std::optional<Magnitude> low, high;
};

Side side(const std::optional<NumberRange::Bound>& low, const std::optional<NumberRange::Bound>& high, bool negative) {
    Side s;
    if (high) {  // on this side it is the outer one
        if (high->value.negative != negative && !high->value.digits.empty()) s.possible = false;
        s.high.emplace(*high);
    }
    if (low && (low->value.digits.empty() ? low->open : low->value.negative == negative)) s.low.emplace(*low);
    return s;
}

int32_t compared(char digit, const std::string& with, size_t place) {
    const char other = place < with.size() ? with[place] : '0';
    return digit < other ? -1 : digit > other;
}

// What is known of a text so far. Words only: states are compared as such.
struct State {
    enum Phase : int32_t { kStart, kMinus, kZero, kInteger, kPoint, kDecimals, kE, kSign, kPower };
    int32_t phase = kStart, negative = 0;
    int32_t plain = 1, scientific = 1;  // it may still be a number of the range, if it goes on in this notation
    // Digits before the point or decimals behind it, up to what matters; decimals up to the last that is not 0. Of a power: digits,
    // without zeros in front and (`last`) with them.
    int32_t count = 0, last = 0;
    // How the digits compare with the lower and the upper bound: as a plain number, and as a mantissa.
    int32_t low = 0, high = 0, low_mantissa = 0, high_mantissa = 0;
    int32_t least = 0, most = 0;  // exponents that are wanted; behind the sign their magnitudes
};

class Reader {
  public:
    explicit Reader(const NumberRange& range) : range_(range) {
        sides_[0] = side(range.low, range.high, false);
        sides_[1] = side(range.high, range.low, true);
        for (const Side& s : sides_)
            for (const auto* bound : {&s.low, &s.high})
                if (*bound) {
                    whole_ = std::max(whole_, (*bound)->whole.size());
                    plain_decimals_ = std::max(plain_decimals_, (*bound)->decimals.size());
                    decimals_ = std::max(decimals_, std::max((*bound)->digits.size(), (*bound)->decimals.size()));
                }
        if (range.written) {
            whole_ = std::max<size_t>(whole_, NumberRange::kMostWhole);
            plain_decimals_ = std::max<size_t>(plain_decimals_, NumberRange::kMostDecimals);
            decimals_ = std::max(decimals_, plain_decimals_);
        }
        if (range.scientific && range.most_decimals) decimals_ = std::max<size_t>(decimals_, *range.most_decimals + 1);
    }

    State start() const {
        State s;
        s.scientific = range_.scientific && range_.digits != true;
        return s;
    }

    // False: no text of the range begins so.
    bool step(State& s, char c) const {
        switch (s.phase) {
            case State::kStart:
                if (c == '-') return s.phase = State::kMinus, s.negative = 1, sides_[1].possible;
                [[fallthrough]];
            case State::kMinus: return is_digit(c) && sides_[s.negative].possible && first(s, c);
            case State::kZero:
            case State::kInteger:
                if (c == '.') return point(s);
                if (c == 'e') return exponent(s);
                return s.phase == State::kInteger && is_digit(c) && integer(s, c);
            case State::kPoint: return is_digit(c) && decimal(s, c);
            case State::kDecimals: return c == 'e' ? exponent(s) : is_digit(c) && decimal(s, c);
            case State::kE:
                if (c == '-') return powers(s, s.most == kFar ? 0 : -s.most, s.least == -kFar ? kFar : -s.least);
                if (c == '+' || is_digit(c)) {
                    if (!powers(s, s.least, s.most)) return false;
                    return c == '+' || power(s, c);
                }
                return false;
            default: return is_digit(c) && power(s, c);
        }
    }

    bool accepts(const State& s) const {
        switch (s.phase) {
            case State::kZero:
            case State::kInteger: {
                State ended = s;
                return range_.digits != false && range_.integral != false && end_whole(ended) && plain_holds(ended);
            }
            case State::kDecimals: return s.plain && range_.integral != (s.last > 0) && plain_holds(s);
            case State::kPower: {
                const auto [low, high] = ended(s);
                return low >= 0 && high <= 0;
            }
            default: return false;
        }
    }

  private:
    static bool is_digit(char c) { return c >= '0' && c <= '9'; }
    const Side& of(const State& s) const { return sides_[s.negative]; }

    bool first(State& s, char c) const {
        s.phase = c == '0' ? State::kZero : State::kInteger;
        if (c == '0') s.scientific = 0;
        const Side& side = of(s);
        if (s.scientific && side.low) s.low_mantissa = compared(c, side.low->digits, 0);
        if (s.scientific && side.high) s.high_mantissa = compared(c, side.high->digits, 0);
        return integer(s, c);
    }
    bool integer(State& s, char c) const {
        if (range_.written && s.count >= NumberRange::kMostWhole) return false;
        if (s.count > 0) s.scientific = s.low_mantissa = s.high_mantissa = 0;
        const Side& side = of(s);
        if (side.low && !s.low) s.low = compared(c, side.low->whole, size_t(s.count));
        if (side.high && !s.high) s.high = compared(c, side.high->whole, size_t(s.count));
        s.count = std::min(s.count + 1, int32_t(whole_) + 1);
        if (side.high && (size_t(s.count) > side.high->whole.size() || (size_t(s.count) == side.high->whole.size() && s.high > 0)))
            s.plain = 0;
        return alive(s);
    }
    // The digits before the point are whole: how they compare. False: the number lies outside, whatever decimals follow.
    bool end_whole(State& s) const {
        const Side& side = of(s);
        const auto whole = [&](const std::optional<Magnitude>& bound, int32_t so_far) {
            if (!bound) return 0;
            const size_t count = size_t(s.count), length = bound->whole.size();
            return count < length ? -1 : count > length ? 1 : so_far;
        };
        s.low = whole(side.low, s.low), s.high = whole(side.high, s.high);
        s.count = 0;
        return s.plain && s.low >= 0 && s.high <= 0;
    }
    bool point(State& s) const {
        if (range_.digits == true) return false;
        s.plain = end_whole(s);
        s.phase = State::kPoint;
        return alive(s);
    }
    bool decimal(State& s, char c) const {
        if (range_.written && s.count >= NumberRange::kMostDecimals) return false;
        const Side& side = of(s);
        const size_t place = size_t(s.count);
        const auto compare = [&](int32_t& so_far, const std::string& with, size_t at) {
            if (!so_far) so_far = compared(c, with, at);
        };
        if (s.plain && side.low) compare(s.low, side.low->decimals, place);
        if (s.plain && side.high) compare(s.high, side.high->decimals, place);
        if (s.scientific && side.low) compare(s.low_mantissa, side.low->digits, place + 1);
        if (s.scientific && side.high) compare(s.high_mantissa, side.high->digits, place + 1);
        s.phase = State::kDecimals;
        s.count = std::min(s.count + 1, int32_t(decimals_));
        if (c != '0' && range_.integral) s.last = std::max(s.count, 1);
        if (s.low < 0 || s.high > 0 || (range_.integral == true && s.last)) s.plain = 0;
        if (range_.most_decimals && place >= *range_.most_decimals) s.scientific = 0;
        // Beyond what the exponent can make whole.
        if (range_.integral == true && side.high && s.last > side.high->exponent) s.scientific = 0;
        return alive(s);
    }
    // Forgets what does not matter any more. False if nothing does.
    bool alive(State& s) const {
        if (!s.plain) s.low = s.high = 0;
        if (!s.scientific) {
            s.low_mantissa = s.high_mantissa = 0;
            if (s.phase == State::kDecimals) s.count = std::min(s.count, int32_t(plain_decimals_)), s.last = s.last > 0;
        }
        return s.plain || s.scientific;
    }
    bool plain_holds(const State& s) const {
        const Side& side = of(s);
        const auto place = [&](const Magnitude& bound, int32_t so_far) {
            return so_far || size_t(s.count) >= bound.decimals.size() ? so_far : -1;
        };
        const int32_t low = side.low ? place(*side.low, s.low) : 1, high = side.high ? place(*side.high, s.high) : -1;
        return (low > 0 || (low == 0 && !side.low->open)) && (high < 0 || (high == 0 && !side.high->open));
    }

    // From here on the exponent decides.
    bool exponent(State& s) const {
        if (!s.scientific) return false;
        const Side& side = of(s);
        const size_t read = 1 + (s.phase == State::kDecimals ? size_t(s.count) : 0);
        const auto mantissa = [&](const Magnitude& bound, int32_t so_far) { return so_far || read >= bound.digits.size() ? so_far : -1; };
        State tail;
        tail.phase = State::kE, tail.least = -kFar, tail.most = kFar;
        if (side.low && !side.low->is_zero()) {
            const int32_t found = mantissa(*side.low, s.low_mantissa);
            tail.least = side.low->exponent + !(found > 0 || (found == 0 && !side.low->open));
        }
        if (side.high) {
            if (side.high->is_zero()) return false;
            const int32_t found = mantissa(*side.high, s.high_mantissa);
            tail.most = side.high->exponent - !(found < 0 || (found == 0 && !side.high->open));
        }
        if (range_.integral == true) tail.least = std::max(tail.least, s.last);
        if (range_.integral == false) tail.most = std::min(tail.most, s.last - 1);
        s = tail;
        return s.least <= s.most;
    }
    static bool powers(State& s, int32_t least, int32_t most) {
        s.phase = State::kSign;
        s.least = std::max(least, 0), s.most = most;
        return s.least <= s.most;
    }
    // Without zeros in front: 0 has no digits.
    static std::string written(int32_t power) { return power ? std::to_string(power) : ""; }
    bool power(State& s, char c) const {
        s.phase = State::kPower;
        if (range_.written && s.last++ >= NumberRange::kMostPower) return false;
        if (c == '0' && s.count == 0) return true;
        const std::string least = written(s.least), most = s.most == kFar ? "" : written(s.most);
        if (!s.low) s.low = compared(c, least, size_t(s.count));
        if (s.most != kFar && !s.high) s.high = compared(c, most, size_t(s.count));
        s.count = std::min(s.count + 1, int32_t(std::max(least.size(), most.size())) + 1);
        if (s.most != kFar) return ended(s).second <= 0;
        if (ended(s).first >= 0) s.least = s.low = s.count = 0;  // any digits may follow
        return true;
    }
    static std::pair<int32_t, int32_t> ended(const State& s) {
        const auto whole = [&](int32_t bound, int32_t so_far) {
            const size_t count = size_t(s.count), length = written(bound).size();
            return count < length ? -1 : count > length ? 1 : so_far;
        };
        return {whole(s.least, s.low), s.most == kFar ? -1 : whole(s.most, s.high)};
    }

    const NumberRange& range_;
    Side sides_[2];
    size_t whole_ = 1, plain_decimals_ = 0, decimals_ = 0;
};

constexpr std::string_view kBytes = "-+.e0123456789";

template <class Visit>
void each_bound(const NumberRange& range, Visit visit) {
    for (const auto* bound : {&range.low, &range.high})
        if (*bound) visit(**bound);
}

}  // namespace

bool NumberRange::is_small() const {
    bool small = most_decimals.value_or(0) <= kSmallDigits;
    each_bound(*this, [&](const Bound& b) {
        small &= b.value.digits.size() <= kSmallDigits && (written || uint64_t(std::abs(b.value.exponent)) < kSmallDigits);
    });
    return small;
}

bool NumberRange::has_numbers() const {
    if (has_numbers_) return *has_numbers_;
    const Reader reader(*this);
    const auto is_within = [&](const std::string& text) {
        State s = reader.start();
        return std::all_of(text.begin(), text.end(), [&](char c) { return reader.step(s, c); }) && reader.accepts(s);
    };
    // PERF: most ranges have one of their bounds in them, which takes 0.2 us; to search takes 5.
    for (const auto* bound : {&low, &high}) {
        if (!*bound) continue;
        const Decimal& v = (*bound)->value;
        const std::string decimals = v.decimals();
        if (is_within((v.negative ? "-" : "") + v.whole() + (decimals.empty() ? "" : "." + decimals))) return *(has_numbers_ = true);
    }
    Interner seen;
    std::vector<State> open{reader.start()};
    std::vector<uint32_t> key(sizeof(State) / sizeof(uint32_t));
    while (!open.empty()) {
        const State s = open.back();
        open.pop_back();
        if (reader.accepts(s)) return *(has_numbers_ = true);
        work(kBytes.size());
        for (char c : kBytes) {
            State next = s;
            if (!reader.step(next, c)) continue;
            std::memcpy(key.data(), &next, sizeof next);
            const uint32_t before = seen.size();
            if (seen.intern(key) == before) open.push_back(next);
        }
    }
    return *(has_numbers_ = false);
}

std::string NumberRange::key() const {
    std::string key;
    const auto add = [&key](const std::optional<bool>& flag) { key += flag ? *flag ? 'y' : 'n' : '-'; };
    for (const auto* bound : {&low, &high}) {
        if (*bound) key += ((*bound)->value.negative ? '-' : '+') + (*bound)->value.digits + 'e' + std::to_string((*bound)->value.exponent);
        key += !*bound ? '*' : (*bound)->open ? '<' : '=';
    }
    for (const auto& flag : {integral, digits, std::optional<bool>(scientific), std::optional<bool>(written)}) add(flag);
    return key + (most_decimals ? std::to_string(*most_decimals) : "");
}

Dfa number_range(const NumberRange& range, uint64_t max_states) {
    constexpr uint32_t kClasses = uint32_t(kBytes.size()) + 1;  // and all other bytes
    const Reader reader(range);
    Dfa out;
    out.num_classes = kClasses;
    out.classes.fill(kClasses - 1);
    for (size_t i = 0; i < kBytes.size(); i++) out.classes[uint8_t(kBytes[i])] = uint8_t(i);
    out.classes['E'] = out.classes['e'];
    Interner ids;
    std::vector<State> states;
    std::vector<uint32_t> key;
    const auto number = [&](const State& s) {
        key.resize(sizeof s / sizeof(uint32_t));
        std::memcpy(key.data(), &s, sizeof s);
        const uint32_t before = ids.size(), id = ids.intern(key);
        if (id == before) {
            if (states.size() >= max_states) throw LimitExceeded("max_dfa_states", states.size() + 1, max_states, "a range of numbers");
            states.push_back(s);
            out.accepting.push_back(reader.accepts(s));
            out.condition.push_back(0);
        }
        return int32_t(id);
    };
    number(reader.start());
    for (size_t i = 0; i < states.size(); i++) {
        work(2 * kClasses);
        State before;
        bool lived = false;
        for (char c : kBytes) {
            State next = states[i];
            const bool lives = reader.step(next, c);
            // PERF: most digits lead where the one before does.
            const bool as_before = lives && lived && std::memcmp(&next, &before, sizeof next) == 0;
            out.table.push_back(as_before ? out.table.back() : lives ? number(next) : kDead);
            before = next, lived = lives;
        }
        out.table.push_back(kDead);
    }
    out.minimize();
    return out;
}

}  // namespace derivable
