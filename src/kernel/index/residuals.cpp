#include "index/residuals.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "support/archive.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

constexpr uint32_t kDeepest = 512;                              // tries, each merged from parts of the one before
constexpr uint32_t kLargest = 1u << 22, kMostNodes = 1u << 31;  // nodes of a trie, and of all
const std::vector<uint32_t> kNone;

}  // namespace

Residuals::Residuals(const Trie& vocabulary) : vocabulary_(vocabulary) { begin(); }

void Residuals::begin() {
    num_nodes_ = vocabulary_.first_id + vocabulary_.size();
    owners_ = {{vocabulary_.first_id, num_nodes_, kNoBranch}};
    std::vector<uint32_t> all;
    for (uint32_t i = 0; i < vocabulary_.size(); i = vocabulary_.end[i]) {
        all.push_back(add_branch(vocabulary_.byte[i], {vocabulary_.first_id + i}));
        nodes_behind_[vocabulary_.byte[i]] = vocabulary_.end[i] - i;
    }
    add(std::move(all), true, true);  // kWholeVocabulary
}

void Residuals::forget(Discard& discarded) {
    discarded.take(residuals_);
    discarded.take(residual_ids_);
    discarded.take(branches_);
    discarded.take(branch_ids_);
    bytes_ = 0;
    begin();
}

// The trie that a node belongs to, by its number.
const Residuals::Owner& Residuals::owner(uint32_t node) const {
    return *std::prev(std::upper_bound(owners_.begin(), owners_.end(), node, [](uint32_t n, const Owner& o) { return n < o.first_id; }));
}

// SAFETY: numbers that a file has are taken where there is such a node, and left out where there is none.
std::vector<TrieNodes> Residuals::parts(uint32_t branch, Beside& beside) {
    return beside.look([&] {
        std::vector<TrieNodes> parts;
        const Branch& b = branches_[branch];
        for (auto node = b.nodes.begin(); node != b.nodes.end();) {
            const Owner of = owner(*node);
            if (of.branch != kNoBranch) roots(of.branch, beside);
            const Trie* trie = of.branch == kNoBranch ? &vocabulary_ : branches_[of.branch].merged.get();
            const uint32_t size = trie ? trie->size() : 0;
            TrieNodes part{trie, {}};
            for (; node != b.nodes.end() && *node >= of.first_id && *node < of.end; ++node)
                if (const uint32_t n = *node - of.first_id; n < size && trie->byte[n] == b.byte) part.nodes.push_back(n);
            if (!part.nodes.empty()) parts.push_back(std::move(part));
        }
        if (parts.empty()) parts.push_back({&vocabulary_, {0}});
        return parts;
    });
}

const std::vector<Residuals::Root>& Residuals::roots(uint32_t branch, Beside& beside) {
    Branch* found;
    if (beside.look([&] { return !(found = &branches_[branch])->roots.empty(); })) return found->roots;
    Branch& b = *found;
    std::vector<TrieNodes> others = parts(branch, beside);
    constexpr uint64_t kMaxMerged = 2'000'000, kWorthSparing = 2'000;
    uint64_t size = 0;
    Root largest{nullptr, 0};
    for (const TrieNodes& p : others)
        for (uint32_t n : p.nodes) {
            size += p.trie->end[n] - n;
            if (!largest.trie || p.trie->end[n] - n > largest.size()) largest = {p.trie, n};
        }
    if (size > kMaxMerged) throw TooAmbiguous();
    work(10 + 3 * size);
    // SAFETY: nothing is kept before all is made: merging may be refused.
    std::vector<Root> roots;
    std::unique_ptr<Trie> merged;
    // PERF: behind a blank nearly all tokens come from one subtree, those with one blank before: copying it was 20 (Java) to 43% (Python)
    // of the first walk there.
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
            if (b.size < merged->size()) number(branch, merged->size());
            merged->first_id = b.first_id;
            bytes_ += merged->size() * 20 + merged->tokens.size() * 4;
        }
        b.merged = std::move(merged);
        b.roots = std::move(roots);
    });
    return b.roots;
}

