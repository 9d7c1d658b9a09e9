// Automata, and JSON string literals that stand for one.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "automata/counting_automaton.hpp"
#include "automata/dfa.hpp"
#include "json/string_literals.hpp"
#include "json/text.hpp"
#include "python/bindings.hpp"
#include "python/interpreter.hpp"

namespace nb = nanobind;

namespace derivable {

namespace {

std::string_view view(nb::bytes b) { return {b.c_str(), b.size()}; }

// An automaton made of others, while other Python threads run.
template <class Make>
std::shared_ptr<Dfa> apart(Make make) {
    Unlocked unlocked;
    PrivateWork private_work;
    return std::make_shared<Dfa>(make());
}

std::vector<std::string> utf8_of(nb::tuple values) {
    std::vector<std::string> texts;
    texts.reserve(values.size());
    for (nb::handle v : values) {
        Py_ssize_t size = 0;
        const char* text = PyUnicode_AsUTF8AndSize(v.ptr(), &size);
        if (!text) nb::raise_python_error();
        texts.emplace_back(text, size_t(size));
    }
    return texts;
}

Escapes escapes(bool plain) { return plain ? Escapes::kPlain : Escapes::kAny; }

void bind_json_strings(nb::module_& m) {
    nb::class_<JsonStrings>(m, "JsonStrings", "JSON string literals of given values, or of all others within bounds of length.")
        .def(
            "__init__",
            [](JsonStrings* self, nb::tuple values, bool negated, uint64_t min, std::optional<uint64_t> max, bool plain) {
                std::vector<std::string> texts = utf8_of(values);
                auto make = [&] {
                    new (self) JsonStrings(std::move(texts), negated, min, max.value_or(JsonStrings::kNoMaximum), escapes(plain));
                };
                // PERF: most are one name, and take less time than letting go of the interpreter's lock.
                constexpr size_t kMany = 256;
                if (texts.size() < kMany) return make();
                Unlocked unlocked;
                PrivateWork private_work;
                make();
            },
            nb::arg("values"), nb::arg("negated"), nb::arg("min_length"), nb::arg("max_length").none(), nb::arg("plain") = false)
        .def_static(
            "of_values",
            [](const Dfa& values, uint64_t max_states, std::optional<uint64_t> max, bool plain) {
                Unlocked unlocked;
                PrivateWork private_work;
                return std::make_shared<JsonStrings>(values, max_states, max.value_or(JsonStrings::kNoMaximum), escapes(plain));
            },
            nb::arg("values"), nb::arg("max_states"), nb::arg("max_length") = nb::none(), nb::arg("plain") = false,
            "The literals of all strings of an automaton over characters that have `max_length` of them at most.")
        .def_static(
            "verbatim",
            [](const std::vector<nb::bytes>& texts) {
                std::vector<std::string> list;
                for (const nb::bytes& t : texts) list.emplace_back(view(t));
                return std::make_shared<JsonStrings>(JsonStrings::verbatim(std::move(list)));
            },
            nb::arg("texts"), "Exactly these texts, without quotes.")
        .def_prop_ro(
            "max_length",
            [](const JsonStrings& s) {
                return s.max_length() == JsonStrings::kNoMaximum ? std::nullopt : std::optional<uint64_t>(s.max_length());
            },
            "Characters at most.")
        .def_prop_ro(
            "values", [](const JsonStrings& s) { return s.values() ? std::make_shared<Dfa>(*s.values()) : nullptr; },
            "The automaton it was made of.")
        .def_prop_ro(
            "value_bytes",
            [](const JsonStrings& s) { return s.values() ? s.values()->table.size() * 4 + s.values()->num_states() * 5 : 0; },
            "Of its table, about.")
        .def_prop_ro(
            "plain", [](const JsonStrings& s) { return s.escapes() == Escapes::kPlain; }, "Not in every spelling: see `derivable.expr`.")
        .def_prop_ro("is_empty", &JsonStrings::is_empty, "No string is accepted.")
        .def(
            "step", [](JsonStrings& s, uint32_t state, uint8_t byte) { return state < s.num_states() ? s.step(state, byte) : kDead; },
            nb::arg("state"), nb::arg("byte"))
        .def(
            "accepts", [](const JsonStrings& s, uint32_t state) { return state < s.num_states() && s.accepts(state); }, nb::arg("state"))
        .def(
            "to_dfa", [](const JsonStrings& s, uint64_t max) { return apart([&] { return JsonStrings(s).to_dfa(max); }); },
            nb::arg("max_states"), "As a table.");
}

std::vector<CountingAutomaton> copies(const std::vector<const CountingAutomaton*>& items) {
    std::vector<CountingAutomaton> all;
    for (const CountingAutomaton* item : items) all.push_back(*item);
    return all;
}

void bind_counting_automata(nb::module_& m) {
    using Automata = std::vector<const CountingAutomaton*>;
    nb::class_<CountingAutomaton>(m, "CountingAutomaton", "Repeats with numbers instead of a state for each round.")
        .def_static(
            // SAFETY: a copy, since Python owns this one: lexers are freed by threads without its lock.
            "table",
            [](const Dfa& d, std::optional<uint64_t> most) {
                return CountingAutomaton::table(std::make_shared<const Dfa>(d), most.value_or(CountingAutomaton::kNoMaximum));
            },
            nb::arg("automaton"), nb::arg("max_characters") = nb::none())
        .def_static(
            "sequence", [](const Automata& items) { return CountingAutomaton::sequence(copies(items)); }, nb::arg("items"))
        .def_static(
            "choice", [](const Automata& items) { return CountingAutomaton::choice(copies(items)); }, nb::arg("items"))
        .def_static(
            "repeat",
            [](const CountingAutomaton& item, uint64_t min, std::optional<uint64_t> max, bool lazy) {
                return CountingAutomaton::repeat(item, min, max.value_or(CountingAutomaton::kNoMaximum), lazy);
            },
            nb::arg("item"), nb::arg("min"), nb::arg("max").none(), nb::arg("lazy") = false)
        .def("without_empty", &CountingAutomaton::without_empty)
        .def("in_order", &CountingAutomaton::in_order, "Of a whole expression, what `re` finds at the beginning of some text.")
        .def_prop_ro("is_empty", &CountingAutomaton::is_empty, "No string is accepted.")
        .def_prop_ro("accepts_empty", &CountingAutomaton::accepts_empty)
        .def_prop_ro("num_states", &CountingAutomaton::num_states, "That were met so far.")
        .def_prop_ro("size", &CountingAutomaton::bytes, "Bytes of what it is made of, about.")
        .def(
            "step", [](CountingAutomaton& a, uint32_t state, uint8_t byte) { return state < a.num_states() ? a.step(state, byte) : kDead; },
            nb::arg("state"), nb::arg("byte"))
        .def(
            "accepts", [](const CountingAutomaton& a, uint32_t state) { return state < a.num_states() && a.accepts(state); },
            nb::arg("state"))
        .def(
            "acting_as",
            [](CountingAutomaton& a, uint32_t state, uint64_t bytes) {
                return state < a.num_states() ? int32_t(a.acting_as(state, bytes)) : kDead;
            },
            nb::arg("state"), nb::arg("bytes"),
            "The state that stands for all those which no text of so many bytes tells apart, as far as known.")
        .def(
            "shortest_rest",
            [](const CountingAutomaton& a, uint32_t state) -> std::optional<nb::bytes> {
                if (state >= a.num_states()) return std::nullopt;
                const std::optional<std::string> rest = a.shortest_rest(state);
                return rest ? std::optional(nb::bytes(rest->data(), rest->size())) : std::nullopt;
            },
            nb::arg("state"), "A shortest text that completes one.")
        .def("saved",
             [](const CountingAutomaton& a) {
                 const std::string s = a.saved();
                 return nb::bytes(s.data(), s.size());
             })
        .def_static("from_saved", [](nb::bytes data) { return CountingAutomaton::from_saved(view(data)); }, nb::arg("data"));
}

}  // namespace

void bind_automata(nb::module_& m) {
    nb::class_<Dfa>(m, "Dfa", "A minimal deterministic byte automaton.")
        .def_static(
            "literal", [](nb::bytes text) { return std::make_shared<Dfa>(Dfa::literal(view(text))); }, nb::arg("text"))
        .def_prop_ro("num_states", &Dfa::num_states)
        .def_prop_ro("num_classes", [](const Dfa& d) { return d.num_classes; })
        .def_prop_ro("is_empty", &Dfa::empty, "No string is accepted.")
        .def_prop_ro("accepts_empty", &Dfa::accepts_empty)
        .def_prop_ro("is_conditional", &Dfa::conditional, "Some match depends on the text after it.")
        .def_prop_ro(
            "looks_back", [](const Dfa& d) { return bool(d.past); }, "It depends on the text before it.")
        .def(
            "accepts", [](const Dfa& d, nb::bytes text) { return d.accepts(view(text)); }, nb::arg("text"))
        .def(
            "is_prefix", [](const Dfa& d, nb::bytes text) { return d.run(view(text)) >= 0; }, nb::arg("text"),
            "Some accepted string begins with it.")
        .def(
            "step", [](const Dfa& d, uint32_t state, uint8_t byte) { return state < d.num_states() ? d.step(state, byte) : kDead; },
            nb::arg("state"), nb::arg("byte"))
        .def(
            "is_accepting", [](const Dfa& d, uint32_t state) { return state < d.num_states() && d.accepting[state]; }, nb::arg("state"))
        .def(
            "intersection",
            [](const Dfa& a, const Dfa& b, uint64_t max) { return apart([&] { return Dfa::product(a, b, Dfa::Op::kAnd, max); }); },
            nb::arg("other"), nb::arg("max_states"))
        .def(
            "union", [](const Dfa& a, const Dfa& b, uint64_t max) { return apart([&] { return Dfa::product(a, b, Dfa::Op::kOr, max); }); },
            nb::arg("other"), nb::arg("max_states"))
        .def(
            "difference",
            [](const Dfa& a, const Dfa& b, uint64_t max) { return apart([&] { return Dfa::product(a, b, Dfa::Op::kMinus, max); }); },
            nb::arg("other"), nb::arg("max_states"))
        .def(
            "json_text", [](const Dfa& d, uint64_t max) { return apart([&] { return json_text(d, max); }); }, nb::arg("max_states"),
            "The JSON string literals of its strings.")
        .def("without_empty", [](const Dfa& d) { return apart([&] { return d.without_empty(); }); })
        .def(
            "saved",
            [](const Dfa& d) {
                std::string s = d.saved();
                return nb::bytes(s.data(), s.size());
            },
            "The automaton as bytes.")
        .def_static(
            "from_saved", [](nb::bytes data) { return std::make_shared<Dfa>(Dfa::from_saved(view(data))); }, nb::arg("data"))
        .def(
            "fingerprint",
            [](const Dfa& d) {
                std::string f = d.fingerprint();
                return nb::bytes(f.data(), f.size());
            },
            "Equal for equal languages.");

    bind_json_strings(m);
    bind_counting_automata(m);
}

}  // namespace derivable
