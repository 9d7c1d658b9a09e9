#include "matching/explore.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "support/errors.hpp"
#include "support/image.hpp"
#include "support/task.hpp"

namespace derivable {

uint64_t Explorer::found() const {
    uint64_t all = visited_;
    for (const auto& queue : waiting_) all += queue.size();
    return all;
}

// By how much of the parser tells situations apart, from nothing on. Two with one key are taken for one, and the second is not visited: nothing
// depends on it.
Explorer::Keys Explorer::keys_of(const Parses& parses) {
    constexpr uint64_t kOne = 60;
    work(kOne * parses.size());
    Keys all{};
    Stacks& stacks = constraint_->stacks();
    for (const Parse& t : parses) {
        std::array<uint64_t, kKeys> of_parse;
        of_parse.fill(mix(t.lex.index()));
        auto add = [&](bool are_known) {
            if (!are_known) words_.clear();
            for (size_t k = 1; k < kKeys; k++)
                for (size_t i = 0; i < std::min(k, words_.size()); i++) of_parse[k] = mix(of_parse[k] ^ words_[i]);
        };
        const MaskCache::Endings endings = constraint_->masks().maker().endings(t);
        for (const auto& ending : endings) add(stacks.future(ending.after.stack, Reach::kDeep, kKeys - 1, false, words_, looked_));
        if (!endings.size) add(stacks.signature(t.stack, kKeys - 2, words_));
        for (size_t k = 0; k < kKeys; k++) all[k] += mix(of_parse[k] + k);  // in whatever order
    }
    for (uint64_t& key : all) key >>= 1;  // none is FlatMap's kNoKey
    return all;
}

Explorer::Keys Explorer::keys_of(const Matcher& m) {
    Operation operation(constraint_->access(), Task::kUnbounded);
    return keys_of(m.parses());
}

void Explorer::meet(std::unique_ptr<Matcher> matcher, uint32_t from, uint32_t step, Way way) {
    const Keys keys = keys_of(*matcher);
    meet(std::move(matcher), from, step, way, keys);
}

void Explorer::meet(std::unique_ptr<Matcher> matcher, uint32_t from, uint32_t step, Way way, const Keys& keys) {
    if (known_.find(keys.back())) return;
    size_t first = kKeys;
    for (size_t k = kKeys; k-- > 0;)
        if (!know(keys[k])) first = k;
    waiting_[way.free > kLongText ? kKeys : first].push_back({std::move(matcher), from, step, way});
}

// Pieces of literals, and bytes beside them, that lead to situations not met before, one of those that lead to the same: but no escapes, and no
// other bytes of characters of several. All those are nearly all of the situations of a schema (five ways to spell each
// character of a name, twenty places within a character in each string), and models seldom write them.
//
// PERF: in the middle of a string nearly all bytes lead to the same situation, so what stands behind them is looked at before a matcher is
// made for it. And bytes that lead each lexeme, in progress or about to begin, to the same state are stepped once: steps of the parser were half of
// compiling schemas.
std::vector<Explorer::Step> Explorer::fresh_steps(const Matcher& m, Literals::Place literal) {
    struct Met {
        Keys keys;
        uint32_t bytes;  // that lead there
        std::string first;
        bool is_fresh;
    };
    std::vector<Met> met;
    Operation operation(constraint_->access(), constraint_->limits().max_step_work);
    const Parses& parses = m.parses();
    const bool scannerless = constraint_->spanner().lexer.policy() == Policy::kScannerless;
    const bool inside = parses.size() == 1 && !parses[0].writing && !constraint_->access().lexer().accepts(parses[0].lex);
    std::vector<LexState> states;
    ByteSet likely;
    likely.words.fill(~0ULL);
    if (scannerless) likely = constraint_->runs().likely_bytes(states = constraint_->runs().lexer_states(parses));
    else if (inside) states = {parses[0].lex};
    std::vector<std::pair<uint64_t, size_t>> led_to;  // by where the lexer states lead
    Parses from, next;
    auto place = [&](std::string_view text) -> size_t {
        from = parses;
        for (char byte : text) {
            constraint_->runs().step(from, uint8_t(byte), next);
            if (next.empty()) return kNowhere;
            from.swap(next);
        }
        const Keys keys = keys_of(from);
        const auto known = std::find_if(met.begin(), met.end(), [&](const Met& x) { return x.keys.back() == keys.back(); });
        if (known != met.end()) return size_t(known - met.begin());
        met.push_back({keys, 0, std::string(text), !known_.find(keys.back())});
        return met.size() - 1;
    };
    auto leads_on = [&](std::string_view text) {
        constraint_->access().pass();
        // Within a piece the next lexeme may begin.
        const bool is_told = inside || (scannerless && text.size() == 1);
        bool goes_on = !is_told;
        uint64_t key = 0;
        for (size_t k = 0; is_told && k < states.size(); k++) {
            LexState to = states[k];
            for (size_t i = 0; i < text.size() && to != kNoState; i++) to = constraint_->access().lexer().step(to, uint8_t(text[i]));
            key = mix(key ^ to.index());
            goes_on |= to != kNoState;
        }
        if (!goes_on) return false;
        auto known = std::find_if(led_to.begin(), led_to.end(), [&](const auto& x) { return is_told && x.first == key; });
        if (known == led_to.end()) known = led_to.insert(known, {is_told ? key : FlatMap<bool>::kNoKey, place(text)});
        if (known->second == kNowhere) return false;
        met[known->second].bytes++;
        return true;
    };
    ByteSet begun;  // by a piece
    for (const std::string& piece : literals_.pieces(literal))
        if (const auto first = uint8_t(piece[0]); likely[first] && leads_on(piece)) begun.set(first);
    likely.words[2] = likely.words[3] = 0;
    likely.each([&](uint8_t byte) {
        const char c = char(byte);
        if ((byte != '\\' || !scannerless) && !begun[byte]) leads_on({&c, 1});
    });
    constexpr uint32_t kFew = 6;
    std::vector<Step> out;
    for (Met& x : met)
        if (x.is_fresh) out.push_back({std::move(x.first), x.bytes > kFew, x.keys});
    return out;
}

void Explorer::note_taken(const Keys& from, uint32_t token, const Keys& to) {
    std::vector<Taken>& all = taken_[from[0]];
    const bool is_like_one = std::any_of(all.begin(), all.end(), [&](const Taken& t) { return t.to == to[1] || t.token == token; });
    if (!is_like_one) all.push_back({to[1], token});
}

std::vector<uint32_t> Explorer::tokens_at(const Matcher& m) {
    std::vector<uint32_t> tokens = tokens_;
    if (taken_.empty()) return tokens;
    if (const auto known = taken_.find(keys_of(m)[0]); known != taken_.end())
        for (const Taken& t : known->second) tokens.push_back(t.token);
    return tokens;
}

uint32_t Explorer::note(Matcher& m, uint32_t from, uint32_t step) {
    return visits_->add(from, step, complete([&] { m.learn_mask(); }));
}

void Explorer::visit_one(Waiting& w, Kind kind, const Bounds& bounds) {
    Matcher& m = *w.matcher;
    visited_++;
    work(kVisit);
    std::vector<Step> steps;
    const bool has_room = found() < bounds.known;
    // PERF: tokens find so many situations that there was no room for bytes, which alone find lexer states that no text was in: masks of 2 to 3 ms.
    if (has_room || w.step == kNoted || kind == kByTop) complete([&] { steps = fresh_steps(m, w.way.literal); });
    const uint32_t here = w.step == kNoted ? w.from : note(m, w.from, w.step);
    auto go = [&](auto advance) {
        auto after = std::make_unique<Matcher>(m);
        bool accepted = false;
        return complete([&] { accepted = advance(*after); }) && accepted ? std::move(after) : nullptr;
    };
    for (const Step& step : steps) {
        auto after = go([&](Matcher& x) { return x.advance_bytes(step.bytes) == Matcher::Verdict::kAccepted; });
        if (!after) continue;
        Way way{w.way.literal, step.is_free ? w.way.free + 1 : 0};
        uint32_t from = here;
        for (size_t i = 0; i < step.bytes.size(); i++) {
            way.literal = literals_.after(way.literal, uint8_t(step.bytes[i]));
            if (i) from = visits_->add(from, uint8_t(step.bytes[i - 1]), false);
        }
        meet(std::move(after), from, uint8_t(step.bytes.back()), way, step.keys);
    }
    if (!has_room) return;
    for (uint32_t token : tokens_at(m))
        if (auto after = go([&](Matcher& x) { return x.advance(token) == Matcher::Verdict::kAccepted; }))
            meet(std::move(after), here, Visits::kToken + token, {});
}

Explorer::End Explorer::follow(const std::vector<uint32_t>& tokens, double seconds, uint64_t bytes, uint64_t worth) {
    Task task(Task::kUnbounded, {}, seconds);
    task.enter();
    Matcher m(constraint_);
    Way way;
    uint32_t from = Visits::kStart, step = 0;
    Keys before{};
    try {
        for (size_t i = 0;; i++) {
            task.look();
            if (worth && task.spent() > worth) return End::kEnough;
            if (constraint_->access().run_bytes() > bytes) return End::kMemory;
            followed_++;
            work(kVisit);
            from = note(m, from, step);
            const Keys keys = keys_of(m);
            if (i) note_taken(before, tokens[i - 1], keys);
            before = keys;
            if (!known_.find(keys.back())) meet(std::make_unique<Matcher>(m), from, kNoted, way, keys);
            if (i == tokens.size()) return End::kNone;
            bool accepted = false;
            const bool done = complete([&] { accepted = m.advance(tokens[i]) == Matcher::Verdict::kAccepted; });
            if (!done || !accepted) return End::kNone;
            step = Visits::kToken + tokens[i];
            for (char byte : constraint_->vocabulary().bytes[tokens[i]]) way.literal = literals_.after(way.literal, uint8_t(byte));
        }
    } catch (const TimeIsUp&) { return End::kTime; } catch (const MemoryExceeded&) {
        return End::kMemory;
    }
}

std::vector<uint32_t> Explorer::cut(std::string_view text) const {
    Task task(Task::kUnbounded);
    task.enter();
    std::vector<uint32_t> tokens;
    for (const std::string& piece : byte_pairs_.cut(text))
        if (const uint32_t token = byte_pairs_.token_of(piece); token != BytePairs::kNoToken) tokens.push_back(token);
    return tokens;
}

bool Explorer::is_enough(Kind kind, const Bounds& bounds) const {
    constexpr uint64_t kLeast = 100'000;  // units of work, about 0.5 ms
    return spent_[kByTop] + spent_[kBelow] > bounds.worth ||
           (kind == kBelow && spent_[kBelow] > std::max(kLeast, uint64_t(double(spent_[kByTop]) * bounds.below)));
}

Explorer::End Explorer::visit(const Bounds& bounds) {
    Task task(Task::kUnbounded, {}, bounds.seconds);
    task.enter();
    for (uint64_t i = 0; i < bounds.most; i++) {
        size_t first = 0;
        End end = End::kNone;
        for (; first < waiting_.size(); first++) {
            if (waiting_[first].empty()) continue;
            if (!bounds.worth || !is_enough(kind_of(first), bounds)) break;
            end = End::kEnough;
        }
        if (first == waiting_.size()) return end;
        auto& queue = waiting_[first];
        if (constraint_->access().run_bytes() > bounds.bytes) return End::kMemory;
        const uint64_t before = task.spent();
        Waiting next = std::move(queue.front());
        queue.pop_front();
        try {
            task.look();
            visit_one(next, kind_of(first), bounds);
            spent_[kind_of(first)] += task.spent() - before;
        } catch (const TimeIsUp&) {  // what was found out is kept, and asking again goes on from there
            queue.push_front(std::move(next));
            return End::kTime;
        } catch (const MemoryExceeded&) { return End::kMemory; }
    }
    return End::kMost;
}

}  // namespace derivable
