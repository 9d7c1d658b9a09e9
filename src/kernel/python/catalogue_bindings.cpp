// Names in files (automata/catalogue.hpp), to be built and to stand in slots (derivable.support.catalogues).
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>

#include "automata/catalogue.hpp"
#include "automata/catalogue_records.hpp"
#include "automata/sorted_runs.hpp"
#include "python/arguments.hpp"
#include "python/bindings.hpp"
#include "python/buffers.hpp"
#include "python/interpreter.hpp"
#include "sequence/slots.hpp"

namespace nb = nanobind;

namespace derivable {

namespace {

class CatalogueNames final : public NameSet {
  public:
    CatalogueNames(std::shared_ptr<const Py_buffer> file, uint64_t root, bool ignores_case)
        : file_(std::move(file)),
          catalogue_(bytes_of(*file_), root),
          ignores_case_(ignores_case) {}
    Node step(Node node, uint8_t byte) override { return catalogue_.step(at(node), ignores_case_ ? uint8_t(small(char(byte))) : byte); }
    ByteSet next(Node node) override {
        ByteSet bytes = catalogue_.next(at(node));
        if (ignores_case_)
            for (char c = 'a'; c <= 'z'; c++)
                if (bytes[uint8_t(c)]) bytes.set(uint8_t(c - 'a' + 'A'));
        return bytes;
    }
    bool is_name(Node node) override { return catalogue_.is_text(at(node)); }
    std::vector<std::string> rests(Node node, size_t most) override { return catalogue_.rests(at(node), most); }
    bool contains(std::string_view text) const {
        std::string folded(text);
        if (ignores_case_) std::transform(folded.begin(), folded.end(), folded.begin(), small);
        return catalogue_.contains(folded);
    }

  private:
    static_assert(kNowhere == Catalogue::kNowhere);
    Node at(Node node) const { return node == kRoot ? catalogue_.root() : node; }

    const std::shared_ptr<const Py_buffer> file_;
    const Catalogue catalogue_;
    const bool ignores_case_;
};

// Takes names in any order; then runs of them are merged.
class CatalogueBuilder {
  public:
    CatalogueBuilder(size_t memory, bool ignores_case) : sorter_(std::in_place, memory), ignores_case_(ignores_case) {}
    void add(const nb::list& texts) {
        for (nb::handle text : texts) {
            Py_ssize_t size;
            if (!PyUnicode_Check(text.ptr())) refuse("texts", "an iterable of texts", text);
            const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
            if (!bytes) {
                PyErr_Clear();
                refuse("texts", "texts without halves of surrogate pairs", text);
            }
            add({bytes, size_t(size)});
        }
    }
    void add_lines(const nb::bytes& lines) {
        std::string_view left(lines.c_str(), lines.size());
        while (!left.empty()) {
            const size_t end = std::min(left.find('\n'), left.size());
            std::string_view line = left.substr(0, end);
            if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
            add(line);
            left.remove_prefix(std::min(end + 1, left.size()));
        }
    }
    bool is_full() const { return sorter_.value().is_full(); }
    nb::bytes spill() {
        std::string part;
        {
            Unlocked unlocked;
            part = sorter_.value().spill();
        }
        return nb::bytes(part.data(), part.size());
    }
    void begin_merge(size_t runs) { sorter_.reset(), merger_.emplace(runs); }
    std::optional<size_t> merge() {
        Unlocked unlocked;
        while (records_.pending() < kMuch) {
            if (const std::optional<size_t> run = merger_.value().wanted()) return run;
            const std::optional<std::string_view> text = merger_->next();
            if (!text) {
                if (records_.size() != 0) root_ = records_.finish();
                is_done_ = true;
                break;
            }
            records_.add(*text);
        }
        return std::nullopt;
    }
    void feed(const nb::bytes& bytes) { merger_.value().feed({bytes.c_str(), bytes.size()}); }
    nb::bytes take() {
        const std::string records = records_.take();
        return nb::bytes(records.data(), records.size());
    }
    bool is_done() const { return is_done_; }
    // How many, bytes of the shortest one, and where the root lies.
    nb::tuple found() const { return nb::make_tuple(records_.size(), records_.shortest(), root_); }

  private:
    static constexpr size_t kMuch = size_t(1) << 20;
    void add(std::string_view text) {
        constexpr size_t kShown = 80;
        if (text.empty()) return;  // which is no lexeme
        if (text.size() > Catalogue::kLongestText)
            refuse("texts", "names of at most 65,535 bytes", nb::bytes(text.data(), std::min(text.size(), kShown)));
        if (!ignores_case_) return sorter_.value().add(text);
        folded_.assign(text);
        std::transform(folded_.begin(), folded_.end(), folded_.begin(), small);
        sorter_.value().add(folded_);
    }

    std::optional<RunSorter> sorter_;  // until all is merged
    std::optional<RunMerger> merger_;
    CatalogueRecords records_;
    const bool ignores_case_;
    std::string folded_;
    uint64_t root_ = 0;
    bool is_done_ = false;
};

}  // namespace

void bind_catalogues(nb::module_& m) {
    nb::class_<CatalogueNames, NameSet>(m, "Catalogue", "Names in the bytes of a file, which are read when they are asked for.")
        .def(
            "__init__",
            [](CatalogueNames* self, nb::handle nodes, uint64_t root, bool ignores_case) {
                new (self) CatalogueNames(kept_buffer(nodes), root, ignores_case);
            },
            nb::arg("nodes"), nb::arg("root"), nb::arg("ignores_case"))
        .def(
            "contains", [](const CatalogueNames& names, nb::bytes text) { return names.contains({text.c_str(), text.size()}); },
            nb::arg("text"));
    nb::class_<CatalogueBuilder>(
        m, "CatalogueBuilder",
        "Writes what a Catalogue reads. Names are added until there are many; these are spilled, part by part, and "
        "are a run. At the end the runs are fed to a merge.")
        .def(nb::init<size_t, bool>(), nb::arg("memory"), nb::arg("ignores_case"))
        .def("add", nb::overload_cast<const nb::list&>(&CatalogueBuilder::add), nb::arg("texts"))
        .def("add_lines", &CatalogueBuilder::add_lines, nb::arg("lines"))
        .def("is_full", &CatalogueBuilder::is_full)
        .def("spill", &CatalogueBuilder::spill)
        .def("begin_merge", &CatalogueBuilder::begin_merge, nb::arg("runs"))
        .def("merge", &CatalogueBuilder::merge, "A run of which more is to be fed; None: there is something to be taken, or all is done.")
        .def("feed", &CatalogueBuilder::feed, nb::arg("bytes"))
        .def("take", &CatalogueBuilder::take)
        .def("is_done", &CatalogueBuilder::is_done)
        .def("found", &CatalogueBuilder::found, "How many names, bytes of the shortest one, and where the root lies.");
}

}  // namespace derivable
