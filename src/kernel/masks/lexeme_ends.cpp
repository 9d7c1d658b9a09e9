#include "masks/lexeme_ends.hpp"

#include <algorithm>
#include <iterator>

#include "support/task.hpp"

namespace derivable {

namespace {
constexpr size_t kMostKnown = size_t(1) << 14;
}  // namespace

class LexemeEnds::Walk {
  public:
    Walk(LexemeEnds& of, const Distances& distances, uint64_t ignored) : of_(of), distances_(distances), ignored_(ignored) {}

    Ended ended;

    void go(uint32_t node, LexState state, Indentations::Effect effect) {
        const Trie& trie = of_.trie_;
        const uint64_t needed = of_.needed(state, distances_, ignored_);
        if (of_.height(node) <= needed) return;
        if (node == Runs::kRoot || trie.end[node] - node < worth_keeping_) return expand(node, state, effect, needed);
        Key key{node, state.index(), effect, uint32_t(ignored_)};
        std::shared_ptr<const Ended> known;
        if (const auto found = of_.below_.find(key); found != of_.below_.end()) known = found->second;
        if (!known) {
            Walk inner(of_, distances_, ignored_);
            inner.expand(node, state, effect, needed);
            if (of_.below_.size() > kMostKnown) of_.below_.clear();
            known = of_.below_[std::move(key)] = std::make_shared<const Ended>(std::move(inner.ended));
        }
        for (const auto& [end, below] : *known) {
            Key& nodes = ended[end];
            nodes.insert(nodes.end(), below.begin(), below.end());
        }
    }

  private:
    void expand(uint32_t node, LexState state, Indentations::Effect effect, uint64_t needed) {
        const Trie& trie = of_.trie_;
        Prospects& prospects = of_.engine_.spanner.prospects;
        for (const Lexer::Exit& e : of_.engine_.access.lexer().exits(state))
            ended[{e.terminal, e.obligations, e.terminal == prospects.newline() ? effect : Indentations::kNothing}].push_back(node);
        const uint32_t end = node == Runs::kRoot ? trie.size() : trie.end[node];
        for (uint32_t child = node + 1; child < end; child = trie.end[child]) {
            work();
            if (trie.height[child] <= needed) continue;
            of_.engine_.access.pass();
            const LexState next = of_.engine_.access.lexer().step(state, trie.byte[child]);
            if (next == kNoState) continue;
            go(child, next, prospects.may_be_newline(next) ? prospects.step_effect(effect, trie.byte[child]) : Indentations::kNothing);
        }
    }

    LexemeEnds& of_;
    const Distances& distances_;
    const uint64_t ignored_;
    const uint32_t worth_keeping_ = worth_keeping(of_.trie_);
};

uint64_t LexemeEnds::needed(LexState state, const Distances& distances, uint64_t ignored) {
    const auto [known, is_new] = needed_.try_emplace(state.index());
    Needed& needed = known->second;
    if (is_new) {
        const Lexer& lexer = engine_.spanner.lexer;
        for (LexState single : lexer.sets.singles(lexer.members(state)))
            for (Symbol symbol : engine_.terminals.of(lexer.automata.terminal_of(single))) {
                if (engine_.terminals.is_ignored(symbol)) needed.may_be_ignored = true;
                else needed.least = std::min(needed.least, distances[symbol]);
            }
    }
    return needed.may_be_ignored ? std::min(needed.least, ignored) : needed.least;
}

LexemeEnds::Ends LexemeEnds::find(const NodeSetRef& set, LexState state, const Distances& distances, uint64_t ignored) {
    Key key{state.index(), uint32_t(ignored)};
    for (uint32_t word : address_words(set.get())) key.push_back(word);
    if (const auto known = ends_.find(key); known != ends_.end()) return known->second.ends;
    Walk walk(*this, distances, ignored);
    for (uint32_t node : *set->nodes) walk.go(node, state, Indentations::kNothing);
    std::vector<End> found;
    for (auto& [end, nodes] : walk.ended) {
        const auto [terminal, obligations, effect] = end;
        found.push_back({terminal, obligations, effect, interned(std::move(nodes))});
    }
    if (ends_.size() > kMostKnown) ends_.clear();
    return (ends_[std::move(key)] = {set, std::make_shared<const std::vector<End>>(std::move(found))}).ends;
}

template <class Stays>
LexemeEnds::NodeSetRef LexemeEnds::some_of(const NodeSetRef& set, Stays stays) {
    Key some;
    std::copy_if(set->nodes->begin(), set->nodes->end(), std::back_inserter(some), stays);
    return some.size() == set->nodes->size() ? set : interned(std::move(some));
}

LexemeEnds::NodeSetRef LexemeEnds::taller(const NodeSetRef& set, uint64_t bytes) {
    for (const auto& [asked, some] : set->taller)
        if (asked == bytes) return some ? some : set;
    NodeSetRef some = some_of(set, [&](uint32_t node) { return height(node) > bytes; });
    set->taller.emplace_back(bytes, some == set ? nullptr : some);
    return some;
}

// PERF: behind most line breaks and blanks a token has no letter. Names that begin there were looked for in each column: in a second pass over four programs
// of Python a mask took 15 ms, and 0.1 ms without (llama-3).
LexemeEnds::NodeSetRef LexemeEnds::before(const NodeSetRef& set, const ByteSet& first) {
    for (const auto& [asked, some] : set->before)
        if (asked == &first) return some ? some : set;
    NodeSetRef some = some_of(set, [&](uint32_t node) { return first.meets(bytes_behind(node)); });
    set->before.emplace_back(&first, some == set ? nullptr : some);
    return some;
}

ByteSet LexemeEnds::bytes_behind(uint32_t node) const {
    if (node == Runs::kRoot) return ByteSet::all();
    ByteSet bytes;
    trie_.each_child(node, ByteSet::all(), [&](uint32_t, uint8_t byte) { bytes.set(byte); });
    return bytes;
}

LexemeEnds::NodeSetRef LexemeEnds::interned(std::vector<uint32_t> nodes) {
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    if (interned_.size() > 4 * kMostKnown) interned_.clear();
    std::weak_ptr<NodeSet>& known = interned_[nodes];
    if (NodeSetRef there = known.lock()) return there;
    const auto made = std::make_shared<NodeSet>();
    for (uint32_t node : nodes) made->next |= bytes_behind(node);
    made->nodes = std::make_shared<const Key>(std::move(nodes));
    known = made;
    return made;
}

}  // namespace derivable
