#include "matching/matcher.hpp"

#include <algorithm>
#include <set>

#include "masks/context.hpp"
#include "matching/written_parses.hpp"
#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

class Matcher::Use {
  public:
    explicit Use(const Matcher& m) : matcher_(m) {
        if (m.in_use_.exchange(true, std::memory_order_acquire)) throw UsedTwice();
    }
    ~Use() { matcher_.in_use_.store(false, std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

  private:
    const Matcher& matcher_;
};

template <class Act>
auto Matcher::operate(uint64_t allowed, Act act) {
    constexpr int64_t kSome = 4096;  // bytes
    Use use(*this);
    allowed += std::min(allowed, Task::kUnbounded >> 32) * std::min(refused_in_vain_, 1u << 16);
    for (bool again = false;; again = true) {
        Operation operation(constraint_->access(), allowed);
        const uint64_t further = constraint_->runs().times_further();
        try {
            if (again) constraint_->give_back();
            auto result = act(operation);
            refused_in_vain_ = 0;
            return result;
        } catch (const MemoryExceeded& e) {
            // Once more with what is free without all that can be made again.
            if (again || e.limit != std::string_view("cache_bytes")) throw;
        } catch (const LimitExceeded& e) {
            const bool in_vain = operation.unsettled_bytes() < kSome && constraint_->runs().times_further() == further;
            if (e.limit == "max_step_work" && in_vain) refused_in_vain_++;
            throw;
        }
    }
}

Matcher::Matcher(std::shared_ptr<Constraint> constraint, uint64_t max_tokens)
    : constraint_(std::move(constraint)),
      max_tokens_(max_tokens) {
    Operation operation(constraint_->access(), Task::kUnbounded);
    Standing first = start();
    place_ = constraint_->places.add(constraint_->moments);
    go_to(constraint_->moments.add(nullptr, std::move(first)));
}

Standing Matcher::start() {
    const Parses& initial = constraint_->initial();
    if (max_tokens_ == kNoBudget) return {initial};
    Witness witness = constraint_->witnesses().find(initial);
    const uint64_t least = constraint_->budget_masks().tokens(witness);
    if (least > max_tokens_)
        throw LimitExceeded("max_tokens", witness ? least : max_tokens_ + 1, max_tokens_,
                            witness ? "the shortest text that is known" : "no text is known that ends");
    return {initial, false, 0, constraint_->budget_masks().free_steps(initial, max_tokens_), std::move(witness)};
}

Matcher::Matcher(std::shared_ptr<Constraint> constraint, std::string_view state)
    : constraint_(std::move(constraint)),
      max_tokens_(kNoBudget) {
    constexpr uint64_t kOfByte = 200, kMostSteps = 1u << 31;  // work
    Operation operation(constraint_->access(), constraint_->limits().max_step_work + kOfByte * state.size());
    PackedReader in(state);
    Standing now;
    const uint32_t length = in.below(kMostSteps);
    now.finished = in.flag();
    now.parses = read_parses(*constraint_, in);
    in.check(now.finished || !now.parses.empty());
    if (in.flag()) {
        max_tokens_ = in.next(), now.spent = in.next(), now.free_steps = in.next();
        in.check(max_tokens_ < UINT64_MAX / 2 && now.spent <= max_tokens_ && now.free_steps <= left(now.spent));
        now.witness = read_witness(*constraint_, now.parses, in);
    }
    in.check_at_end();
    place_ = constraint_->places.add(constraint_->moments);
    go_to(constraint_->moments.add(nullptr, std::move(now), length));
}

std::string Matcher::to_bytes(bool with_budget) {
    return operate(Task::kUnbounded, [&](Operation&) {
        PackedWriter out;
        out.put(now()->length);
        out.put(now()->finished);
        write_parses(*constraint_, now()->parses, out);
        const bool has_budget = with_budget && max_tokens_ != kNoBudget;
        out.put(has_budget);
        if (has_budget) {
            out.put(max_tokens_), out.put(now()->spent), out.put(now()->free_steps);
            write_witness(now()->witness, out);
        }
        return out.bytes();
    });
}

Matcher::Matcher(const Matcher& other) : constraint_(other.constraint_), max_tokens_(other.max_tokens_) {
    Use use(other);
    Operation operation(constraint_->access(), Task::kUnbounded);
    place_ = constraint_->places.add(constraint_->moments);
    go_to(other.now());
}

void Matcher::go_to(const Moment* moment) {
    if (moment) moment->references++;
    if (now()) constraint_->moments.let_go(now());
    place_->now = moment;
}

bool Matcher::finished() const {
    Use use(*this);
    return now()->finished;
}

uint32_t Matcher::length() const {
    Use use(*this);
    return now()->length;
}

bool Matcher::is_eos(uint32_t token) const {
    const auto& eos = constraint_->vocabulary().eos;
    return std::find(eos.begin(), eos.end(), token) != eos.end();
}

Matcher::Verdict Matcher::after(const Standing& from, uint32_t token, Standing& next) {
    next.parses.clear();
    next.finished = false;
    if (token >= constraint_->vocabulary().size()) return Verdict::kOutOfRange;
    if (from.finished && from.parses.empty()) return Verdict::kRejected;
    // One token may be several things: the end, a terminal that the grammar names, and text.
    next.finished = is_eos(token) && constraint_->runs().accepting(from.parses);
    const std::string& bytes = constraint_->vocabulary().bytes[token];
    if (!bytes.empty()) constraint_->runs().advance_token(from.parses, bytes, next.parses);
    constraint_->runs().step_token(from.parses, token, next.parses);
    return next.finished || !next.parses.empty() ? Verdict::kAccepted : Verdict::kRejected;
}

Matcher::Verdict Matcher::take(const Standing& from, uint32_t token, Standing& next) {
    const Verdict v = after(from, token, next);
    if (v != Verdict::kAccepted || max_tokens_ == kNoBudget) return v;
    Witness rest = from.witness ? from.witness.behind(token, constraint_->vocabulary().bytes[token]) : Witness();
    BudgetMasks& masks = constraint_->budget_masks();
    if (!from.free_steps && !next.finished && masks.is_by_names(from.parses)) {
        if (!masks.allows(from.parses, token, left(from.spent), from.witness)) return Verdict::kTooLong;
        keeps_budget(from, 1, std::move(rest), true, next);
        return v;
    }
    if (keeps_budget(from, 1, std::move(rest), false, next)) return v;
    if (constraint_->budget_masks().is_sure(from.parses, token, left(from.spent))) return v;
    // A mask may know more of the token than where it leads says: there texts that were read in several ways have become one.
    next.witness = constraint_->budget_masks().behind(token, from.parses, left(from.spent));
    return constraint_->budget_masks().tokens(next.witness) <= left(next.spent) ? v : Verdict::kTooLong;
}

bool Matcher::keeps_budget(const Standing& from, uint64_t tokens, Witness rest, bool is_allowed, Standing& next) {
    // PERF: where it decides nothing a witness is only a way that stays allowed. Some are not found within any bound: behind `SELECT p.state FROM a g JOIN b ON b`,
    // where `p` is still to be a table, each step with a budget was refused, however often it was asked for.
    constexpr uint64_t kSearch = 500'000;
    BudgetMasks& masks = constraint_->budget_masks();
    next.spent = from.spent + tokens;
    next.witness = {};
    next.free_steps = from.free_steps > tokens ? from.free_steps - tokens : 0;
    if (next.finished) return next.spent <= max_tokens_;
    if (next.free_steps) return true;
    next.free_steps = masks.free_steps(next.parses, left(next.spent));
    if (next.free_steps) return true;
    if (masks.tokens(rest) <= left(next.spent)) {
        next.witness = std::move(rest);
        return true;
    }
    const auto find = [&] { next.witness = constraint_->witnesses().find(next.parses); };
    if (is_allowed || from.free_steps || masks.is_enough(next.parses, left(next.spent))) {
        done_within(kSearch, find);
        return true;
    }
    find();
    return masks.tokens(next.witness) <= left(next.spent);
}

Matcher::Verdict Matcher::advance(uint32_t token) {
    return operate([&](Operation&) {
        constraint_->collect_if_needed();
        Standing next;
        const Verdict v = take(*now(), token, next);
        if (v == Verdict::kAccepted) push(std::move(next));
        return v;
    });
}

Matcher::Verdict Matcher::advance_bytes(std::string_view bytes) {
    constexpr uint64_t kOfByte = 200;  // work of a byte, where there are many
    return operate(constraint_->limits().max_step_work + kOfByte * bytes.size(), [&](Operation&) {
        constraint_->collect_if_needed();
        if (now()->finished && now()->parses.empty() && !bytes.empty()) return Verdict::kRejected;
        Standing next;
        if (!constraint_->runs().advance(now()->parses, bytes, next.parses)) return Verdict::kRejected;
        next.finished = now()->finished && bytes.empty();
        if (max_tokens_ != kNoBudget) {
            const uint64_t tokens = bytes.empty() ? 0 : constraint_->witnesses().tokens_of_bytes(bytes);
            Witness rest = bytes.empty() ? now()->witness : now()->witness ? now()->witness.behind(bytes) : Witness();
            if (!keeps_budget(*now(), tokens, std::move(rest), false, next)) return Verdict::kTooLong;
        }
        push(std::move(next));
        return Verdict::kAccepted;
    });
}

bool Matcher::allows(uint32_t token) {
    return operate([&](Operation&) {
        Standing next;
        return take(*now(), token, next) == Verdict::kAccepted;
    });
}

uint32_t Matcher::count_valid(const std::vector<uint32_t>& tokens) {
    return operate([&](Operation& operation) {
        Standing at = *now(), next;
        uint32_t n = 0;
        while (n < tokens.size() && take(at, tokens[n], next) == Verdict::kAccepted) {
            std::swap(at, next);
            n++;
            operation.allow(constraint_->limits().max_step_work);
        }
        return n;
    });
}

std::vector<uint8_t> Matcher::spells(const std::vector<std::string_view>& texts) {
    return operate([&](Operation& operation) {
        constraint_->collect_if_needed();
        std::vector<uint8_t> found;
        Parses next;
        for (std::string_view text : texts) {
            operation.allow(constraint_->limits().max_step_work);
            const bool fits = !now()->finished && constraint_->runs().advance(now()->parses, text, next);
            found.push_back(!fits ? 0 : constraint_->runs().accepting(next) ? 2 : 1);
        }
        return found;
    });
}

uint64_t Matcher::tokens_left() const {
    Use use(*this);
    return max_tokens_ == kNoBudget ? kNoBudget : left(now()->spent);
}

uint64_t Matcher::least_tokens() {
    if (max_tokens_ == kNoBudget) return kNoBudget;
    return operate([&](Operation&) -> uint64_t {
        if (now()->finished) return 0;
        const Witness& known = now()->witness;
        return constraint_->budget_masks().tokens(known ? known : constraint_->witnesses().find(now()->parses));
    });
}

bool Matcher::rollback(uint64_t count) {
    return operate([&](Operation&) {
        if (count > now()->length) return false;
        const Moment* to = now();
        for (; count > 0 && to->before; count--) to = to->before;
        if (count == 0) go_to(to);
        return count == 0;
    });
}

uint32_t Matcher::steps_back() const {
    Use use(*this);
    Operation operation(constraint_->access(), Task::kUnbounded);
    const Moment* first = now();
    while (first->before) first = first->before;
    return now()->length - first->length;
}

void Matcher::reset() {
    operate([&](Operation&) {
        const Moment* to = now();
        while (to->before) to = to->before;
        go_to(to->length == 0 ? to : constraint_->moments.add(nullptr, start()));  // where it was resumed is not the start
        return true;
    });
}

void Matcher::fill(uint32_t* mask) {
    operate([&](Operation&) {
        if (max_tokens_ == kNoBudget || now()->free_steps) constraint_->masks().fill(now()->parses, mask);
        else constraint_->budget_masks().fill(now()->parses, left(now()->spent), now()->witness, mask);
        return true;
    });
}

bool Matcher::knows_mask() {
    return operate([&](Operation&) {
        MaskCache& cache = constraint_->masks().cache();
        const Parses& parses = now()->parses;
        if (max_tokens_ != kNoBudget && !now()->free_steps && !constraint_->budget_masks().suffices(parses, left(now()->spent)))
            return false;
        if (constraint_->runs().bounds().may_refuse(parses) || constraint_->terminals().embeds() || constraint_->slots().active())
            return false;
        return std::all_of(parses.begin(), parses.end(), [&](const Parse& t) { return !t.writing && cache.find(t); });
    });
}

void Matcher::learn_mask() {
    operate([&](Operation&) {
        for (const Parse& t : now()->parses)
            if (!t.embedded && t.slot == Slots::kNone) constraint_->masks().learn(t);
        return true;
    });
}

int64_t Matcher::mask_number() {
    return operate([&](Operation&) {
        const Parses& parses = now()->parses;
        if (now()->finished) return parses.empty() ? kEnded : kNoNumber;
        const bool is_whole =
            max_tokens_ == kNoBudget || now()->free_steps || constraint_->budget_masks().suffices(parses, left(now()->spent));
        return is_whole ? constraint_->masks().number(parses) : kNoNumber;
    });
}

bool Matcher::accepting() {
    return operate([&](Operation&) { return now()->finished || constraint_->runs().accepting(now()->parses); });
}

std::array<uint64_t, 4> Matcher::next_bytes() {
    return operate([&](Operation&) { return constraint_->runs().next_bytes(now()->parses); });
}

std::string Matcher::forced_bytes(size_t max_length) {
    return operate([&](Operation& operation) {
        std::string out;
        Parses parses = constraint_->lexemes().members().in_order(now()->parses), next;
        while (out.size() < max_length && !parses.empty() && !constraint_->runs().accepting(parses) &&
               !constraint_->runs().names_token(parses)) {
            int only = -1, count = 0;
            for (int b = 0; b < 256 && count < 2; b++) {  // PERF: usually there is a second one soon
                constraint_->runs().step(parses, uint8_t(b), next, true);
                if (!next.empty()) only = b, count++;
            }
            if (count != 1) break;
            constraint_->runs().step(parses, uint8_t(only), next, true);
            parses.swap(next);
            out.push_back(char(only));
            operation.allow(constraint_->limits().max_step_work / 256);
        }
        return out;
    });
}

std::vector<NamesHere> Matcher::names_here(size_t most) {
    return operate([&](Operation&) { return derivable::names_here(*constraint_, now()->parses, most); });
}

std::string Matcher::situation(int64_t hops) {
    std::vector<std::vector<uint32_t>> parses;
    operate([&](Operation&) {
        const Stacks& stacks = constraint_->stacks();
        for (const Parse& t : now()->parses) {
            std::vector<uint32_t>& words = parses.emplace_back(1, t.lex.index());
            if (t.embedded) {
                const uint64_t inner = t.embedded->context(hops);
                words.insert(words.end(), {t.embedded->symbol(), uint32_t(inner), uint32_t(inner >> 32)});
            }
            stacks.each_level(t.stack, hops, [&](const std::vector<NodeId>& level) {
                std::set<LrState> states;
                for (NodeId n : level) states.insert(stacks.state(n));
                words.push_back(~0u);
                for (LrState state : states) words.push_back(state.index());
            });
        }
        return true;
    });
    std::sort(parses.begin(), parses.end());
    std::string out;
    for (const auto& words : parses) {
        uint32_t count = uint32_t(words.size());
        out.append(reinterpret_cast<const char*>(&count), sizeof count);
        out.append(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t));
    }
    return out;
}

bool Matcher::same_place(const Matcher& other) {
    if (this == &other) return true;
    if (constraint_ != other.constraint_) return false;
    Use use(other);
    return operate([&](Operation&) {
        const Parses &mine = now()->parses, &others = other.now()->parses;
        return now()->finished == other.now()->finished && mine.size() == others.size() &&
               std::is_permutation(mine.begin(), mine.end(), others.begin());
    });
}

uint64_t Matcher::context(int64_t hops) {
    return operate([&](Operation&) {
        return derivable::context(constraint_->access().lexer(), constraint_->terminals(), constraint_->stacks(), now()->parses, hops);
    });
}

std::vector<SpanView> Matcher::unfold(uint64_t most) {
    return operate([&](Operation&) { return derivable::unfold(*constraint_, now()->parses, most); });
}

KeysView Matcher::index_keys(Symbol terminal, const KeyBounds& bounds) {
    return operate([&](Operation&) { return keys(*constraint_, now()->parses, terminal, bounds); });
}

std::vector<Explanation> Matcher::explain() {
    return operate([&](Operation&) { return derivable::explain(*constraint_, now()->parses); });
}

}  // namespace derivable
