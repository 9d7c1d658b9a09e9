#include "matching/lexeme_graph.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

class Builder {
  public:
    Builder(Constraint& constraint, const TokenizedText& text, bool is_whole)
        : constraint_(constraint),
          lexemes_(constraint.lexemes()),
          stacks_(constraint.stacks()),
          indentations_(constraint.environments().indentations),
          text_(text),
          is_whole_(is_whole),
          scannerless_(lexer().policy() == Policy::kScannerless),
          arrived_(text.bytes.size() + 1) {}

    LexemeGraph run() {
        arrived_[0].push_back({{}, stacks_.bottom(), kNoEnvironment, lexer().formulas.text_start(), true});
        for (uint32_t at = 0; at < arrived_.size(); at++) {
            constraint_.access().pass();
            settle(at);
        }
        return pruned();
    }

  private:
    // SAFETY: inner texts let go of its lock.
    Lexer& lexer() const { return constraint_.access().lexer(); }
    // A border that some way has come to, by an edge from another one, and what the next lexeme depends on.
    struct Border {
        LexemeGraph::Edge by;
        Frontier stack;
        Environment environment;
        Obligations obligations;
        bool is_fresh;  // behind a named token or an inner text: nothing is owed
        auto key() const { return std::make_tuple(environment, obligations, is_fresh, stack); }
        auto key_without_stack() const { return std::make_tuple(environment, obligations, is_fresh); }
    };

    // All that have come to one place of the text: those that are the same become one, and the lexemes are found that begin there. Under scannerless
    // these do not depend on the stack, so borders that differ in nothing else are the same.
    void settle(uint32_t at) {
        std::vector<Border> all = std::move(arrived_[at]);
        std::sort(all.begin(), all.end(), [](const Border& a, const Border& b) { return a.key() < b.key(); });
        std::vector<Frontier> stacks;
        for (size_t i = 0, j; i < all.size(); i = j) {
            stacks.clear();
            const uint32_t number = uint32_t(graph_.borders.size());
            for (j = i; j < all.size() && is_same(all[i], all[j]); j++) {
                stacks.push_back(all[j].stack);
                if (number == 0) continue;
                all[j].by.to = number;
                graph_.edges.push_back(all[j].by);
            }
            Border border = all[i];
            if (scannerless_) border.stack = stacks_.minimal(stacks_.merge(stacks));
            graph_.borders.push_back(at);
            begin_lexeme(border, at, number);
            begin_inside(border, at, number);
            take_token(border, at, number);
            end_text(border, at, number);
        }
    }
    bool is_same(const Border& a, const Border& b) const {
        return scannerless_ ? a.key_without_stack() == b.key_without_stack() : a.key() == b.key();
    }
    bool owes_nothing(const Border& border) const {
        return scannerless_ || border.is_fresh || lexer().formulas.hold_at_end(border.obligations);
    }
    // There is nothing behind this place to which something could be owed.
    bool is_last(size_t place) const { return place == text_.bytes.size(); }
    bool is_byte(size_t place) const { return text_.bytes[place] != TokenizedText::kNoByte; }

    void arrive(uint32_t from, size_t place, Symbol symbol, const Border& before, const After& after, Obligations obligations,
                bool is_fresh) {
        if (after.stack == kNoFrontier) return;
        if (arrived_[place].size() >= constraint_.limits().max_parses)
            throw LimitExceeded("max_parses", arrived_[place].size() + 1, constraint_.limits().max_parses, "lexemes of one text");
        work(5);
        const int32_t blocks = depth(after.environment) - depth(before.environment);
        arrived_[place].push_back(
            {{from, 0, symbol, blocks}, stacks_.minimal(after.stack), indentations_.idle(after.environment), obligations, is_fresh});
    }
    int32_t depth(Environment environment) const {
        int32_t blocks = 0;
        if (indentations_.active())
            for (uint32_t level = indentations_[environment].level; level; level = indentations_.level(level).outer) blocks++;
        return blocks;
    }

