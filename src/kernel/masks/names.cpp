#include "masks/names.hpp"

#include <algorithm>
#include <unordered_set>

#include "support/task.hpp"

namespace derivable {

namespace {
constexpr size_t kMostKnown = size_t(1) << 16;

// PERF: few nodes by what they are. Of one query of SQL there were 5,364 sets, nearly all of one to three nodes, and by their addresses no two were the same:
// the memo was full after four queries.
void add_nodes(std::vector<uint32_t>& key, const EmbeddedText::Nodes& nodes) {
    constexpr size_t kFew = 8;
    if (nodes && nodes->size() <= kFew) key.insert(key.end(), nodes->begin(), nodes->end());
    else
        for (uint32_t word : address_words(nodes.get())) key.push_back(word);
    key.push_back(nodes ? uint32_t(nodes->size()) : ~0u);
}

char small(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

std::string small(std::string text) {
    for (char& c : text) c = small(c);
    return text;
}
// In any case.
ByteSet next_letters(const std::string* first, const std::string* last, size_t read) {
    ByteSet next;
    for (const std::string* text = first; text != last; ++text) {
        const char c = (*text)[read];
        next.set(uint8_t(c));
        if (c >= 'a' && c <= 'z') next.set(uint8_t(c - 'a' + 'A'));
    }
    return next;
}
}  // namespace

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
    for (const std::shared_ptr<const Behind>& b : std::vector<std::shared_ptr<const Behind>>(behind_[key]))
        if (engine_.slots.answers(meaning, b->asked, matters)) return add_without(*b, end.without, words);
    std::vector<std::pair<uint32_t, uint32_t>> by_node;
    std::vector<uint32_t> tokens;
    const Trie& trie = vocabulary_.trie;
    const Slots::Recording recording(engine_.slots, meaning);
    std::optional<Tokens> parts = by_parts(end, parses);
    if (!parts) for (const std::vector<uint32_t>& nodes : apart(*end.nodes)) {
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
    if (!parts) parts = Tokens(std::move(tokens), vocabulary_.words());
    const auto found = std::make_shared<const Behind>(Behind{recording.finish(), std::move(*parts), std::move(by_node)});
    add_without(*found, end.without, words);
    if (behind_.size() > kMostKnown) behind_.clear();
    std::vector<std::shared_ptr<const Behind>>& known = behind_[std::move(key)];
    if (known.size() >= kMostVariants) known.clear();
    known.push_back(found);
}

std::optional<Names::Tokens> Names::by_parts(const End& end, const std::vector<Parse>& parses) {
    if (end.nodes->size() != 1 || engine_.spanner.lexer.policy() == Policy::kScannerless) return std::nullopt;
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
        std::vector<uint32_t> tokens;
        std::vector<Text> ends;
        walk(name, nodes, &engine_.slots.names(name.slot), tokens, ends);
        found = {nodes, std::make_shared<Tokens>(std::move(tokens), vocabulary_.words()), {}};
        for (const Text& end : ends) found->ends.push_back(end_of(name, end, {}));
    }
    const auto may_be_newline = [&](const End& end) { return engine_.spanner.prospects.may_be_newline(end.lex); };
    found->is_of_columns = std::any_of(found->ends.begin(), found->ends.end(), may_be_newline);
    if (inside_.size() > kMostKnown) inside_.clear(), behind_.clear(), any_.clear(), numbers_.clear();
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

// PERF: of an alias that begins, llama-3 has 64,000 tokens, and behind each state of a query others are taken. All of them were walked through for each: 20 ms.
std::optional<Names::Inside> Names::inside_any(const Parse& name, const EmbeddedText::Nodes& nodes) {
    NameSet& names = engine_.slots.names(name.slot);
    const std::shared_ptr<const Unlike> unlike = unlike_others(name.slot);
    if (!unlike) return std::nullopt;
    const std::shared_ptr<const AnyText> kept = any_text(name, nodes);
    if (!kept) return std::nullopt;
    const AnyText& any = *kept;
    const Environment environment = engine_.environments.indentations.idle(name.environment);
    std::vector<Text> apart;
    const std::vector<std::string>& texts = unlike->texts;
    for (uint32_t node : nodes ? *nodes : std::vector<uint32_t>{Runs::kRoot})
        add_below(node, texts.data(), texts.data() + texts.size(), unlike->first, {}, apart);
    std::unordered_set<uint32_t> taken;  // nodes
    for (const Text& text : apart) taken.insert(text.node);
    Inside found{nodes, any.tokens, {}};
    std::vector<Text> alone = any.alone;
    for (const AnyText::Group& group : any.groups) {
        const auto one = std::find_if(group.some.begin(), group.some.end(), [&](const std::string& text) {
            return !std::binary_search(texts.begin(), texts.end(), small(text));
        });
        if (one == group.some.end()) {  // each of the others stands for itself
            for (const Text& text : group.texts)
                if (!taken.count(text.node)) alone.push_back(text);
            continue;
        }
        End end = end_of(name, {0, group.lex, environment, *one, group.first}, group.nodes);
        end.number = group.number;
        for (uint32_t node : taken)
            if (std::binary_search(group.nodes->begin(), group.nodes->end(), node)) end.without.push_back(node);
        std::sort(end.without.begin(), end.without.end());
        found.ends.push_back(std::move(end));
    }
    const auto is_name = [&](const std::string& text) {
        NameSet::Node at = engine_.slots.node(name.slot);
        for (char c : text) at = names.step(at, uint8_t(c));
        return names.is_name(at);
    };
    for (Text& text : alone) {
        if (taken.count(text.node) || !is_name(text.text)) continue;
        text.environment = environment;
        found.ends.push_back(end_of(name, text, {}));
    }
    for (Text& text : apart) {
        Parse further = name;
        const Symbol slot = engine_.slots.symbol(name.slot);
        const bool is_lexeme =
            std::all_of(text.text.begin(), text.text.end(), [&](char c) { return lexemes_.step_lexeme_of(slot, further, uint8_t(c)); });
        if (!is_lexeme || !is_name(text.text)) continue;
        const std::vector<uint32_t> follow = followers(further, text.node);
        if (follow.empty()) continue;
        text.first = bytes_of(follow);
        text.lex = further.lex, text.environment = further.environment;
        found.ends.push_back(end_of(name, text, {}));
    }
    return found;
}

std::shared_ptr<const Names::AnyText> Names::any_text(const Parse& name, const EmbeddedText::Nodes& nodes) {
    constexpr size_t kMostSome = 4;
    const Symbol slot = engine_.slots.symbol(name.slot);
    const bool is_start = engine_.slots.is_at_start(name.slot);
    const LexState lex = is_start ? alike_at_start(name.lex, slot) : name.lex;
    std::vector<uint32_t> key{lex.index(), is_start, engine_.terminals.to_lexer(slot).index()};
    if (engine_.spanner.lexer.policy() == Policy::kScannerless) key.push_back(slot);  // by what may follow it
    add_nodes(key, nodes);
    if (const auto known = any_.find(key); known != any_.end()) return known->second;
    Walked all;
    for (uint32_t node : nodes ? *nodes : std::vector<uint32_t>{Runs::kRoot}) walk_any(node, name, {}, all);
    std::vector<Text>& ends = all.ends;
    const auto may_be_newline = [&](const Text& t) { return engine_.spanner.prospects.may_be_newline(t.lex); };
    if (std::any_of(ends.begin(), ends.end(), may_be_newline)) return any_[std::move(key)] = nullptr;
    AnyText found{nodes, std::make_shared<Tokens>(std::move(all.tokens), vocabulary_.words()), {}, {}};
    for (Text& t : ends) t.lex = alike(t.lex, slot);
    // Long texts, which tokens hardly write twice.
    std::stable_sort(ends.begin(), ends.end(), [](const Text& a, const Text& b) { return a.text.size() > b.text.size(); });
    const auto group_of = [&](const Text& t) {
        return std::find_if(found.groups.begin(), found.groups.end(), [&](const AnyText::Group& g) { return g.lex == t.lex; });
    };
    for (const Text& t : ends) {
        auto group = group_of(t);
        if (group == found.groups.end())
            group = found.groups.insert(group, {t.lex, {}, {}, std::make_shared<std::vector<uint32_t>>(), {}, num_ends_++});
        if (group->some.size() < kMostSome) group->some.push_back(t.text);
    }
    for (Text& t : ends) {
        AnyText::Group& group = *group_of(t);
        Parse further = name;
        further.lex = t.lex;
        const std::vector<uint32_t> follow = followers(further, t.node);
        const auto follows = [&](const std::string& text) {
            return std::any_of(follow.begin(), follow.end(),
                               [&](uint32_t child) { return is_written_below(child, text, Written::kBegun); });
        };
        if (follows(t.text) || std::any_of(group.some.begin(), group.some.end(), follows)) found.alone.push_back(std::move(t));
        else group.nodes->push_back(t.node), group.first |= t.first, group.texts.push_back(std::move(t));
    }
    for (AnyText::Group& group : found.groups) std::sort(group.nodes->begin(), group.nodes->end());
    return any_[std::move(key)] = std::make_shared<const AnyText>(std::move(found));
}

// PERF: an automaton of names that are no keywords has a state for each beginning of a keyword. By these a mask behind a column of SQL was in so many groups
// that 88,000 calls into Python were made, and 1,400 are without.
LexState Names::alike(LexState lex, Symbol slot) {
    Lexer& lexer = engine_.access.lexer();
    const TerminalId terminal = engine_.terminals.to_lexer(slot);
    const uint64_t key = pack(lex.index(), terminal.index());
    if (const auto known = alike_.find(key); known != alike_.end()) return known->second;
    std::vector<uint32_t> owes{terminal.index()};  // to each kind of byte
    const std::vector<Lexer::Exit> exits = lexer.exits(lex);
    for (uint8_t byte : lexer.kinds.representatives()) {
        for (const Lexer::Exit& e : exits)
            if (e.terminal == terminal) owes.push_back(lexer.unsettled(e.obligations, byte).index());
        owes.push_back(~0u);
    }
    return alike_[key] = owing_.try_emplace(std::move(owes), lex).first->second;
}

// PERF: states before a lexeme differ by all that may stand there. Behind a letter most of that is gone: of 832 that four programs of Python come to, 56 are
// left.
LexState Names::alike_at_start(LexState lex, Symbol slot) {
    const uint64_t key = pack(lex.index(), engine_.terminals.to_lexer(slot).index());
    if (const auto known = alike_at_start_.find(key); known != alike_at_start_.end()) return known->second;
    std::vector<uint32_t> leads{engine_.terminals.to_lexer(slot).index()};
    Lexer& lexer = engine_.access.lexer();
    const ByteSet& first = lexemes_.first_bytes(slot);
    for (uint32_t byte = 0; byte < 256; byte++)
        if (first[uint8_t(byte)]) leads.push_back(lexer.step(lex, uint8_t(byte)).index());
    return alike_at_start_[key] = starting_.try_emplace(std::move(leads), lex).first->second;
}

void Names::walk(const Parse& name, const EmbeddedText::Nodes& nodes, NameSet* names, std::vector<uint32_t>& tokens,
                 std::vector<Text>& ends) {
    std::string text;
    const NameSet::Node at = engine_.slots.node(name.slot);
    if (!nodes) return walk(Runs::kRoot, name, names, at, text, tokens, ends);
    for (uint32_t node : *nodes) walk(node, name, names, at, text, tokens, ends);
}

// PERF: places are made where the name may end. With one for each beginning there soon were more than are kept (Slots::kCollectAt), and masks that had
// been known were found again: 313 us on average in the second pass of benchmarks/names.py, and now 3.2.
void Names::walk(uint32_t node, const Parse& name, NameSet* names, NameSet::Node at, std::string& text, std::vector<uint32_t>& tokens,
                 std::vector<Text>& ends) {
    const Trie& trie = vocabulary_.trie;
    const Symbol slot = engine_.slots.symbol(name.slot);
    each_child(node, names->next(at), [&](uint32_t child) {
        work(4);
        const NameSet::Node next = names->step(at, trie.byte[child]);
        Parse further = name;
        if (next == NameSet::kNowhere || !lexemes_.step_lexeme_of(slot, further, trie.byte[child])) return;
        tokens.insert(tokens.end(), trie.tokens.begin() + trie.token_begin[child], trie.tokens.begin() + trie.token_begin[child + 1]);
        if (trie.end[child] == child + 1) return;
        text.push_back(char(trie.byte[child]));
        if (names->is_name(next))
            if (const std::vector<uint32_t> follow = followers(further, child); !follow.empty())
                ends.push_back({child, further.lex, further.environment, text, bytes_of(follow)});
        walk(child, further, names, next, text, tokens, ends);
        text.pop_back();
    });
}

// As walk(), whatever the names are.
void Names::walk_any(uint32_t node, const Parse& name, const std::string& text, Walked& to) {
    const Trie& trie = vocabulary_.trie;
    const Symbol slot = engine_.slots.symbol(name.slot);
    if (node == Runs::kRoot || trie.end[node] - node < LexemeEnds::worth_keeping(trie)) return expand_any(node, name, text, to);
    std::vector<uint32_t> key{node, name.lex.index(), engine_.terminals.to_lexer(slot).index()};
    if (engine_.spanner.lexer.policy() == Policy::kScannerless) key.push_back(slot);  // by what may follow it
    std::shared_ptr<const Walked> known;
    if (const auto found = below_.find(key); found != below_.end()) known = found->second;
    if (!known) {
        Walked below;
        expand_any(node, name, {}, below);
        if (below_.size() > kMostKnown) below_.clear();
        known = below_[std::move(key)] = std::make_shared<const Walked>(std::move(below));
    }
    to.tokens.insert(to.tokens.end(), known->tokens.begin(), known->tokens.end());
    for (const Text& end : known->ends) to.ends.push_back(end), to.ends.back().text.insert(0, text);
}

void Names::expand_any(uint32_t node, const Parse& name, const std::string& text, Walked& to) {
    const Trie& trie = vocabulary_.trie;
    const Symbol slot = engine_.slots.symbol(name.slot);
    each_child(node, ByteSet::all(), [&](uint32_t child) {
        work(4);
        Parse further = name;
        if (!lexemes_.step_lexeme_of(slot, further, trie.byte[child])) return;
        to.tokens.insert(to.tokens.end(), trie.tokens.begin() + trie.token_begin[child], trie.tokens.begin() + trie.token_begin[child + 1]);
        if (trie.end[child] == child + 1) return;
        const std::string longer = text + char(trie.byte[child]);
        if (const std::vector<uint32_t> follow = followers(further, child); !follow.empty())
            to.ends.push_back({child, further.lex, further.environment, longer, bytes_of(follow)});
        walk_any(child, further, longer, to);
    });
}

// PERF: of all that begins a token only one byte goes on with most names in progress. Where each of 256 was looked at, most first masks in a catalogue took 4.2 us, and now 1.7.
template <class Visit>
void Names::each_child(uint32_t node, const ByteSet& bytes, Visit visit) {
    const Trie& trie = vocabulary_.trie;
    if (node != Runs::kRoot) return trie.each_child(node, bytes, [&](uint32_t child, uint8_t) { visit(child); });
    if (first_.empty()) {
        first_.resize(256, Runs::kRoot);
        for (uint32_t child = 0; child < trie.size(); child = trie.end[child]) first_[trie.byte[child]] = child;
    }
    bytes.each([&](uint8_t byte) {
        if (first_[byte] != Runs::kRoot) visit(first_[byte]);
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

std::shared_ptr<const Names::Unlike> Names::unlike_others(Slots::Place place) {
    if (const auto known = unlike_.find(place); known != unlike_.end()) return known->second;
    const std::optional<std::vector<std::string>> listed = engine_.slots.names(place).unlike(engine_.slots.node(place));
    std::shared_ptr<Unlike> found;
    if (listed) {
        found = std::make_shared<Unlike>();
        std::vector<std::string>& texts = found->texts;
        for (const std::string& text : *listed)
            if (!text.empty()) texts.push_back(small(text));  // where the empty one stands it is that name: it ends before the token
        std::sort(texts.begin(), texts.end());
        texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
        found->first = next_letters(texts.data(), texts.data() + texts.size(), 0);
    }
    if (unlike_.size() > kMostKnown) unlike_.clear();
    return unlike_[place] = found;
}

// Where texts lead from a node, in any case: some that have been read so far, sorted and in small letters. `next`: their next letters.
void Names::add_below(uint32_t node, const std::string* first, const std::string* last, const ByteSet& next, const std::string& read,
                      std::vector<Text>& found) {
    each_child(node, next, [&](uint32_t child) {
        work();
        const char byte = char(vocabulary_.trie.byte[child]);
        const auto is_before = [&](const std::string& text) { return uint8_t(text[read.size()]) < uint8_t(small(byte)); };
        const auto is_of = [&](const std::string& text) { return text[read.size()] == small(byte); };
        const std::string* begin = std::partition_point(first, last, is_before);
        const std::string* const end = std::partition_point(begin, last, is_of);
        const std::string longer = read + byte;
        if (begin != end && begin->size() == longer.size()) {
            found.push_back({child, kNoState, 0, longer, {}});
            ++begin;
        }
        if (begin != end && vocabulary_.trie.end[child] != child + 1)
            add_below(child, begin, end, next_letters(begin, end, longer.size()), longer, found);
    });
}

// In any case.
bool Names::is_written_below(uint32_t node, const std::string& text, Written how) const {
    const std::string wanted = small(text);
    std::string read;
    const Trie& trie = vocabulary_.trie;
    work(trie.end[node] - node);
    for (uint32_t below = node; below < trie.end[node]; below++) {
        read.resize(size_t(trie.depth[below]) - trie.depth[node]);
        read.push_back(small(char(trie.byte[below])));
        const auto ends_with = [&](size_t length) {
            return read.size() >= length && read.compare(read.size() - length, length, wanted, 0, length) == 0;
        };
        if (ends_with(wanted.size())) return true;
        if (how == Written::kWhole || trie.token_begin[below] == trie.token_begin[below + 1]) continue;
        for (size_t length = 1; length < wanted.size(); length++)
            if (ends_with(length)) return true;
    }
    return false;
}

}  // namespace derivable
