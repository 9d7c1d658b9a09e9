#include "index/counted_strings.hpp"

#include <algorithm>
#include <utility>

#include "json/string_literals.hpp"
#include "lexing/lexer.hpp"
#include "support/task.hpp"

namespace derivable {

// One walk with the decoder and a count.
CountedStrings::CountedStrings(const Vocabulary& vocabulary, Residuals& residuals, std::atomic<size_t>& bytes)
    : vocabulary_(vocabulary),
      residuals_(residuals),
      bytes_(bytes) {
    using J = JsonStrings;
    const Trie& t = vocabulary_.trie;
    std::vector<std::vector<uint32_t>> inside;
    auto at = [](auto& lists, size_t n) -> std::vector<uint32_t>& {
        if (lists.size() <= n) lists.resize(n + 1);
        return lists[n];
    };
    std::vector<std::pair<uint8_t, uint32_t>> path(1, {J::kBoundary, 0});
    for (uint32_t i = 0; i < t.size();) {
        work(1);
        size_t d = t.depth[i];
        auto [from, count] = path[d];
        uint8_t to = J::decode(from, t.byte[i]);
        if (to == J::kStuck) {
            i = t.end[i];
            continue;
        }
        count += J::completes(from, to);
        if (path.size() < d + 2) path.resize(d + 2);
        path[d + 1] = {to, count};
        for (uint32_t k = t.token_begin[i]; k < t.token_begin[i + 1]; k++)
            at(to == J::kEnd ? closing_ : inside, count + J::owed(to)).push_back(t.tokens[k]);
        if (to == J::kEnd)
            for (uint32_t n = i + 1; n < t.end[i]; n = t.end[n]) at(exit_nodes_, count).push_back(n);
        i++;
    }
    std::vector<uint32_t> row(vocabulary_.words(), 0);
    for (const auto& tokens : inside) {
        for (uint32_t token : tokens) row[token >> 5] |= 1u << (token & 31);
        inside_.push_back(TokenSet::of(row));
        bytes_ += inside_.back().bytes();
    }
}

std::unique_ptr<Split> CountedStrings::split(uint64_t need, uint64_t room) {
    auto result = std::make_unique<Split>();
    TokenSet inside;
    if (!inside_.empty()) inside = inside_[std::min<uint64_t>(room, inside_.size() - 1)];
    for (uint64_t n = need; n <= room && n < closing_.size(); n++)
        for (uint32_t token : closing_[n]) inside.add(token, vocabulary_.words());
    inside.pack();
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
        const uint32_t made = nodes.empty() ? Residuals::kWholeVocabulary : residuals_.add({{&vocabulary_.trie, std::move(nodes)}}, true);
        it = residuals_behind_.emplace(key, made).first;
    }
    if (it->second != Residuals::kWholeVocabulary) result->exits.push_back({0, Lexer::kFree, it->second, Indentations::kNothing, {}});
    result->exits_once = true;
    return result;
}

}  // namespace derivable