void Residuals::number(uint32_t branch, uint32_t nodes) {
    owners_.push_back({num_nodes_, num_nodes_ + nodes, branch});
    branches_[branch].first_id = num_nodes_;
    branches_[branch].size = nodes;
    num_nodes_ += nodes;
}

namespace {

// The numbers of nodes, by their bytes, which ascend.
std::vector<std::pair<uint8_t, std::vector<uint32_t>>> by_byte(const std::vector<TrieNodes>& parts) {
    std::array<uint32_t, 256> sizes{};
    ByteSet bytes;
    for (const TrieNodes& part : parts)
        for (uint32_t n : part.nodes) bytes.set(part.trie->byte[n]), sizes[part.trie->byte[n]]++;
    std::vector<std::pair<uint8_t, std::vector<uint32_t>>> all;
    std::array<uint8_t, 256> places;  // in `all`
    bytes.each([&](uint8_t byte) {
        places[byte] = uint8_t(all.size());
        all.emplace_back(byte, std::vector<uint32_t>()).second.reserve(sizes[byte]);
    });
    for (const TrieNodes& part : parts)
        for (uint32_t n : part.nodes) all[places[part.trie->byte[n]]].second.push_back(part.trie->first_id + n);
    for (auto& [byte, nodes] : all)
        if (!std::is_sorted(nodes.begin(), nodes.end())) work(8 * nodes.size()), std::sort(nodes.begin(), nodes.end());
    return all;
}

}  // namespace

ResidualId Residuals::add(const std::vector<TrieNodes>& parts, bool once) {
    std::vector<uint32_t> branches;
    for (auto& [byte, nodes] : by_byte(parts)) branches.push_back(add_branch(byte, std::move(nodes)));
    return add(std::move(branches), false, once);
}

ResidualId Residuals::amended(ResidualId residual, const std::vector<TrieNodes>& gone, const std::vector<TrieNodes>& come, bool once) {
    std::array<uint32_t, 256> branches;  // by byte, those of `bytes`
    ByteSet bytes;
    for (uint32_t b : (*this)[residual].branches) bytes.set(branches_[b].byte), branches[branches_[b].byte] = b;
    auto amend = [&](uint8_t byte, auto change) {
        const std::vector<uint32_t>& before = bytes[byte] ? branches_[branches[byte]].nodes : kNone;
        std::vector<uint32_t> nodes;
        change(before, nodes);
        work(10 + nodes.size() / 2);
        if (nodes.empty()) bytes.remove(byte);
        else bytes.set(byte), branches[byte] = add_branch(byte, std::move(nodes));
    };
    for (const auto& [byte, nodes] : by_byte(gone))
        amend(byte, [&, &some = nodes](const std::vector<uint32_t>& all, std::vector<uint32_t>& left) {
            left.reserve(all.size());
            std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(left));
        });
    for (const auto& [byte, nodes] : by_byte(come))
        amend(byte, [&, &some = nodes](const std::vector<uint32_t>& all, std::vector<uint32_t>& merged) {
            merged.resize(all.size() + some.size());
            std::merge(all.begin(), all.end(), some.begin(), some.end(), merged.begin());
        });
    std::vector<uint32_t> all;
    bytes.each([&](uint8_t byte) { all.push_back(branches[byte]); });
    return add(std::move(all), false, once);
}

