// A number of a schema, as JSON writes it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <tuple>

#include "support/errors.hpp"

namespace derivable {

// Sign, digits without zeros at either end, and the power of ten of the first of them: equal for equal numbers. 0 has no digits.
struct Decimal {
    bool negative = false;
    std::string digits;
    int64_t exponent = 0;
    bool operator<(const Decimal& o) const { return std::tie(digits, exponent, negative) < std::tie(o.digits, o.exponent, o.negative); }
    bool operator==(const Decimal& o) const { return negative == o.negative && exponent == o.exponent && digits == o.digits; }

    // Throws LimitExceeded where the number has more than `longest` digits when it is written out.
    static Decimal read(const std::string& text, uint64_t longest) {
        constexpr int64_t kFar = int64_t(1) << 40;  // exponents beyond are this
        Decimal n;
        int64_t point = -1, power = 0;
        for (size_t i = 0; i < text.size(); i++) {
            const char c = text[i];
            if (c == '-') n.negative = true;
            if (c == '.') point = int64_t(n.digits.size());
            if (c >= '0' && c <= '9') n.digits += c;
            if (c != 'e' && c != 'E') continue;
            const bool down = i + 1 < text.size() && text[i + 1] == '-';
            for (i++; i < text.size(); i++)
                if (text[i] >= '0' && text[i] <= '9') power = std::min(kFar, 10 * power + (text[i] - '0'));
            if (down) power = -power;
        }
        if (point < 0) point = int64_t(n.digits.size());
        const size_t first = n.digits.find_first_not_of('0');
        if (first == std::string::npos) return {};
        n.exponent = power + point - int64_t(first) - 1;
        n.digits = n.digits.substr(first, n.digits.find_last_not_of('0') + 1 - first);
        const uint64_t size = std::max<uint64_t>(uint64_t(std::abs(n.exponent)), n.digits.size());
        if (size > longest) throw LimitExceeded("digits of a number", size, longest, "a number in a schema");
        return n;
    }
    // The digits before the point, at least one, and those behind it.
    std::string whole() const {
        if (digits.empty() || exponent < 0) return "0";
        const size_t length = size_t(exponent) + 1;
        return digits.size() < length ? digits + std::string(length - digits.size(), '0') : digits.substr(0, length);
    }
    std::string decimals() const {
        if (digits.empty()) return "";
        if (exponent < 0) return std::string(size_t(-exponent - 1), '0') + digits;
        return digits.size() > size_t(exponent) + 1 ? digits.substr(size_t(exponent) + 1) : "";
    }
};

}  // namespace derivable
