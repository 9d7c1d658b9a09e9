#include "python/read_plan.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "parsing/rules.hpp"
#include "python/buffers.hpp"
#include "support/errors.hpp"
#include "support/image.hpp"

namespace nb = nanobind;

namespace derivable {

namespace {

[[noreturn]] void refuse(const std::string& what) { throw BadGrammar(what, "This is a bug in the lowering."); }

template <class T>
T part(nb::handle object, const char* name) {
    T value;
    if (!nb::try_cast(object.attr(name), value))
        throw nb::type_error((std::string("the plan's `") + name + "` is of the wrong type").c_str());
    return value;
}

// Keys, required ones, least and most members, others, clauses; symbol, kind, membership, mark; whether forced text is in order.
using SavedMembership = std::tuple<std::vector<uint32_t>, std::vector<uint32_t>, uint64_t, std::optional<uint64_t>, bool,
                                   std::vector<std::vector<std::pair<uint32_t, bool>>>>;
using SavedRole = std::tuple<uint32_t, uint32_t, std::optional<uint32_t>, uint32_t>;
using SavedTallies = std::tuple<std::vector<SavedMembership>, std::vector<SavedRole>, bool>;

TallySpec tally_spec(const SavedTallies& saved, size_t num_terminals, bool scannerless) {
    constexpr uint32_t kMostMarks = 1u << 24;  // a set is a bit for each
    const auto& [memberships, roles, ordered] = saved;
    TallySpec spec;
    bool fits = scannerless;
    for (const auto& [keys, required, low, high, others, clauses] : memberships) {
        auto known = [&](uint32_t mark) { return mark < kMostMarks; };
        fits &= std::all_of(keys.begin(), keys.end(), known) && std::all_of(required.begin(), required.end(), known);
        for (const auto& clause : clauses)
            for (const auto& [mark, there] : clause) fits &= known(mark);
        spec.memberships.push_back({keys, required, low, high.value_or(Membership::kNoMaximum), others, clauses});
    }
    for (const auto& [symbol, kind, membership, mark] : roles) {
        const bool free = kind == TallyRole::kOpen || kind == TallyRole::kKey;
        fits &= symbol > 0 && symbol <= num_terminals && kind > TallyRole::kNone && kind <= TallyRole::kClose && mark < kMostMarks;
        fits &= membership ? *membership < memberships.size() : free;
        spec.roles.push_back({symbol, {TallyRole::Kind(kind), membership.value_or(TallyRole::kFree), mark}});
    }
    if (!fits) throw BadGrammar("what is counted of the members of objects is malformed", "This is a bug in the lowering.");
    spec.ordered = ordered;
    return spec;
}

using Language =
    std::variant<std::shared_ptr<Dfa>, std::shared_ptr<JsonStrings>, std::shared_ptr<NumberRange>, std::shared_ptr<CountingAutomaton>>;

std::vector<TerminalSpec> read_terminals(nb::handle lowered, bool scannerless) {
    std::vector<TerminalSpec> specs;
    const auto saved = part<std::vector<std::tuple<Language, uint32_t, bool>>>(lowered, "terminals");
    specs.reserve(saved.size());
    for (const auto& [language, rank, ignored] : saved) {
        const bool by_any_lexer =
            std::holds_alternative<std::shared_ptr<Dfa>>(language) || std::holds_alternative<std::shared_ptr<CountingAutomaton>>(language);
        if (!scannerless && !by_any_lexer) refuse("a terminal has no table");
        auto add = [&specs, rank = rank, ignored = ignored](const auto& automaton) {
            if (!automaton) refuse("a terminal has no automaton");
            using Kind = std::decay_t<decltype(automaton)>;
            if constexpr (std::is_same_v<Kind, std::shared_ptr<NumberRange>>) {
                if (!automaton->is_small() || !automaton->has_numbers()) refuse("a range of numbers has no table");
                // SAFETY: a copy, since Python owns this one: lexers are freed by threads without its lock.
                specs.push_back({Recognizer(std::make_shared<const NumberRange>(*automaton)), rank, ignored, kAnyNumber});
            } else {
                specs.push_back({Recognizer(automaton), rank, ignored, kAnyNumber});
            }
        };
        std::visit(add, language);
    }
    for (const auto& [symbol, max_tokens] : part<std::vector<std::pair<uint32_t, uint32_t>>>(lowered, "max_tokens")) {
        if (symbol == 0 || symbol > specs.size() || !max_tokens || !scannerless)
            refuse("a terminal whose tokens are bounded does not exist");
        specs[symbol - 1].max_tokens = max_tokens;
    }
    return specs;
}

std::vector<TokenReference> read_references(nb::handle references, size_t num_terminals, uint32_t vocabulary_size) {
    std::vector<TokenReference> tokens;
    for (const auto& [symbol, named, negated] : nb::cast<std::vector<std::tuple<uint32_t, std::vector<uint32_t>, bool>>>(references)) {
        const bool known = std::all_of(named.begin(), named.end(), [&](uint32_t t) { return t < vocabulary_size; });
        if (symbol == 0 || symbol > num_terminals || !known) refuse("a token reference is out of range");
        tokens.push_back({symbol, named, negated});
    }
    return tokens;
}

IndentationSpec read_indentation(nb::handle lowered, size_t num_terminals, bool scannerless) {
    using Saved = std::tuple<uint32_t, uint32_t, uint32_t, std::vector<uint32_t>, std::vector<uint32_t>, uint32_t, bool, bool, uint32_t>;
    const auto saved = part<std::optional<Saved>>(lowered, "indentation");
    if (!saved) return {};
    const auto& [newline, indent, dedent, open, close, tab, stops, final_newline, step] = *saved;
    std::vector<uint32_t> all{newline, indent, dedent};
    all.insert(all.end(), open.begin(), open.end());
    all.insert(all.end(), close.begin(), close.end());
    if (std::any_of(all.begin(), all.end(), [&](uint32_t symbol) { return symbol == 0 || symbol > num_terminals; }))
        refuse("the indentation names a terminal that does not exist");
    if (tab == 0 || scannerless) refuse("indentation needs tabs of some width and a lexer");
    return {newline, indent, dedent, open, close, tab, stops, final_newline, step};
}

Productions read_productions(nb::handle lowered, size_t num_terminals) {
    const size_t num_nonterminals = nb::len(nb::object(lowered.attr("nonterminal_names")));
    return Productions(uint32_t(num_terminals), uint32_t(num_nonterminals),
                       symbol_of(part<int64_t>(lowered, "start"), num_terminals, num_nonterminals),
                       unpacked(part<std::vector<int64_t>>(lowered, "productions"), num_terminals, num_nonterminals));
}

ConstraintLimits read_limits(nb::handle plan) {
    const nb::object limits = plan.attr("limits");
    return {part<uint64_t>(limits, "max_parses"), part<uint64_t>(limits, "cache_bytes"), part<uint64_t>(limits, "max_liveness_steps"),
            part<std::optional<uint64_t>>(plan, "lookahead").value_or(kNoLookahead), part<uint64_t>(limits, "max_step_work")};
}

// Bytes, or a view of some or of a file, which are kept and not copied: what is in them is read when it is asked for.
ImageReader saved_splits(nb::handle plan) {
    const nb::object splits = plan.attr("splits");
    const std::shared_ptr<const Py_buffer> kept = kept_buffer(splits);
    if (!kept->readonly) refuse("its splits may change");
    return ImageReader(bytes_of(*kept), kept);
}

}  // namespace

ConstraintSpec read_plan(nb::handle plan, nb::handle references, uint32_t vocabulary_size, Policy& policy) {
    const std::string lexing = part<std::string>(plan, "lexing");
    if (lexing != "scannerless" && lexing != "longest" && lexing != "basic") refuse("there is no lexing policy " + lexing);
    policy = lexing == "scannerless" ? Policy::kScannerless : lexing == "longest" ? Policy::kLongest : Policy::kBasic;
    const bool scannerless = policy == Policy::kScannerless;
    const nb::object lowered = plan.attr("lowered");
    std::vector<TerminalSpec> terminals = read_terminals(lowered, scannerless);
    const size_t count = terminals.size();
    std::vector<Symbol> distinct = part<std::vector<Symbol>>(lowered, "distinct");
    for (uint32_t symbol : distinct)
        if (symbol == 0 || symbol > count || !scannerless) refuse("a terminal that opens arrays of distinct items does not exist");
    const auto tallies = part<std::optional<SavedTallies>>(lowered, "tallies");
    return {std::move(terminals),
            read_references(references, count, vocabulary_size),
            {},
            read_indentation(lowered, count, scannerless),
            std::move(distinct),
            tallies ? tally_spec(*tallies, count, scannerless) : TallySpec{},
            read_productions(lowered, count),
            read_limits(plan),
            saved_splits(plan)};
}

}  // namespace derivable
