#include "masks/borders.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <tuple>

#include "support/task.hpp"

namespace derivable {

namespace {
constexpr size_t kMostKnown = size_t(1) << 14;
constexpr uint64_t kFar = LexemeEnds::kFar;
}  // namespace

Borders::Place Borders::place_of(const Parse& t) {
    const auto embedded = address_words(t.embedded.get());
    return {t.lex.index(), t.stack.index(), t.environment, embedded[0], embedded[1]};
}

const ByteSet& Borders::next_bytes(const Parse& t) {
    Place place = place_of(t);
    if (const auto known = next_bytes_.find(place); known != next_bytes_.end()) return known->second;
    ByteSet bytes;
    bytes.words = runs_.next_bytes({t});
    if (next_bytes_.size() > kMostKnown) next_bytes_.clear();
    return next_bytes_[std::move(place)] = bytes;
}

std::vector<Borders::Crossing> Borders::out_of(const Parse& t) {
    const After after = lexemes_.after(t.embedded->symbol(), t.stack, t.environment);
    if (after.stack == kNoFrontier) return {};
    const Frontier stack = engine_.stacks.minimal(after.stack);
    const Parse behind{lexemes_.between(stack, after.environment), stack, after.environment};
    std::vector<Crossing> all;
    if (t.embedded->may_end()) all.push_back({behind, nullptr});
    EmbeddedText::Nodes nodes = t.embedded->ends(next_bytes(behind));
    if (!nodes->empty()) all.push_back({behind, std::move(nodes)});
    return all;
}

const std::vector<uint32_t>& Borders::tokens(const Crossing& c) {
    Place place = place_of(c.behind);
    for (uint32_t word : address_words(c.nodes.get())) place.push_back(word);
    if (const auto known = tokens_.find(place); known != tokens_.end()) return known->second.tokens;
    std::vector<uint32_t> tokens;
    const Trie& trie = vocabulary_.trie;
    runs_.each_node_below(
        {c.behind}, trie, *c.nodes, Transducer::identity(), Transducer::kMain, [](uint32_t) { return true; },
        [&](uint32_t node, const Runs::Decoded&) {
            tokens.insert(tokens.end(), trie.tokens.begin() + trie.token_begin[node], trie.tokens.begin() + trie.token_begin[node + 1]);
        });
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    if (tokens_.size() > kMostKnown) tokens_.clear();
    return (tokens_[std::move(place)] = {c, std::move(tokens)}).tokens;
}

// ---- into inner texts ----

// Dijkstra (1959), from the terminals of inner languages back.
void Borders::find_distances() {
    constexpr size_t kMany = 2000;  // terminals: the square of them is looked at
    const size_t n = engine_.terminals.size();
    lengths_.assign(n, 1);
    distances_.assign(n, n > kMany ? 0 : kFar);
    if (n > kMany) return;
    std::vector<char> is_inner(n, 0);
    for (const auto& language : engine_.terminals.languages()) is_inner[language->symbol()] = 1;
    for (Symbol slot : engine_.slots.symbols()) is_inner[slot] = 1;
    const IndentationSpec& blocks = engine_.environments.indentations.spec;
    for (Symbol s = 1; s < n; s++) {
        Recognizer recognizer = engine_.access.lexer().automata.recognizer(engine_.terminals.to_lexer(s));
        if (s == blocks.indent || s == blocks.dedent) lengths_[s] = 0;
        else if (!recognizer.awaits_table() && recognizer.has_table() && !recognizer.is_empty() && !recognizer.past()) {
            const std::optional<std::string> text = recognizer.shortest_rest(0, 'a');
            if (text) lengths_[s] = std::max<uint64_t>(1, text->size());
        }
    }
    using Begin = std::pair<uint64_t, Symbol>;  // bytes from the beginning of a terminal's lexeme on
    std::priority_queue<Begin, std::vector<Begin>, std::greater<>> begins;
    for (Symbol s = 1; s < n; s++)
        if (is_inner[s]) begins.emplace(0, s);
    while (!begins.empty()) {
        const auto [bytes, next] = begins.top();
        begins.pop();
        work(n);
        for (Symbol s = 1; s < n; s++) {
            if (bytes >= distances_[s] || !adjacency_.follow(s).has(next)) continue;
            distances_[s] = bytes;
            if (!is_inner[s]) begins.emplace(bytes + lengths_[s], s);
        }
    }
}

uint64_t Borders::distance(Frontier stack) {
    uint64_t least = kFar;
    for (Symbol s : engine_.stacks.terminals(engine_.stacks.accepts(stack))) {
        if (s == kEnd) continue;
        const auto& languages = engine_.terminals.languages();
        const bool is_inner = std::any_of(languages.begin(), languages.end(), [&](const auto& l) { return l->symbol() == s; }) ||
                              engine_.terminals.is_slot(s);
        least = std::min(least, is_inner ? 0 : distances_[s] + lengths_[s]);
    }
    return least;
}

// As PlainMask, along beginnings of tokens, for stacks on which an inner text may begin. Splits do not tell: they leave out what no lexeme of this grammar
// can begin with.
class Borders::Search {
  public:
    explicit Search(Borders& borders) : b_(borders) {}

    std::vector<Crossing> run(const Parse& t, const EmbeddedText::Nodes& from) {
        visit(b_.ends_.interned(from ? *from : std::vector<uint32_t>{Runs::kRoot}), t, {});
        std::vector<Crossing> all;
        for (auto& [at, nodes] : found_) {
            const auto [stack, environment, language] = at;
            Parse inside{b_.engine_.access.lexer().none(), stack, environment};
            inside.embedded = b_.engine_.terminals.languages()[language]->begin();
            if (b_.lexemes_.alive(inside)) add({std::move(inside), nullptr}, nodes, all);
        }
        for (auto& [at, nodes] : names_) {
            const auto& [stack, environment, start, slot, line_ends] = at;
            add({{start, stack, environment}, nullptr, slot, line_ends}, nodes, all);
        }
        return all;
    }

