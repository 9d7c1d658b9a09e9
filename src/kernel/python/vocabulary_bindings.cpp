// Vocabularies, and the index that their scannerless grammars share.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "python/bindings.hpp"
#include "python/interpreter.hpp"
#include "python/vocabulary.hpp"

namespace nb = nanobind;

namespace derivable {

namespace {

std::string_view view(nb::bytes b) { return {b.c_str(), b.size()}; }

constexpr size_t kMostShared = 8;

// Frees an index in a thread of its own: one of 220 MB took 140 ms.
void free_beside(Spanner* index) {
    index->lexer.automata.let_go();
    try {
        std::thread([index] { delete index; }).detach();
    } catch (const std::system_error&) {  // no thread to be had
        delete index;
    }
}

}  // namespace

std::shared_ptr<Spanner> PyVocabulary::scannerless(Accelerators with) {
    static const size_t most = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostShared);
    shared_.erase(std::remove_if(shared_.begin(), shared_.end(), [](const Shared& s) { return s.index->is_used_up(); }), shared_.end());
    size_t count = 0;
    std::shared_ptr<Spanner> idlest;
    for (const Shared& s : shared_) {
        if (s.with != with) continue;
        count++;
        if (!idlest || s.index->num_explorers() < idlest->num_explorers()) idlest = s.index;
    }
    if (!idlest || (idlest->num_explorers() && count < most)) {
        idlest = std::shared_ptr<Spanner>(new Spanner(vocabulary_, Policy::kScannerless, with), free_beside);
        shared_.push_back({with, idlest});
    }
    set_budget(budget_);
    return idlest;
}

void PyVocabulary::set_budget(uint64_t bytes) {
    budget_ = bytes;
    for (const Shared& s : shared_) s.index->set_budget(size_t(bytes / shared_.size()));
}

uint64_t PyVocabulary::shared_bytes() const {
    uint64_t all = 0;
    for (const Shared& s : shared_) all += s.index->published_bytes();
    return all;
}

namespace {

void bind_transducers(nb::module_& m) {
    using Edges = std::vector<std::vector<std::tuple<uint8_t, uint8_t, uint16_t, std::optional<nb::bytes>>>>;
    nb::class_<Transducer>(m, "Transducer", "How a text is decoded, byte by byte.")
        .def(
            "__init__",
            [](Transducer* self, const Edges& edges, const std::vector<bool>& may_end, uint16_t start) {
                std::vector<std::vector<Transducer::Edge>> all;
                for (const auto& of_state : edges) {
                    all.emplace_back();
                    for (const auto& [first, last, next, output] : of_state)
                        all.back().push_back({first, last, next, output ? std::optional(std::string(view(*output))) : std::nullopt});
                }
                new (self) Transducer(all, {may_end.begin(), may_end.end()}, start);
            },
            nb::arg("edges"), nb::arg("may_end"), nb::arg("start"),
            "`edges`: by state, (first byte, last byte, next state, what is written, or None for the byte itself). State 0 is where most "
            "of a text is read.")
        .def(
            "decode",
            [](const Transducer& t, nb::bytes text) -> std::optional<nb::bytes> {
                std::string out;
                const Transducer::State behind = t.run(t.start(), view(text), out);
                if (behind == Transducer::kNone || !t.may_end(behind)) return std::nullopt;
                return nb::bytes(out.data(), out.size());
            },
            nb::arg("text"), "What a text stands for; None: it cannot be decoded.")
        .def(
            "encode",
            [](const Transducer& t, nb::bytes decoded) -> std::optional<nb::bytes> {
                const std::optional<std::string> text = t.encode(t.start(), view(decoded));
                return text ? std::optional(nb::bytes(text->data(), text->size())) : std::nullopt;
            },
            nb::arg("decoded"), "A shortest text that stands for this one; None: there is none.");
}

}  // namespace

void bind_vocabularies(nb::module_& m) {
    bind_transducers(m);
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
                new (self) PyVocabulary(std::move(v));
            },
            nb::arg("tokens"), nb::arg("eos_ids"))
        .def_static(
            "from_tables",
            [](nb::bytes lengths, nb::bytes blob, nb::bytes order, const std::vector<uint32_t>& eos) {
                Unlocked unlocked;
                return new PyVocabulary(std::make_shared<Vocabulary>(Vocabulary::from_tables(view(lengths), view(blob), view(order), eos)));
            },
            nb::arg("lengths"), nb::arg("blob"), nb::arg("order"), nb::arg("eos_ids"), "From tables as they are saved.")
        .def(
            "order",
            [](const PyVocabulary& v) {
                std::string out;
                for (uint32_t token : v.vocabulary()->trie.tokens)
                    for (int shift : {0, 8, 16, 24}) out.push_back(char(token >> shift));
                return nb::bytes(out.data(), out.size());
            },
            "The tokens of text in the order of their bytes, as they are saved.")
        .def(
            "decoded",
            [](const PyVocabulary& v, const Transducer& transducer) {
                // SAFETY: a copy, since Python owns this one: an index that refers to it is freed by a thread without its lock.
                const auto own = std::make_shared<const Transducer>(transducer);
                Unlocked unlocked;
                return new PyVocabulary(std::make_shared<Vocabulary>(Vocabulary::of_decoded(v.vocabulary(), own)));
            },
            nb::arg("transducer"), "The same tokens as what their bytes stand for.")
        .def(
            "tokens",
            [](const PyVocabulary& v) {
                nb::list all;
                for (const std::string& token : v.vocabulary()->bytes)
                    if (token.empty()) all.append(nb::none());
                    else all.append(nb::bytes(token.data(), token.size()));
                return all;
            },
            "Their bytes; None where one is no text.")
        .def_prop_ro("size", [](const PyVocabulary& v) { return v.vocabulary()->size(); })
        .def_prop_ro("shared_bytes", &PyVocabulary::shared_bytes, "Memory of the index that scannerless grammars share.")
        .def("set_shared_budget", &PyVocabulary::set_budget, nb::arg("size"), "Past so many bytes a new index is begun.")
        .def("forget_shared", &PyVocabulary::forget_shared, "Begins a new index; the old one lives as long as its grammars.");
}

}  // namespace derivable
