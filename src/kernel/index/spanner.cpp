#include <algorithm>

#include "index/split_walk.hpp"
#include "support/task.hpp"

namespace derivable {

Spanner::Spanner(std::shared_ptr<const Vocabulary> vocabulary, Policy policy) : lexer(policy), vocabulary_(std::move(vocabulary)) {
    uint64_t longest = 0;
    for (uint16_t d : vocabulary_->trie.depth) longest = std::max<uint64_t>(longest, uint64_t(d) + 1);
    lexer.set_longest_token(longest + 1);
    begin();
}

void Spanner::begin() {
    num_nodes_ = vocabulary_->trie.size();
    std::vector<uint32_t> all;
    const Trie& t = vocabulary_->trie;
    for (uint32_t i = 0; i < t.size(); i = t.end[i]) {
        all.push_back(add_branch(t.byte[i], {{&t, {i}}}));
        sizes_.push_back(t.end[i] - i);
    }
    add_residual(std::move(all), true, true);  // kWholeVocabulary
}

void Spanner::forget() {
    discarded.take(splits_);
    discarded.take(repeated_);
    by_characters_.reset();
    discarded.take(residuals_);
    discarded.take(residual_ids_);
    discarded.take(branches_);
    discarded.take(branch_ids_);
    sizes_.clear();
    num_lately_ = 0;
    bytes_ = 0;
    joints_.clear();
    image_.reset();
    for (const auto* all : {&tables_, &joint_tables_})
        for (const auto& tables : *all) tables->clear();
    begin();
}

Spanner::~Spanner() = default;

const std::vector<Spanner::Root>& Spanner::roots(uint32_t branch, Beside& beside) {
    Branch* found;
    if (beside.look([&] { return !(found = &branches_[branch])->roots.empty(); })) return found->roots;
    Branch& b = *found;
    const std::vector<TrieNodes>& given = parts(b, beside);
    constexpr uint64_t kMaxMerged = 2'000'000, kWorthSparing = 2'000;
    uint64_t size = 0;
    Root largest{nullptr, 0};
    for (const TrieNodes& p : given)
        for (uint32_t n : p.nodes) {
            size += p.trie->end[n] - n;
            if (!largest.trie || p.trie->end[n] - n > largest.size()) largest = {p.trie, n};
        }
    if (size > kMaxMerged) throw TooAmbiguous();
    work(10 + 3 * size);
    // SAFETY: nothing is kept before all is made: merging may be refused.
    std::vector<TrieNodes> others = given;
    std::vector<Root> roots;
    std::unique_ptr<Trie> merged;
    // PERF: behind a blank nearly all tokens come from one subtree, those with one blank before: copying it was 20 (Java) to 43% (Python) of the first walk there.
    const bool spared = largest.size() == size || (largest.size() >= kWorthSparing && largest.size() * 4 >= size * 3);
    if (spared) {
        for (TrieNodes& p : others)
            if (p.trie == largest.trie) p.nodes.erase(std::remove(p.nodes.begin(), p.nodes.end(), largest.node), p.nodes.end());
        roots.push_back(largest);
    }
    if (largest.size() != size) {
        merged = std::make_unique<Trie>(Trie::merge(others));
        roots.push_back({merged.get(), 0});
    }
    beside.look([&] {
        if (!b.roots.empty()) return;  // by others meanwhile
        if (merged) {
            if (b.size < merged->size()) b.first_id = num_nodes_, b.size = merged->size(), num_nodes_ += b.size;
            merged->first_id = b.first_id;
            bytes_ += merged->size() * 20 + merged->tokens.size() * 4;
        }
        b.merged = std::move(merged);
        b.roots = std::move(roots);
    });
    return b.roots;
}

// The tables are those that were used last: they know the most. Walks side by side have tables of their own.
std::unique_ptr<Split> Spanner::walk(uint32_t residual, LexState state) {
    struct Workplace {
        std::vector<std::unique_ptr<SplitTables>>& all;
        std::unique_ptr<SplitTables> tables;
        Beside beside;
        Workplace(Spanner& s, bool single) : all(single ? s.tables_ : s.joint_tables_), beside(s.holder) {
            if (all.empty()) all.push_back(std::make_unique<SplitTables>(s, single));
            tables = std::move(all.back());
            all.pop_back();
            tables->begin(beside);
        }
        ~Workplace() {
            beside.end();
            all.push_back(std::move(tables));
        }
    } at(*this, lexer.policy() == Policy::kScannerless && Lexer::is_single(state));
    return SplitWalk(*this, *at.tables, at.beside, residual, state).run(true);
}

uint32_t Spanner::add_residual(const std::vector<TrieNodes>& parts, bool once) {
    std::array<uint16_t, 256> places{};  // one more than that in by_byte
    std::vector<std::pair<uint8_t, std::vector<TrieNodes>>> by_byte;
    for (const TrieNodes& part : parts)
        for (uint32_t n : part.nodes) {
            const uint8_t byte = part.trie->byte[n];
            if (!places[byte]) by_byte.push_back({byte, {}}), places[byte] = uint16_t(by_byte.size());
            std::vector<TrieNodes>& into = by_byte[places[byte] - 1u].second;
            if (into.empty() || into.back().trie != part.trie) into.push_back({part.trie, {}});
            into.back().nodes.push_back(n);
        }
    std::sort(by_byte.begin(), by_byte.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<uint32_t> branches;
    for (auto& [byte, of_byte] : by_byte) branches.push_back(add_branch(byte, std::move(of_byte)));
    return add_residual(std::move(branches), false, once);
}

// PERF: contexts that differ in a few keywords leave the same tokens behind a name or a blank. Finding out that they are the same halved the
// first passes over programs (llama-3: Java 93 to 62 us a mask, Python 307 to 153) and took their memory to a third and a tenth.
uint32_t Spanner::add_branch(uint8_t byte, std::vector<TrieNodes> parts) {
    std::vector<uint32_t> key;
    for (const TrieNodes& part : parts) {
        key.push_back(part.trie->first_id);
        key.push_back(uint32_t(part.nodes.size()));
        key.insert(key.end(), part.nodes.begin(), part.nodes.end());
    }
    auto [it, fresh] = branch_ids_.try_emplace(std::move(key), uint32_t(branches_.size()));
    if (fresh) {
        bytes_ += sizeof(Branch) + it->first.size() * 8 + 64;
        branches_.push_back({byte, std::move(parts), nullptr, {}, nullptr, 0, 0});
    }
    return it->second;
}

uint32_t Spanner::add_residual(std::vector<uint32_t> branches, bool of_vocabulary, bool once) {
    std::vector<uint32_t> key = branches;
    key.push_back(2 * of_vocabulary + once);
    auto [it, fresh] = residual_ids_.try_emplace(std::move(key), uint32_t(residuals_.size()));
    if (fresh) {
        bytes_ += sizeof(Residual) + branches.size() * 8 + 128;
        ByteSet bytes;
        for (uint32_t b : branches) bytes.set(branches_[b].byte);
        residuals_.push_back({std::move(branches), bytes, of_vocabulary, once});
    }
    return it->second;
}

uint32_t Spanner::select(uint32_t residual, std::vector<uint32_t> branches) {
    const Residual& r = residuals_[residual];
    return add_residual(std::move(branches), r.of_vocabulary, r.once);
}

LexState Spanner::similar(const Residual& residual, LexState state) {
    // PERF: below this many nodes a walk costs less than the comparison (a few microseconds).
    constexpr uint64_t kWorthwhile = 2000;
    if (!residual.of_vocabulary) return kNoState;
    // Where most of the tokens lead. That state must stay as it is on most of them: so does the inside of a string or a name.
    std::vector<std::pair<LexState, uint64_t>> weights;
    uint64_t alive = 0;
    auto each = [&](auto&& act) {
        size_t i = 0;
        residual.bytes.each([&](uint8_t byte) { act(byte, sizes_[residual.branches[i++]]); });
    };
    each([&](uint8_t byte, uint64_t weight) {
        LexState next = step(state, byte);
        if (next == kNoState) return;
        alive += weight;
        for (auto& [s, w] : weights)
            if (s == next) {
                w += weight;
                return;
            }
        weights.emplace_back(next, weight);
    });
    if (alive < kWorthwhile) return kNoState;
    std::sort(weights.begin(), weights.end(), [](auto a, auto b) { return a.second > b.second; });
    for (size_t i = 0; i < weights.size() && i < 3; i++) {
        LexState other = weights[i].first;
        if (other == state || weights[i].second * 4 < alive) continue;
        uint64_t same = 0;
        each([&](uint8_t byte, uint64_t weight) {
            if (step(state, byte) == other && step(other, byte) == other) same += weight;
        });
        if (same * 4 >= alive) return other;
    }
    return kNoState;
}

LexState Spanner::alike(uint32_t residual, LexState state) const {
    constexpr uint64_t kWorthwhile = 4;  // bytes
    if (residual != kWholeVocabulary) return kNoState;
    for (size_t i = 0; i < std::min(num_lately_, lately_.size()); i++) {
        const LexState other = lately_[(num_lately_ - 1 - i) % lately_.size()];
        if (lexer.alike_for(state, other) > kWorthwhile) return other;
    }
    return kNoState;
}

bool Spanner::may_be_newline(LexState s) {
    if (!indentations) return false;
    auto known = may_be_newline_.find(s);
    if (known != may_be_newline_.end()) return known->second;
    const auto members = lexer.describe(s);
    work(5 + members.size());
    return may_be_newline_[s] = std::any_of(members.begin(), members.end(), [&](const auto& m) { return m.first == newline; });
}

bool Spanner::is_plain(uint32_t residual, LexState state) const {
    uint64_t need, room;
    return residual != kWholeVocabulary || lexer.policy() != Policy::kScannerless || !Lexer::is_single(state) ||
           !lexer.is_counted(state, need, room);
}

const Split& Spanner::split(uint32_t residual, LexState state) {
    if (const Split* known = find(residual, state)) return *known;
    uint64_t need, room;
    std::unique_ptr<Split> result;
    if (!is_plain(residual, state) && lexer.is_counted(state, need, room)) result = split_counted(need, room);
    else result = walk(residual, state);
    if (residual == kWholeVocabulary && lexer.policy() == Policy::kScannerless && Lexer::is_single(state) && lexer.alike_for(state, state))
        lately_[num_lately_++ % lately_.size()] = state;
    return *keep(residual, state, std::move(result));
}

// PERF: of five overlapping classes of keys there are 32 terminals, each of which was a walk of 2 ms: one walk follows all of them.
const Spanner::Joint& Spanner::joint(uint32_t residual, LexState members) {
    constexpr size_t kMany = 4;
    static const Joint kNone{kNoState, {}};
    auto [begin, end] = lexer.singles(members);
    if (size_t(end - begin) < kMany || !residuals_[residual].of_vocabulary) return kNone;
    const uint64_t key = pack(residual, members);
    if (auto known = joints_.find(key); known != joints_.end()) return known->second;
    std::vector<uint32_t> dear, rest;
    ByteSet bytes;
    for (const uint32_t* single = begin; single != end; single++) {
        work(5);
        const LexState s = lexer.canonical(*single);
        (find(residual, s) || lexer.on_list(s, bytes) || !is_plain(residual, s) ? rest : dear).push_back(*single);
    }
    if (dear.size() < kMany) return joints_[key] = {kNoState, {}};
    return joints_[key] = {lexer.together(dear), std::move(rest)};
}

// PERF: tokens of up to 128 dashes were 64 lexemes one behind the other, walked anew in each new context. Thirty programs of SynCode's Java: 42,347 to 27,958 nodes
// walked, 8% fewer instructions.
const Split* Spanner::repeated(uint32_t residual, LexState state, uint32_t terminal, uint32_t obligations) {
    constexpr size_t kWorthwhile = 4, kMost = 256;  // residuals
    const std::array<uint32_t, 4> key{residual, state, terminal, obligations};
    if (auto known = repeated_.find(key); known != repeated_.end()) return known->second.get();
    auto again = [&](const Split::Exit& e) {
        return e.terminal == terminal && e.obligations == obligations && e.effect == Indentations::kNothing && e.except.empty();
    };
    std::vector<uint32_t> left{residual};
    for (size_t i = 0; i < left.size() && left.size() <= kMost; i++)
        for (const Split::Exit& e : split(left[i], state).exits)
            if (again(e) && std::find(left.begin(), left.end(), e.residual) == left.end()) left.push_back(e.residual);
    std::unique_ptr<Split> result;
    if (left.size() >= kWorthwhile && left.size() <= kMost) {
        std::map<const Trie*, std::vector<uint32_t>> nodes;
        Beside beside(holder);
        for (uint32_t r : left)
            for (uint32_t b : residuals_[r].branches)
                for (const TrieNodes& part : parts(branches_[b], beside))
                    nodes[part.trie].insert(nodes[part.trie].end(), part.nodes.begin(), part.nodes.end());
        std::vector<TrieNodes> parts;
        for (auto& [trie, of_trie] : nodes) {
            std::sort(of_trie.begin(), of_trie.end());
            of_trie.erase(std::unique(of_trie.begin(), of_trie.end()), of_trie.end());
            parts.push_back({trie, std::move(of_trie)});
        }
        result = walk(add_residual(parts, false), state);
        result->id = num_splits_++;
        for (size_t i = result->exits.size(); i-- > 0;)
            if (again(result->exits[i])) {
                result->exits.erase(result->exits.begin() + long(i));
                result->exits_before -= i < result->exits_before;
            }
    }
    return (repeated_[key] = std::move(result)).get();
}

std::unique_ptr<Split> Spanner::split_counted(uint64_t need, uint64_t room) {
    using J = JsonStrings;
    const Trie& t = vocabulary_->trie;
    if (!by_characters_) {
        // One walk with the decoder and a count serves every bound.
        auto by = std::make_unique<ByCharacters>();
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
                at(to == J::kEnd ? by->closing : inside, count + J::owed(to)).push_back(t.tokens[k]);
            if (to == J::kEnd)
                for (uint32_t n = i + 1; n < t.end[i]; n = t.end[n]) at(by->exit_nodes, count).push_back(n);
            i++;
        }
        std::vector<uint32_t> row(vocabulary_->words(), 0);
        for (const auto& tokens : inside) {
            for (uint32_t token : tokens) row[token >> 5] |= 1u << (token & 31);
            by->inside.push_back(TokenSet::of(row));
            bytes_ += by->inside.back().bytes();
        }
        by_characters_ = std::move(by);
    }
    ByCharacters& by = *by_characters_;
    auto result = std::make_unique<Split>();
    TokenSet inside;
    if (!by.inside.empty()) inside = by.inside[std::min<uint64_t>(room, by.inside.size() - 1)];
    for (uint64_t n = need; n <= room && n < by.closing.size(); n++)
        for (uint32_t token : by.closing[n]) inside.add(token, vocabulary_->words());
    inside.pack();
    bytes_ += inside.bytes() + sizeof(Split) + 64;
    if (inside.count())
        result->inside.push_back(
            {Split::Sureness::kSure, 0, std::make_shared<const TokenSet>(std::move(inside)), Indentations::kNothing, nullptr, {}});
    uint64_t last = std::min<uint64_t>(room, by.exit_nodes.size());
    const uint64_t key = pack(uint32_t(std::min<uint64_t>(need, by.exit_nodes.size())), uint32_t(last));
    auto it = by.residuals.find(key);
    if (it == by.residuals.end()) {
        std::vector<uint32_t> nodes;
        for (uint64_t n = need; n <= last && n < by.exit_nodes.size(); n++)
            nodes.insert(nodes.end(), by.exit_nodes[n].begin(), by.exit_nodes[n].end());
        work(nodes.size() / 2);
        const uint32_t made = nodes.empty() ? kWholeVocabulary : add_residual({{&t, std::move(nodes)}}, true);
        it = by.residuals.emplace(key, made).first;
    }
    if (it->second != kWholeVocabulary) result->exits.push_back({0, Lexer::kFree, it->second, Indentations::kNothing, {}});
    result->exits_once = true;
    return result;
}

uint32_t Spanner::producible_set(LexState s) {
    auto found = producible_.find(s);
    if (found != producible_.end()) return found->second;
    std::vector<LexState> todo{s};
    std::unordered_map<LexState, char> seen{{s, 1}};
    std::vector<uint32_t> winners;
    for (size_t i = 0; i < todo.size(); i++) {
        work(lexer.representative_bytes().size());
        for (const Lexer::Exit& e : lexer.exits(todo[i])) winners.push_back(e.terminal);
        for (uint8_t b : lexer.representative_bytes()) {
            LexState next = lexer.step(todo[i], b);
            if (next != kNoState && seen.try_emplace(next, 1).second) todo.push_back(next);
        }
    }
    std::sort(winners.begin(), winners.end());
    winners.erase(std::unique(winners.begin(), winners.end()), winners.end());
    return producible_[s] = producible_sets_.intern(winners);
}

}  // namespace derivable