  private:
    using NodeSetRef = LexemeEnds::NodeSetRef;

    void add(Crossing crossing, const std::vector<NodeSetRef>& parts, std::vector<Crossing>& all) {
        NodeSetRef set = parts.front();
        if (parts.size() > 1 || set->nodes->back() == Runs::kRoot) {
            std::vector<uint32_t> whole;
            for (const NodeSetRef& part : parts) whole.insert(whole.end(), part->nodes->begin(), part->nodes->end());
            const auto below = std::remove(whole.begin(), whole.end(), Runs::kRoot);
            if (below != whole.end()) all.push_back(crossing);
            whole.erase(below, whole.end());
            set = b_.ends_.interned(std::move(whole));
        }
        if (set->nodes->empty()) return;
        crossing.nodes = set->nodes;
        all.push_back(std::move(crossing));
    }
    using LineEnds = std::vector<LineEnd>;  // from the beginning of the token on

    void visit(const NodeSetRef& set, const Parse& t, const LineEnds& line_ends) {
        Lexer& lexer = b_.engine_.access.lexer();
        if (!seen_.insert({set, t.stack, t.environment, t.lex, line_ends}).second) return;
        if (lexer.is_fresh(t.lex)) begin(t.stack, t.environment, set);
        const uint64_t ignored = b_.distance(t.stack);  // from the end of an ignored lexeme on
        const LexemeEnds::Ends ends = b_.ends_.find(set, t.lex, b_.distances_, ignored);
        for (const LexemeEnds::End& end : *ends) {
            const Parse here{t.lex, t.stack, b_.engine_.environments.indentations.apply(end.effect, t.environment)};
            for (Symbol symbol : b_.engine_.terminals.of(end.terminal)) {
                if (b_.engine_.terminals.is_ignored(symbol)) leave(here, symbol, true, end, line_ends);
                if (!b_.engine_.terminals.is_ignored(symbol) || b_.engine_.spanner.lexer.policy() == Policy::kScannerless)
                    leave(here, symbol, false, end, line_ends);
            }
        }
    }

    void leave(const Parse& t, Symbol symbol, bool ignored, const LexemeEnds::End& end, LineEnds line_ends) {
        Lexemes& lexemes = b_.lexemes_;
        if (b_.engine_.access.lexer().formulas.hold_at_end(end.obligations)) {
            const After stop =
                ignored ? lexemes.after_ignored(t.stack, t.environment) : lexemes.after(symbol, t.stack, t.environment, true);
            if (stop.stack != kNoFrontier) begin(b_.engine_.stacks.minimal(stop.stack), stop.environment, end.set);
        }
        const After after = ignored ? lexemes.after_ignored(t.stack, t.environment) : lexemes.after(symbol, t.stack, t.environment);
        if (after.stack == kNoFrontier) return;
        const NodeSetRef near = b_.ends_.taller(end.set, b_.distance(after.stack));
        if (near->nodes->empty()) return;
        if (after.line_end != kNoLineEnd) line_ends.push_back(after.line_end);
        const AcceptSet accepts = b_.engine_.stacks.accepts(after.stack);
        const LexState start = lexemes.start(accepts, end.obligations, after.environment).value;
        for (Symbol slot : b_.engine_.slots.symbols()) {
            if (!b_.engine_.stacks.contains(accepts, slot)) continue;
            const ByteSet& first = lexemes.first_bytes(slot);
            if (!first.meets(near->next)) continue;
            const NodeSetRef some = b_.ends_.before(near, first);
            names_[{b_.engine_.stacks.minimal(after.stack), after.environment, lexemes.start_of_slot(slot, start), slot, line_ends}]
                .push_back(some);
        }
        if (start != kNoState) visit(near, {start, after.stack, after.environment}, line_ends);
    }

    void begin(Frontier stack, Environment environment, const NodeSetRef& set) {
        const auto& languages = b_.engine_.terminals.languages();
        if (languages.empty()) return;
        const AcceptSet accepts = b_.engine_.stacks.accepts(stack);
        const NodeSetRef going_on = b_.ends_.taller(set, 0);
        if (going_on->nodes->empty()) return;
        for (uint32_t i = 0; i < languages.size(); i++)
            if (b_.engine_.stacks.contains(accepts, languages[i]->symbol())) found_[{stack, environment, i}].push_back(going_on);
    }

    Borders& b_;
    std::set<std::tuple<NodeSetRef, Frontier, Environment, LexState, LineEnds>> seen_;
    std::map<std::tuple<Frontier, Environment, uint32_t>, std::vector<NodeSetRef>> found_;
    std::map<std::tuple<Frontier, Environment, LexState, Symbol, LineEnds>, std::vector<NodeSetRef>> names_;
};

const std::vector<Borders::Crossing>& Borders::into(const Parse& t, const EmbeddedText::Nodes& nodes) {
    if (distances_.empty()) find_distances();
    Place place = place_of(t);
    for (uint32_t word : address_words(nodes.get())) place.push_back(word);
    if (const auto known = into_.find(place); known != into_.end()) return known->second.crossings;
    std::vector<Crossing> found = Search(*this).run(t, nodes);
    if (into_.size() > kMostKnown) into_.clear();
    return (into_[std::move(place)] = {nodes, std::move(found)}).crossings;
}

}  // namespace derivable
