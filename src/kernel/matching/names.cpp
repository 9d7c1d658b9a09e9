#include "matching/names.hpp"

#include <algorithm>

#include "support/task.hpp"

namespace derivable {

const std::vector<uint32_t>& Names::tokens(const Parse& name, const EmbeddedText::Nodes& nodes) {
    constexpr size_t kMost = size_t(1) << 14;
    const auto address = address_words(nodes.get());
    std::vector<uint32_t> key{name.lex.index(), name.stack.index(), name.environment, name.meaning, name.slot, address[0], address[1]};
    if (const auto known = tokens_.find(key); known != tokens_.end()) return known->second.tokens;
    Inside inside = walk(name, nodes);
    std::vector<uint32_t>& tokens = inside.tokens;
    const Trie& trie = vocabulary_.trie;
    for (const auto& [node, ended] : inside.ends)
        runs_.each_node_below(
            behind(ended), trie, {node}, Transducer::identity(), Transducer::kMain, [](uint32_t) { return true; },
            [&](uint32_t below, const Runs::Decoded&) {
                tokens.insert(tokens.end(), trie.tokens.begin() + trie.token_begin[below], trie.tokens.begin() + trie.token_begin[below + 1]);
            });
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    if (tokens_.size() > kMost) tokens_.clear();
    return (tokens_[std::move(key)] = {nodes, std::move(tokens)}).tokens;
}

std::vector<Parse> Names::behind(const Parse& name) {
    std::vector<Parse> all;
    lexemes_.each_end_of_name(name, false, [&](Frontier f, Environment environment, Meaning::State meaning, Obligations obligations) {
        Parse next{lexemes_.start(engine_.stacks.accepts(f), obligations, environment).value, f, environment};
        next.meaning = meaning;
        lexemes_.names(next, next.lex, [&](Parse begun) { all.push_back(std::move(begun)); });
        if (next.lex != kNoState) all.push_back(std::move(next));
    });
    return all;
}

Names::Inside Names::walk(const Parse& name, const EmbeddedText::Nodes& nodes) {
    Inside inside;
    if (!nodes) walk(Runs::kRoot, name, inside);
    else
        for (uint32_t node : *nodes) walk(node, name, inside);
    return inside;
}

void Names::walk(uint32_t node, const Parse& name, Inside& inside) {
    const Trie& trie = vocabulary_.trie;
    const uint32_t end = node == Runs::kRoot ? trie.size() : trie.end[node];
    for (uint32_t child = node + 1; child < end; child = trie.end[child]) {  // kRoot + 1 is 0
        work(4);
        Parse further = name;
        if (!lexemes_.step_name(further, trie.byte[child])) continue;
        for (uint32_t k = trie.token_begin[child]; k < trie.token_begin[child + 1]; k++) inside.tokens.push_back(trie.tokens[k]);
        if (trie.end[child] > child + 1) {
            if (engine_.slots.is_name(further.slot)) inside.ends.emplace_back(child, further);
            walk(child, further, inside);
        }
    }
}

}  // namespace derivable
