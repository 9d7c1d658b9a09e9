// Constraints, made of what the lowering found (derivable.compile.Plan).
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "matching/inner_constraint.hpp"
#include "python/bindings.hpp"
#include "python/index_bindings.hpp"
#include "python/interpreter.hpp"
#include "python/meaning.hpp"
#include "python/read_plan.hpp"
#include "python/vocabulary.hpp"
#include "support/errors.hpp"
#include "support/hashing.hpp"

namespace nb = nanobind;

namespace derivable {

namespace {

Accelerators all_without(const std::vector<std::string>& names) {
    Accelerators left = Accelerators::all();
    for (const std::string& name : names) {
        const std::optional<Accelerator> part = Accelerators::named(name);
        if (!part) throw nb::value_error(("there is no accelerator " + name).c_str());
        left = left.without(*part);
    }
    return left;
}

std::vector<std::pair<std::string, std::string>> accelerator_names() {
    std::vector<std::pair<std::string, std::string>> all;
    for (const AcceleratorName& a : kAccelerators) all.emplace_back(a.name, a.what);
    return all;
}

nb::dict accelerator_uses(Constraint& c) {
    AcceleratorUses all;
    {
        Unlocked unlocked;
        all = c.uses();
    }
    nb::dict out;
    for (const AcceleratorName& a : kAccelerators) out[nb::str(a.name.data(), a.name.size())] = all[size_t(a.part)];
    return out;
}

using Languages = std::vector<std::pair<uint32_t, std::shared_ptr<Constraint>>>;

std::shared_ptr<Constraint> constraint(PyVocabulary& v, nb::handle plan, nb::handle references, const Languages& languages,
                                       const std::vector<std::string>& without, const std::vector<std::pair<uint32_t, uint32_t>>& slots,
                                       nb::object meaning) {
    Policy policy;
    ConstraintSpec spec = read_plan(plan, references, v.vocabulary()->size(), policy);
    const std::shared_ptr<const Vocabulary> vocabulary = v.vocabulary();
    for (const auto& [symbol, inner] : languages) {
        const bool is_known = symbol != 0 && symbol <= spec.terminals.size() && inner;
        if (!is_known || !is_inner_language(*inner, *vocabulary))
            throw BadGrammar("an inner language is of no terminal, or of another vocabulary", "This is a bug in the lowering.");
        spec.languages.push_back(inner_language(inner, *vocabulary, symbol));
    }
    for (const auto& [symbol, base] : slots) {
        const bool is_known = symbol != 0 && symbol <= spec.terminals.size() && base != 0 && base <= spec.terminals.size();
        if (!is_known || meaning.is_none()) throw BadGrammar("a slot is no terminal, or means nothing", "This is a bug in the lowering.");
        const IndentationSpec& blocks = spec.indentation;
        const std::array<Symbol, 3> layout{blocks.newline, blocks.indent, blocks.dedent};
        const auto by_columns = std::find(layout.begin(), layout.end(), symbol);
        if (by_columns != layout.end()) spec.layout[size_t(by_columns - layout.begin())] = symbol;
        else spec.slots.push_back({symbol, base});
    }
    if (!meaning.is_none()) spec.meaning = python_meaning(std::move(meaning));
    spec.limits.accelerators = all_without(without);
    const bool shares = policy == Policy::kScannerless;
    const Accelerators with = spec.limits.accelerators;
    const std::shared_ptr<Spanner> spanner = shares ? v.scannerless(with) : std::make_shared<Spanner>(vocabulary, policy, with);
    Unlocked unlocked;
    std::optional<PrivateWork> private_work;
    if (!shares) private_work.emplace();
    return std::make_shared<Constraint>(vocabulary, spanner, std::move(spec));
}

// What is saved of it, and what that is of.
void bind_saved(nb::class_<Constraint>& constraint) {
    constraint
        .def(
            "content",
            [](Constraint& c) {
                Unlocked unlocked;
                return c.content();
            },
            "A digest of productions and automata, whose numbers are in states of matchers.")
        .def(
            "saved_splits",
            [](Constraint& c) {
                std::string out = [&] {
                    Unlocked unlocked;
                    return c.saved_splits();
                }();
                return nb::bytes(out.data(), out.size());
            },
            "Lexer states and splits, for a plan's `splits`; empty under scannerless.");
}

}  // namespace

void bind_constraints(nb::module_& m) {
    m.def("accelerators", &accelerator_names, "What only makes masks faster, and can be left out: (name, what it is).");
    nb::class_<Constraint> bound(m, "Constraint", "A grammar compiled for a vocabulary. Thread-safe.");
    bind_saved(bound);
    bound
        .def(nb::new_(&constraint), nb::arg("vocabulary"), nb::arg("plan"), nb::arg("references"), nb::arg("languages"),
             nb::arg("without") = std::vector<std::string>(), nb::arg("slots") = std::vector<std::pair<uint32_t, uint32_t>>(),
             nb::arg("meaning") = nb::none(),
             "`plan`: what a grammar was lowered to, with limits. `references`: (terminal symbol, token ids, negated) of terminals that "
             "are tokens. `languages`: (terminal symbol, constraint) of those whose lexemes are texts of another one. `without`: names of "
             "accelerators that are left out. `slots`: (symbol, symbol to the lexer) of terminals whose lexemes are names, which `meaning` "
             "says "
             "(derivable.meaning).")
        .def_ro("serial", &Constraint::serial, "Its number in this process.")
        .def("uses", &accelerator_uses,
             "How often each accelerator has spared something, by its name; those of splits in all that share its index.")
        .def("can_begin", &Constraint::can_begin, nb::call_guard<Call>(),
             "Some token of the vocabulary may come first, or the empty text is complete.")
        .def(
            "give_back",
            [](Constraint& c) {
                Unlocked unlocked;
                Operation all(c.access(), Task::kUnbounded);
                c.give_back();
            },
            "Frees all that can be made again: masks, what is known about stacks, LR states that no matcher's stack has.")
        .def(
            "forget_masks",
            [](Constraint& c) {
                Unlocked unlocked;
                Operation all(c.access(), Task::kUnbounded);
                if (!c.access().is_suspended()) c.masks().forget_masks();
            },
            "Frees masks, which are put together again from what was found out for them.")
        .def(
            "unproductive", [](Constraint& c) { return c.unproductive(); }, "Nonterminals, by symbol, that derive no text.")
        .def("lexemes", &lexemes, nb::arg("bytes"), nb::arg("tokens"), nb::arg("is_whole"),
             "All ways to cut a text (matching/lexeme_graph.hpp). In `bytes` 256 is a token without any; `tokens`: (begin, length, id).")
        .def("index_keys", &index_keys, nb::arg("terminal"), nb::arg("most"), nb::arg("most_bytes"), nb::arg("matcher").none(),
             "Level 4: keys and masks (src/kernel/matching/index_keys.hpp). `terminal`: a symbol in progress; 0: any. `matcher`: only "
             "those of\n"
             "its parses; it is one of the constraint's.")
        .def("index_view", &index_view, "What the index holds: a dict (src/kernel/matching/index_view.hpp).")
        .def("stats", [](Constraint& c) {
            Stats s;
            {
                Call call;
                s = c.stats();
            }
            nb::dict d;
            d["masks"] = s.counters.masks;
            d["mask_hits"] = s.counters.hits();
            d["walk_nodes"] = s.counters.walked;
            d["miss_ns"] = s.counters.miss_ns;
            d["longest_miss_ns"] = s.counters.longest_miss_ns;
            d["rows"] = s.rows;
            d["row_bytes"] = s.row_bytes;
            d["run_bytes"] = s.run_bytes;
            d["lr_states"] = s.lr_states;
            d["stack_nodes"] = s.stack_nodes;
            d["spanner_bytes"] = s.spanner_bytes;
            d["separable"] = s.separable;
            return d;
        });
    m.def(
        "checksum",
        [](nb::handle data) {
            Py_buffer buffer;
            if (PyObject_GetBuffer(data.ptr(), &buffer, PyBUF_SIMPLE) != 0) nb::raise_python_error();
            const uint64_t sum = [&] {
                Unlocked unlocked;
                return checksum(buffer.buf, size_t(buffer.len));
            }();
            PyBuffer_Release(&buffer);
            return sum;
        },
        nb::arg("data"), "Of the bytes of a saved constraint.");
}

}  // namespace derivable
