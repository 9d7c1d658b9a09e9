// Splits, written down and read again: so a process need not walk the vocabulary for what another one did.
#include <algorithm>
#include <map>

#include "index/spanner.hpp"
#include "support/image.hpp"

namespace derivable {

namespace {

constexpr uint32_t kLayout = 3;  // raised where words mean something else

}  // namespace

Spanner::Saved Spanner::save(ImageWriter& out) const {
    out.put(kLayout);
    out.put(vocabulary_->size());
    out.put(vocabulary_->trie.size());
    lexer.save(out);
    prospects.save(out);
    residuals_.save(out);
    return save_splits(out);
}

Spanner::Sets Spanner::restore(ImageReader& in) {
    if (in.next() != kLayout) throw BadArtifact("its index was written by another version");
    ImageReader::check(in.next() == vocabulary_->size() && in.next() == vocabulary_->trie.size());
    lexer.restore(in);
    prospects.restore(in);
    residuals_.restore(in);
    return restore_splits(in);
}

Spanner::Saved Spanner::save_splits(ImageWriter& out) const {
    struct Keyed {
        std::array<uint32_t, 4> key;
        const Split* split;
    };
    std::vector<Keyed> splits, repeated;
    for (const auto& split : splits_) splits.push_back({{split->residual.index(), split->state.index(), 0, 0}, split.get()});
    for (const auto& [key, split] : repeated_) repeated.push_back({key, split.get()});

    Saved saved;
    for (const auto* all : {&splits, &repeated})
        for (const Keyed& s : *all) {
            if (!s.split) continue;
            saved.splits.try_emplace(s.split->id, uint32_t(saved.splits.size()));
            for (const Split::Inside& i : s.split->inside) saved.sets.add(*i.tokens);
        }
    saved.sets.save(out);

    auto put = [&](const Split& split) {
        out.put(split.inside.size());
        for (const Split::Inside& i : split.inside)
            for (uint32_t word : {uint32_t(i.sureness), i.key, uint32_t(i.effect), *saved.sets.find(*i.tokens)}) out.put(word);
        out.put(split.exits.size());
        for (const Split::Exit& e : split.exits) {
            for (uint32_t word : {e.terminal.index(), e.obligations.index(), e.residual.index(), uint32_t(e.effect)}) out.put(word);
            out.list(e.except);
        }
        out.put(split.exits_before);
        out.put(split.exits_once);
    };
    out.put(splits.size());
    for (const Keyed& s : splits) {
        out.run(s.key.data(), s.key.data() + 2);
        put(*s.split);
    }
    std::map<std::array<uint32_t, 2>, uint32_t> others;  // states that split a residual as another one does: by both, the split's number
    split_of_.each([&](uint64_t key, const Split* split) {
        if (split && key != pack(split->residual, split->state)) others[{uint32_t(key >> 32), uint32_t(key)}] = saved.splits.at(split->id);
    });
    out.put(others.size());
    for (const auto& [key, number] : others)
        for (uint32_t word : {key[0], key[1], number}) out.put(word);
    out.put(repeated.size());
    for (const Keyed& s : repeated) {
        out.run(s.key.data(), s.key.data() + 4);
        out.put(s.split != nullptr);
        if (s.split) put(*s.split);
    }
    return saved;
}

std::unique_ptr<Split> Spanner::restored_split(ImageReader& in, const Sets& sets) {
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
    bytes_ += sizeof(Split) + 64 + insides * sizeof(Split::Inside) + exits * sizeof(Split::Exit);
    return split;
}

Spanner::Sets Spanner::restore_splits(ImageReader& in) {
    Sets sets(in.count(2));
    for (auto& set : sets) {
        set = std::make_shared<const TokenSet>(TokenSet::restored(in, vocabulary_->size()));
        bytes_ += set->bytes();
    }
    const uint32_t count = in.count(6);
    split_of_.reserve(2 * size_t(count));  // and others that are split as these
    for (uint32_t n = count; n > 0; n--) {
        const ResidualId residual(in.below(residuals_.size()));
        const LexState state(in.next());
        ImageReader::check(lexer.is_state(state));
        ImageReader::check(!find(residual, state));
        keep(residual, state, restored_split(in, sets));
    }
    for (uint32_t n = in.count(3); n > 0; n--) {
        const ResidualId residual(in.below(residuals_.size()));
        const LexState state(in.next());
        const Split& split = *splits_[in.below(splits_.size())];
        ImageReader::check(lexer.is_state(state) && split.residual == residual && !find(residual, state));
        split_of_[pack(residual, state)] = &split;
    }
    for (uint32_t n = in.count(5); n > 0; n--) {
        std::array<uint32_t, 4> key;
        for (uint32_t& word : key) word = in.next();
        std::unique_ptr<Split>& split = repeated_[key];
        if (!in.below(2)) continue;
        split = restored_split(in, sets);
        split->id = num_splits_++;
    }
    return sets;
}

}  // namespace derivable
