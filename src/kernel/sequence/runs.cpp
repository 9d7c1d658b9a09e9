#include "sequence/runs.hpp"

#include <algorithm>
#include <utility>

#include "support/errors.hpp"

namespace derivable {

bool Runs::advance(const Parses& from, std::string_view bytes, Parses& to) {
    if (!bounds_.active() || bytes.empty()) return step_all(from, bytes, to);
    engine_.access.take();
    Parses now = from;
    for (std::string_view token : engine_.spanner.rests().fewest_tokens().cut(bytes)) {
        to.clear();
        if (!advance_token(now, token, to)) return false;
        now = to;
    }
    return true;
}

bool Runs::step_all(const Parses& from, std::string_view bytes, Parses& to) {
    if (bytes.empty()) to = from;
    Parses now;
    size_t i = 0;
    auto halted = std::find_if(halted_.begin(), halted_.end(), [&](const Halted& h) {
        return bytes.size() > h.read.size() && bytes.substr(0, h.read.size()) == h.read && from == h.from;
    });
    if (halted != halted_.end()) {
        now = std::move(halted->now), i = halted->read.size();
        halted_.erase(halted);
    }
    const size_t begin = i;
    try {
        for (; i < bytes.size(); i++) {
            engine_.access.pass();
            step(i ? now : from, uint8_t(bytes[i]), to);
            if (to.empty()) return false;
            if (i + 1 < bytes.size()) now.swap(to);
        }
    } catch (const LimitExceeded&) {
        // PERF: begun anew, and allowed more each time, the thirtieth refusal on a token of 10,000 bytes took 0.4 s.
        if (i > 0) halted_.push_front({from, now, std::string(bytes.substr(0, i))});
        if (i > begin) times_further_++;
        constexpr size_t kMost = 64;  // sequences side by side, each of which must find its own again
        if (halted_.size() > kMost) halted_.pop_back();
        throw;
    }
    return true;
}

// One byte of a token further. A lexeme that ends before the token's first byte ends outside of it.
bool Runs::step_layers(const Layers& from, uint8_t byte, bool first, Layers& to) {
    if (lookahead_ == kNoLookahead) {
        to.resize(1);
        step(from[0], byte, to[0]);
        return !to[0].empty();
    }
    to.assign(std::min<size_t>(from.size() + !first, size_t(lookahead_) + 1), {});
    bool some = false;
    for (size_t ended = 0; ended < from.size(); ended++) {
        const size_t more = ended + !first;
        stepper_.step(from[ended], byte, to[ended], more < to.size() ? &to[more] : nullptr, unique_items_.keep());
    }
    for (const Parses& layer : to) some |= !layer.empty();
    return some;
}

bool Runs::advance_token(const Parses& from, std::string_view bytes, Parses& to) {
    if (lookahead_ == kNoLookahead) {
        if (!step_all(from, bytes, to)) return false;
        end_token(to);
        return !to.empty();
    }
    Layers now{from}, next;
    for (size_t i = 0; i < bytes.size(); i++) {
        if (!step_layers(now, uint8_t(bytes[i]), i == 0, next)) return false;
        now.swap(next);
    }
    for (const Parses& layer : now)
        for (const Parse& t : layer) stepper_.add(to, t, unique_items_.keep());
    end_token(to);
    return !to.empty();
}

void Runs::end_token(Parses& parses) {
    bounds_.end_token(parses, unique_items_.keep());
    if (!engine_.terminals.embeds()) return;
    const Parses all = std::move(parses);
    parses.clear();
    for (Parse t : all)
        if (!t.embedded || (t.embedded = t.embedded->end_token())) stepper_.add(parses, std::move(t), unique_items_.keep());
}

bool Runs::step_path(std::vector<Layers>& path, size_t depth, uint8_t byte) {
    if (path.size() < depth + 2) path.resize(depth + 2);
    return step_layers(path[depth], byte, depth == 0, path[depth + 1]);
}

void Runs::step_token(const Parses& from, uint32_t token, Parses& to) {
    if (engine_.terminals.embeds()) step_token_inside(from, token, to);
    for (const TokenReference& r : engine_.terminals.references())
        if (r.matches(token, vocabulary_.bytes[token]))
            for (const Parse& t : from)
                lexemes_.stops(t, [&](Frontier f, AcceptSet, Environment environment) -> Answer<bool> {
                    const Frontier after = engine_.stacks.shift(f, r.symbol).frontier;
                    if (after != kNoFrontier)
                        stepper_.add(to, {lexemes_.between(after, environment), after, environment, t.writing}, unique_items_.keep());
                    return {false, {}};
                });
}

// In inner texts, and those that begin with it.
void Runs::step_token_inside(const Parses& from, uint32_t token, Parses& to) {
    const auto take = [&](const EmbeddedRef& text, Parse t) {
        if ((t.embedded = text->take(token))) stepper_.add(to, std::move(t), unique_items_.keep());
    };
    for (const Parse& t : from) {
        if (t.embedded) take(t.embedded, t);
        lexemes_.inner_texts(t, [&](Parse begun) {
            const EmbeddedRef text = begun.embedded;
            take(text, std::move(begun));
        });
    }
}

bool Runs::names_token(const Parses& parses) {
    const std::vector<TokenReference>& references = engine_.terminals.references();
    auto named = [&](Frontier, AcceptSet set, Environment) -> Answer<bool> {
        return {std::any_of(references.begin(), references.end(),
                            [&](const TokenReference& r) { return engine_.stacks.contains(set, r.symbol); }),
                {}};
    };
    if (!references.empty() && std::any_of(parses.begin(), parses.end(), [&](const Parse& t) { return lexemes_.stops(t, named).value; }))
        return true;
    bool inside = false;
    if (engine_.terminals.embeds())
        for (const Parse& t : parses) {
            inside = inside || (t.embedded && t.embedded->names_token());
            lexemes_.inner_texts(t, [&](const Parse& begun) { inside = inside || begun.embedded->names_token(); });
        }
    return inside;
}

bool Runs::accepting(const Parses& parses) {
    return std::any_of(parses.begin(), parses.end(), [&](const Parse& t) { return lexemes_.may_end(t).value; });
}

std::array<uint64_t, 4> Runs::next_bytes(const Parses& parses) {
    ByteSet likely, out;
    if (engine_.spanner.lexer.policy() == Policy::kScannerless) likely = stepper_.likely_bytes(stepper_.lexer_states(parses));
    else likely.words.fill(~0ULL);
    Parses next;
    likely.each([&](uint8_t byte) {
        step(parses, byte, next);
        if (!next.empty()) out.set(byte);
    });
    return out.words;
}

}  // namespace derivable
