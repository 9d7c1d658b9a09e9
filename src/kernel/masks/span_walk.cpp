#include "masks/span_walk.hpp"

#include <algorithm>

#include "support/task.hpp"

namespace derivable {

Reach SpanWalk::run(const Parse& parse, const std::vector<uint32_t>* behind) {
    Part part;
    Spanner::Walk walk(p_.spanner);
    p_.access.take();
    const ResidualId residual = behind ? p_.spanner.behind(*behind) : Residuals::kWholeVocabulary;
    const Item start{residual, parse.lex, parse.stack, parse.environment, 0, -1, 0, 0};
    bounds_.begin(p_.spanner.bytes());
    walk_part(part, start, p_.spanner.split(start.residual, start.lex), -1);
    return part.looked;
}

void SpanWalk::walk_part(Part& part, const Item& start, const Split& split, int known) {
    const StackTrie::Place root = p_.stack_trie.root(split, p_.environments.brackets(start.environment));
    part.place = root;
    part.found = found_.size();
    part.questions = questions_.size();
    // PERF: a new stack is new from its second or third state on, where others were looked at to 30 states below theirs.
    for (uint32_t hops = 4, deepest = root.node->state;; hops *= 4) {
        hops = std::min(hops, deepest);
        part.keeps = p_.accelerators.has(Accelerator::kStackTrie) && p_.stacks.signature(start.stack, hops, states_);
        if (part.keeps) p_.stack_trie.descend(part.place, states_, known, found_);
        if (!part.keeps || hops == deepest || part.place.depth < int(hops)) break;
    }
    const size_t before = found_.size();
    for (size_t i = part.found; i < before; i++) work(found_[i].tokens->cost()), found_[i].tokens->or_into(words_.data());
    if (part.place.node->open) {
        p_.uses[size_t(Accelerator::kStackTrie)]++;
        part.looked.hops = part.kept = part.place.depth;
        part.looked.brackets = p_.environments.indentations.active();  // by its depth the place was found
        revisit(part, start, split, 0, part.place.node->open->size);
    } else {
        visit(part, start, split);
    }
    if (part.keeps && p_.stacks.signature(start.stack, uint32_t(part.kept), states_))
        p_.stack_trie.keep(root, part.place, states_, part.kept, {found_, before, questions_, part.questions});
    questions_.resize(part.questions);
}

int SpanWalk::level_of(Part& part, Reach reach) {
    part.looked |= reach;
    if (reach.hops > MaskCache::kMaxHops || reach.blocks) {
        part.never = true;
        return StackTrie::kNever;
    }
    part.kept = std::max(part.kept, reach.hops);
    return std::max(0, reach.hops);
}

int SpanWalk::enter(Part& part, const Item& x, const Question* open) {
    work(10);
    p_.access.pass();
    p_.access.take();
    bounds_.count(x.depth, p_.spanner.bytes());
    p_.walked++;
    const Split& split = x.split ? *x.split : p_.spanner.split(x.residual, x.lex);
    if (split.exits.empty() || p_.lookahead != kNoLookahead)
        return open ? revisit(part, x, split, uint32_t(open - part.place.node->open->questions) + 1, open->end) : visit(part, x, split);
    Part own;
    walk_part(own, {x.residual, x.lex, x.stack, x.environment, 0, -1, x.ended, x.depth}, split, open ? part.place.depth - x.above : -1);
    part.keeps &= own.keeps;
    auto outside = [&](int level) {
        return level >= StackTrie::kNever || x.above + level > MaskCache::kMaxHops ? StackTrie::kNever
                                                                                   : std::max({0, x.level, x.above + level});
    };
    if (!part.keeps) found_.resize(own.found);
    for (size_t i = own.found; i < found_.size(); i++) found_[i].level = outside(found_[i].level);
    part.looked |= own.looked.beside();
    const int level = level_of(part, {x.above + own.looked.hops});
    part.never |= own.never;  // SAFETY: whoever has this part asks again, too
    return own.never ? StackTrie::kNever : level;
}

int SpanWalk::visit(Part& part, const Item& x, const Split& split) {
    int reach = 0;
    work(2 + split.inside.size() + split.exits.size());
    for (size_t i = 0; i < split.inside.size(); i++) reach = std::max(reach, ask(part, x, split, uint32_t(i)));
    for (size_t i = 0; i < split.exits.size(); i++) {
        const Split::Exit& e = split.exits[i];
        if (x.ended + (i >= split.exits_before) > p_.lookahead) break;
        for (Symbol symbol : p_.terminals.of(e.terminal)) reach = std::max(reach, leave(part, x, split, uint32_t(i), symbol, nullptr));
    }
    return reach;
}

int SpanWalk::revisit(Part& part, const Item& x, const Split& split, uint32_t begin, uint32_t end) {
    int reach = 0;
    const Question* open = part.place.node->open->questions;
    for (uint32_t i = begin; i < end; i = open[i].end) {
        const Question& q = open[i];
        if (q.reach <= part.place.depth) continue;
        if (q.index >= (q.of_exit ? split.exits.size() : split.inside.size())) continue;  // SAFETY: in a forged artifact
        reach = std::max(reach, q.of_exit ? leave(part, x, split, q.index, q.symbol, q.level <= part.place.depth ? &q : nullptr)
                                          : ask(part, x, split, q.index));
    }
    return reach;
}

int SpanWalk::ask(Part& part, const Item& x, const Split& split, uint32_t index) {
    const Split::Inside& group = split.inside[index];
    const auto [allowed, reach] = p_.lexemes.alive(x.stack, x.environment, group);
    const int level = level_of(part, group.sureness == Split::Sureness::kSure ? Reach() : reach.below(x.above));
    if (allowed) work(group.cost()), group.or_into(words_.data());
    // SAFETY: these splits stand beside no others (Spanner::neighbour); their tokens are one set.
    if (allowed && part.keeps) found_.push_back({std::max(x.level, level), group.tokens.get()});
    if (part.keeps && level > part.place.depth + 1)
        questions_.push_back({false, false, int16_t(level), int16_t(level), index, 0, uint32_t(questions_.size() + 1 - part.questions)});
    return level;
}

// PERF: behind the exits of a walk on a stack that is new half of the shifts have been made before; all of them are a fifth of its time.
After SpanWalk::after(Symbol symbol, Frontier stack, Environment environment) {
    Ended& known = ended_[mix(pack(stack.index(), symbol)) % kEnded];
    if (known.stack != stack || known.symbol != symbol || known.environment != environment)
        known = {stack, symbol, environment, p_.lexemes.after(symbol, stack, environment)};
    return known.after;
}

int SpanWalk::leave(Part& part, const Item& x, const Split& split, uint32_t index, Symbol symbol, const Question* open) {
    const Split::Exit& e = split.exits[index];
    const uint64_t ended = x.ended + (index >= split.exits_before);  // before the first byte of a token: outside of it
    int reach = 0;
    auto through = [&](const After& after) {
        const int above = x.above + after.above;
        int level = level_of(part, after.reach.below(x.above));
        LexState lex = kNoState;
        if (after.stack != kNoFrontier) {
            const auto [set, looked] = p_.stacks.accepted(after.stack);
            level = std::max(level, level_of(part, looked.below(above)));
            const Answer<LexState> start = p_.lexemes.start(set, e.obligations, after.environment);
            part.looked |= start.reach;
            lex = start.value;
        }
        const size_t question = questions_.size();
        if (part.keeps) questions_.push_back({true, false, int16_t(level), 0, index, symbol, 0});
        reach = std::max(reach, level);
        if (lex != kNoState) {
            Item next{e.residual, lex, after.stack, after.environment, above, std::max(x.level, level), ended, x.depth + 1};
            if (lex == x.lex && after.stack == x.stack && after.environment == x.environment && e.except.empty() &&
                p_.lookahead == kNoLookahead) {
                next.split = p_.spanner.repeated(e.residual, lex, e.terminal, e.obligations);
                next.above = x.above;
            }
            const bool repeated = next.split;
            if (part.keeps) questions_[question].repeated = repeated;
            if (e.except.empty()) {
                // SAFETY: questions behind another split are no questions of this one.
                reach = std::max(reach, enter(part, next, open && open->repeated == repeated ? open : nullptr));
            } else {
                part.keeps = false;
                add_except(words_.data(), e.except, [&] { enter(part, next, open); });
            }
        }
        if (!part.keeps) return;
        if (reach <= part.place.depth + 1) return questions_.resize(question);
        questions_[question].reach = int16_t(reach);
        questions_[question].end = uint32_t(questions_.size() - part.questions);
    };
    if (p_.terminals.is_ignored(symbol)) {
        through(p_.lexemes.after_ignored(x.stack, x.environment));
        return reach;
    }
    p_.access.rest();
    through(after(symbol, x.stack, p_.environments.indentations.apply(e.effect, x.environment)));
    return reach;
}

}  // namespace derivable
