#include "masks/member_walk.hpp"

#include <utility>

#include "support/task.hpp"

namespace derivable {

namespace {
constexpr size_t kUsual = 12;                                            // parts
constexpr uint32_t kSplit = ~0u, kExit = ~0u - 1, kEndOfExit = ~0u - 2;  // in a key, before the numbers of one
}  // namespace

void MemberWalk::Union::or_into(uint32_t* words) const {
    for (const Part& part : parts) {
        if (part.inside) {
            work(part.inside->cost());
            part.inside->or_into(words);
        } else {
            work(part.behind->cost() + part.except->size() / 2);
            add_except(words, *part.except, [&] { part.behind->or_into(words); });
        }
    }
}

TokenSet MemberWalk::Union::tokens(uint32_t num_words) const {
    TokenSet all;
    for (const Part& part : parts) {
        if (part.inside) {
            work(part.inside->cost());
            part.inside->unite_into(all, num_words);
        } else {
            work(part.behind->cost() + part.except->size() / 2);
            all.unite(*part.behind, *part.except, num_words);
        }
    }
    return all;
}

bool MemberWalk::Union::are_few(uint32_t num_words) const {
    size_t count = 0;
    for (const Part& part : parts) count += part.inside ? part.inside->listed() : part.behind->listed();
    return !TokenSet::are_many(count, num_words);
}

MemberWalk::Union MemberWalk::some() {
    Union all;
    all.parts.reserve(kUsual), all.key.reserve(4 * kUsual);
    return all;
}

MemberWalk::Union MemberWalk::run(const Parse& parse, const MaskCache::Endings& endings, uint32_t num_words) {
    bounds_.begin(p_.spanner.bytes());
    num_words_ = num_words;
    Union all = some();
    const Item start{Residuals::kWholeVocabulary, parse.lex, parse.stack, parse.environment, 0, 0};
    if (!endings.size) {
        visit(start, all, [&](Symbol symbol) { return p_.lexemes.after(symbol, parse.stack, parse.environment); });
        return all;
    }
    visit(start, all, [&](Symbol symbol) {
        const After* ending = endings.of(symbol);
        return ending ? After{ending->stack, ending->environment, ending->reach.beside(), 0} : After{kNoFrontier, kNoEnvironment, {}, 0};
    });
    return all;
}

template <class GetAfter>
void MemberWalk::visit(const Item& x, Union& all, GetAfter after) {
    work(10);
    p_.access.pass();
    p_.access.take();
    bounds_.count(x.depth, p_.spanner.bytes());
    p_.walked++;
    const LexState members = lexer_.members(x.lex);
    auto visit_each = [&](const auto& singles) {
        for (LexState single : singles) {
            work(5);
            p_.access.pass();
            p_.access.take();
            visit(x, p_.spanner.split(x.residual, lexer_.alike.canonical(single)), lexer_.automata.terminal_of(single), all, after);
        }
    };
    if (const Spanner::Joint& joint = p_.spanner.joint(x.residual, members); joint.together != kNoState) {
        const Split* split = nullptr;
        try {
            split = &p_.spanner.split(x.residual, joint.together);
        } catch (const TooAmbiguous&) { p_.spanner.part(x.residual, members); }
        if (split) {
            visit(x, *split, kOfExit, all, after);
            p_.access.take();
            return visit_each(joint.rest);
        }
    }
    visit_each(lexer_.sets.singles(members));
}

template <class GetAfter>
void MemberWalk::visit(const Item& x, const Split& split, TerminalId of, Union& all, GetAfter after) {
    work(2 + split.inside.size() + split.exits.size());
    if (!split.inside.empty()) all.key.push_back(kSplit), all.key.push_back(split.id);
    // Whatever token ends inside a lexeme can be completed (Split::Sureness::kSure).
    for (const Split::Inside& group : split.inside) all.parts.push_back({&group, nullptr, nullptr});
    for (size_t i = 0; i < split.exits.size(); i++) {
        const Split::Exit& e = split.exits[i];
        const uint64_t ended = x.ended + (i >= split.exits_before);  // before the first byte of a token: outside of it
        if (ended > p_.lookahead) break;
        auto through = [&](const After& next) {
            all.reach |= next.reach;
            if (next.stack == kNoFrontier) return;
            if (e.except.empty()) return visit_behind(e.residual, next, ended, x.depth + 1, all);
            Union behind = some();
            visit_behind(e.residual, next, ended, x.depth + 1, behind);
            all.reach |= behind.reach;
            if (behind.parts.empty()) return;
            // SAFETY: with its split, for others may have been visited meanwhile, and what is taken out is the exit's own.
            for (uint32_t word : {kExit, split.id, uint32_t(i)}) all.key.push_back(word);
            all.key.insert(all.key.end(), behind.key.begin(), behind.key.end());
            all.key.push_back(kEndOfExit);
            TokenSet& tokens = all.sets.emplace_back(behind.tokens(num_words_));
            tokens.normalize(p_.sorter);
            work(1 + tokens.cost());
            all.parts.push_back({nullptr, &tokens, &e.except});
        };
        for (Symbol symbol : p_.terminals.of(of == kOfExit ? e.terminal : of)) {
            if (p_.terminals.is_ignored(symbol)) through(p_.lexemes.after_ignored(x.stack, x.environment));
            p_.access.rest();
            through(after(symbol));
        }
    }
}

void MemberWalk::visit_behind(ResidualId residual, const After& after, uint64_t ended, uint32_t depth, Union& all) {
    const auto [set, looked] = p_.stacks.accepted(after.stack);
    const Answer<LexState> start = p_.lexemes.start(set, Formulas::kFree, after.environment);
    Reach before = std::exchange(all.reach, looked | start.reach);
    if (start.value != kNoState)
        visit({residual, start.value, after.stack, after.environment, ended, depth}, all,
              [&](Symbol symbol) { return p_.lexemes.after(symbol, after.stack, after.environment); });
    all.reach = before | all.reach.below(after.above);
}

}  // namespace derivable
