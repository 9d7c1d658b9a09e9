#include "index/counted_strings.hpp"

#include <algorithm>
#include <utility>

#include "lexing/lexer.hpp"
#include "support/task.hpp"

namespace derivable {

// One walk with the decoder and a count.
CountedStrings::CountedStrings(const Vocabulary& vocabulary, Residuals& residuals, std::atomic<size_t>& bytes, Escapes escapes)
    : vocabulary_(vocabulary),
      residuals_(residuals),
      bytes_(bytes),
      inside_(vocabulary.words(), 0) {
    const Trie& t = vocabulary_.trie;
    auto at = [](auto& lists, size_t n) -> std::vector<uint32_t>& {
        if (lists.size() <= n) lists.resize(n + 1);
        return lists[n];
    };
    std::vector<std::pair<uint8_t, uint32_t>> path(1, {StringDecoder::kBoundary, 0});
    for (uint32_t i = 0; i < t.size();) {
        work(1);
        size_t d = t.depth[i];
        auto [from, count] = path[d];
        uint8_t to = StringDecoder::decode(escapes, from, t.byte[i]);
        if (to == StringDecoder::kStuck) {
            i = t.end[i];
            continue;
        }
        count += StringDecoder::completes(escapes, from, to);
        if (path.size() < d + 2) path.resize(d + 2);
        path[d + 1] = {to, count};
        for (uint32_t k = t.token_begin[i]; k < t.token_begin[i + 1]; k++)
            at(to == StringDecoder::kEnd ? closing_ : needing_, count + StringDecoder::owed(escapes, to)).push_back(t.tokens[k]);
        if (to == StringDecoder::kEnd)
            for (uint32_t n = i + 1; n < t.end[i]; n = t.end[n]) at(exit_nodes_, count).push_back(n);
        i++;
    }
    for (const auto& tokens : needing_) {
        for (uint32_t token : tokens) inside_[token >> 5] |= 1u << (token & 31);
        bytes_ += tokens.capacity() * 4;
    }
    bytes_ += inside_.size() * 4;
}

std::unique_ptr<Split> CountedStrings::split(uint64_t need, uint64_t room) {
    auto result = std::make_unique<Split>();
    std::vector<uint32_t> row = inside_;
    for (size_t n = needing_.size(); n-- > 0 && n > room;)
        for (uint32_t token : needing_[n]) row[token >> 5] &= ~(1u << (token & 31));
    for (uint64_t n = need; n <= room && n < closing_.size(); n++)
        for (uint32_t token : closing_[n]) row[token >> 5] |= 1u << (token & 31);
    TokenSet inside = TokenSet::of(row);
    bytes_ += inside.bytes() + sizeof(Split) + 64;
    if (inside.count())
        result->inside.push_back(
            {Split::Sureness::kSure, 0, std::make_shared<const TokenSet>(std::move(inside)), Indentations::kNothing, nullptr, {}});
    const uint64_t last = std::min<uint64_t>(room, exit_nodes_.size());
    const uint64_t key = pack(uint32_t(std::min<uint64_t>(need, exit_nodes_.size())), uint32_t(last));
    auto it = residuals_behind_.find(key);
    if (it == residuals_behind_.end()) {
        std::vector<uint32_t> nodes;
        for (uint64_t n = need; n <= last && n < exit_nodes_.size(); n++)
            nodes.insert(nodes.end(), exit_nodes_[n].begin(), exit_nodes_[n].end());
        work(nodes.size() / 2);
        const ResidualId made = nodes.empty() ? Residuals::kWholeVocabulary : residuals_.add({{&vocabulary_.trie, std::move(nodes)}}, true);
        it = residuals_behind_.emplace(key, made).first;
    }
    if (it->second != Residuals::kWholeVocabulary)
        result->exits.push_back({TerminalId(), Formulas::kFree, it->second, Indentations::kNothing, {}});
    result->exits_once = true;
    return result;
}

}  // namespace derivable
