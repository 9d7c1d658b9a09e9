#include "index/residuals.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "support/image.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

constexpr uint32_t kDeepest = 512;                              // tries, each merged from parts of the one before
constexpr uint32_t kLargest = 1u << 22, kMostNodes = 1u << 31;  // nodes of a trie, and of all

}  // namespace

Residuals::Residuals(const Trie& vocabulary) : vocabulary_(vocabulary) { begin(); }

void Residuals::begin() {
    num_nodes_ = vocabulary_.size();
    std::vector<uint32_t> all;
    for (uint32_t i = 0; i < vocabulary_.size(); i = vocabulary_.end[i]) {
        all.push_back(add_branch(vocabulary_.byte[i], {{&vocabulary_, {i}}}));
        sizes_.push_back(vocabulary_.end[i] - i);
    }
    add(std::move(all), true, true);  // kWholeVocabulary
}

void Residuals::forget(Discard& discarded) {
    discarded.take(residuals_);
    discarded.take(residual_ids_);
    discarded.take(branches_);
    discarded.take(branch_ids_);
    sizes_.clear();
    image_ = {};
    bytes_ = 0;
    begin();
}

const std::vector<Residuals::Root>& Residuals::roots(uint32_t branch, Beside& beside) {
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
            if (b.size < merged->size()) b.first_id = num_nodes_, b.size = merged->size(), num_nodes_ += b.size;
            merged->first_id = b.first_id;
            bytes_ += merged->size() * 20 + merged->tokens.size() * 4;
        }
        b.merged = std::move(merged);
        b.roots = std::move(roots);
    });
    return b.roots;
}

ResidualId Residuals::add(const std::vector<TrieNodes>& parts, bool once) {
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
    return add(std::move(branches), false, once);
}

// PERF: contexts that differ in a few keywords leave the same tokens behind a name or a blank. Finding out that they are the same halved
// the first passes over programs (llama-3: Java 93 to 62 us a mask, Python 307 to 153) and took their memory to a third and a tenth.
uint32_t Residuals::add_branch(uint8_t byte, std::vector<TrieNodes> parts) {
    std::vector<uint32_t> key;
    for (const TrieNodes& part : parts) {
        key.push_back(part.trie->first_id);
        key.push_back(uint32_t(part.nodes.size()));
        key.insert(key.end(), part.nodes.begin(), part.nodes.end());
    }
    auto [it, fresh] = branch_ids_.try_emplace(std::move(key), uint32_t(branches_.size()));
    if (fresh) {
        bytes_ += sizeof(Branch) + it->first.size() * 8 + 64;
        branches_.push_back({byte, std::move(parts), nullptr, {}, 0, 0, 0});
    }
    return it->second;
}

ResidualId Residuals::add(std::vector<uint32_t> branches, bool of_vocabulary, bool once) {
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

ResidualId Residuals::select(ResidualId residual, std::vector<uint32_t> branches) {
    const Residual& r = (*this)[residual];
    return add(std::move(branches), r.of_vocabulary, r.once);
}

// Tries are not written, only how large they are: their nodes have numbers, by which equal residuals are one. A branch that somebody enters
// after all reads its nodes then, and merges those of others that they belong to.
//
// A branch: its byte, how large its trie is (0: it has none), its parts. A part is written as the branch whose trie it belongs to, and one
// (0: the vocabulary's), and its nodes.
void Residuals::save(ImageWriter& out) const {
    std::unordered_map<const Trie*, uint32_t> owners{{&vocabulary_, 0}};
    for (uint32_t b = 0; b < branches_.size(); b++)
        if (branches_[b].merged) owners[branches_[b].merged.get()] = b + 1;
    out.put(branches_.size() - sizes_.size());
    for (size_t b = sizes_.size(); b < branches_.size(); b++) {
        const Branch& branch = branches_[b];
        out.put(branch.byte);
        out.put(branch.size);
        if (branch.saved) {
            ImageReader saved = image_.at(branch.saved);
            const uint32_t parts = saved.count(2);
            out.put(parts);
            for (uint32_t n = parts; n > 0; n--) out.put(saved.next()), out.list(saved.list());
            continue;
        }
        out.put(branch.parts.size());
        for (const TrieNodes& part : branch.parts) {
            out.put(owners.at(part.trie));
            out.list(part.nodes);
        }
    }
    out.put(residuals_.size() - 1);
    for (size_t r = 1; r < residuals_.size(); r++) {
        out.put(2 * residuals_[r].of_vocabulary + residuals_[r].once);
        out.list(residuals_[r].branches);
    }
}

void Residuals::restore(ImageReader& in) {
    image_ = in;
    const uint32_t first = uint32_t(sizes_.size()), count = in.count(3);
    ImageReader::check(branches_.size() == first && residuals_.size() == 1 && (first || !count));
    std::vector<uint32_t> depths(first, 0), key;
    for (uint32_t b = first; b < first + count; b++) {
        Branch branch{uint8_t(in.below(256)), {}, nullptr, {}, 0, num_nodes_, in.below(kLargest)};
        ImageReader::check(branch.size < kMostNodes - num_nodes_);
        num_nodes_ += branch.size;
        branch.saved = in.position();
        uint32_t depth = 0;
        key.clear();
        for (uint32_t parts = in.count(2); parts > 0; parts--) {
            const uint32_t owner = in.below(b + 1), size = in.count();
            const uint32_t* nodes = in.run(size);
            if (owner) ImageReader::check(branches_[owner - 1].size), depth = std::max(depth, depths[owner - 1] + 1);
            key.push_back(owner ? branches_[owner - 1].first_id : vocabulary_.first_id);
            key.push_back(size);
            key.insert(key.end(), nodes, nodes + size);
        }
        ImageReader::check(depth < kDeepest && branch_ids_.try_emplace(key, b).second);
        depths.push_back(depth);
        bytes_ += sizeof(Branch) + key.size() * 8 + 64;
        branches_.push_back(std::move(branch));
    }
    for (uint32_t r = 1, n = in.count(2); r <= n; r++) {
        const uint32_t flags = in.below(4);
        const std::vector<uint32_t> branches = in.list();
        int before = -1;
        for (uint32_t b : branches) {
            ImageReader::check(b < (flags & 2 ? first : branches_.size()) && branches_[b].byte > before);
            before = branches_[b].byte;
        }
        ImageReader::check(add(branches, flags & 2, flags & 1).index() == r);
    }
}

// The parts of a branch. SAFETY: what a file says of them is taken where it fits, and left out where there is no such trie or node.
const std::vector<TrieNodes>& Residuals::parts(Branch& b, Beside& beside) {
    if (!b.saved) return b.parts;
    std::vector<TrieNodes> parts;
    ImageReader in = image_.at(b.saved);
    for (uint32_t n = in.count(2); n > 0; n--) {
        const uint32_t owner = in.below(branches_.size() + 1);
        const Trie* trie = &vocabulary_;
        if (owner) roots(owner - 1, beside), trie = branches_[owner - 1].merged.get();
        TrieNodes part{trie, {}};
        for (uint32_t node : in.list())
            if (trie && node < trie->size() && trie->byte[node] == b.byte) part.nodes.push_back(node);
        if (!part.nodes.empty()) parts.push_back(std::move(part));
    }
    if (parts.empty()) parts.push_back({&vocabulary_, {0}});
    b.parts = std::move(parts);
    b.saved = 0;
    return b.parts;
}

}  // namespace derivable
