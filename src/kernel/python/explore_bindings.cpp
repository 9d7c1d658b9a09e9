#include "python/bindings.hpp"

#include <memory>
#include <string>
#include <vector>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "matching/explore.hpp"
#include "python/interpreter.hpp"

namespace nb = nanobind;

namespace derivable {

namespace {
// Explorer::End.
constexpr const char* kEnds[] = {"most", "none", "enough", "time", "memory"};
}  // namespace

void bind_explorers(nb::module_& m) {
    nb::class_<Explorer>(m, "Explorer", "Situations visited before texts come to them.")
        .def(
            "__init__",
            [](Explorer* self, std::shared_ptr<Constraint> constraint, std::vector<uint32_t> tokens,
               const std::vector<nb::bytes>& literals) {
                std::vector<std::string> texts;
                for (const nb::bytes& text : literals) texts.emplace_back(text.c_str(), text.size());
                Unlocked unlocked;
                new (self) Explorer(std::move(constraint), std::move(tokens), texts);
            },
            nb::arg("constraint"), nb::arg("tokens"), nb::arg("literals"))
        .def(
            "meet_start",
            [](Explorer& e) {
                Unlocked unlocked;
                e.meet_start();
            },
            "Begins where every text does.")
        .def(
            "cut",
            [](const Explorer& e, nb::bytes text) {
                Unlocked unlocked;
                return e.cut({text.c_str(), text.size()});
            },
            nb::arg("text"), "Tokens that the tokenizer is likely to make of a text.")
        .def(
            "follow",
            [](Explorer& e, const std::vector<uint32_t>& tokens, double seconds, uint64_t bytes, uint64_t worth) {
                Unlocked unlocked;
                return std::string(kEnds[int(e.follow(tokens, seconds, bytes, worth))]);
            },
            nb::arg("tokens"), nb::arg("seconds"), nb::arg("bytes"), nb::arg("worth"),
            "Visits what is along a text, as far as it goes; why it ended.")
        .def(
            "visit",
            [](Explorer& e, uint64_t most, uint64_t known, double seconds, uint64_t bytes, uint64_t worth, double below) {
                Unlocked unlocked;
                return std::string(kEnds[int(e.visit({most, known, seconds, bytes, worth, below}))]);
            },
            nb::arg("most"), nb::arg("known"), nb::arg("seconds"), nb::arg("bytes"), nb::arg("worth"), nb::arg("below"),
            "Visits some; why it ended.")
        .def_prop_ro("visited", &Explorer::visited)
        .def_prop_ro("followed", &Explorer::followed)
        .def_prop_ro("found", &Explorer::found)
        .def_prop_ro("visits", &Explorer::visits, "All of them.");
    nb::class_<Visits>(m, "Visits", "What was visited, as steps from the start of texts.")
        .def(
            "saved",
            [](const Visits& v, const std::shared_ptr<Constraint>& constraint) {
                std::string out = [&] {
                    Unlocked unlocked;
                    return v.saved(constraint);
                }();
                return nb::bytes(out.data(), out.size());
            },
            nb::arg("constraint"), "With the masks of the constraint that was explored, as bytes.");
    m.def(
        "replay",
        [](const std::shared_ptr<Constraint>& constraint, nb::bytes data, double seconds) {
            Unlocked unlocked;
            return Visits::replay(constraint, {data.c_str(), data.size()}, seconds);
        },
        nb::arg("constraint"), nb::arg("data"), nb::arg("seconds"), "Notes the masks of what was visited; how many.");
}

}  // namespace derivable
