#include "matching/residual_masks.hpp"

#include <algorithm>
#include <utility>

#include "matching/mask_cache.hpp"
#include "support/task.hpp"

namespace derivable {

std::optional<ResidualMasks::Known> ResidualMasks::find(ResidualId residual, Frontier stack, Environment environment) {
    const ReachTrie::Root* root = trie_.root(residual.index());
    if (!root) return std::nullopt;
    Stacks::Future future(stacks_, stack, Reach::kDeep, root->words, true, words_, looked_);
    const ReachTrie::Found found = trie_.find(*root, environment, words_, [&] { return future.more(); });
    if (found.value < 0) return std::nullopt;
    const Kept& kept = kept_[size_t(found.value)];
    Reach reach{found.words ? looked_[found.words - 1] : 0};
    reach.brackets = found.beside & ReachTrie::kBrackets;
    reach.blocks = found.beside & ReachTrie::kBlocks;
    if (found.beside & ReachTrie::kTallies) reach.tally = kept.tally;
    else if (found.beside & ReachTrie::kTopTally) reach.tally = environments_.tallies.depth(environment);
    return Known{sets_[kept.number], kept.number, reach};
}

uint32_t ResidualMasks::number_of(TokenSet tokens) {
    tokens.normalize(sorter_);
    work(1 + tokens.cost());
    if (sets_.size() == sets_.capacity()) sets_.reserve(2 * sets_.size() + 16);  // SAFETY: before the set has a number
    const auto [known, is_new] = numbers_.try_emplace(std::move(tokens), uint32_t(sets_.size()));
    if (is_new) {
        sets_.push_back(&known->first);
        bytes_ += known->first.bytes() + sizeof(TokenSet) + 64;
    }
    return known->second;
}

void ResidualMasks::keep(ResidualId residual, Frontier stack, Environment environment, uint32_t number, Reach reach) {
    if (reach.hops > MaskCache::kMaxHops || !stacks_.future(stack, uint32_t(reach.hops), ~size_t(0), true, words_, looked_)) return;
    const auto at = int32_t(kept_.size());
    kept_.push_back({number, reach.tally});  // SAFETY: before anything refers to it
    trie_.put(residual.index(), environment, trie_.beside_of(environment, reach), uint32_t(words_.size()), words_, at);
    bytes_ += sizeof(Kept);
}

void ResidualMasks::clear() {
    trie_.clear();
    kept_.clear();
    numbers_.clear();
    sets_.clear();
    by_parts_.clear();
    bytes_ = 0;
}

}  // namespace derivable
