#include "masks/borders.hpp"

#include <algorithm>
#include <iterator>
#include <queue>
#include <string>

#include "support/task.hpp"

namespace derivable {

namespace {
constexpr size_t kMostKnown = size_t(1) << 14;
constexpr uint64_t kFar = 1u << 30;
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
    explicit Search(Borders& borders) : b_(borders), trie_(borders.vocabulary_.trie) {}

    std::vector<Crossing> run(const Parse& t) {
        visit({Runs::kRoot}, t, {});
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
    using Nodes = std::vector<uint32_t>;

    static void add(Crossing crossing, Nodes& nodes, std::vector<Crossing>& all) {
        std::sort(nodes.begin(), nodes.end());
        nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
        if (nodes.back() == Runs::kRoot) nodes.pop_back(), all.push_back(crossing);
        if (nodes.empty()) return;
        crossing.nodes = std::make_shared<const std::vector<uint32_t>>(std::move(nodes));
        all.push_back(std::move(crossing));
    }
    using LineEnds = std::vector<LineEnd>;  // from the beginning of the token on
    using Ended = std::tuple<TerminalId, Obligations, Environment>;

    void visit(const Nodes& nodes, const Parse& t, const LineEnds& line_ends) {
        Lexer& lexer = b_.engine_.access.lexer();
        if (lexer.is_fresh(t.lex)) begin(t.stack, t.environment, nodes);
        std::map<Ended, Nodes> ended;
        const uint64_t ignored = b_.distance(t.stack);  // from the end of an ignored lexeme on
        for (uint32_t node : nodes) walk(node, t.lex, t.environment, ignored, ended);
        for (const auto& [end, behind] : ended) {
            const auto [terminal, obligations, environment] = end;
            const Parse here{t.lex, t.stack, environment};
            for (Symbol symbol : b_.engine_.terminals.of(terminal)) {
                if (b_.engine_.terminals.is_ignored(symbol)) leave(here, symbol, true, obligations, behind, line_ends);
                if (!b_.engine_.terminals.is_ignored(symbol) || b_.engine_.spanner.lexer.policy() == Policy::kScannerless)
                    leave(here, symbol, false, obligations, behind, line_ends);
            }
        }
    }

    void leave(const Parse& t, Symbol symbol, bool ignored, Obligations obligations, const Nodes& nodes, LineEnds line_ends) {
        Lexemes& lexemes = b_.lexemes_;
        if (b_.engine_.access.lexer().formulas.hold_at_end(obligations)) {
            const After end = ignored ? lexemes.after_ignored(t.stack, t.environment) : lexemes.after(symbol, t.stack, t.environment, true);
            if (end.stack != kNoFrontier) begin(b_.engine_.stacks.minimal(end.stack), end.environment, nodes);
        }
        const After after = ignored ? lexemes.after_ignored(t.stack, t.environment) : lexemes.after(symbol, t.stack, t.environment);
        if (after.stack == kNoFrontier) return;
        Nodes near;
        const uint64_t far = b_.distance(after.stack);
        for (uint32_t node : nodes)
            if (height(node) > far) near.push_back(node);
        if (near.empty()) return;
        if (after.line_end != kNoLineEnd) line_ends.push_back(after.line_end);
        const AcceptSet accepts = b_.engine_.stacks.accepts(after.stack);
        const LexState start = lexemes.start(accepts, obligations, after.environment).value;
        std::vector<ByteSet> next;  // of the nodes
        for (Symbol slot : b_.engine_.slots.symbols()) {
            if (!b_.engine_.stacks.contains(accepts, slot)) continue;
            // PERF: behind most line breaks and blanks a token has no letter. Names that begin there were looked for in each column: in a second pass over four
            // programs of Python a mask took 15 ms, and 0.1 ms without (llama-3).
            if (next.empty())
                std::transform(near.begin(), near.end(), std::back_inserter(next), [&](uint32_t n) { return bytes_behind(n); });
            const ByteSet& first = lexemes.first_bytes(slot);
            Nodes some;
            for (size_t i = 0; i < near.size(); i++)
                if (first.meets(next[i])) some.push_back(near[i]);
            if (some.empty()) continue;
            Nodes& found =
                names_[{b_.engine_.stacks.minimal(after.stack), after.environment, lexemes.start_of_slot(slot, start), slot, line_ends}];
            found.insert(found.end(), some.begin(), some.end());
        }
        if (start != kNoState) visit(near, {start, after.stack, after.environment}, line_ends);
    }

    void begin(Frontier stack, Environment environment, const Nodes& nodes) {
        const auto& languages = b_.engine_.terminals.languages();
        const AcceptSet accepts = b_.engine_.stacks.accepts(stack);
        for (uint32_t i = 0; i < languages.size(); i++) {
            if (!b_.engine_.stacks.contains(accepts, languages[i]->symbol())) continue;
            Nodes& found = found_[{stack, environment, i}];
            for (uint32_t node : nodes)
                if (height(node)) found.push_back(node);
            if (found.empty()) found_.erase({stack, environment, i});
        }
    }

    ByteSet bytes_behind(uint32_t node) const {
        if (node == Runs::kRoot) return ByteSet::all();
        ByteSet bytes;
        for (uint32_t child = node + 1; child < trie_.end[node]; child = trie_.end[child]) bytes.set(trie_.byte[child]);
        return bytes;
    }
    uint64_t height(uint32_t node) const { return node == Runs::kRoot ? kFar : trie_.height[node]; }

    void walk(uint32_t node, LexState state, Environment environment, uint64_t ignored, std::map<Ended, Nodes>& ended) {
        Lexer& lexer = b_.engine_.access.lexer();
        uint64_t needed = kFar;  // bytes behind the lexeme
        for (LexState single : lexer.sets.singles(lexer.members(state)))
            for (Symbol symbol : b_.engine_.terminals.of(lexer.automata.terminal_of(single)))
                needed = std::min(needed, b_.engine_.terminals.is_ignored(symbol) ? ignored : b_.distances_[symbol]);
        if (height(node) <= needed) return;
        for (const Lexer::Exit& e : lexer.exits(state)) ended[{e.terminal, e.obligations, environment}].push_back(node);
        const uint32_t end = node == Runs::kRoot ? trie_.size() : trie_.end[node];
        for (uint32_t child = node + 1; child < end; child = trie_.end[child]) {
            work();
            if (trie_.height[child] <= needed) continue;
            b_.engine_.access.pass();
            const LexState next = b_.engine_.access.lexer().step(state, trie_.byte[child]);
            if (next != kNoState) walk(child, next, b_.lexemes_.environment_in(next, environment, trie_.byte[child]), ignored, ended);
        }
    }

    Borders& b_;
    const Trie& trie_;
    std::map<std::tuple<Frontier, Environment, uint32_t>, Nodes> found_;
    std::map<std::tuple<Frontier, Environment, LexState, Symbol, LineEnds>, Nodes> names_;
};

const std::vector<Borders::Crossing>& Borders::into(const Parse& t) {
    if (distances_.empty()) find_distances();
    Place place = place_of(t);
    if (const auto known = into_.find(place); known != into_.end()) return known->second;
    std::vector<Crossing> found = Search(*this).run(t);
    if (into_.size() > kMostKnown) into_.clear();
    return into_[std::move(place)] = std::move(found);
}

}  // namespace derivable
