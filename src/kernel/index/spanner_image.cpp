// Splits, written down and read again: so a process need not walk the vocabulary for what another one did.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "index/spanner.hpp"
#include "support/image.hpp"

namespace derivable {

namespace {

constexpr uint32_t kLayout = 1;  // raised where words mean something else

}  // namespace

void Spanner::save(ImageWriter& out) const {
    out.put(kLayout);
    out.put(vocabulary_->size());
    out.put(vocabulary_->trie.size());
    lexer.save(out);
    prospects.save(out);
    residuals_.save(out);
    save_splits(out);
}

void Spanner::restore(ImageReader& in) {
    if (in.next() != kLayout) throw BadArtifact("its index was written by another version");
    ImageReader::check(in.next() == vocabulary_->size() && in.next() == vocabulary_->trie.size());
    lexer.restore(in);
    prospects.restore(in);
    residuals_.restore(in);
    restore_splits(in);
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

    // Equal sets are one in a file, and in who reads it.
    std::unordered_map<const TokenSet*, uint32_t> numbers;
    std::unordered_map<std::string, uint32_t> known;
    std::vector<const TokenSet*> sets;
    for (const auto* all : {&splits, &repeated})
        for (const Saved& s : *all) {
            if (!s.split) continue;
            for (const Split::Inside& i : s.split->inside) {
                if (numbers.count(i.tokens.get())) continue;
                ImageWriter one;
                i.tokens->save(one);
                const auto [number, fresh] = known.try_emplace(one.bytes(), uint32_t(sets.size()));
                if (fresh) sets.push_back(i.tokens.get());
                numbers[i.tokens.get()] = number->second;
            }
        }
    out.put(sets.size());
    for (const TokenSet* set : sets) set->save(out);

    auto put = [&](const Split& split) {
        out.put(split.inside.size());
        for (const Split::Inside& i : split.inside)
            for (uint32_t word : {uint32_t(i.sureness), i.key, uint32_t(i.effect), numbers.at(i.tokens.get())}) out.put(word);
        out.put(split.exits.size());
        for (const Split::Exit& e : split.exits) {
            for (uint32_t word : {e.terminal.index(), e.obligations.index(), e.residual.index(), uint32_t(e.effect)}) out.put(word);
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
    const size_t effects = prospects.num_effects();
    auto split = std::make_unique<Split>();
    const uint32_t insides = in.count(4);
    split->inside.reserve(insides);
    for (uint32_t n = insides; n > 0; n--) {
        Split::Inside i{};
        i.sureness = Split::Sureness(in.below(3));
        i.key = in.next();
        ImageReader::check(
            i.sureness == Split::Sureness::kSure ||
            (i.sureness == Split::Sureness::kExact ? lexer.is_state(LexState(i.key)) : i.key < prospects.num_producible_sets()));
        i.effect = in.below(effects);
        i.tokens = sets[in.below(sets.size())];
        split->inside.push_back(std::move(i));
    }
    const uint32_t exits = in.count(5);
    split->exits.reserve(exits);
    for (uint32_t n = exits; n > 0; n--) {
        Split::Exit e{};
        e.terminal = TerminalId(in.below(lexer.num_terminals()));
        e.obligations = Obligations(in.below(lexer.num_obligations()));
        ImageReader::check(e.obligations != Lexer::kViolated);
        e.residual = ResidualId(in.below(residuals_.size()));
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
        const ResidualId residual(in.below(residuals_.size()));
        const LexState state(in.next());
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
