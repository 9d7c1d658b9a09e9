// The literal of a JSON number, read as it is written: equal numbers have one text, and a beginning says what it may become.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace derivable {

// A number's literal, or the beginning of one, taken apart.
struct NumberText {
    bool negative = false, fraction = false, exponent = false, exponent_negative = false;
    bool zero = false;            // it begins with 0, behind which no other digit stands before the point
    std::string digits;           // without zeros in front
    int64_t decimals = 0;         // how many of them stand behind the point
    std::string exponent_digits;  // without zeros in front

    explicit NumberText(std::string_view text) {
        for (char c : text) {
            if (c == '-') {
                (exponent ? exponent_negative : negative) = true;
            } else if (c == '.') {
                fraction = true;
            } else if (c == 'e' || c == 'E') {
                exponent = true;
            } else if (c != '+') {
                std::string& to = exponent ? exponent_digits : digits;
                zero |= c == '0' && to.empty() && !fraction && !exponent;
                if (c != '0' || !to.empty()) to.push_back(c);
                decimals += fraction && !exponent;
            }
        }
    }
    std::string significant() const { return digits.substr(0, digits.find_last_not_of('0') + 1); }
    // Equal for equal numbers: sign, significant digits, power of ten.
    std::string canonical() const {
        std::string kept = significant();
        if (kept.empty()) return "0";
        int64_t shift = int64_t(digits.size() - kept.size()) - decimals;
        std::string power;
        if (exponent_digits.size() < 18) {
            int64_t e = exponent_digits.empty() ? 0 : std::stoll(exponent_digits);
            power = std::to_string((exponent_negative ? -e : e) + shift);
        } else {  // far larger than the shift, which so cannot change its sign
            power = exponent_digits;
            for (int64_t carry = exponent_negative ? -shift : shift, i = int64_t(power.size()) - 1; carry; i--) {
                if (i < 0) power.insert(0, "0"), i = 0;
                int64_t d = power[size_t(i)] - '0' + carry;
                carry = d >= 0 ? d / 10 : -((9 - d) / 10);
                power[size_t(i)] = char('0' + (d - carry * 10));
            }
            power.erase(0, std::min(power.find_first_not_of('0'), power.size() - 1));
            if (exponent_negative) power.insert(0, "-");
        }
        return (negative ? "-" : "") + kept + "e" + power;
    }
    // The power of ten just above a number with this canonical text, which is not 0; far away it may be another one on the same side of 0.
    static int64_t leading_power(std::string_view value) {
        const size_t e = value.find('e'), size = e - (value[0] == '-');
        const std::string_view power = value.substr(e + 1);
        if (power.size() >= 18) return power[0] == '-' ? INT64_MIN : INT64_MAX;
        return int64_t(size) + std::stoll(std::string(power));
    }
    // What the power of ten of the canonical text begins with, whatever follows the exponent; nothing in doubt.
    std::string power_begun() const {
        const bool shifted = decimals != int64_t(digits.size()) - int64_t(significant().size());
        return shifted || exponent_digits.empty() ? "" : (exponent_negative ? "-" : "") + exponent_digits;
    }
    // Whether some literal that begins so is the number with this canonical text; true in doubt.
    bool may_become(const std::string& value) const {
        if (value == "0") return digits.empty();
        if (negative != (value[0] == '-')) return false;
        if (zero && digits.empty() && !exponent) return leading_power(value) <= 0;
        const size_t e = value.find('e');
        std::string_view wanted = std::string_view(value).substr(negative, e - negative);
        if (exponent) return significant() == wanted && value.compare(e + 1, power_begun().size(), power_begun()) == 0;
        std::string_view have = digits;
        if (have.size() <= wanted.size()) return wanted.substr(0, have.size()) == have;
        return have.substr(0, wanted.size()) == wanted && have.find_first_not_of('0', wanted.size()) == std::string_view::npos;
    }
    // The beginning of a literal, up to what no way on tells apart.
    std::string reduced() const {
        if (exponent) return digits.empty() ? "0e" : canonical() + (exponent_negative ? "-" : "+") + exponent_digits;
        return fraction ? canonical() + "." : (negative ? "-" : "") + digits;
    }
};

}  // namespace derivable
