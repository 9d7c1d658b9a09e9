// Splits, written down and read again: so a process need not walk the vocabulary for what another one did.
//
// What is left of tokens is written as nodes of tries, most of which are merged from others and never needed again, for what a walk would find in them is
// written, too. So tries are not written, only how large they are: their nodes have numbers, by which equal residuals are one. A branch that somebody
// enters after all reads its nodes then, and merges those of others that they belong to.
#include <algorithm>
#include <string>

#include "index/spanner.hpp"
#include "support/image.hpp"

namespace derivable {

namespace {

constexpr uint32_t kLayout = 1;                                 // raised where words mean something else
constexpr uint32_t kDeepest = 512;                              // tries, each merged from parts of the one before
constexpr uint32_t kLargest = 1u << 22, kMostNodes = 1u << 31;  // nodes of a trie, and of all

void put_effect(ImageWriter& out, const std::string& effect) {
    out.put(effect.size());
    for (char c : effect) out.put(uint8_t(c));
}

std::string read_effect(ImageReader& in) {
    std::string effect;
    for (uint32_t n = in.count(); n > 0; n--) effect.push_back(char(in.below(128)));
    ImageReader::check(effect.find_first_not_of("\n \t\f.") == std::string::npos);
    return effect;
}

}  // namespace

void Spanner::save(ImageWriter& out) const {
    out.put(kLayout);
    out.put(vocabulary_->size());
    out.put(vocabulary_->trie.size());
    lexer.save(out);
    const size_t effects = indentations ? indentations->effects().size() : 0;
    out.put(effects);
    for (size_t i = 0; i < effects; i++) put_effect(out, indentations->effects()[i]);
    out.put(producible_sets_.size());
    for (uint32_t i = 0; i < producible_sets_.size(); i++) out.list(producible_sets_[i]);
    save_branches(out);
    save_splits(out);
}

void Spanner::restore(ImageReader& in) {
    if (in.next() != kLayout) throw BadArtifact("its index was written by another version");
    ImageReader::check(in.next() == vocabulary_->size() && in.next() == vocabulary_->trie.size());
    lexer.restore(in);
    for (uint32_t i = 0, n = in.count(); i < n; i++) {
        const std::string effect = read_effect(in);
        ImageReader::check(indentations && indentations->effect(effect) == i);
    }
    for (uint32_t i = 0, n = in.count(); i < n; i++) {
        const std::vector<uint32_t> set = in.list();
        for (uint32_t terminal : set) ImageReader::check(terminal < lexer.num_terminals());
        ImageReader::check(producible_sets_.intern(set) == i);
    }
    restore_branches(in);
    restore_splits(in);
    image_ = in.words();
}

// A branch: its byte, how large its trie is (0: it has none), its parts. A part is written as the branch whose trie it belongs to, and one (0: the vocabulary's), and its nodes.
void Spanner::save_branches(ImageWriter& out) const {
    std::unordered_map<const Trie*, uint32_t> owners{{&vocabulary_->trie, 0}};
    for (uint32_t b = 0; b < branches_.size(); b++)
        if (branches_[b].merged) owners[branches_[b].merged.get()] = b + 1;
    out.put(branches_.size() - sizes_.size());
    for (size_t b = sizes_.size(); b < branches_.size(); b++) {
        const Branch& branch = branches_[b];
        out.put(branch.byte);
        out.put(branch.size);
        if (branch.saved) {
            const uint32_t* end = branch.saved + 1;
            for (uint32_t n = *branch.saved; n > 0; n--) end += 2 + end[1];
            out.run(branch.saved, end);
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

void Spanner::restore_branches(ImageReader& in) {
    const uint32_t first = uint32_t(sizes_.size()), count = in.count(3);
    ImageReader::check(branches_.size() == first && residuals_.size() == 1 && (first || !count));
    std::vector<uint32_t> depths(first, 0), key;
    for (uint32_t b = first; b < first + count; b++) {
        Branch branch{uint8_t(in.below(256)), {}, nullptr, {}, nullptr, num_nodes_, in.below(kLargest)};
        ImageReader::check(branch.size < kMostNodes - num_nodes_);
        num_nodes_ += branch.size;
        branch.saved = in.run(0);
        uint32_t depth = 0;
        key.clear();
        for (uint32_t parts = in.count(2); parts > 0; parts--) {
            const uint32_t owner = in.below(b + 1), size = in.count();
            const uint32_t* nodes = in.run(size);
            if (owner) ImageReader::check(branches_[owner - 1].size), depth = std::max(depth, depths[owner - 1] + 1);
            key.push_back(owner ? branches_[owner - 1].first_id : vocabulary_->trie.first_id);
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
        ImageReader::check(add_residual(branches, flags & 2, flags & 1) == r);
    }
}

// The parts of a branch. SAFETY: what a file says of them is taken where it fits, and left out where there is no such trie or node.
const std::vector<TrieNodes>& Spanner::parts(Branch& b, Beside& beside) {
    if (!b.saved) return b.parts;
    std::vector<TrieNodes> parts;
    const uint32_t* at = b.saved + 1;
    for (uint32_t n = *b.saved; n > 0; n--) {
        const uint32_t owner = *at++, size = *at++;
        const Trie* trie = &vocabulary_->trie;
        if (owner) roots(owner - 1, beside), trie = branches_[owner - 1].merged.get();
        TrieNodes part{trie, {}};
        for (const uint32_t* end = at + size; at != end; at++)
            if (trie && *at < trie->size() && trie->byte[*at] == b.byte) part.nodes.push_back(*at);
        if (!part.nodes.empty()) parts.push_back(std::move(part));
    }
    if (parts.empty()) parts.push_back({&vocabulary_->trie, {0}});
    b.parts = std::move(parts);
    b.saved = nullptr;
    return b.parts;
}

void Spanner::save_splits(ImageWriter& out) const {
    struct Saved {
        std::array<uint32_t, 4> key;
        const Split* split;
    };
    std::vector<Saved> splits, repeated;
    splits_.each([&](uint64_t key, const std::unique_ptr<Split>& split) {
        splits.push_back({{uint32_t(key >> 32), uint32_t(key), 0, 0}, split.get()});
    });
    std::sort(splits.begin(), splits.end(), [](const Saved& a, const Saved& b) { return a.split->id < b.split->id; });
    for (const auto& [key, split] : repeated_) repeated.push_back({key, split.get()});

    std::unordered_map<const TokenSet*, uint32_t> numbers;
    std::vector<const TokenSet*> sets;
    for (const auto* all : {&splits, &repeated})
        for (const Saved& s : *all)
            if (s.split)
                for (const Split::Inside& i : s.split->inside)
                    if (numbers.try_emplace(i.tokens.get(), uint32_t(sets.size())).second) sets.push_back(i.tokens.get());
    out.put(sets.size());
    for (const TokenSet* set : sets) set->save(out);

    auto put = [&](const Split& split) {
        out.put(split.inside.size());
        for (const Split::Inside& i : split.inside)
            for (uint32_t word : {uint32_t(i.sureness), i.key, uint32_t(i.effect), numbers.at(i.tokens.get())}) out.put(word);
        out.put(split.exits.size());
        for (const Split::Exit& e : split.exits) {
            for (uint32_t word : {e.terminal, e.obligations, e.residual, uint32_t(e.effect)}) out.put(word);
            out.list(e.except);
        }
        out.put(split.exits_before);
        out.put(split.exits_once);
    };
    out.put(splits.size());
    for (const Saved& s : splits) {
        out.run(s.key.data(), s.key.data() + 2);
        put(*s.split);
    }
    out.put(repeated.size());
    for (const Saved& s : repeated) {
        out.run(s.key.data(), s.key.data() + 4);
        out.put(s.split != nullptr);
        if (s.split) put(*s.split);
    }
}

std::unique_ptr<Split> Spanner::restored_split(ImageReader& in, const std::vector<std::shared_ptr<const TokenSet>>& sets) {
    const size_t effects = indentations ? indentations->effects().size() : 1;
    auto split = std::make_unique<Split>();
    const uint32_t insides = in.count(4);
    split->inside.reserve(insides);
    for (uint32_t n = insides; n > 0; n--) {
        Split::Inside i{};
        i.sureness = Split::Sureness(in.below(3));
        i.key = in.next();
        ImageReader::check(i.sureness == Split::Sureness::kSure ||
                           (i.sureness == Split::Sureness::kExact ? lexer.is_state(i.key) : i.key < producible_sets_.size()));
        i.effect = in.below(effects);
        i.tokens = sets[in.below(sets.size())];
        split->inside.push_back(std::move(i));
    }
    const uint32_t exits = in.count(5);
    split->exits.reserve(exits);
    for (uint32_t n = exits; n > 0; n--) {
        Split::Exit e{};
        e.terminal = in.below(lexer.num_terminals());
        e.obligations = in.below(lexer.num_obligations());
        ImageReader::check(e.obligations != Lexer::kViolated);
        e.residual = in.below(residuals_.size());
        e.effect = in.below(effects);
        e.except = in.list();
        for (uint32_t token : e.except) ImageReader::check(token < vocabulary_->size());
        split->exits.push_back(std::move(e));
    }
    split->exits_before = in.below(exits + 1);
    split->exits_once = in.below(2);
    split->id = num_splits_++;
    bytes_ += sizeof(Split) + 64 + insides * sizeof(Split::Inside) + exits * sizeof(Split::Exit);
    return split;
}

void Spanner::restore_splits(ImageReader& in) {
    std::vector<std::shared_ptr<const TokenSet>> sets(in.count(2));
    for (auto& set : sets) {
        set = std::make_shared<const TokenSet>(TokenSet::restored(in, vocabulary_->size()));
        bytes_ += set->bytes();
    }
    for (uint32_t n = in.count(6); n > 0; n--) {
        const uint32_t residual = in.below(residuals_.size()), state = in.next();
        ImageReader::check(lexer.is_state(state));
        std::unique_ptr<Split>& split = splits_[pack(residual, state)];
        ImageReader::check(!split);
        split = restored_split(in, sets);
    }
    for (uint32_t n = in.count(5); n > 0; n--) {
        std::array<uint32_t, 4> key;
        for (uint32_t& word : key) word = in.next();
        repeated_[key] = in.below(2) ? restored_split(in, sets) : nullptr;
    }
}

}  // namespace derivable
