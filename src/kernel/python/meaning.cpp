// What names there are, as Python says it (derivable.meaning).
#include "python/meaning.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "lexing/name_sets.hpp"
#include "python/bindings.hpp"
#include "python/interpreter.hpp"

namespace nb = nanobind;

namespace derivable {

namespace {

class PyMeaning final : public Meaning {
  public:
    explicit PyMeaning(nb::object source) : source_(std::move(source)) {}
    template <class Ask>
    static auto asked(Ask ask) {
        const nb::gil_scoped_acquire gil;
        const CallsPython within;
        return ask();
    }
    ~PyMeaning() override {
        // SAFETY: whoever frees the constraint; when the interpreter has ended there is nothing to be freed.
        if (!nb::is_alive()) {
            source_.release();
            return;
        }
        const nb::gil_scoped_acquire gil;
        source_.reset();
    }
    State start() override {
        return asked([&] { return nb::cast<State>(source_.attr("start")()); });
    }
    NameSetRef names(State state, Symbol slot) override {
        return asked([&] {
            const nb::object found = source_.attr("names")(state, slot);
            return found.is_none() ? NameSetRef() : nb::cast<NameSetRef>(found);
        });
    }
    State read(State state, Symbol slot, std::string_view text) override {
        return asked([&] { return nb::cast<State>(source_.attr("read")(state, slot, nb::bytes(text.data(), text.size()))); });
    }
    bool is_free(Symbol slot) override {
        return asked([&] { return nb::cast<bool>(source_.attr("is_free")(slot)); });
    }
    std::pair<uint32_t, std::vector<std::string>> longest(Symbol slot) override {
        return asked([&] {
            const nb::object found = source_.attr("longest")(slot);
            return std::pair(nb::cast<uint32_t>(found[0]), texts(found[1]).value());
        });
    }
    static std::optional<std::vector<std::string>> texts(const nb::object& found) {
        if (found.is_none()) return std::nullopt;
        std::vector<std::string> texts;
        for (nb::handle each : found) {
            const nb::bytes text = nb::cast<nb::bytes>(each);
            texts.emplace_back(text.c_str(), text.size());
        }
        return texts;
    }
    std::optional<std::vector<std::string>> missing(State state) override {
        return asked([&] { return texts(source_.attr("missing")(state)); });
    }
    std::vector<std::string> growth(Symbol slot) override {
        return asked([&] { return texts(source_.attr("growth")(slot)).value(); });
    }
    std::string written(State state) override {
        return asked([&] {
            const nb::bytes bytes = nb::cast<nb::bytes>(source_.attr("written")(state));
            return std::string(bytes.c_str(), bytes.size());
        });
    }
    State restored(std::string_view bytes) override {
        return asked([&] { return nb::cast<State>(source_.attr("restored")(nb::bytes(bytes.data(), bytes.size()))); });
    }
    void keep(const std::vector<State>& states) override {
        asked([&] { source_.attr("keep")(states); });
    }
    bool may_end(State state) override {
        return asked([&] { return nb::cast<bool>(source_.attr("may_end")(state)); });
    }

  private:
    nb::object source_;
};

}  // namespace

std::shared_ptr<Meaning> python_meaning(nb::object source) { return std::make_shared<PyMeaning>(std::move(source)); }

void bind_names(nb::module_& m) {
    nb::class_<NameSet>(m, "NameSet", "Names that may stand in a slot.")
        .def_static("of", &sorted_names, nb::arg("names"), nb::arg("ignores_case"),
                    "These, but the empty one, which is no lexeme. `ignores_case`: of ASCII letters; then they are given in small ones.")
        .def_static("any", &any_name, nb::arg("sets"), "Those of several sets.")
        .def_static(
            "but", &other_names, nb::arg("names"), nb::arg("marked").none(),
            "Any text that the terminal of the slot has, but these. `marked`: what may follow any text that is not among them is the same; "
            "`None`: that "
            "is not known.");
}

}  // namespace derivable
