#include "matching/index_view.hpp"

#include <algorithm>
#include <set>

#include "matching/constraint.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {
constexpr uint32_t kDeepest = 256;  // SAFETY: lexemes of one token that are followed; each is a step of recursion

uint64_t count(const std::vector<uint32_t>& words) {
    uint64_t n = 0;
    for (uint32_t w : words) n += uint64_t(__builtin_popcount(w));
    return n;
}
}  // namespace

IndexView Constraint::view() {
    Operation all(*this, Task::kUnbounded);
    operation->take();
    IndexView out;
    out.keys = num_prefixes_;
    out.splits = spanner_->num_splits();
    out.lexer_bytes = spanner_->lexer.bytes();
    out.split_bytes = spanner_->bytes() - out.lexer_bytes;
    out.stack_trie_bytes = stack_trie_.bytes();
    out.mask_bytes = stats_.row_bytes;
    for (const auto& [lex, root] : prefix_roots_) {
        LexerStateView s;
        s.lexeme = named_lexeme(lex);
        std::set<int32_t> masks;
        std::vector<std::pair<uint32_t, uint64_t>> todo{{root.node, 0}};
        while (!todo.empty()) {
            auto [node, depth] = todo.back();
            todo.pop_back();
            const PrefixNode& n = prefixes_[node];
            if (n.row >= 0) s.stacks++, masks.insert(n.row), s.depth = std::max(s.depth, depth);
            if (n.first != PrefixNode::kNoNode) todo.push_back({n.first, depth + 1});
            if (n.others)
                for (const auto& [word, next] : *n.others) todo.push_back({next, depth + 1});
        }
        if (masks.empty()) continue;
        if (s.depth) s.depth--;  // the first word is the environment
        s.masks = masks.size();
        std::vector<uint32_t> every = *rows_[size_t(*masks.begin())], some = every;
        for (int32_t m : masks)
            for (size_t w = 0; w < every.size(); w++) every[w] &= (*rows_[size_t(m)])[w], some[w] |= (*rows_[size_t(m)])[w];
        s.always = count(every);
        s.stack_dependent = count(some) - s.always;
        s.never = vocabulary_->size() - count(some);
        const LexState members = spanner_->lexer.members(lex);
        std::vector<uint32_t> inside(vocabulary_->words(), 0);
        auto add = [&](LexState state) {
            const Split* split = spanner_->known(Spanner::kWholeVocabulary, state);
            if (!split) return;
            s.is_split = true;
            for (const Split::Inside& group : split->inside) group.or_into(inside.data());
            s.exits += split->exits.size();
        };
        if (scannerless_) {
            auto [begin, end] = spanner_->lexer.singles(members);
            for (const uint32_t* single = begin; single != end; single++) add(spanner_->lexer.canonical(*single));
        } else {
            add(lex);
        }
        s.inside = count(inside);
        out.states.push_back(std::move(s));
    }
    std::sort(out.states.begin(), out.states.end(), [](const auto& a, const auto& b) { return a.lexeme < b.lexeme; });
    return out;
}

std::vector<SpanView> Constraint::unfold(const Threads& threads, uint64_t most) {
    std::vector<SpanView> out;
    std::vector<uint32_t> words(vocabulary_->words());
    std::vector<uint32_t> excepted;  // tokens that some exit on the way does not let out
    struct Walking {
        std::atomic<int>& walks;
        explicit Walking(std::atomic<int>& w) : walks(w) { walks++; }
        ~Walking() { walks--; }
    };
    spanner_->forget_if_needed();
    Walking walking(spanner_->walks);
    auto visit = [&](auto&& again, size_t node, uint32_t residual, Thread t, int above, uint32_t depth) -> void {
        auto split_by = [&](LexState state, uint32_t single_terminal) {
            operation->take();
            const Split& split = spanner_->split(residual, state);
            for (const Split::Inside& group : split.inside) {
                int hops = 0;
                const bool allowed = alive(t.stack, t.environment, group, &hops);
                std::fill(words.begin(), words.end(), 0);
                group.or_into(words.data());
                for (uint32_t v : excepted) words[v >> 5] &= ~(1u << (v & 31));
                (allowed ? out[node].tokens : out[node].refused) += count(words);
                work(words.size() / 8);
                if (group.sureness != Split::Sureness::kSure) out[node].hops = std::max<int64_t>(out[node].hops, above + hops);
            }
            for (const Split::Exit& e : split.exits)
                for (Symbol symbol : symbols_of(scannerless_ ? single_terminal : e.terminal)) {
                    auto through = [&](After after, bool ignored) {
                        if (out.size() >= most) return;
                        out.push_back({int64_t(node), symbol, ignored, 0, 0, above + after.hops});
                        const size_t child = out.size() - 1;
                        if (after.stack == kNoFrontier || depth >= kDeepest) return;
                        int hops = 0;
                        const LexState lex = lexeme_start(stacks.accepts(after.stack, &hops), e.obligations, after.environment);
                        if (lex == kNoState) return;
                        const size_t before = excepted.size();
                        excepted.insert(excepted.end(), e.except.begin(), e.except.end());
                        again(again, child, e.residual, Thread{lex, after.stack, after.environment, {}}, above + after.above, depth + 1);
                        excepted.resize(before);
                    };
                    if (ignored_[symbol]) through({t.stack, indentations_.idle(t.environment), 0, 0}, true);
                    if (!ignored_[symbol] || scannerless_)
                        through(after_lexeme(symbol, t.stack, indentations_.apply(e.effect, t.environment)), false);
                }
        };
        if (!scannerless_) return split_by(t.lex, 0);
        const LexState members = lexer().members(t.lex);
        auto [begin, end] = lexer().singles(members);
        for (const uint32_t* single = begin; single != end; single++) split_by(lexer().canonical(*single), lexer().terminal_of(*single));
    };
    for (const Thread& t : threads) {
        if (out.size() >= most) break;
        out.push_back({-1, kEnd, false, 0, 0, 0});
        visit(visit, out.size() - 1, Spanner::kWholeVocabulary, t, 0, 0);
    }
    return out;
}

}  // namespace derivable
