#include "matching/text_ends.hpp"

#include <algorithm>
#include <utility>

#include "support/task.hpp"

namespace derivable {

namespace {

constexpr size_t kMostKnown = size_t(1) << 16;

// Of parses that have written nothing that must differ, and are in no inner text; else null.
bool add_key(const Parses& parses, std::vector<uint32_t>& key) {
    for (const Parse& t : parses) {
        if (t.writing || t.embedded) return false;
        key.insert(key.end(), {t.lex.index(), t.stack.index(), t.environment});
    }
    return true;
}

}  // namespace

EmbeddedText::Nodes TextEnds::find(const Parses& parses, const ByteSet& before) {
    Key key;
    for (uint64_t word : before.words) key.push_back(uint32_t(word)), key.push_back(uint32_t(word >> 32));
    if (!add_key(parses, key)) return walk(parses, before);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    EmbeddedText::Nodes found = walk(parses, before);
    if (known_.size() > kMostKnown) known_.clear();
    return known_[std::move(key)] = std::move(found);
}

EmbeddedText::Nodes TextEnds::walk(const Parses& parses, const ByteSet& before) {
    const Trie& trie = vocabulary_.trie;
    uint64_t kinds = 0;
    before.each([&](uint8_t byte) { kinds |= 1ULL << byte_kind(byte); });
    const auto goes_on = [&](uint32_t node) {
        for (uint32_t child = node + 1; child < trie.end[node]; child = trie.end[child])
            if (before[trie.byte[child]]) return true;
        return false;
    };
    std::vector<uint32_t> nodes;
    FlatMap<char> may_end;  // by place
    runs_.each_node_below(
        parses, {Runs::kRoot}, [&](uint32_t node) { return (trie.below[node] & kinds) != 0; },
        [&](uint32_t node, uint64_t place, const Parses& behind) {
            if (!goes_on(node)) return;
            char& known = may_end[place];
            if (!known) known = runs_.accepting(behind) ? 1 : 2;
            if (known == 1) nodes.push_back(node);
        });
    return interned(std::move(nodes));
}

EmbeddedText::Nodes TextEnds::interned(std::vector<uint32_t> nodes) {
    if (interned_.size() > kMostKnown) interned_.clear();
    std::weak_ptr<const Key>& known = interned_[nodes];
    if (EmbeddedText::Nodes there = known.lock()) return there;
    const auto made = std::make_shared<const Key>(std::move(nodes));
    known = made;
    return made;
}

}  // namespace derivable