ResidualId Residuals::united(const std::vector<ResidualId>& residuals) {
    std::array<std::vector<uint32_t>, 256> of_byte;  // branches
    ByteSet bytes;
    for (ResidualId r : residuals)
        for (uint32_t b : (*this)[r].branches) {
            bytes.set(branches_[b].byte);
            of_byte[branches_[b].byte].push_back(b);
        }
    auto each_once = [](std::vector<uint32_t>& all) {
        work(4 * all.size());
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
    };
    std::vector<uint32_t> branches;
    bytes.each([&](uint8_t byte) {
        std::vector<uint32_t>& some = of_byte[byte];
        each_once(some);
        if (some.size() == 1) return branches.push_back(some[0]);
        std::vector<uint32_t> nodes;
        for (uint32_t b : some) nodes.insert(nodes.end(), branches_[b].nodes.begin(), branches_[b].nodes.end());
        each_once(nodes);
        branches.push_back(add_branch(byte, std::move(nodes)));
    });
    return add(std::move(branches), false, false);
}

// PERF: contexts that differ in a few keywords leave the same tokens behind a name or a blank. Finding out that they are the same halved
// the first passes over programs (llama-3: Java 93 to 62 us a mask, Python 307 to 153) and took their memory to a third and a tenth.
uint32_t Residuals::add_branch(uint8_t byte, std::vector<uint32_t> nodes) {
    uint64_t hash = WordsHash()(nodes);
    if (const uint32_t* known = branch_ids_.find(hash, [&](uint32_t branch) { return branches_[branch].nodes == nodes; })) return *known;
    const auto branch = uint32_t(branches_.size());
    const size_t size = sizeof(Branch) + nodes.size() * 4 + 64;
    branches_.push_back({byte, std::move(nodes), nullptr, {}});
    branch_ids_.put(hash, branch);
    bytes_ += size;
    return branch;
}

ResidualId Residuals::add(std::vector<uint32_t> branches, bool of_vocabulary, bool once) {
    uint64_t hash = mix(WordsHash()(branches) ^ (2 * of_vocabulary + once));
    const uint32_t* known = residual_ids_.find(hash, [&](uint32_t residual) {
        const Residual& r = residuals_[residual];
        return r.of_vocabulary == of_vocabulary && r.once == once && r.branches == branches;
    });
    if (known) return ResidualId(*known);
    const auto residual = uint32_t(residuals_.size());
    const size_t size = sizeof(Residual) + branches.size() * 8 + 128;
    ByteSet bytes;
    for (uint32_t b : branches) bytes.set(branches_[b].byte);
    residuals_.push_back({std::move(branches), bytes, of_vocabulary, once});
    residual_ids_.put(hash, residual);
    bytes_ += size;
    return ResidualId(residual);
}

ResidualId Residuals::select(ResidualId residual, std::vector<uint32_t> branches) {
    const Residual& r = (*this)[residual];
    return add(std::move(branches), r.of_vocabulary, r.once);
}

uint64_t Residuals::size_at_least(ResidualId residual) const {
    uint64_t size = 0;
    for (uint32_t b : (*this)[residual].branches) {
        const std::vector<uint32_t>& nodes = branches_[b].nodes;
        const uint32_t first = nodes.front() - vocabulary_.first_id;
        size += nodes.size() + (first < vocabulary_.size() ? vocabulary_.end[first] - first - 1 : 0);
    }
    return size;
}

bool Residuals::are_apart(ResidualId residual, const std::vector<uint32_t>& some, Beside& beside) {
    for (uint32_t s : some)
        for (const Root& root : roots(s, beside)) {
            const uint32_t begin = root.trie->first_id + root.node, end = root.trie->first_id + root.trie->end[root.node];
            const uint32_t first = root.trie->first_id;
            for (uint32_t b : (*this)[residual].branches) {
                if (std::find(some.begin(), some.end(), b) != some.end()) continue;
                const Branch& other = branches_[b];
                if (begin >= other.first_id && begin < other.first_id + other.size) return false;
                auto node = std::lower_bound(other.nodes.begin(), other.nodes.end(), first);
                work(10);
                for (; node != other.nodes.end() && *node < end; ++node)
                    if (*node >= begin || first + root.trie->end[*node - first] > begin) return false;
            }
        }
    return true;
}

