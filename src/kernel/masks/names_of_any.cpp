// Names in slots where any text may stand, but for some: most of the vocabulary goes on with one.
#include <algorithm>
#include <unordered_set>

#include "masks/names.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {
std::string in_small_letters(std::string text) {
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

// PERF: of an alias that begins, llama-3 has 64,000 tokens, and behind each state of a query others are taken. All of them were walked through for each: 20 ms.
std::optional<Names::Inside> Names::inside_any(const Parse& name, const EmbeddedText::Nodes& nodes) {
    if (!accelerators_.has(Accelerator::kAnyNames)) return std::nullopt;
    NameSet& names = engine_.slots.names(name.slot);
    const std::shared_ptr<const Unlike> unlike = unlike_others(name.slot);
    if (!unlike) return std::nullopt;
    const std::shared_ptr<const AnyText> kept = any_text(name, nodes);
    if (!kept) return std::nullopt;
    uses_[size_t(Accelerator::kAnyNames)]++;
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
            return !std::binary_search(texts.begin(), texts.end(), in_small_letters(text));
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
    if (any_.size() > kMostKnown) discarded_.take(any_);
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

std::shared_ptr<const Names::Unlike> Names::unlike_others(Slots::Place place) {
    if (const auto known = unlike_.find(place); known != unlike_.end()) return known->second;
    const std::optional<std::vector<std::string>> listed = engine_.slots.names(place).unlike(engine_.slots.node(place));
    std::shared_ptr<Unlike> found;
    if (listed) {
        found = std::make_shared<Unlike>();
        std::vector<std::string>& texts = found->texts;
        for (const std::string& text : *listed)
            if (!text.empty())
                texts.push_back(in_small_letters(text));  // where the empty one stands it is that name: it ends before the token
        std::sort(texts.begin(), texts.end());
        texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
        found->first = next_letters(texts.data(), texts.data() + texts.size(), 0);
    }
    if (unlike_.size() > kMostKnown) unlike_.clear();
    return unlike_[place] = found;
}

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
    const std::string wanted = in_small_letters(text);
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
