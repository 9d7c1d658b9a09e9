#include "liveness/regions.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "support/task.hpp"

namespace derivable {

namespace {
constexpr size_t kMaxOpeners = 60, kMaxCalls = 20'000, kMaxKinds = 12;
constexpr uint8_t kMaxBelow = 4;
}  // namespace

Regions::Set Regions::after(Set before, Symbol terminal) const {
    Set out = 0;
    for (auto [from, to] : parts_.after[terminal])
        if (before >> from & 1) out |= to;
    return out;
}

namespace {

// Reads all that the grammar derives with the stack of some kinds of brackets.
//
// Of the stack only what a symbol may look at is kept, a byte for each bracket that is open, the innermost one lowest: `kBottom` where none is,
// nothing above that.
class RegionFinder {
  public:
    RegionFinder(Productions& productions, const std::vector<Brackets>& kinds)
        : ps_(productions),
          opens_(ps_.num_terminals() + 1, 0),
          closes_(ps_.num_terminals() + 1, 0),
          below_(ps_.num_symbols() + 1, 0) {
        uint8_t next = kBottom;
        for (const Brackets& kind : kinds) {
            if (next - kBottom + kind.openers.size() > kMaxOpeners) break;
            uint64_t openers = 0;
            for (Symbol t : kind.openers) opens_[t] = ++next, openers |= uint64_t(1) << next;
            for (Symbol t : kind.closers) closes_[t] = openers;
        }
        num_tops_ = next + 1u;
    }

    // Whether the brackets nest in all that the grammar derives.
    bool fits() {
        for (;;) {
            calls_.clear(), ids_ = {};
            const std::optional<bool> done = settle();
            if (done) return *done;
        }
    }

    // After fits().
    std::unique_ptr<const Regions> regions() {
        const uint32_t terminals = ps_.num_terminals() + 1;
        std::vector<Bits> acceptable(num_tops_, Bits(terminals));
        std::vector<std::vector<std::pair<uint8_t, uint8_t>>> steps(terminals);
        std::vector<std::vector<uint64_t>> at(ps_.size());
        for (uint32_t i = 0; i < ps_.size(); i++) at[i].assign(ps_[i].body.size() + 1, 0);
        auto follow = [&](Stack stack, const std::vector<Symbol>& body, std::vector<uint64_t>* dots) {
            for (size_t k = 0; k <= body.size(); k++) {
                work(4);
                if (dots) (*dots)[k] |= uint64_t(1) << top(stack);
                if (k == body.size()) return;
                const uint8_t before = top(stack);
                if (!read(stack, body[k], nullptr)) return;
                if (!ps_.is_terminal(body[k])) continue;
                acceptable[before].add(body[k]);
                steps[body[k]].emplace_back(before, top(stack));
            }
        };
        for (const Call& call : std::vector<Call>(calls_)) {
            for (Symbol u : ps_.units(call.symbol)) follow(call.stack, {u}, nullptr);
            for (uint32_t i : ps_.of(call.symbol)) follow(call.stack, ps_[i].body, &at[i]);
        }
        follow(kBottom, ps_[0].body, &at[0]);
        if (ps_.start_nullable()) acceptable[kBottom].add(kEnd);
        return merged(acceptable, steps, at);
    }

  private:
    using Stack = uint64_t;
    static constexpr uint8_t kBottom = 1;
    struct Call {
        Symbol symbol;
        Stack stack, after;  // 0: not known
    };
    static uint8_t top(Stack stack) { return uint8_t(stack); }
    static uint32_t size(Stack stack) {
        uint32_t n = 0;
        for (; stack; stack >>= 8) n++;
        return n;
    }
    // The upper part that a symbol may look at; 0: so much of the stack is not known here.
    Stack seen_by(Symbol s, Stack stack) const {
        const uint32_t n = below_[s] + 1u, known = size(stack);
        if (n < known) return stack & ((Stack(1) << 8 * n) - 1);
        return n == known || stack >> 8 * (known - 1) == kBottom ? stack : 0;
    }

