#include "index/byte_pairs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "support/byte_set.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

constexpr uint32_t kNoToken = ~0u;

// The least id of a token, of all that have these bytes.
uint32_t token_of(const Trie& trie, std::string_view bytes) {
    uint32_t node = kNoToken;
    for (size_t i = 0; i < bytes.size(); i++) {
        const auto byte = uint8_t(bytes[i]);
        uint32_t next = kNoToken;
        if (i) {
            ByteSet only;
            only.set(byte);
            trie.each_child(node, only, [&](uint32_t child, uint8_t) { next = child; });
        } else {
            for (uint32_t root = 0; root < trie.size() && next == kNoToken; root = trie.end[root])
                if (trie.byte[root] == byte) next = root;
        }
        if (next == kNoToken) return kNoToken;
        node = next;
    }
    uint32_t least = kNoToken;
    for (uint32_t k = trie.token_begin[node]; k < trie.token_begin[node + 1]; k++) least = std::min(least, trie.tokens[k]);
    return least;
}

enum class Kind { kLetter, kDigit, kOther };
Kind kind_of(char c) {
    const auto byte = uint8_t(c);
    if (byte >= 0x80 || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z')) return Kind::kLetter;
    return byte >= '0' && byte <= '9' ? Kind::kDigit : Kind::kOther;
}

// Where the word ends that begins at `at`. A quote stands with what comes before it, not with the word.
size_t end_of_word(std::string_view text, size_t at) {
    constexpr size_t kDigits = 3;
    size_t end = at;
    if (kind_of(text[at]) == Kind::kOther && text[at] != '"' && at + 1 < text.size() && kind_of(text[at + 1]) == Kind::kLetter) end++;
    const Kind kind = kind_of(text[end]);
    const bool is_quote = text[at] == '"';
    for (end++; end < text.size() && !is_quote && kind_of(text[end]) == kind; end++)
        if (kind == Kind::kDigit && end - at == kDigits) break;
    return end;
}

}  // namespace

std::vector<std::string> byte_pairs(const Trie& vocabulary, std::string_view text) {
    constexpr size_t kLong = 64;  // bytes of a word that are not merged: the cost grows with their square
    std::vector<std::string> all;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(end_of_word(text, at), at + kLong);
        std::vector<std::string> pieces;
        for (size_t i = at; i < end; i++) pieces.emplace_back(1, text[i]);
        std::vector<uint32_t> ranks;  // of each piece with the next
        auto rank = [&](size_t i) {
            work(10);
            return i + 1 < pieces.size() ? token_of(vocabulary, pieces[i] + pieces[i + 1]) : kNoToken;
        };
        for (size_t i = 0; i < pieces.size(); i++) ranks.push_back(rank(i));
        while (true) {
            const auto least = std::min_element(ranks.begin(), ranks.end());
            if (*least == kNoToken) break;
            const auto i = size_t(least - ranks.begin());
            pieces[i] += pieces[i + 1];
            pieces.erase(pieces.begin() + long(i) + 1);
            ranks.erase(ranks.begin() + long(i) + 1);
            ranks[i] = rank(i);
            if (i) ranks[i - 1] = rank(i - 1);
        }
        all.insert(all.end(), pieces.begin(), pieces.end());
        at = end;
    }
    return all;
}

}  // namespace derivable