    void begin_lexeme(const Border& border, uint32_t at, uint32_t number) {
        LexState lexeme = border.is_fresh ? lexemes_.between(border.stack, border.environment)
                                          : lexemes_.start(stacks_.accepts(border.stack), border.obligations, border.environment).value;
        Environment environment = border.environment;
        for (size_t place = at; lexeme != kNoState && !is_last(place) && is_byte(place);) {
            const auto byte = uint8_t(text_.bytes[place++]);
            work(2);
            lexeme = lexer().step(lexeme, byte);
            if (lexeme == kNoState) return;
            environment = lexemes_.environment_in(lexeme, environment, byte);
            const bool goes_on = is_last(place) && !is_whole_ && in_progress({lexeme, border.stack, environment}, number);
            if (goes_on) return;
            const std::vector<Lexer::Exit> exits = lexer().exits(lexeme);
            for (const Lexer::Exit& exit : exits) end_lexeme(border, environment, exit, place, number);
        }
    }

    void end_lexeme(const Border& border, Environment environment, const Lexer::Exit& exit, size_t place, uint32_t number) {
        const bool at_end = is_last(place) && is_whole_;
        if (at_end && !scannerless_ && !lexer().formulas.hold_at_end(exit.obligations)) return;
        for (Symbol symbol : constraint_.terminals().of(exit.terminal)) {
            if (constraint_.terminals().is_ignored(symbol)) {
                arrive(number, place, kEnd, border, lexemes_.after_ignored(border.stack, environment), exit.obligations, false);
                if (!scannerless_) continue;
            }
            const bool is_dropped = indentations_.active() && symbol == indentations_.spec.newline && indentations_[environment].depth;
            arrive(number, place, is_dropped ? kEnd : symbol, border, lexemes_.after(symbol, border.stack, environment, at_end),
                   exit.obligations, false);
        }
    }

    // A lexeme that the text breaks off, as each terminal that it may become. False: it can only end here. What may go on is taken to.
    bool in_progress(const Parse& parse, uint32_t number) {
        const LexState members = lexer().members(parse.lex);
        const ByteSet next = lexer().sets.bytes(members);
        bool goes_on = false;
        next.each([&](uint8_t byte) { goes_on = goes_on || lexer().step(parse.lex, byte) != kNoState; });
        if (!goes_on || !lexemes_.alive(parse)) return false;
        std::vector<Symbol> met;
        for (const auto& [terminal, state] : lexer().describe(members))
            for (Symbol symbol : constraint_.terminals().of(terminal)) {
                const Symbol gets = constraint_.terminals().is_ignored(symbol) ? kEnd : symbol;
                if (std::find(met.begin(), met.end(), gets) == met.end()) met.push_back(gets);
            }
        for (Symbol symbol : met) ends_.push_back({number, 0, symbol, 0});
        return true;
    }

    void begin_inside(const Border& border, uint32_t at, uint32_t number) {
        if (!constraint_.terminals().embeds() || !owes_nothing(border)) return;
        for (const auto& language : constraint_.terminals().languages()) {
            const Symbol symbol = language->symbol();
            if (!stacks_.contains(stacks_.accepts(border.stack), symbol)) continue;
            EmbeddedRef inside = language->begin();
            // A token that the inner grammar names stands for all of its bytes, and beside it they may be read as text.
            std::vector<std::pair<size_t, EmbeddedRef>> todo{{at, inside}};
            while (!todo.empty()) {
                auto [place, now] = std::move(todo.back());
                todo.pop_back();
                while (now && !is_last(place)) {
                    work(4);
                    if (const TokenizedText::Token* token = token_at(place))
                        if (EmbeddedRef then = now->take(token->id)) {
                            end_inside(border, symbol, *then, place + token->length, number);
                            todo.emplace_back(place + token->length, std::move(then));
                        }
                    now = is_byte(place) ? now->step(uint8_t(text_.bytes[place])) : nullptr;
                    place++;
                    if (now) end_inside(border, symbol, *now, place, number);
                }
            }
        }
    }
    void end_inside(const Border& border, Symbol symbol, const EmbeddedText& inside, size_t place, uint32_t number) {
        if (is_last(place) && !is_whole_) {
            bool goes_on = inside.names_token();
            for (int byte = 0; byte < 256 && !goes_on; byte++) goes_on = inside.step(uint8_t(byte)) != nullptr;
            if (goes_on) {
                ends_.push_back({number, 0, symbol, 0});
                return;
            }
        }
        if (!inside.may_end()) return;
        const bool at_end = is_last(place) && is_whole_;
        arrive(number, place, symbol, border, lexemes_.after(symbol, border.stack, border.environment, at_end),
               lexer().formulas.text_start(), true);
    }

