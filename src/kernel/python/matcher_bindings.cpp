// Matchers. Hot calls (advance, fill_bitmask) go straight from the interpreter to the kernel.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "matching/matcher.hpp"
#include "python/arguments.hpp"
#include "python/bindings.hpp"
#include "python/bitmask.hpp"
#include "python/index_bindings.hpp"
#include "python/interpreter.hpp"

namespace nb = nanobind;

namespace derivable {

namespace {

void fill_row(Matcher& m, nb::handle bitmask, nb::handle which) {
    Bitmask b(bitmask, m.constraint().vocabulary().words());
    const int64_t row = number("row", which);
    uint32_t* words = b.row(row);
    b.clear_tail(row);
    Call call;
    m.fill(words);
}

nb::object allowed_tokens(Matcher& m) {
    std::vector<uint32_t> words(m.constraint().vocabulary().words());
    std::vector<int32_t>* ids = new std::vector<int32_t>();
    nb::capsule owner(ids, [](void* p) noexcept { delete static_cast<std::vector<int32_t>*>(p); });
    {
        Call call;
        m.fill(words.data());
        for (size_t w = 0; w < words.size(); w++)
            for (uint32_t bits = words[w]; bits; bits &= bits - 1) ids->push_back(int32_t(w * 32 + size_t(__builtin_ctz(bits))));
    }
    const CallsPython within;  // numpy's, which is looked up by import
    return nb::cast(nb::ndarray<nb::numpy, int32_t, nb::ndim<1>>(ids->data(), {ids->size()}, owner));
}

const char* why_refused(const Matcher& m, Matcher::Verdict v) {
    if (v == Matcher::Verdict::kTooLong) return "with it no known text ends within max_tokens";
    return m.finished() ? "the sequence is finished" : "";
}

nb::object number_or_none(uint64_t n) { return n == Matcher::kNoBudget ? nb::none() : nb::object(nb::int_(n)); }

// Where a sequence begins, or goes on that stood somewhere else.
void bind_beginnings(nb::class_<Matcher>& matcher) {
    matcher
        .def(
            "__init__",
            [](Matcher* self, std::shared_ptr<Constraint> constraint, nb::handle max_tokens) {
                const uint64_t budget = max_tokens.is_none() ? Matcher::kNoBudget : uint64_t(number("max_tokens", max_tokens));
                Call call;
                new (self) Matcher(std::move(constraint), budget);
            },
            nb::arg("constraint"), nb::arg("max_tokens").none() = nb::none())
        .def(
            "__init__",
            [](Matcher* self, std::shared_ptr<Constraint> constraint, nb::bytes state) {
                Call call;
                new (self) Matcher(std::move(constraint), {state.c_str(), state.size()});
            },
            nb::arg("constraint"), nb::arg("state"))
        .def(
            "__init__",
            [](Matcher* self, const Matcher& other) {
                Call call;
                new (self) Matcher(other);
            },
            nb::arg("other"))
        .def(
            "state",
            [](Matcher& self, bool budget) {
                std::string state;
                {
                    Call call;
                    state = self.to_bytes(budget);
                }
                return nb::bytes(state.data(), state.size());
            },
            nb::arg("budget") = true,
            "Where the sequence stands, for a matcher of the same grammar and vocabulary in any process; also what is left of its budget, "
            "or "
            "not.");
}

// How a sequence goes on and back, and where it stands.
void bind_steps(nb::class_<Matcher>& matcher) {
    matcher
        .def(
            "advance",
            [](Matcher& self, nb::handle token) {
                uint32_t t = token_of(self.constraint(), token);
                Matcher::Verdict v;
                {
                    Call call;
                    v = self.advance(t);
                }
                if (v != Matcher::Verdict::kAccepted) throw TokenRejected{t, self.constraint().vocabulary().bytes[t], why_refused(self, v)};
            },
            nb::arg("token_id").none(),
            "Takes one token.\n\nArgs:\n    token_id: a token that the mask allows; an end-of-sequence token finishes the sequence.\n\n"
            "Raises:\n    TokenRejectedError: it is not allowed, or not in the vocabulary. The state is unchanged.\n\n"
            "Cost: O(bytes of the token), about 0.3 us plus 50 ns a byte.")
        .def(
            "advance_bytes",
            [](Matcher& self, nb::handle data) {
                std::string_view text = bytes_of("data", data);
                Matcher::Verdict v;
                {
                    Call call;
                    v = self.advance_bytes(text);
                }
                if (v != Matcher::Verdict::kAccepted) throw TokenRejected{-1, std::string(text), why_refused(self, v)};
            },
            nb::arg("data").none(),
            "Takes bytes, however they may be tokenized; counts as one step for `rollback`.\n\n"
            "Raises:\n    TokenRejectedError: they are not a prefix of anything allowed here. The state is unchanged.")
        .def(
            "spells",
            [](Matcher& self, nb::handle texts) {
                const std::vector<nb::object> held = objects_of("texts", "a list of bytes", texts);
                std::vector<std::string_view> views;
                for (const nb::object& text : held) views.push_back(bytes_of("texts", text));
                std::vector<uint8_t> found;
                {
                    Call call;
                    found = self.spells(views);
                }
                return nb::bytes(reinterpret_cast<const char*>(found.data()), found.size());
            },
            nb::arg("texts").none(),
            "Which texts the grammar allows next, each by itself and whatever the budget; the state is unchanged.\n\n"
            "Args:\n    texts: any bytes, at most some thousand.\n\n"
            "Returns:\n    A byte for each: 0 not allowed, 1 allowed, 2 allowed, and the text may end behind it.\n\n"
            "Raises:\n    LimitError: they cost more than the constraint's limits allow.\n\n"
            "Cost: of each about 0.3 us plus 50 ns a byte.")
        .def(
            "rollback",
            [](Matcher& self, nb::handle steps) {
                const int64_t count = number("count", steps);
                bool ok = false;
                if (count >= 0) {
                    Call call;
                    ok = self.rollback(uint64_t(count));
                }
                if (!ok) throw BadRollback{count, self.steps_back(), self.length()};
            },
            nb::arg("count").none(),
            "Undoes the last `count` steps.\n\nRaises:\n    RollbackError: there are not so many; nothing is undone.")
        .def(
            "reset",
            [](Matcher& self) {
                Call call;
                self.reset();
            },
            "Goes back to the start of the text.")
        .def_prop_ro(
            "is_accepting",
            [](Matcher& self) {
                Call call;
                return self.accepting();
            },
            "The text so far is a member of the language: end of sequence is allowed.")
        .def_prop_ro("is_finished", &Matcher::finished, "An end-of-sequence token was taken.")
        .def_prop_ro("length", &Matcher::length, "Steps taken since the start.");
}

// What is left of a budget.
void bind_budget(nb::class_<Matcher>& matcher) {
    matcher
        .def_prop_ro(
            "tokens_left", [](const Matcher& self) { return number_or_none(self.tokens_left()); },
            "With a budget: how many tokens may still be taken, the end token included. `None` without one.")
        .def_prop_ro(
            "least_tokens",
            [](Matcher& self) {
                uint64_t least;
                {
                    Call call;
                    least = self.least_tokens();
                }
                return number_or_none(least);
            },
            "With a budget: so many tokens suffice from here to the end, the end token included. `None` without one.");
}

// What may come next.
void bind_masks(nb::class_<Matcher>& matcher) {
    matcher
        .def(
            "allows",
            [](Matcher& self, nb::handle token) {
                uint32_t t = token_of(self.constraint(), token);
                Call call;
                return self.allows(t);
            },
            nb::arg("token_id").none(),
            "Whether a token is allowed, without building the mask (DOMINO's opportunistic check).\n\n"
            "Raises:\n    TokenRejectedError: it is not in the vocabulary.\n\nCost: as `advance`.")
        .def(
            "count_valid",
            [](Matcher& self, nb::handle tokens) {
                std::vector<uint32_t> ids = known_tokens(self.constraint(), tokens);
                Call call;
                return self.count_valid(ids);
            },
            nb::arg("token_ids").none(),
            "How many tokens of a draft are acceptable one after the other, whatever follows (ids past the vocabulary too); the state is "
            "unchanged.")
        .def("fill_bitmask", &fill_row, nb::arg("bitmask").none(), nb::arg("row").none() = 0,
             "Writes the mask of the next token into one row.\n\n"
             "Args:\n    bitmask: int32 [batch, >= ceil(V / 32)], C-contiguous, on the CPU (numpy, or torch and others by DLPack); bit t % "
             "32 of\n"
             "        word t // 32 is 1 if and only if token t is allowed. Words past the vocabulary are cleared.\n    row: which row.\n\n"
             "Raises:\n    BitmaskShapeError: wrong shape, dtype or layout.\n    LimitError: the mask costs more than the constraint's "
             "limits allow; asking again goes on from there.\n\n"
             "Cost: a look-up and a copy of V / 8 bytes (0.5 us at 128,256 tokens) when the situation was seen before.")
        .def(
            "knows_mask",
            [](Matcher& self) {
                Call call;
                return self.knows_mask();
            },
            "Whether `fill_bitmask` would find its mask and only copy it.\n\nCost: below 1 us.")
        .def(
            "compute_mask",
            [](Matcher& self) {
                Unlocked unlocked;
                std::vector<uint32_t> words(self.constraint().vocabulary().words());
                self.fill(words.data());
            },
            "Computes the mask that `fill_bitmask` is to find; other Python threads run meanwhile.\n\n"
            "Raises:\n    LimitError: the mask costs more than the constraint's limits allow.\n\nCost: as `fill_bitmask`.")
        .def("allowed_tokens", &allowed_tokens,
             "The mask of the next token as ids: int32 [how many are allowed], ascending.\n\n"
             "Raises:\n    LimitError: the mask costs more than the constraint's limits allow.\n\nCost: as `fill_bitmask`, and a look at V "
             "bits.")
        .def(
            "forced_bytes",
            [](Matcher& self, nb::handle most) {
                const int64_t max_length = number("max_length", most);
                std::string out;
                {
                    Call call;
                    out = self.forced_bytes(size_t(std::max<int64_t>(max_length, 0)));
                }
                return nb::bytes(out.data(), out.size());
            },
            nb::arg("max_length").none() = 4096,
            "The bytes that must come next, as far as there is no choice (and the text may not end): `max_length` of them at most.")
        .def(
            "next_bytes",
            [](Matcher& self) {
                std::array<uint64_t, 4> bits;
                {
                    Call call;
                    bits = self.next_bytes();
                }
                std::string out;
                for (int b = 0; b < 256; b++)
                    if (bits[size_t(b) / 64] >> (b % 64) & 1) out.push_back(char(b));
                return nb::bytes(out.data(), out.size());
            },
            "The bytes that may come next, ascending.");
}

// What tells places apart, and explains them.
void bind_insight(nb::class_<Matcher>& matcher) {
    matcher
        .def(
            "situation",
            [](Matcher& self, nb::handle depth) {
                const int64_t hops = number("hops", depth);
                std::string key;
                {
                    Call call;
                    key = self.situation(hops);
                }
                return nb::bytes(key.data(), key.size());
            },
            nb::arg("hops").none(),
            "Equal for matchers of one constraint whose lexer states, and stacks down to `hops` below the top (-1: no stacks), are.")
        .def(
            "same_place",
            [](Matcher& self, nb::handle other) {
                if (!nb::isinstance<Matcher>(other)) refuse("other", "a matcher", other);
                const Matcher& matcher = nb::cast<const Matcher&>(other);
                Call call;
                return self.same_place(matcher);
            },
            nb::arg("other").none(),
            "Whether all that may follow is known to be the same as for another matcher of the constraint: they went different ways, and\n"
            "stand in one place.\n\nRaises:\n    ArgumentError: no matcher.\n\nCost: below 1 us.")
        .def(
            "context",
            [](Matcher& self, nb::handle depth) {
                const int64_t hops = number("hops", depth);
                Call call;
                return self.context(hops);
            },
            nb::arg("hops").none(),
            "A number of 64 bits, equal where `situation` is, in every process in which the grammar was compiled (and by chance). Inside\n"
            "string literals that are known by rule, not by a table, it does not tell where.")
        .def("unfolded", &unfolded, nb::arg("most"),
             "The spanner trees of the parses, in preorder: (parent, terminal symbol, ignored, tokens, refused, hops). None: too "
             "ambiguous.")
        .def(
            "parses",
            [](Matcher& self) {
                std::vector<Explanation> parses;
                {
                    Call call;
                    parses = self.explain();
                }
                nb::list out;
                for (auto& t : parses) out.append(nb::make_tuple(nb::cast(t.lexeme), nb::cast(t.accepts)));
                return out;
            },
            "Per parse: ([(terminal symbol, automaton state), ...] of the lexeme in progress, [acceptable terminal symbols]).")
        .def(
            "names_here",
            [](Matcher& self, nb::handle most) {
                const size_t count = size_t(std::max<int64_t>(number("most", most), 0));
                std::vector<NamesHere> found;
                {
                    Call call;
                    found = self.names_here(count);
                }
                nb::list out;
                for (const NamesHere& names : found) {
                    nb::list rests;
                    for (const std::string& rest : names.rests) rests.append(nb::bytes(rest.data(), rest.size()));
                    out.append(nb::make_tuple(nb::cast(names.slot), nb::bytes(names.begun.data(), names.begun.size()), rests));
                }
                return out;
            },
            nb::arg("most").none(),
            "Names of a meaning that may stand here, or go on with one in progress, as far as they are listed; none without a meaning.\n\n"
            "Args:\n    most: names of each slot, short ones first.\n\n"
            "Returns:\n    (symbols, bytes of the name so far, rests of names) for each slot of each parse: the symbol of the slot is the "
            "last, before it\n"
            "    stand those of the inner languages that it lies in.\n\n"
            "Raises:\n    ArgumentError: `most` is no integer.\n    LimitError: it costs more than the constraint's limits allow.");
}

}  // namespace

void bind_matchers(nb::module_& m) {
    nb::class_<Matcher> matcher(m, "Matcher", "One sequence being generated.");
    bind_beginnings(matcher);
    bind_steps(matcher);
    bind_budget(matcher);
    bind_masks(matcher);
    bind_insight(matcher);
}

}  // namespace derivable
