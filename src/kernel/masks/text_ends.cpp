#include "masks/text_ends.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "masks/mask_cache.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

constexpr size_t kMostKnown = size_t(1) << 16;

// As PlainMask, with another question: may the text end with what was read? What it depends on comes with it.
class Walk {
  public:
    Walk(const Engine& engine, Lexemes& lexemes, const Trie& trie) : engine_(engine), lexemes_(lexemes), trie_(trie) {}

    std::vector<uint32_t> run(const Parse& t, Reach& reach) {
        visit({Runs::kRoot}, t, 0);
        reach |= reach_;
        return std::move(found_);
    }

  private:
    using Nodes = std::vector<uint32_t>;
    struct Split {
        std::map<std::pair<LexState, Environment>, Nodes> inside;                 // tokens that end while the lexeme is in progress
        std::map<std::tuple<TerminalId, Obligations, Environment>, Nodes> exits;  // nodes before which it has ended
    };

    void visit(const Nodes& nodes, const Parse& t, int above) {
        Split split;
        for (uint32_t node : nodes) walk(node, t.lex, t.environment, split);
        for (const auto& [in_progress, tokens] : split.inside) {
            const Answer<bool> end = lexemes_.may_end({in_progress.first, t.stack, in_progress.second});
            reach_ |= end.reach.below(above);
            if (end.value) found_.insert(found_.end(), tokens.begin(), tokens.end());
        }
        for (const auto& [exit, left] : split.exits) {
            const auto [terminal, obligations, environment] = exit;
            for (Symbol symbol : engine_.terminals.of(terminal)) {
                const bool is_ignored = engine_.terminals.is_ignored(symbol);
                if (is_ignored) go_on(lexemes_.after_ignored(t.stack, environment), obligations, left, above);
                if (!is_ignored || engine_.spanner.lexer.policy() == Policy::kScannerless)
                    go_on(lexemes_.after(symbol, t.stack, environment), obligations, left, above);
            }
        }
    }

    void go_on(const After& after, Obligations obligations, const Nodes& left, int above) {
        reach_ |= after.reach.below(above);
        if (after.stack == kNoFrontier) return;
        const auto [set, looked] = engine_.stacks.accepted(after.stack);
        const Answer<LexState> start = lexemes_.start(set, obligations, after.environment);
        reach_ |= (looked | start.reach).below(above + after.above);
        if (start.value != kNoState) visit(left, {start.value, after.stack, after.environment}, above + after.above);
    }

    void walk(uint32_t node, LexState state, Environment environment, Split& split) {
        Lexer& lexer = engine_.access.lexer();
        const uint32_t end = node == Runs::kRoot ? trie_.size() : trie_.end[node];
        if (node + 1 == end) return;
        for (const Lexer::Exit& e : lexer.exits(state)) split.exits[{e.terminal, e.obligations, environment}].push_back(node);
        for (uint32_t child = node + 1; child < end; child = trie_.end[child]) {
            work();
            const LexState next = lexer.step(state, trie_.byte[child]);
            if (next == kNoState) continue;
            const Environment behind = lexemes_.environment_in(next, environment, trie_.byte[child]);
            for (uint32_t k = trie_.token_begin[child]; k < trie_.token_begin[child + 1]; k++)
                split.inside[{next, behind}].push_back(trie_.tokens[k]);
            walk(child, next, behind, split);
        }
    }

    const Engine& engine_;
    Lexemes& lexemes_;
    const Trie& trie_;
    Nodes found_;
    Reach reach_;
};

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
    const bool is_plain =
        !engine_.terminals.embeds() && std::none_of(parses.begin(), parses.end(), [](const Parse& t) { return bool(t.writing); });
    if (!is_plain) return interned(by_bytes(parses, beginnings));
    if (parses.size() == 1) return of_parse(parses[0], beginnings);
    std::vector<uint32_t> all;
    for (const Parse& t : parses) {
        const EmbeddedText::Nodes some = of_parse(t, beginnings);
        all.insert(all.end(), some->begin(), some->end());
    }
    return interned(std::move(all));
}

EmbeddedText::Nodes TextEnds::of_parse(const Parse& t, const Beginnings& beginnings) {
    uint32_t& root = roots_[pack(beginnings.number, t.lex.index())];
    if (!root) root = ++num_roots_;
    const uint32_t id = root;
    Key whole{id, t.stack.index(), t.environment};
    if (engine_.slots.active()) {  // the meaning says where a text may end, too
        whole.push_back(t.meaning), whole.push_back(t.slot);
        if (const auto known = deep_.find(whole); known != deep_.end()) return known->second;
        EmbeddedText::Nodes found = interned(by_bytes({t}, beginnings));
        if (deep_.size() > kMostKnown) deep_.clear();
        return deep_[std::move(whole)] = std::move(found);
    }
    if (const ReachTrie::Root* known = known_.root(id); known && engine_.stacks.signature(t.stack, known->words, signature_)) {
        const ReachTrie::Found found = known_.find(*known, t.environment, signature_, [] { return false; });
        if (found.value >= 0) return lists_[size_t(found.value)];
    }
    if (const auto known = deep_.find(whole); known != deep_.end()) return known->second;
    Reach reach;
    std::vector<uint32_t> nodes;
    if (!beginnings.empty.empty()) {
        const Answer<bool> end = lexemes_.may_end(t);
        reach |= end.reach;
        if (end.value) nodes = beginnings.empty;
    }
    const std::vector<uint32_t> further = Walk(engine_, lexemes_, beginnings.trie).run(t, reach);
    nodes.insert(nodes.end(), further.begin(), further.end());
    EmbeddedText::Nodes found = interned(std::move(nodes));
    if (lists_.size() > kMostKnown) lists_.clear(), known_.clear();
    if (reach.hops <= MaskCache::kMaxHops && engine_.stacks.signature(t.stack, uint32_t(reach.hops), signature_)) {
        lists_.push_back(found);
        known_.put(id, t.environment, known_.beside_of(t.environment, reach), uint32_t(reach.hops), signature_, int32_t(lists_.size() - 1));
    } else {
        if (deep_.size() > kMostKnown) deep_.clear();
        deep_[std::move(whole)] = found;
    }
    return found;
}

std::vector<uint32_t> TextEnds::by_bytes(const Parses& parses, const Beginnings& beginnings) {
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
    return nodes;
}

EmbeddedText::Nodes TextEnds::interned(std::vector<uint32_t> nodes) {
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    if (interned_.size() > kMostKnown) interned_.clear();
    std::weak_ptr<const Key>& known = interned_[nodes];
    if (EmbeddedText::Nodes there = known.lock()) return there;
    const auto made = std::make_shared<const Key>(std::move(nodes));
    known = made;
    return made;
}

}  // namespace derivable
