// What Python calls: matchers, masks, vocabularies. Hot calls (advance, fill_bitmask) go straight from the interpreter to the kernel.
#include <algorithm>
#include <atomic>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "json/text.hpp"
#include "matching/matcher.hpp"
#include "python/arguments.hpp"
#include "python/batch_bindings.hpp"
#include "python/bitmask.hpp"
#include "python/budget.hpp"
#include "python/explore_bindings.hpp"
#include "python/flatten.hpp"
#include "python/index_bindings.hpp"
#include "python/interpreter.hpp"
#include "python/read_expressions.hpp"
#include "python/schema_bindings.hpp"
#include "python/slow_masks.hpp"
#include "python/tally_arguments.hpp"
#include "python/translate.hpp"
#include "support/errors.hpp"
#include "support/task.hpp"

namespace nb = nanobind;
using namespace derivable;

namespace {

// Frees an index in a thread of its own: one of 220 MB took 140 ms.
void free_beside(Spanner* index) {
    index->lexer.let_go();
    try {
        std::thread([index] { delete index; }).detach();
    } catch (const std::system_error&) {  // no thread to be had
        delete index;
    }
}

// A vocabulary and what every scannerless grammar over it shares.
struct PyVocabulary {
    std::shared_ptr<const Vocabulary> vocabulary;
    std::shared_ptr<Spanner> shared;
    uint64_t shared_budget = 1ull << 30;
    std::shared_ptr<Spanner> scannerless() {
        // Past the budget a new one is begun; the old one lives as long as its grammars.
        if (!shared || shared->published_bytes() > shared_budget) {
            shared = {new Spanner(vocabulary, Policy::kScannerless), free_beside};
            shared->set_budget(shared_budget);
        }
        return shared;
    }
};

std::string_view view(nb::bytes b) { return {b.c_str(), b.size()}; }

void fill_row(Matcher& m, nb::handle bitmask, nb::handle which) {
    Bitmask b(bitmask, m.constraint().vocabulary().words());
    const int64_t row = number("row", which);
    uint32_t* words = b.row(row);
    b.clear_tail(row);
    Unlocked unlocked;
    m.fill(words);
}

// An automaton made of others, while other Python threads run.
template <class Make>
std::shared_ptr<Dfa> apart(Make make) {
    Unlocked unlocked;
    PrivateWork private_work;
    return std::make_shared<Dfa>(make());
}

nb::object allowed_tokens(Matcher& m) {
    std::vector<uint32_t> words(m.constraint().vocabulary().words());
    std::vector<int32_t>* ids = new std::vector<int32_t>();
    nb::capsule owner(ids, [](void* p) noexcept { delete static_cast<std::vector<int32_t>*>(p); });
    {
        Unlocked unlocked;
        m.fill(words.data());
        for (size_t w = 0; w < words.size(); w++)
            for (uint32_t bits = words[w]; bits; bits &= bits - 1) ids->push_back(int32_t(w * 32 + size_t(__builtin_ctz(bits))));
    }
    return nb::cast(nb::ndarray<nb::numpy, int32_t, nb::ndim<1>>(ids->data(), {ids->size()}, owner));
}

}  // namespace

