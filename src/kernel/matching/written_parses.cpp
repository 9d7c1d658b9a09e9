#include "matching/written_parses.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "parsing/written_stacks.hpp"
#include "support/errors.hpp"
#include "tokens/fewest_tokens.hpp"

namespace derivable {

namespace {

// Of things that parses share, each is written where it comes first. 0: there is none; 1: it follows; else how far it lies back.
template <class Ref>
class Shared {
  public:
    template <class Write>
    void write(PackedWriter& out, const Ref& ref, Write write) {
        if (!ref) return out.put(0);
        const auto known = std::find(all_.rbegin(), all_.rend(), ref);
        if (known != all_.rend()) return out.put(size_t(known - all_.rbegin()) + 2);
        out.put(1);
        write(*ref);
        all_.push_back(ref);
    }
    template <class Read>
    Ref read(PackedReader& in, Read read) {
        const uint64_t place = in.next();
        if (place == 0) return nullptr;
        if (place == 1) return all_.emplace_back(read());
        in.check(place - 2 < all_.size());
        return all_[all_.size() - 1 - size_t(place - 2)];
    }

  private:
    std::vector<Ref> all_;
};

void write_environment(Environments& all, Environment environment, PackedWriter& out) {
    if (all.indentations.active()) all.indentations.write(out, environment);
    else if (all.tallies.active()) all.tallies.write(out, environment);
}

Environment read_environment(Environments& all, PackedReader& in) {
    if (all.indentations.active()) return all.indentations.read(in);
    return all.tallies.active() ? all.tallies.read(in) : kNoEnvironment;
}

EmbeddedRef read_embedded(const Terminals& terminals, PackedReader& in) {
    const auto& all = terminals.languages();
    in.check(!all.empty());
    return all[in.below(all.size())]->read(in);
}

// A state of the meaning, and what was written of a name.
class WrittenNames {
  public:
    explicit WrittenNames(Constraint& constraint) : slots_(constraint.slots()), terminals_(constraint.terminals()) {}

    void write(PackedWriter& out, const Parse& t) {
        if (!slots_.active()) return;
        const auto known = std::find(states_.begin(), states_.end(), t.meaning);
        out.put(size_t(known - states_.begin()));
        if (known == states_.end()) {
            out.text(slots_.written(t.meaning));
            states_.push_back(t.meaning);
        }
        out.put(t.slot == Slots::kNone ? kEnd : slots_.symbol(t.slot));
        if (t.slot != Slots::kNone) out.text(slots_.text(t.slot));
    }
    void read(PackedReader& in, Parse& t) {
        if (!slots_.active()) return;
        const uint32_t number = in.below(states_.size() + 1);
        if (number == states_.size()) states_.push_back(slots_.restored(in.text()));
        t.meaning = states_[number];
        in.check(t.meaning != Meaning::kNone);
        const Symbol slot = in.below(terminals_.size());
        if (slot == kEnd) return;
        in.check(terminals_.is_slot(slot));
        t.slot = slots_.begin(t.meaning, slot);
        for (char c : in.text())
            if (t.slot != Slots::kNone) t.slot = slots_.step(t.slot, uint8_t(c));
        in.check(t.slot != Slots::kNone);
    }