    const TokenizedText::Token* token_at(size_t place) const {
        const auto found = std::lower_bound(text_.tokens.begin(), text_.tokens.end(), place,
                                            [](const TokenizedText::Token& token, size_t at) { return token.begin < at; });
        return found != text_.tokens.end() && found->begin == place ? &*found : nullptr;
    }
    void take_token(const Border& border, uint32_t at, uint32_t number) {
        const TokenizedText::Token* token = token_at(at);
        if (!token || !owes_nothing(border)) return;
        for (const TokenReference& named : constraint_.terminals().references())
            if (named.matches(token->id, constraint_.vocabulary().bytes[token->id])) {
                const Frontier after = stacks_.shift(border.stack, named.symbol).frontier;
                arrive(number, at + token->length, named.symbol, border, {after, border.environment, {}, 0}, lexer().formulas.text_start(),
                       true);
            }
    }

    void end_text(const Border& border, uint32_t at, uint32_t number) {
        if (!is_last(at)) return;
        const Blocks& blocks = lexemes_.blocks();
        if (!is_whole_) {
            ends_.push_back({number, 0, kEnd, 0});
        } else if (owes_nothing(border)) {
            const bool ends = blocks.active() ? lexemes_.blocks().may_end(border.stack, border.environment).value
                                              : stacks_.contains(stacks_.accepts(border.stack), kEnd);
            if (!ends) return;
            // All blocks are closed, perhaps behind a newline that is not written: which of the two it is, the rules say.
            ends_.push_back({number, 0, kEnd, -depth(border.environment)});
            if (blocks.active() && indentations_.spec.final_newline)
                ends_.push_back({number, 0, indentations_.spec.newline, -depth(border.environment)});
        }
    }

    // Without what leads nowhere.
    LexemeGraph pruned() {
        const auto end = uint32_t(graph_.borders.size());
        graph_.borders.push_back(uint32_t(text_.bytes.size()));
        for (LexemeGraph::Edge& edge : ends_) {
            edge.to = end;
            graph_.edges.push_back(edge);
        }
        std::sort(graph_.edges.begin(), graph_.edges.end(), [](const LexemeGraph::Edge& a, const LexemeGraph::Edge& b) {
            return std::tie(a.from, a.to, a.symbol, a.blocks) < std::tie(b.from, b.to, b.symbol, b.blocks);
        });
        std::vector<char> leads(graph_.borders.size(), 0);
        leads[end] = 1;
        for (size_t i = graph_.edges.size(); i-- > 0;) leads[graph_.edges[i].from] |= leads[graph_.edges[i].to];  // edges go up
        std::vector<uint32_t> numbers(graph_.borders.size(), 0);
        LexemeGraph kept;
        for (size_t i = 0; i < leads.size(); i++)
            if (leads[i]) {
                numbers[i] = uint32_t(kept.borders.size());
                kept.borders.push_back(graph_.borders[i]);
            }
        if (!leads[0]) return {};
        for (const LexemeGraph::Edge& edge : graph_.edges)
            if (leads[edge.to]) {
                const LexemeGraph::Edge now{numbers[edge.from], numbers[edge.to], edge.symbol, edge.blocks};
                const bool is_known = !kept.edges.empty() && kept.edges.back().from == now.from && kept.edges.back().to == now.to &&
                                      kept.edges.back().symbol == now.symbol && kept.edges.back().blocks == now.blocks;
                if (!is_known) kept.edges.push_back(now);
            }
        return kept;
    }

    Constraint& constraint_;
    Lexemes& lexemes_;
    Stacks& stacks_;
    Indentations& indentations_;
    const TokenizedText& text_;
    const bool is_whole_, scannerless_;
    std::vector<std::vector<Border>> arrived_;  // by place
    std::vector<LexemeGraph::Edge> ends_;       // to the end of the graph
    LexemeGraph graph_;
};

}  // namespace

LexemeGraph lexeme_graph(Constraint& constraint, const TokenizedText& text, bool is_whole) {
    constexpr uint64_t kOfByte = 2'000;  // work of a byte, where there are many
    Operation operation(constraint.access(), constraint.limits().max_step_work + kOfByte * text.bytes.size());
    return Builder(constraint, text, is_whole).run();
}

}  // namespace derivable