NB_MODULE(_kernel, m) {
    m.doc() = "The kernel of Derivable: automata, the LR automaton, the index and the matcher.";
    nb::register_exception_translator(translate);

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

    nb::class_<JsonStrings>(m, "JsonStrings", "JSON string literals of given values, or of all others within bounds of length.")
        .def(
            "__init__",
            [](JsonStrings* self, const std::vector<nb::bytes>& values, bool negated, uint64_t min, std::optional<uint64_t> max) {
                std::vector<std::string> texts;
                for (const nb::bytes& v : values) texts.emplace_back(view(v));
                Unlocked unlocked;
                PrivateWork private_work;
                new (self) JsonStrings(std::move(texts), negated, min, max.value_or(JsonStrings::kNoMaximum));
            },
            nb::arg("values"), nb::arg("negated"), nb::arg("min_length"), nb::arg("max_length").none())
        .def_static(
            "of_values",
            [](const Dfa& values, uint64_t max_states, std::optional<uint64_t> max) {
                Unlocked unlocked;
                PrivateWork private_work;
                return std::make_shared<JsonStrings>(values, max_states, max.value_or(JsonStrings::kNoMaximum));
            },
            nb::arg("values"), nb::arg("max_states"), nb::arg("max_length") = nb::none(),
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
        .def_prop_ro("is_empty", &JsonStrings::is_empty, "No string is accepted.")
        .def(
            "step", [](JsonStrings& s, uint32_t state, uint8_t byte) { return state < s.num_states() ? s.step(state, byte) : kDead; },
            nb::arg("state"), nb::arg("byte"))
        .def(
            "accepts", [](const JsonStrings& s, uint32_t state) { return state < s.num_states() && s.accepts(state); }, nb::arg("state"))
        .def(
            "to_dfa", [](const JsonStrings& s, uint64_t max) { return apart([&] { return JsonStrings(s).to_dfa(max); }); },
            nb::arg("max_states"), "As a table.");

    bind_expressions(m);
    bind_flatten(m);
    bind_schemas(m);

    nb::class_<PyVocabulary>(m, "Vocabulary", "Token bytes and their trie.")
        .def(
            "__init__",
            [](PyVocabulary* self, nb::list tokens, const std::vector<uint32_t>& eos) {
                auto v = std::make_shared<Vocabulary>();
                std::vector<char> is_eos(tokens.size(), 0);
                for (uint32_t e : eos)
                    if (e < is_eos.size()) is_eos[e] = 1;
                v->bytes.reserve(tokens.size());
                for (size_t i = 0; i < tokens.size(); i++) {
                    nb::handle t = tokens[i];
                    v->bytes.emplace_back(t.is_none() || is_eos[i] ? std::string_view() : view(nb::cast<nb::bytes>(t)));
                }
                v->eos = eos;
                {
                    Unlocked unlocked;
                    v->index();
                }
                new (self) PyVocabulary{std::move(v), nullptr};
            },
            nb::arg("tokens"), nb::arg("eos_ids"))
        .def_static(
            "from_tables",
            [](nb::bytes lengths, nb::bytes blob, nb::bytes order, const std::vector<uint32_t>& eos) {
                Unlocked unlocked;
                return new PyVocabulary{std::make_shared<Vocabulary>(Vocabulary::from_tables(view(lengths), view(blob), view(order), eos)),
                                        nullptr};
            },
            nb::arg("lengths"), nb::arg("blob"), nb::arg("order"), nb::arg("eos_ids"), "From tables as they are saved.")
        .def(
            "order",
            [](const PyVocabulary& v) {
                std::string out;
                for (uint32_t token : v.vocabulary->trie.tokens)
                    for (int shift : {0, 8, 16, 24}) out.push_back(char(token >> shift));
                return nb::bytes(out.data(), out.size());
            },
            "The tokens of text in the order of their bytes, as they are saved.")
        .def_prop_ro("size", [](const PyVocabulary& v) { return v.vocabulary->size(); })
        .def_prop_ro(
            "shared_bytes", [](const PyVocabulary& v) -> uint64_t { return v.shared ? v.shared->published_bytes() : 0; },
            "Memory of the index that scannerless grammars share.")
        .def(
            "set_shared_budget",
            [](PyVocabulary& v, uint64_t size) {
                v.shared_budget = size;
                if (v.shared) v.shared->set_budget(size);
            },
            nb::arg("size"), "Past so many bytes a new index is begun.")
        .def("forget_shared", [](PyVocabulary& v) { v.shared.reset(); }, "Begins a new index; the old one lives as long as its grammars.");

    nb::class_<Constraint>(m, "Constraint", "A grammar compiled for a vocabulary. Thread-safe.")
        .def(nb::new_([](PyVocabulary& v, const std::string& policy, const std::vector<std::tuple<std::variant<std::shared_ptr<Dfa>, std::shared_ptr<JsonStrings>>, uint32_t, bool>>& terminals,
                         const std::vector<std::tuple<uint32_t, std::vector<uint32_t>, bool>>& references,
                         uint32_t num_nonterminals, int64_t start, const std::vector<int64_t>& productions, uint64_t max_parses,
                         uint64_t cache_bytes, uint64_t max_liveness_steps, uint64_t max_step_work, std::optional<uint64_t> lookahead,
                         const std::optional<std::tuple<uint32_t, uint32_t, uint32_t, std::vector<uint32_t>, std::vector<uint32_t>, uint32_t, bool, bool>>& indentation,
                         const std::vector<uint32_t>& distinct, const std::optional<SavedTallies>& tallies) {
            std::vector<TerminalSpec> specs;
            for (const auto& [language, rank, ignored] : terminals) {
                TerminalSpec spec{nullptr, nullptr, rank, ignored};
                if (auto dfa = std::get_if<std::shared_ptr<Dfa>>(&language)) spec.dfa = *dfa;
                if (auto strings = std::get_if<std::shared_ptr<JsonStrings>>(&language)) spec.strings = *strings;
                if (!spec.dfa && (!spec.strings || policy != "scannerless")) throw BadGrammar("a terminal has no automaton", "This is a bug in the lowering.");
                specs.push_back(std::move(spec));
            }
            // Terminals are the numbers from 1 up, nonterminals those from -1 down.
            auto symbol = [&](int64_t n) {
                if (n == 0 || n > int64_t(specs.size()) || -n > int64_t(num_nonterminals)) throw BadGrammar("a production names a symbol that does not exist", "This is a bug in the lowering.");
                return n > 0 ? Symbol(n) : Symbol(int64_t(specs.size()) - n);
            };
            std::vector<TokenReference> tokens;
            for (const auto& [symbol, named, negated] : references) {
                bool known = std::all_of(named.begin(), named.end(), [&](uint32_t t) { return t < v.vocabulary->size(); });
                if (symbol == 0 || symbol > specs.size() || !known) throw BadGrammar("a token reference is out of range", "This is a bug in the lowering.");
                tokens.push_back({symbol, named, negated});
            }
            IndentationSpec indentation_spec;
            if (indentation) {
                auto [newline, indent, dedent, open, close, tab, stops, final_newline] = *indentation;
                indentation_spec = {newline, indent, dedent, open, close, tab, stops, final_newline};
                std::vector<uint32_t> all{newline, indent, dedent};
                all.insert(all.end(), open.begin(), open.end());
                all.insert(all.end(), close.begin(), close.end());
                for (uint32_t symbol : all)
                    if (symbol == 0 || symbol > specs.size()) throw BadGrammar("the indentation names a terminal that does not exist", "This is a bug in the lowering.");
                if (tab == 0 || policy == "scannerless") throw BadGrammar("indentation needs tabs of some width and a lexer", "This is a bug in the lowering.");
            }
            for (uint32_t symbol : distinct)
                if (symbol == 0 || symbol > specs.size() || policy != "scannerless") throw BadGrammar("a terminal that opens arrays of distinct items does not exist", "This is a bug in the lowering.");
            const size_t specs_count = specs.size();
            std::vector<Production> ps;
            for (size_t i = 0; i + 1 < productions.size();) {
                Production p{symbol(productions[i]), {}};
                size_t end = i + 2 + size_t(productions[i + 1]);
                if (productions[i] > 0 || productions[i + 1] < 0 || end > productions.size()) throw BadGrammar("a production is cut short, or its head is a terminal", "This is a bug in the lowering.");
                p.body.reserve(end - i - 2);
                for (i += 2; i < end; i++) p.body.push_back(symbol(productions[i]));
                ps.push_back(std::move(p));
            }
            std::shared_ptr<const Vocabulary> vocabulary = v.vocabulary;
            if (policy != "scannerless" && policy != "longest" && policy != "basic") throw BadGrammar("there is no lexing policy " + policy, "This is a bug in the lowering.");
            Policy p = policy == "scannerless" ? Policy::kScannerless : policy == "longest" ? Policy::kLongest : Policy::kBasic;
            std::shared_ptr<Spanner> spanner = p == Policy::kScannerless ? v.scannerless() : std::make_shared<Spanner>(vocabulary, p);
            Symbol first = symbol(start);
            uint32_t count = uint32_t(specs.size());
            Unlocked unlocked;
            std::optional<PrivateWork> private_work;
            if (p != Policy::kScannerless) private_work.emplace();
            return std::make_shared<Constraint>(vocabulary, spanner, std::move(specs), std::move(tokens), std::move(indentation_spec), distinct, tallies ? tally_spec(*tallies, specs_count, policy == "scannerless") : TallySpec{},
                                                Productions(count, num_nonterminals, first, std::move(ps)),
                                                ConstraintLimits{max_parses, cache_bytes, max_liveness_steps, lookahead.value_or(kNoLookahead), max_step_work});
        }), nb::arg("vocabulary"), nb::arg("policy"), nb::arg("terminals"), nb::arg("references"), nb::arg("num_nonterminals"), nb::arg("start"), nb::arg("productions"),
             nb::arg("max_parses"), nb::arg("cache_bytes"), nb::arg("max_liveness_steps"), nb::arg("max_step_work"), nb::arg("lookahead") = nb::none(), nb::arg("indentation") = nb::none(),
             nb::arg("distinct") = std::vector<uint32_t>(), nb::arg("tallies") = nb::none())
        .def_ro("serial", &Constraint::serial, "Its number in this process.")
        .def("can_begin", &Constraint::can_begin, nb::call_guard<Unlocked>(), "Some token of the vocabulary may come first, or the empty text is complete.")
        .def("give_back", [](Constraint& c) {
            Unlocked unlocked;
            Operation all(c, Task::kUnbounded);
            c.give_back();
        }, "Frees all that can be made again: masks, what is known about stacks, LR states that no matcher's stack has.")
        .def("unproductive", [](Constraint& c) { return c.unproductive(); }, "Nonterminals, by symbol, that derive no text.")
        .def("index_view", &index_view, "What the index holds: a dict (src/kernel/matching/index_view.hpp).")
        .def("stats", [](Constraint& c) {
            Stats s;
            {
                Unlocked unlocked;
                s = c.locked_stats();
            }
            nb::dict d;
            d["masks"] = s.masks;
            d["mask_hits"] = s.mask_hits;
            d["walk_nodes"] = s.walk_nodes;
            d["miss_ns"] = s.miss_ns;
            d["longest_miss_ns"] = s.longest_miss_ns;
            d["rows"] = s.rows;
            d["row_bytes"] = s.row_bytes;
            d["run_bytes"] = s.run_bytes;
            d["lr_states"] = s.lr_states;
            d["stack_nodes"] = s.stack_nodes;
            d["spanner_bytes"] = s.spanner_bytes;
            d["separable"] = s.separable;
            return d;
        });

    nb::class_<Matcher>(m, "Matcher", "One sequence being generated.")
        .def(
            "__init__",
            [](Matcher* self, std::shared_ptr<Constraint> constraint) {
                Unlocked unlocked;
                new (self) Matcher(std::move(constraint));
            },
            nb::arg("constraint"))
        .def(
            "__init__",
            [](Matcher* self, const Matcher& other) {
                Unlocked unlocked;
                new (self) Matcher(other);
            },
            nb::arg("other"))
        .def(
            "advance",
            [](Matcher& self, nb::handle token) {
                uint32_t t = token_of(self.constraint(), token);
                Matcher::Verdict v;
                {
                    Unlocked unlocked;
                    v = self.advance(t);
                }
                if (v != Matcher::Verdict::kAccepted)
                    throw TokenRejected{t, self.constraint().vocabulary().bytes[t], self.finished() ? "the sequence is finished" : ""};
            },
            nb::arg("token_id").none(),
            "Takes one token.\n\nArgs:\n    token_id: a token that the mask allows; an end-of-sequence token finishes the sequence.\n\n"
            "Raises:\n    TokenRejectedError: it is not allowed, or not in the vocabulary. The state is unchanged.\n\n"
            "Cost: O(bytes of the token), about 0.3 us plus 50 ns a byte.")
        .def(
            "advance_bytes",
            [](Matcher& self, nb::handle data) {
                std::string_view text = bytes_of("data", data);
                bool ok;
                {
                    Unlocked unlocked;
                    ok = self.advance_bytes(text);
                }
                if (!ok) throw TokenRejected{-1, std::string(text), self.finished() ? "the sequence is finished" : ""};
            },
            nb::arg("data").none(),
            "Takes bytes, however they may be tokenized; counts as one step for `rollback`.\n\n"
            "Raises:\n    TokenRejectedError: they are not a prefix of anything allowed here. The state is unchanged.")
        .def(
            "allows",
            [](Matcher& self, nb::handle token) {
                uint32_t t = token_of(self.constraint(), token);
                Unlocked unlocked;
                return self.allows(t);
            },
            nb::arg("token_id").none(), "Whether a token is allowed, without building the mask (DOMINO's opportunistic check).")
        .def(
            "count_valid",
            [](Matcher& self, nb::handle tokens) {
                std::vector<uint32_t> ids = known_tokens(self.constraint(), tokens);
                Unlocked unlocked;
                return self.count_valid(ids);
            },
            nb::arg("token_ids").none(),
            "How many tokens of a draft are acceptable one after the other, whatever follows (ids past the vocabulary too); the state is "
            "unchanged.")
        .def(
            "rollback",
            [](Matcher& self, nb::handle steps) {
                const int64_t count = number("count", steps);
                bool ok = false;
                if (count >= 0) {
                    Unlocked unlocked;
                    ok = self.rollback(uint64_t(count));
                }
                if (!ok) throw BadRollback{count, self.length()};
            },
            nb::arg("count").none(),
            "Undoes the last `count` steps.\n\nRaises:\n    RollbackError: there are not so many; nothing is undone.")
        .def(
            "reset",
            [](Matcher& self) {
                Unlocked unlocked;
                self.reset();
            },
            "Goes back to the start.")
        .def("fill_bitmask", &fill_row, nb::arg("bitmask").none(), nb::arg("row").none() = 0,
             "Writes the mask of the next token into one row.\n\n"
             "Args:\n    bitmask: int32 [batch, >= ceil(V / 32)], C-contiguous, on the CPU (numpy, or torch and others by DLPack); bit t % "
             "32 of\n"
             "        word t // 32 is 1 if and only if token t is allowed. Words past the vocabulary are cleared.\n    row: which row.\n\n"
             "Raises:\n    BitmaskShapeError: wrong shape, dtype or layout.\n\nCost: a look-up and a copy of V / 8 bytes when the "
             "situation was seen before.")
        .def("allowed_tokens", &allowed_tokens, "The allowed token ids, int32, ascending.")
        .def(
            "forced_bytes",
            [](Matcher& self, nb::handle most) {
                const int64_t max_length = number("max_length", most);
                std::string out;
                {
                    Unlocked unlocked;
                    out = self.forced_bytes(size_t(std::max<int64_t>(max_length, 0)));
                }
                return nb::bytes(out.data(), out.size());
            },
            nb::arg("max_length").none() = 4096, "The bytes that must come next, as far as there is no choice (and the text may not end).")
        .def(
            "next_bytes",
            [](Matcher& self) {
                std::array<uint64_t, 4> bits;
                {
                    Unlocked unlocked;
                    bits = self.next_bytes();
                }
                std::string out;
                for (int b = 0; b < 256; b++)
                    if (bits[size_t(b) / 64] >> (b % 64) & 1) out.push_back(char(b));
                return nb::bytes(out.data(), out.size());
            },
            "The bytes that may come next, ascending.")
        .def(
            "situation",
            [](Matcher& self, nb::handle depth) {
                const int64_t hops = number("hops", depth);
                std::string key;
                {
                    Unlocked unlocked;
                    key = self.situation(hops);
                }
                return nb::bytes(key.data(), key.size());
            },
            nb::arg("hops").none(),
            "Equal for matchers of one constraint whose lexer states, and stacks down to `hops` below the top (-1: no stacks), are.")
        .def(
            "context",
            [](Matcher& self, nb::handle depth) {
                const int64_t hops = number("hops", depth);
                Unlocked unlocked;
                return self.context(hops);
            },
            nb::arg("hops").none(),
            "A number of 64 bits, equal where `situation` is, in every process in which the grammar was compiled (and by chance). Inside\n"
            "string literals that are known by rule, not by a table, it does not tell where.")
        .def("unfolded", &unfolded, nb::arg("most"),
             "The spanner trees of the threads, in preorder: (parent, terminal symbol, ignored, tokens, refused, hops). None: too "
             "ambiguous.")
        .def(
            "threads",
            [](Matcher& self) {
                std::vector<Constraint::Explanation> threads;
                {
                    Unlocked unlocked;
                    threads = self.explain();
                }
                nb::list out;
                for (auto& t : threads) out.append(nb::make_tuple(nb::cast(t.lexeme), nb::cast(t.accepts)));
                return out;
            },
            "Per thread: ([(terminal symbol, automaton state), ...] of the lexeme in progress, [acceptable terminal symbols]).")
        .def_prop_ro(
            "is_accepting",
            [](Matcher& self) {
                Unlocked unlocked;
                return self.accepting();
            },
            "The text so far is a member of the language: end of sequence is allowed.")
        .def_prop_ro("is_finished", &Matcher::finished, "An end-of-sequence token was taken.")
        .def_prop_ro("length", &Matcher::length, "Steps taken since the start.");

    bind_budget(m);
    bind_slow_masks(m);
    bind_batches(m);
    bind_explorers(m);
}