  private:
    Slots& slots_;
    const Terminals& terminals_;
    std::vector<Meaning::State> states_;
};

bool has_future(Constraint& constraint, const Parse& t) {
    Lexemes& lexemes = constraint.lexemes();
    if (t.slot != Slots::kNone) {
        const Symbol slot = constraint.slots().symbol(t.slot);
        return constraint.stacks().contains(constraint.stacks().accepts(t.stack), slot);
    }
    return lexemes.alive(t) || lexemes.may_end(t).value;
}

}  // namespace

void write_parses(Constraint& constraint, const Parses& parses, PackedWriter& out) {
    const Terminals& terminals = constraint.terminals();
    StackWriter stacks(constraint.stacks());
    for (const Parse& t : parses) stacks.add(t.stack);
    stacks.write(out);
    Shared<WritingRef> writings;
    Shared<EmbeddedRef> texts;
    WrittenNames names(constraint);
    out.put(parses.size());
    for (const Parse& t : parses) {
        constraint.access().lexer().write(out, t.lex, [&](TerminalId id) { return terminals.symbol(id); });
        stacks.write(out, t.stack);
        write_environment(constraint.environments(), t.environment, out);
        names.write(out, t);
        if (terminals.has_distinct()) {
            writings.write(out, t.writing, [&](const Writing& writing) { writing.write(out); });
            const std::optional<uint32_t> ground = t.ground == kNoNode ? std::nullopt : stacks.number(t.ground);
            out.put(ground ? *ground + 1 : 0);
        }
        if (terminals.some_are_bounded()) out.put(t.tokens);
        if (!terminals.embeds()) continue;
        texts.write(out, t.embedded, [&](const EmbeddedText& text) {
            const auto& all = terminals.languages();
            const auto is_its = [&](const auto& language) { return language->symbol() == text.symbol(); };
            out.put(size_t(std::find_if(all.begin(), all.end(), is_its) - all.begin()));
            text.write(out);
        });
    }
}

Parses read_parses(Constraint& constraint, PackedReader& in) {
    const Terminals& terminals = constraint.terminals();
    const auto terminal = [&](uint64_t symbol) {
        in.check(symbol > 0 && symbol < terminals.size());
        return terminals.to_lexer(Symbol(symbol));
    };
    constraint.access().take();
    StackReader stacks(constraint.stacks(), in);
    Shared<WritingRef> writings;
    Shared<EmbeddedRef> texts;
    WrittenNames names(constraint);
    const size_t count = in.count();
    if (count > constraint.limits().max_parses)
        throw LimitExceeded("max_parses", count, constraint.limits().max_parses, "parses of the state of a matcher");
    Parses parses(count);
    for (Parse& t : parses) {
        t.lex = constraint.access().lexer().read(in, terminal);
        t.stack = stacks.frontier(in);
        t.environment = read_environment(constraint.environments(), in);
        names.read(in, t);
        if (terminals.has_distinct()) {
            t.writing = writings.read(in, [&] { return Writing::read(in); });
            const uint32_t ground = in.below(stacks.size() + 1);
            t.ground = ground ? stacks.node(ground - 1) : kNoNode;
            in.check(!ground || constraint.stacks().depth_of(t.ground, t.stack));
        }
        if (terminals.some_are_bounded()) t.tokens = in.below(UINT32_MAX);
        if (terminals.embeds()) t.embedded = texts.read(in, [&] { return read_embedded(terminals, in); });
        in.check(has_future(constraint, t));
    }
    return parses;
}

// What is left of it: units, each with the fewest tokens from there on.
void write_witness(const Witness& witness, PackedWriter& out) {
    out.put(bool(witness));
    if (!witness) return;
    const WitnessText& text = *witness.text;
    out.put(text.units.size() - witness.at);
    for (size_t i = witness.at; i < text.units.size(); i++) {
        const uint32_t unit = text.units[i];
        out.put(unit & WitnessText::kToken ? 0x100 + uint64_t(unit & ~WitnessText::kToken) : unit);
        out.put(uint32_t(text.counts[i] + 1));  // kNone: 0
    }
}

Witness read_witness(Constraint& constraint, const Parses& parses, PackedReader& in) {
    if (!in.flag()) return {};
    static_assert(FewestTokens::kNone + 1 == 0);
    const uint64_t bound = 0x100 + uint64_t(constraint.vocabulary().size());
    auto text = std::make_shared<WitnessText>();
    Parses at = parses, next;
    for (size_t n = in.count(2); n > 0; n--) {
        const uint32_t unit = in.below(bound);
        const bool is_token = unit >= 0x100;
        text->units.push_back(is_token ? WitnessText::kToken | (unit - 0x100) : unit);
        text->bytes.push_back(char(unit));
        text->counts.push_back(uint32_t(in.below(n + 2) - 1));
        next.clear();
        if (is_token) constraint.runs().step_token(at, unit - 0x100, next);
        else constraint.runs().step(at, uint8_t(unit), next);
        at.swap(next);
    }
    text->counts.push_back(0);
    in.check(text->counts[0] != FewestTokens::kNone && constraint.runs().accepting(at));
    return {std::move(text), 0};
}

}  // namespace derivable
