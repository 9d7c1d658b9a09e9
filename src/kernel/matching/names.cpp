#include "matching/names.hpp"

#include <algorithm>

#include "support/task.hpp"

namespace derivable {

namespace {
constexpr size_t kMostKnown = size_t(1) << 14;

std::vector<uint32_t> with_nodes(std::vector<uint32_t> key, const EmbeddedText::Nodes& nodes) {
    for (uint32_t word : address_words(nodes.get())) key.push_back(word);
    return key;
}
}  // namespace

const std::vector<uint32_t>& Names::tokens(const Parse& name, const EmbeddedText::Nodes& nodes) {
    std::vector<uint32_t> key = with_nodes({name.lex.index(), name.stack.index(), name.environment, name.meaning, name.slot}, nodes);
    if (const auto known = tokens_.find(key); known != tokens_.end()) return known->second.value;
    const Inside& inside = this->inside(name, nodes);
    std::vector<uint32_t> tokens = inside.tokens;
    const Trie& trie = vocabulary_.trie;
    for (const auto& [node, lex, environment, slot] : inside.ends) {
        Parse ended = name;
        ended.lex = lex, ended.environment = environment, ended.slot = slot;
        runs_.each_node_below(
            behind(ended), trie, {node}, Transducer::identity(), Transducer::kMain, [](uint32_t) { return true; },
            [&](uint32_t below, const Runs::Decoded&) {
                tokens.insert(tokens.end(), trie.tokens.begin() + trie.token_begin[below],
                              trie.tokens.begin() + trie.token_begin[below + 1]);
            });
    }
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    if (tokens_.size() > kMostKnown) tokens_.clear();
    return (tokens_[std::move(key)] = {nodes, std::move(tokens)}).value;
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

const Names::Inside& Names::inside(const Parse& name, const EmbeddedText::Nodes& nodes) {
    std::vector<uint32_t> key = with_nodes({name.lex.index(), name.environment, name.slot}, nodes);
    if (const auto known = inside_.find(key); known != inside_.end()) return known->second.value;
    Inside found;
    std::string text;
    const NameSet::Node at = engine_.slots.node(name.slot);
    if (!nodes) walk(Runs::kRoot, name, at, text, found);
    else
        for (uint32_t node : *nodes) walk(node, name, at, text, found);
    if (inside_.size() > kMostKnown) inside_.clear();
    return (inside_[std::move(key)] = {nodes, std::move(found)}).value;
}

// PERF: letters go on with a name. Where any text may stand, Python would be asked about the beginning of every word of the vocabulary.
bool Names::may_end_within(uint32_t node, const Parse& name) {
    const Trie& trie = vocabulary_.trie;
    Lexer& lexer = engine_.access.lexer();
    for (const Lexer::Exit& e : std::vector<Lexer::Exit>(lexer.exits(name.lex)))
        for (uint32_t child = node + 1; child < trie.end[node]; child = trie.end[child])
            if (lexer.step_obligations(e.obligations, trie.byte[child]) != Lexer::kViolated) return true;
    return false;
}

// PERF: places are made where the name may end. With one for each beginning there soon were more than are kept (Slots::kCollectAt), and masks that had
// been known were found again: 313 us on average in the second pass of benchmarks/names.py, and now 3.2.
void Names::walk(uint32_t node, const Parse& name, NameSet::Node at, std::string& text, Inside& inside) {
    const Trie& trie = vocabulary_.trie;
    NameSet& names = engine_.slots.names(name.slot);
    const Symbol slot = engine_.slots.symbol(name.slot);
    const uint32_t end = node == Runs::kRoot ? trie.size() : trie.end[node];
    for (uint32_t child = node + 1; child < end; child = trie.end[child]) {  // kRoot + 1 is 0
        work(4);
        const NameSet::Node next = names.step(at, trie.byte[child]);
        Parse further = name;
        if (next == NameSet::kNowhere || !lexemes_.step_lexeme_of(slot, further, trie.byte[child])) continue;
        for (uint32_t k = trie.token_begin[child]; k < trie.token_begin[child + 1]; k++) inside.tokens.push_back(trie.tokens[k]);
        if (trie.end[child] == child + 1) continue;
        text.push_back(char(trie.byte[child]));
        if (names.is_name(next) && may_end_within(child, further))
            inside.ends.push_back({child, further.lex, further.environment, engine_.slots.further(name.slot, text, next)});
        walk(child, further, next, text, inside);
        text.pop_back();
    }
}

}  // namespace derivable
