#include "matching/index_view.hpp"

#include <algorithm>
#include <set>

#include "masks/context.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

constexpr uint32_t kDeepest = 256;  // SAFETY: lexemes of one token that are followed; each is a step of recursion

uint64_t count(const std::vector<uint32_t>& words) {
    uint64_t n = 0;
    for (uint32_t w : words) n += uint64_t(__builtin_popcount(w));
    return n;
}

// How the tokens are told apart in a lexer state, as far as that is known.
void add_splits(LexerStateView& s, Spanner& spanner, uint32_t words, LexState lex) {
    std::vector<uint32_t> inside(words, 0);
    auto add = [&](LexState state) {
        const Split* split = spanner.known(Residuals::kWholeVocabulary, state);
        if (!split) return;
        s.is_split = true;
        for (const Split::Inside& group : split->inside) group.or_into(inside.data());
        s.exits += split->exits.size();
    };
    if (spanner.lexer.policy() == Policy::kScannerless) {
        for (LexState single : spanner.lexer.sets.singles(spanner.lexer.members(lex))) add(spanner.lexer.alike.canonical(single));
    } else {
        add(lex);
    }
    s.inside = count(inside);
}

class Unfolding {
  public:
    Unfolding(Constraint& c, uint64_t most) : c_(c), most_(most), words_(c.vocabulary().words()) {}

    std::vector<SpanView> run(const Parses& parses) {
        for (const Parse& t : parses) {
            if (out_.size() >= most_) break;
            out_.push_back({-1, kEnd, false, 0, 0, 0});
            visit({out_.size() - 1, Residuals::kWholeVocabulary, t, 0, 0});
        }
        return std::move(out_);
    }

  private:
    struct Item {
        size_t node;
        ResidualId residual;
        Parse parse;
        int above;  // as Stacks::Shifted
        uint32_t depth;
    };

    void visit(const Item& x) {
        Lexer& lexer = c_.access().lexer();
        if (!scannerless_) return split_by(x, x.parse.lex, TerminalId());
        for (LexState single : lexer.sets.singles(lexer.members(x.parse.lex)))
            split_by(x, lexer.alike.canonical(single), lexer.automata.terminal_of(single));
    }

    void split_by(const Item& x, LexState state, TerminalId single_terminal) {
        c_.access().take();
        const Split& split = c_.spanner().split(x.residual, state);
        for (const Split::Inside& group : split.inside) {
            const auto [allowed, reach] = c_.lexemes().alive(x.parse.stack, x.parse.environment, group);
            SpanView& node = out_[x.node];
            std::fill(words_.begin(), words_.end(), 0);
            group.or_into(words_.data());
            for (uint32_t v : excepted_) words_[v >> 5] &= ~(1u << (v & 31));
            (allowed ? node.tokens : node.refused) += count(words_);
            work(words_.size() / 8);
            if (group.sureness != Split::Sureness::kSure) node.hops = std::max<int64_t>(node.hops, x.above + reach.hops);
        }
        for (const Split::Exit& e : split.exits)
            for (Symbol symbol : c_.terminals().of(scannerless_ ? single_terminal : e.terminal)) {
                const bool ignored = c_.terminals().is_ignored(symbol);
                if (ignored) leave(x, e, symbol, c_.lexemes().after_ignored(x.parse.stack, x.parse.environment), true);
                if (ignored && !scannerless_) continue;
                const Environment here = c_.environments().indentations.apply(e.effect, x.parse.environment);
                leave(x, e, symbol, c_.lexemes().after(symbol, x.parse.stack, here), false);
            }
    }

    void leave(const Item& x, const Split::Exit& e, Symbol symbol, const After& after, bool ignored) {
        if (out_.size() >= most_) return;
        out_.push_back({int64_t(x.node), symbol, ignored, 0, 0, x.above + after.reach.hops});
        const size_t child = out_.size() - 1;
        if (after.stack == kNoFrontier || x.depth >= kDeepest) return;
        const LexState lex = c_.lexemes().start(c_.stacks().accepts(after.stack), e.obligations, after.environment).value;
        if (lex == kNoState) return;
        const size_t before = excepted_.size();
        excepted_.insert(excepted_.end(), e.except.begin(), e.except.end());
        visit({child, e.residual, Parse{lex, after.stack, after.environment, {}}, x.above + after.above, x.depth + 1});
        excepted_.resize(before);
    }

    Constraint& c_;
    const uint64_t most_;
    const bool scannerless_ = c_.spanner().lexer.policy() == Policy::kScannerless;
    std::vector<SpanView> out_;
    std::vector<uint32_t> words_;
    std::vector<uint32_t> excepted_;  // tokens that some exit on the way does not let out
};

}  // namespace