    enum class Outcome : uint8_t { kDone, kOpen, kWrong, kShort };
    bool read(Stack& stack, Symbol s, Outcome* outcome) {
        auto end = [&](Outcome o) {
            if (outcome) *outcome = o;
            return false;
        };
        if (ps_.is_terminal(s)) {
            const uint8_t open = top(stack);
            if (closes_[s] && (closes_[s] >> open & 1)) {
                stack >>= 8;
                return stack ? true : end(Outcome::kShort);
            }
            if (opens_[s]) {
                if (stack >> 56) return end(Outcome::kWrong);
                stack = stack << 8 | opens_[s];
                return true;
            }
            return closes_[s] ? end(Outcome::kWrong) : true;
        }
        const Stack seen = seen_by(s, stack);
        if (!seen) return end(Outcome::kShort);
        const Stack after = calls_[call(s, seen)].after;
        if (!after) return end(Outcome::kOpen);
        const uint32_t n = size(seen), grown = size(after);
        const Stack rest = n < 8 ? stack >> 8 * n : 0;
        if (grown + size(rest) > 8) return end(Outcome::kWrong);
        stack = (grown < 8 ? rest << 8 * grown : 0) | after;
        return true;
    }
    uint32_t call(Symbol s, Stack seen) {
        auto [it, fresh] = ids_.try_emplace({s, seen}, uint32_t(calls_.size()));
        if (fresh) calls_.push_back({s, seen, 0});
        return it->second;
    }
    // None: some symbol looks further down than was known.
    std::optional<bool> settle() {
        call(ps_[0].body[0], kBottom);
        for (bool changed = true; changed;) {
            changed = false;
            for (uint32_t i = 0; i < calls_.size(); i++) {
                if (calls_.size() > kMaxCalls) return false;
                const Call given = calls_[i];
                if (ps_.is_terminal(given.symbol)) continue;
                auto along = [&](const std::vector<Symbol>& body) {
                    work(3 * body.size());
                    Stack stack = given.stack;
                    Outcome outcome = Outcome::kDone;
                    for (Symbol s : body)
                        if (!read(stack, s, &outcome)) break;
                    if (outcome != Outcome::kDone) return outcome;
                    Stack& after = calls_[i].after;
                    if (after && after != stack) return Outcome::kWrong;
                    changed = changed || !after;
                    after = stack;
                    return Outcome::kDone;
                };
                const size_t before = calls_.size();
                auto take = [&](Outcome outcome) -> std::optional<bool> {
                    if (outcome == Outcome::kWrong) return false;
                    if (outcome == Outcome::kShort && ++below_[given.symbol] > kMaxBelow) return false;
                    return true;
                };
                for (Symbol u : ps_.units(given.symbol)) {
                    const Outcome outcome = along({u});
                    if (!*take(outcome)) return false;
                    if (outcome == Outcome::kShort) return std::nullopt;
                }
                for (uint32_t p : ps_.of(given.symbol)) {
                    const Outcome outcome = along(ps_[p].body);
                    if (!*take(outcome)) return false;
                    if (outcome == Outcome::kShort) return std::nullopt;
                }
                changed = changed || calls_.size() > before;
            }
        }
        return calls_[0].after == kBottom;
    }

    // Those in which mostly the same terminals can come are one. What stays apart is what would hinder each other.
    std::unique_ptr<const Regions> merged(const std::vector<Bits>& acceptable,
                                          const std::vector<std::vector<std::pair<uint8_t, uint8_t>>>& steps,
                                          const std::vector<std::vector<uint64_t>>& at) const {
        auto count = [](const Bits& b) {
            int n = 0;
            for (uint64_t w : b.words()) n += __builtin_popcountll(w);
            return n;
        };
        Regions::Parts out;
        const auto size = [&] { return uint32_t(out.acceptable.size()); };
        std::vector<uint32_t> region(num_tops_, 0);
        for (uint32_t i = kBottom; i < num_tops_; i++) {
            if (!count(acceptable[i])) continue;
            uint32_t found = size();
            for (uint32_t r = 0; r < size() && found == size(); r++) {
                Bits both = out.acceptable[r];
                both.keep(acceptable[i]);
                if (2 * count(both) > std::min(count(acceptable[i]), count(out.acceptable[r]))) found = r;
            }
            if (found == size()) out.acceptable.push_back(acceptable[i]);
            else out.acceptable[found].add_all(acceptable[i]);
            region[i] = found;
        }
        if (size() < 2) return nullptr;
        auto regions_of = [&](uint64_t tops) {
            Regions::Set set = 0;
            for (uint32_t i = kBottom; i < num_tops_; i++)
                if (tops >> i & 1) set |= Regions::Set(1) << region[i];
            return set;
        };
        out.after.resize(steps.size());
        for (Symbol t = 0; t < steps.size(); t++) {
            std::vector<Regions::Set> after(size(), 0);
            for (auto [from, to] : steps[t]) after[region[from]] |= Regions::Set(1) << region[to];
            for (uint32_t r = 0; r < size(); r++)
                if (after[r]) out.after[t].emplace_back(r, after[r]);
        }
        for (const std::vector<uint64_t>& dots : at) {
            out.at.emplace_back();
            for (uint64_t tops : dots) out.at.back().push_back(regions_of(tops));
        }
        return std::make_unique<const Regions>(std::move(out));
    }

    Productions& ps_;
    std::vector<uint8_t> opens_;    // by terminal: the bracket that it pushes, or 0
    std::vector<uint64_t> closes_;  // by terminal: the brackets that it pops
    std::vector<uint8_t> below_;    // by symbol: how far below the innermost bracket it looks
    uint32_t num_tops_ = 0;
    std::vector<Call> calls_;
    struct HashCall {
        size_t operator()(const std::pair<Symbol, Stack>& c) const { return MixHash()(c.second * 0x9E3779B97F4A7C15ULL + c.first); }
    };
    std::unordered_map<std::pair<Symbol, Stack>, uint32_t, HashCall> ids_;
};

}  // namespace

std::unique_ptr<const Regions> Regions::find(Productions& productions, const Bits& short_terminals) {
    std::vector<Brackets> kinds = find_brackets(productions, short_terminals);
    if (kinds.empty()) return nullptr;
    RegionFinder all(productions, kinds);
    if (all.fits()) return all.regions();
    // Not all nest, or they are too many: those that do so with the ones before.
    std::vector<Brackets> kept;
    for (size_t i = 0; i < std::min(kinds.size(), kMaxKinds); i++) {
        kept.push_back(std::move(kinds[i]));
        if (!RegionFinder(productions, kept).fits()) kept.pop_back();
    }
    if (kept.empty()) return nullptr;
    RegionFinder some(productions, kept);
    return some.fits() ? some.regions() : nullptr;
}

}  // namespace derivable
