#include "masks/names.hpp"

#include <algorithm>

#include "support/task.hpp"

namespace derivable {

Names::Tokens::Tokens(std::vector<uint32_t> listed, size_t words) {
    // PERF: each of a list is a word to be changed. 7,000 took 4 us, and all of llama-3's words take 0.4.
    if (listed.size() < words / 4) {
        listed_ = std::move(listed);
        return;
    }
    words_.resize(words);
    for (uint32_t token : listed) words_[token >> 5] |= 1u << (token & 31);
}

Names::Tokens Names::Tokens::of_mask(std::vector<uint32_t> words) {
    std::vector<uint32_t> listed;
    for (uint32_t w = 0; w < words.size() && listed.size() < words.size() / 4; w++)
        for (uint32_t bits = words[w]; bits; bits &= bits - 1) listed.push_back(w * 32 + uint32_t(__builtin_ctz(bits)));
    Tokens all;
    if (listed.size() < words.size() / 4) all.listed_ = std::move(listed);
    else all.words_ = std::move(words);
    return all;
}

void Names::Tokens::add_to(std::vector<uint32_t>& words) const {
    for (size_t w = 0; w < words_.size(); w++) words[w] |= words_[w];
    for (uint32_t token : listed_) words[token >> 5] |= 1u << (token & 31);
}

// PERF: few nodes by what they are. Of one query of SQL there were 5,364 sets, nearly all of one to three nodes, and by their addresses no two were the same:
// the memo was full after four queries.
void Names::add_nodes(std::vector<uint32_t>& key, const EmbeddedText::Nodes& nodes) {
    constexpr size_t kFew = 8;
    if (nodes && nodes->size() <= kFew) key.insert(key.end(), nodes->begin(), nodes->end());
    else
        for (uint32_t word : address_words(nodes.get())) key.push_back(word);
    key.push_back(nodes ? uint32_t(nodes->size()) : ~0u);
}

void Names::give_back() {
    forget();
    discarded_.take(any_), discarded_.take(below_), discarded_.take(owing_), discarded_.take(starting_);
    alike_.clear(), alike_at_start_.clear(), occurs_.clear();
    discarded_.some(~size_t(0));
}

void Names::add(const Parse& name, const EmbeddedText::Nodes& nodes, std::vector<uint32_t>& words) {
    const std::shared_ptr<const Inside> inside = this->inside(name, nodes);
    inside->tokens->add_to(words);
    Parse ended = name;
    const Environment idle = engine_.environments.indentations.idle(name.environment);
    for (const End& end : inside->ends) {
        ended.lex = end.lex, ended.environment = inside->is_of_columns ? end.environment : idle, ended.slot = end.slot;
        add_behind(end, ended, words);
    }
}

void Names::add_behind(const End& end, const Parse& ended, std::vector<uint32_t>& words) {
    constexpr size_t kMostVariants = 64;
    const std::vector<Parse> parses = behind(ended, end.first);
    if (parses.empty()) return;
    const Meaning::State meaning = parses.front().meaning;  // one name was read
    std::vector<uint32_t> key{end.number};
    for (const Parse& t : parses) {
        const Symbol slot = t.slot == Slots::kNone ? kEnd : engine_.slots.symbol(t.slot);
        for (uint32_t word : {t.lex.index(), t.stack.index(), t.environment, slot}) key.push_back(word);
    }
    const auto matters = [&](const std::string& text) { return occurs(end, text); };
    if (accelerators_.has(Accelerator::kBehindNames))
        for (const std::shared_ptr<const Behind>& b : std::vector<std::shared_ptr<const Behind>>(behind_[key]))
            if (engine_.slots.answers(meaning, b->asked, matters)) {
                uses_[size_t(Accelerator::kBehindNames)]++;
                return add_without(*b, end.without, words);
            }
    std::vector<std::pair<uint32_t, uint32_t>> by_node;
    Slots::Recording recording(engine_.slots, meaning);
    for (const Parse& t : parses)
        if (t.slot != Slots::kNone) recording.add_begun(meaning, engine_.slots.symbol(t.slot), t.slot);
    std::optional<Tokens> tokens = by_parts(end, parses);
    if (!tokens) tokens = by_bytes(end, parses, by_node);
    const auto found = std::make_shared<const Behind>(Behind{recording.finish(), std::move(*tokens), std::move(by_node)});
    add_without(*found, end.without, words);
    if (behind_.size() > kMostKnown) discarded_.take(behind_);
    discarded_.some(kDiscarded);
    std::vector<std::shared_ptr<const Behind>>& known = behind_[std::move(key)];
    if (known.size() >= kMostVariants) known.clear();
    known.push_back(found);
}

Names::Tokens Names::by_bytes(const End& end, const std::vector<Parse>& parses, std::vector<std::pair<uint32_t, uint32_t>>& by_node) {
    const Trie& trie = vocabulary_.trie;
    std::vector<uint32_t> tokens;
    for (const std::vector<uint32_t>& nodes : apart(*end.nodes)) {
        size_t at = 0;
        runs_.each_node_below(
            parses, trie, nodes, Transducer::identity(), Transducer::kMain, [](uint32_t) { return true; },
            [&](uint32_t below, const Runs::Decoded&) {
                while (trie.end[nodes[at]] <= below) at++;
                for (uint32_t i = trie.token_begin[below]; i < trie.token_begin[below + 1]; i++) {
                    tokens.push_back(trie.tokens[i]);
                    if (end.nodes->size() > 1) by_node.emplace_back(nodes[at], trie.tokens[i]);
                }
            });
    }
    std::sort(by_node.begin(), by_node.end());
    return Tokens(std::move(tokens), vocabulary_.words());
}

std::optional<Names::Tokens> Names::by_parts(const End& end, const std::vector<Parse>& parses) {
    if (!accelerators_.has(Accelerator::kNamesByParts) || end.nodes->size() != 1) return std::nullopt;
    if (engine_.spanner.lexer.policy() == Policy::kScannerless) return std::nullopt;
    const uint32_t node = end.nodes->front();
    if (vocabulary_.trie.end[node] - node < LexemeEnds::worth_keeping(vocabulary_.trie)) return std::nullopt;
    const EmbeddedText::Nodes nodes = borders_.interned(*end.nodes);
    std::vector<uint32_t> words(vocabulary_.words());
    for (const Parse& t : parses) {
        if (t.slot != Slots::kNone) {
            add(t, nodes, words);
            continue;
        }
        if (!maker_.add_behind(t, *nodes, words)) return std::nullopt;
        each_begun(t, nodes, [&](const Parse& begun, const EmbeddedText::Nodes& at) { add(begun, at, words); });
    }
    uses_[size_t(Accelerator::kNamesByParts)]++;
    return Tokens::of_mask(std::move(words));
}

// Some nodes of the trie, none of which lies below another one, and so on with the rest.
std::vector<std::vector<uint32_t>> Names::apart(const std::vector<uint32_t>& nodes) const {
    std::vector<std::vector<uint32_t>> layers;
    std::vector<uint32_t> around;  // ends of nodes
    for (uint32_t node : nodes) {
        while (!around.empty() && around.back() <= node) around.pop_back();
        if (around.size() == layers.size()) layers.emplace_back();
        layers[around.size()].push_back(node);
        around.push_back(vocabulary_.trie.end[node]);
    }
    return layers;
}

void Names::add_without(const Behind& behind, const std::vector<uint32_t>& without, std::vector<uint32_t>& words) const {
    if (without.empty()) return behind.tokens.add_to(words);
    auto next = without.begin();
    for (const auto& [node, token] : behind.by_node) {
        while (next != without.end() && *next < node) ++next;
        if (next == without.end() || *next != node) words[token >> 5] |= 1u << (token & 31);
    }
}

bool Names::occurs(const End& end, const std::string& text) {
    std::string key = text;
    key.append(reinterpret_cast<const char*>(&end.number), sizeof end.number);
    if (const auto known = occurs_.find(key); known != occurs_.end()) return known->second;
    const Trie& trie = vocabulary_.trie;
    const bool does = std::any_of(end.nodes->begin(), end.nodes->end(), [&](uint32_t node) {
        for (uint32_t child = node + 1; child < trie.end[node]; child = trie.end[child])
            if (is_written_below(child, text, Written::kWhole)) return true;
        return false;
    });
    if (occurs_.size() > kMostKnown) occurs_.clear();
    return occurs_[std::move(key)] = does;
}

std::vector<Parse> Names::behind(const Parse& name, const ByteSet& first) {
    std::vector<Parse> all;
    lexemes_.each_end_of_name(name, false, [&](Frontier f, Environment environment, Meaning::State meaning, Obligations obligations) {
        Parse next{lexemes_.start(engine_.stacks.accepts(f), obligations, environment).value, f, environment};
        next.meaning = meaning;
        lexemes_.names(next, next.lex, first, [&](Parse begun) { all.push_back(std::move(begun)); });
        if (next.lex != kNoState) all.push_back(std::move(next));
    });
    return all;
}

// SAFETY: what is returned stays, also if others clear the memo while this operation lets them go first.
std::shared_ptr<const Names::Inside> Names::inside(const Parse& name, const EmbeddedText::Nodes& nodes) {
    std::vector<uint32_t> key{name.lex.index(), name.slot};
    add_nodes(key, nodes);
    auto known = inside_.find(key);
    if (known != inside_.end() && known->second->is_of_columns) {
        key.push_back(name.environment);
        known = inside_.find(key);
    }
    if (known != inside_.end()) return known->second;
    std::optional<Inside> found = inside_any(name, nodes);
    if (!found) {
        Walked all;
        std::string text;
        for (uint32_t node : nodes ? *nodes : std::vector<uint32_t>{Runs::kRoot})
            walk(node, name, engine_.slots.names(name.slot), engine_.slots.node(name.slot), text, all);
        found = {nodes, std::make_shared<Tokens>(std::move(all.tokens), vocabulary_.words()), {}};
        for (const Text& end : all.ends) found->ends.push_back(end_of(name, end, {}));
    }
    const auto may_be_newline = [&](const End& end) { return engine_.spanner.prospects.may_be_newline(end.lex); };
    found->is_of_columns = std::any_of(found->ends.begin(), found->ends.end(), may_be_newline);
    if (inside_.size() > kMostKnown) discarded_.take(inside_), discarded_.take(behind_), discarded_.take(any_), discarded_.take(numbers_);
    discarded_.some(kDiscarded);
    const auto made = std::make_shared<const Inside>(std::move(*found));
    if (made->is_of_columns) inside_.emplace(key, made), key.push_back(name.environment);
    return inside_[std::move(key)] = made;
}

Names::End Names::end_of(const Parse& name, const Text& text, std::shared_ptr<const std::vector<uint32_t>> nodes) {
    uint32_t number = 0;
    if (!nodes) {
        nodes = std::make_shared<std::vector<uint32_t>>(1, text.node);
        std::vector<uint32_t> key{text.node, text.lex.index(), engine_.terminals.to_lexer(engine_.slots.symbol(name.slot)).index()};
        const auto [known, is_new] = numbers_.try_emplace(std::move(key), num_ends_);
        num_ends_ += is_new, number = known->second;
    }
    return {text.lex, text.environment, engine_.slots.further(name.slot, text.text), text.first, std::move(nodes), number};
}

// PERF: places are made where the name may end. With one for each beginning there soon were more than are kept (Slots::kCollectAt), and masks that had
// been known were found again: 313 us on average in the second pass of benchmarks/names.py, and now 3.2.
void Names::walk(uint32_t node, const Parse& name, NameSet& names, NameSet::Node at, std::string& text, Walked& to) {
    const Trie& trie = vocabulary_.trie;
    const Symbol slot = engine_.slots.symbol(name.slot);
    each_child(node, names.next(at), [&](uint32_t child) {
        work(4);
        const NameSet::Node next = names.step(at, trie.byte[child]);
        Parse further = name;
        if (next == NameSet::kNowhere || !lexemes_.step_lexeme_of(slot, further, trie.byte[child])) return;
        to.tokens.insert(to.tokens.end(), trie.tokens.begin() + trie.token_begin[child], trie.tokens.begin() + trie.token_begin[child + 1]);
        if (trie.end[child] == child + 1) return;
        text.push_back(char(trie.byte[child]));
        if (names.is_name(next))
            if (const std::vector<uint32_t> follow = followers(further, child); !follow.empty())
                to.ends.push_back({child, further.lex, further.environment, text, bytes_of(follow)});
        walk(child, further, names, next, text, to);
        text.pop_back();
    });
}

// PERF: letters go on with a name. Where any text may stand, Python would be asked about the beginning of every word of the vocabulary.
std::vector<uint32_t> Names::followers(const Parse& name, uint32_t node) {
    std::vector<uint32_t> found;
    const Trie& trie = vocabulary_.trie;
    Lexer& lexer = engine_.access.lexer();
    const std::vector<Lexer::Exit> exits = lexer.exits(name.lex);
    const ByteSet& next = next_bytes(engine_.slots.symbol(name.slot));
    for (uint32_t child = node + 1; child < trie.end[node]; child = trie.end[child])
        if (next[trie.byte[child]] && std::any_of(exits.begin(), exits.end(), [&](const Lexer::Exit& e) {
                return lexer.unsettled(e.obligations, trie.byte[child]) != Formulas::kViolated;
            }))
            found.push_back(child);
    return found;
}

// PERF: under longest match a letter behind a letter is refused by what is owed to the name. A scannerless name may end anywhere, and what may follow its slot
// tells.
const ByteSet& Names::next_bytes(Symbol slot) {
    if (const auto known = next_bytes_.find(slot); known != next_bytes_.end()) return known->second;
    ByteSet next;
    if (engine_.spanner.lexer.policy() != Policy::kScannerless) next = ByteSet::all();
    else
        for (Symbol s = 1; s < engine_.terminals.size(); s++)
            if (engine_.terminals.is_ignored(s) || adjacency_.follow(slot).has(s)) next |= lexemes_.first_bytes(s);
    return next_bytes_[slot] = next;
}

ByteSet Names::bytes_of(const std::vector<uint32_t>& nodes) const {
    ByteSet bytes;
    for (uint32_t node : nodes) bytes.set(vocabulary_.trie.byte[node]);
    return bytes;
}

}  // namespace derivable