// Tries are not written, only how large they are: their nodes have numbers, by which equal residuals are one. A branch that somebody enters
// after all merges its nodes then, and those of others that they belong to.
//
// A branch: its byte, how large its trie is (0: it has none), its nodes.
void Residuals::archive(Archive& a) {
    const uint32_t first = num_first(), count = a.count(branches_.size() - first, 3);
    a.check(branches_.size() == first && residuals_.size() == 1 && (first || !count));
    std::vector<uint32_t> depths(first, 0);
    if (a.reading()) branch_ids_.reserve(first + count);
    for (uint32_t b = first; b < first + count; b++) {
        uint8_t byte = a.reading() ? 0 : branches_[b].byte;
        uint32_t size = a.reading() ? 0 : branches_[b].size;
        std::vector<uint32_t> nodes;
        a.below(byte, 256);
        a.below(size, kLargest);
        const uint32_t depth = archive_nodes(a, b, nodes, depths);
        if (!a.reading()) continue;
        a.check(depth < kDeepest && !nodes.empty() && add_branch(byte, std::move(nodes)) == b);
        depths.push_back(depth);
        a.check(size < kMostNodes - num_nodes_);
        if (size) number(b, size);
    }
    const uint32_t residuals = a.count(residuals_.size() - 1, 2);
    if (a.reading()) residual_ids_.reserve(1 + residuals);
    for (uint32_t r = 1; r <= residuals; r++) {
        uint32_t flags = a.reading() ? 0 : 2 * residuals_[r].of_vocabulary + residuals_[r].once;
        std::vector<uint32_t> branches = a.reading() ? std::vector<uint32_t>() : residuals_[r].branches;
        a.below(flags, 4);
        a.list(branches, flags & 2 ? first : branches_.size());
        int before = -1;
        for (uint32_t b : branches) a.check(branches_[b].byte > before), before = branches_[b].byte;
        if (a.reading()) a.check(add(std::move(branches), flags & 2, flags & 1).index() == r);
    }
}

// By the trie that they belong to, which is written as the branch whose it is, and one (0: the vocabulary's). Returns how many tries below the
// vocabulary's that is at most.
uint32_t Residuals::archive_nodes(Archive& a, uint32_t branch, std::vector<uint32_t>& nodes, const std::vector<uint32_t>& depths) {
    std::vector<std::pair<uint32_t, std::vector<uint32_t>>> parts;
    if (!a.reading()) {
        std::map<uint32_t, std::vector<uint32_t>> in_order;  // of branches, in which they will be numbered
        const std::vector<uint32_t>& all = branches_[branch].nodes;
        for (auto node = all.begin(); node != all.end();) {
            const Owner of = owner(*node);
            std::vector<uint32_t>& part = in_order[of.branch + 1];
            for (; node != all.end() && *node < of.end; ++node) part.push_back(*node - of.first_id);
        }
        parts.assign(in_order.begin(), in_order.end());
    }
    uint32_t depth = 0;
    int64_t last = -1;
    const uint32_t count = a.count(parts.size(), 2);
    for (uint32_t p = 0; p < count; p++) {
        uint32_t of = a.reading() ? 0 : parts[p].first;
        a.below(of, branch + 1);
        if (!a.reading()) {
            a.list(parts[p].second);
            continue;
        }
        const uint32_t begin = of ? branches_[of - 1].first_id : vocabulary_.first_id;
        const uint32_t size = of ? branches_[of - 1].size : vocabulary_.size();
        if (of) depth = std::max(depth, depths[of - 1] + 1);
        const uint32_t n = a.in().count();
        const uint32_t* numbers = a.in().run(n);
        for (auto node = nodes.insert(nodes.end(), numbers, numbers + n); node != nodes.end(); ++node) {
            a.check(*node < size && int64_t(*node += begin) >= last);
            last = *node;
        }
    }
    return depth;
}

}  // namespace derivable