IndexView view(Constraint& c) {
    Operation all(c.access(), Task::kUnbounded);
    c.access().take();
    IndexView out;
    MaskCache& cache = c.masks().cache();
    out.keys = cache.num_keys();
    out.splits = c.spanner().num_splits();
    out.lexer_bytes = c.spanner().lexer.bytes();
    out.split_bytes = c.spanner().bytes() - out.lexer_bytes;
    out.part_bytes = c.masks().maker().bytes();
    out.mask_bytes = cache.bytes();
    cache.each([&](LexState lex, const std::vector<const PackedMask*>& masks, uint64_t keys, uint64_t depth) {
        if (masks.empty()) return;
        LexerStateView s;
        s.lexeme = named_lexeme(c.spanner().lexer, c.terminals(), lex);
        s.stacks = keys;
        s.depth = depth;
        s.masks = masks.size();
        std::vector<uint32_t> every = masks[0]->words(), some = every, words = every;
        for (const PackedMask* m : masks) {
            m->write(words.data());
            for (size_t w = 0; w < every.size(); w++) every[w] &= words[w], some[w] |= words[w];
        }
        s.always = count(every);
        s.stack_dependent = count(some) - s.always;
        s.never = c.vocabulary().size() - count(some);
        add_splits(s, c.spanner(), c.vocabulary().words(), lex);
        out.states.push_back(std::move(s));
    });
    std::sort(out.states.begin(), out.states.end(), [](const auto& a, const auto& b) { return a.lexeme < b.lexeme; });
    return out;
}

std::vector<SpanView> unfold(Constraint& c, const Parses& parses, uint64_t most) {
    c.access().take();
    Spanner::Walk walk(c.spanner());
    return Unfolding(c, most).run(parses);
}

std::vector<Explanation> explain(Constraint& c, const Parses& parses) {
    std::vector<Explanation> out;
    Stacks& stacks = c.stacks();
    const bool scannerless = c.spanner().lexer.policy() == Policy::kScannerless;
    for (const Parse& t : parses) {
        Explanation e;
        Lexer& lexer = c.access().lexer();
        std::set<Symbol> next;
        auto may_follow = [&](Frontier f, Environment environment) {
            for (Symbol s : stacks.terminals(stacks.accepts(f)))
                if (c.environments().tallies.allows(s, environment, false)) next.insert(s);
        };
        if (t.embedded) {
            e.lexeme.emplace_back(t.embedded->symbol(), 0);
            const After after = c.lexemes().after(t.embedded->symbol(), t.stack, t.environment);
            if (t.embedded->may_end() && after.stack != kNoFrontier) may_follow(after.stack, after.environment);
        } else if (lexer.is_fresh(t.lex)) {
            may_follow(t.stack, t.environment);
        } else {
            // Terminals of one language share a state: those are meant that the parser can use.
            const auto usable = stacks.terminals(stacks.accepts(t.stack));
            for (auto [terminal, state] : lexer.describe(t.lex))
                for (Symbol s : c.terminals().of(terminal))
                    if (!scannerless || c.terminals().is_ignored(s) || std::find(usable.begin(), usable.end(), s) != usable.end())
                        e.lexeme.emplace_back(s, state);
            for (const Lexer::Exit& exit : lexer.exits(t.lex))
                for (Symbol s : c.terminals().of(exit.terminal)) {
                    if (c.terminals().is_ignored(s)) may_follow(t.stack, t.environment);
                    // What indentation makes of it is left out: which terminals may follow a line is told where the line is over.
                    CountedMembers& members = c.lexemes().members();
                    const After after = members.counts(s) ? members.after(s, t.stack, t.environment)
                                                          : After{stacks.shift(t.stack, s).frontier, t.environment, {}, 0};
                    if (after.stack != kNoFrontier) may_follow(after.stack, after.environment);
                }
        }
        e.accepts.assign(next.begin(), next.end());
        out.push_back(std::move(e));
    }
    return out;
}

std::vector<NamesHere> names_here(Constraint& constraint, const Parses& parses, size_t most) {
    Slots& slots = constraint.slots();
    std::vector<NamesHere> out;
    auto add = [&](Slots::Place place) {
        if (place != Slots::kNone) out.push_back({{slots.symbol(place)}, slots.text(place), slots.rests(place, most)});
    };
    auto add_begun = [&](Frontier f, Meaning::State meaning) {
        const AcceptSet accepts = constraint.stacks().accepts(f);
        for (Symbol slot : slots.symbols())
            if (constraint.stacks().contains(accepts, slot)) add(slots.begin(meaning, slot));
    };
    for (const Parse& t : parses) {
        if (t.embedded) {
            for (NamesHere& inner : t.embedded->names_here(most)) {
                inner.slot.insert(inner.slot.begin(), t.embedded->symbol());
                out.push_back(std::move(inner));
            }
        } else if (t.slot != Slots::kNone) {
            add(t.slot);
            constraint.lexemes().each_end_of_name(
                t, false, [&](Frontier f, Environment, Meaning::State meaning, Obligations) { add_begun(f, meaning); });
        } else if (slots.active()) {
            constraint.lexemes().stops(t, [&](Frontier f, AcceptSet, Environment) -> Answer<bool> {
                add_begun(f, t.meaning);
                return {false, {}};
            });
        }
    }
    return out;
}

}  // namespace derivable
