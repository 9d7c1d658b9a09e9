// Splits, written down and read again: so a process need not walk the vocabulary for what another one did.
#include <algorithm>

#include "index/spanner.hpp"
#include "support/archive.hpp"

namespace derivable {

namespace {

constexpr uint32_t kLayout = 3;  // raised where words mean something else

}  // namespace

void Spanner::archive(Archive& a, Numbers& numbers) {
    a.same(kLayout, "its index was written by another version");
    for (uint32_t size : {vocabulary_->size(), vocabulary_->trie.size()}) a.same(size, "its index is of another vocabulary");
    lexer.archive(a);
    prospects.archive(a);
    residuals_.archive(a);
    if (!a.reading()) number_splits(numbers);
    archive_sets(a, numbers);
    archive_splits(a, numbers);
}

void Spanner::number_splits(Numbers& numbers) const {
    auto number = [&](const Split& split) {
        numbers.splits.try_emplace(split.id, uint32_t(numbers.splits.size()));
        for (const Split::Inside& i : split.inside) numbers.sets.add(*i.tokens);
    };
    for (const auto& split : splits_) number(*split);
    for (const auto& [key, split] : repeated_)
        if (split) number(*split);
}

void Spanner::archive_sets(Archive& a, Numbers& numbers) {
    if (!a.reading()) return numbers.sets.save(a.out());
    numbers.sets_read.resize(a.count(0, 2));
    for (auto& set : numbers.sets_read) {
        set = std::make_shared<const TokenSet>(TokenSet::restored(a.in(), vocabulary_->size()));
        bytes_ += set->bytes();
    }
}

void Spanner::archive_splits(Archive& a, const Numbers& numbers) {
    const uint32_t count = a.count(splits_.size(), 6);
    if (a.reading()) split_of_.reserve(2 * size_t(count));  // and others that are split as these
    for (uint32_t i = 0; i < count; i++) {
        auto fresh = a.reading() ? std::make_unique<Split>() : nullptr;
        Split& split = fresh ? *fresh : *splits_[i];
        a.below(split.residual, residuals_.size());
        a.number(split.state);
        a.check(lexer.is_state(split.state) && !find(split.residual, split.state));
        archive_split(a, split, numbers);
        if (fresh) keep(split.residual, split.state, std::move(fresh));
    }
    std::vector<std::pair<uint64_t, uint32_t>> others;  // states that split a residual as another one does: by both, the split's number
    if (!a.reading())
        split_of_.each([&](uint64_t key, const Split* split) {
            if (split && key != pack(split->residual, split->state)) others.emplace_back(key, numbers.splits.at(split->id));
        });
    std::sort(others.begin(), others.end());
    a.each(others, 3, [&](auto& other) {
        ResidualId residual(uint32_t(other.first >> 32));
        LexState state{uint32_t(other.first)};
        a.below(residual, residuals_.size());
        a.number(state);
        a.below(other.second, splits_.size());
        if (!a.reading()) return;
        const Split& split = *splits_[other.second];
        a.check(lexer.is_state(state) && split.residual == residual && !find(residual, state));
        split_of_[pack(residual, state)] = &split;
    });
    a.map(repeated_, 5, [&](auto& key, std::unique_ptr<Split>& split) {
        for (uint32_t& word : key) a.number(word);
        bool is_there = split != nullptr;
        a.flag(is_there);
        if (!is_there) return;
        if (a.reading()) split = std::make_unique<Split>(), split->id = num_splits_++;
        archive_split(a, *split, numbers);
    });
}

void Spanner::archive_split(Archive& a, Split& split, const Numbers& numbers) {
    const size_t effects = prospects.num_effects();
    a.each(split.inside, 4, [&](Split::Inside& i) {
        a.below(i.sureness, 3);
        a.number(i.key);
        a.check(i.sureness == Split::Sureness::kSure ||
                (i.sureness == Split::Sureness::kExact ? lexer.is_state(LexState(i.key)) : i.key < prospects.num_producible_sets()));
        a.below(i.effect, effects);
        uint32_t set = a.reading() ? 0 : *numbers.sets.find(*i.tokens);
        a.below(set, numbers.sets_read.size());
        if (a.reading()) i.tokens = numbers.sets_read[set];
    });
    a.each(split.exits, 5, [&](Split::Exit& e) {
        a.below(e.terminal, lexer.automata.num_terminals());
        a.below(e.obligations, lexer.formulas.size());
        a.check(e.obligations != Formulas::kViolated);
        a.below(e.residual, residuals_.size());
        a.below(e.effect, effects);
        a.list(e.except, vocabulary_->size());
    });
    a.below(split.exits_before, split.exits.size() + 1);
    a.flag(split.exits_once);
    if (a.reading()) bytes_ += sizeof(Split) + 64 + split.inside.size() * sizeof(Split::Inside) + split.exits.size() * sizeof(Split::Exit);
}

}  // namespace derivable
