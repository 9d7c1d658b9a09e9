#include "tokens/byte_pairs.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "support/byte_set.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

enum class Kind { kLetter, kDigit, kBlank, kOther };
Kind kind_of(char c) {
    const auto byte = uint8_t(c);
    if (byte >= 0x80 || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z')) return Kind::kLetter;
    if (byte >= '0' && byte <= '9') return Kind::kDigit;
    return byte == ' ' ? Kind::kBlank : Kind::kOther;
}

// Of a text, as far as its first word goes.
std::string_view first_word(std::string_view text) {
    constexpr size_t kDigits = 3;
    constexpr size_t kLong = 64;  // bytes that are merged together: the cost grows with their square
    const Kind first = kind_of(text[0]), second = kind_of(text[text.size() > 1]);
    size_t end = (first >= Kind::kBlank && second == Kind::kLetter) || (first == Kind::kBlank && second == Kind::kOther);
    const Kind kind = kind_of(text[end]);
    const size_t most = std::min(text.size(), kind == Kind::kDigit ? kDigits : kLong);
    while (end < most && kind_of(text[end]) == kind) end++;
    return text.substr(0, end);
}

}  // namespace

BytePairs::BytePairs(const Trie& vocabulary) : trie_(vocabulary) {
    roots_.fill(kNoToken);
    for (uint32_t root = 0; root < trie_.size(); root = trie_.end[root]) roots_[trie_.byte[root]] = root;
}

uint32_t BytePairs::token_of(std::string_view bytes) const {
    uint32_t node = roots_[uint8_t(bytes[0])];
    for (size_t i = 1; i < bytes.size() && node != kNoToken; i++) {
        ByteSet only;
        only.set(uint8_t(bytes[i]));
        uint32_t next = kNoToken;
        trie_.each_child(node, only, [&](uint32_t child, uint8_t) { next = child; });
        node = next;
    }
    if (node == kNoToken) return kNoToken;
    const auto begin = trie_.tokens.begin() + trie_.token_begin[node], end = trie_.tokens.begin() + trie_.token_begin[node + 1];
    return begin == end ? kNoToken : *std::min_element(begin, end);
}

std::vector<std::string> BytePairs::cut_word(std::string_view word) const {
    std::vector<std::string> pieces;
    for (char c : word) pieces.emplace_back(1, c);
    std::vector<uint32_t> ranks;  // of each piece with the next
    auto rank = [&](size_t i) {
        work(10);
        return i + 1 < pieces.size() ? token_of(pieces[i] + pieces[i + 1]) : kNoToken;
    };
    for (size_t i = 0; i < pieces.size(); i++) ranks.push_back(rank(i));
    while (true) {
        const auto least = std::min_element(ranks.begin(), ranks.end());
        if (*least == kNoToken) return pieces;
        const auto i = size_t(least - ranks.begin());
        pieces[i] += pieces[i + 1];
        pieces.erase(pieces.begin() + long(i) + 1);
        ranks.erase(ranks.begin() + long(i) + 1);
        ranks[i] = rank(i);
        if (i) ranks[i - 1] = rank(i - 1);
    }
}

std::vector<std::string> BytePairs::cut(std::string_view text) const {
    std::vector<std::string> all;
    while (!text.empty()) {
        const std::string_view word = first_word(text);
        std::vector<std::string> pieces = cut_word(word);
        all.insert(all.end(), std::make_move_iterator(pieces.begin()), std::make_move_iterator(pieces.end()));
        text.remove_prefix(word.size());
    }
    return all;
}

}  // namespace derivable
