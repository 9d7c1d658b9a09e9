#include "matching/text_ends.hpp"

#include <algorithm>
#include <string>

#include "support/task.hpp"

namespace derivable {

namespace {

constexpr size_t kMostKnown = size_t(1) << 16;

// Of parses that have written nothing that must differ, and are in no inner text; else false.
bool add_key(const Parses& parses, std::vector<uint32_t>& key) {
    for (const Parse& t : parses) {
        if (t.writing || t.embedded) return false;
        key.insert(key.end(), {t.lex.index(), t.stack.index(), t.environment});
    }
    return true;
}

}  // namespace

TextEnds::Beginnings::Beginnings(const Trie& vocabulary, const Transducer& transducer, Transducer::State from, const ByteSet& before) {
    uint64_t kinds = 0;
    before.each([&](uint8_t byte) { kinds |= 1ULL << byte_kind(byte); });
    const auto goes_on = [&](uint32_t node) {
        for (uint32_t child = node + 1; child < vocabulary.end[node]; child = vocabulary.end[child])
            if (before[vocabulary.byte[child]]) return true;
        return false;
    };
    struct Place {
        Transducer::State state;
        size_t written;
    };
    std::vector<Place> path{{from, 0}};
    std::string written;
    std::vector<std::string> texts;
    std::vector<uint32_t> nodes;
    for (uint32_t node = 0; node < vocabulary.size();) {
        work(2);
        path.resize(size_t(vocabulary.depth[node]) + 1);
        written.resize(path.back().written);
        const bool may_go_on = (vocabulary.below[node] & kinds) != 0;
        const Transducer::Step step = may_go_on ? transducer.step(path.back().state, vocabulary.byte[node]) : Transducer::Step();
        if (step.next == Transducer::kNone) {
            node = vocabulary.end[node];
            continue;
        }
        written += transducer.output(step);
        path.push_back({step.next, written.size()});
        if (transducer.may_end(step.next) && goes_on(node)) {
            if (written.empty()) empty.push_back(node);
            else texts.push_back(written), nodes.push_back(node);
        }
        node++;
    }
    std::vector<std::pair<std::string_view, uint32_t>> entries;
    for (size_t i = 0; i < texts.size(); i++) entries.emplace_back(texts[i], nodes[i]);
    trie = Trie::build(std::move(entries));
}

EmbeddedText::Nodes TextEnds::find(const Parses& parses, const Beginnings& beginnings) {
    Key key{beginnings.number};
    if (!add_key(parses, key)) return walk(parses, beginnings);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    EmbeddedText::Nodes found = walk(parses, beginnings);
    if (known_.size() > kMostKnown) known_.clear();
    return known_[std::move(key)] = std::move(found);
}

EmbeddedText::Nodes TextEnds::walk(const Parses& parses, const Beginnings& beginnings) {
    const Trie& trie = beginnings.trie;
    std::vector<uint32_t> nodes;
    if (!beginnings.empty.empty() && runs_.accepting(parses)) nodes = beginnings.empty;
    FlatMap<char> may_end;  // by number of parses
    runs_.each_node_below(
        parses, trie, {Runs::kRoot}, Transducer::identity(), Transducer::kMain, [](uint32_t) { return true; },
        [&](uint32_t node, const Runs::Decoded& behind) {
            if (trie.token_begin[node] == trie.token_begin[node + 1]) return;
            char& known = may_end[behind.number];
            if (!known) known = runs_.accepting(behind.parses) ? 1 : 2;
            if (known == 1)
                nodes.insert(nodes.end(), trie.tokens.begin() + trie.token_begin[node], trie.tokens.begin() + trie.token_begin[node + 1]);
        });
    std::sort(nodes.begin(), nodes.end());
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
