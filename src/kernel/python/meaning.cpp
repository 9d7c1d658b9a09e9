// What names there are, as Python says it (derivable.meaning).
#include "python/meaning.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/bindings.hpp"
#include "python/interpreter.hpp"
#include "support/errors.hpp"
#include "support/hashing.hpp"

namespace nb = nanobind;

namespace derivable {

namespace {

struct NodesHash {
    size_t operator()(const std::vector<NameSet::Node>& nodes) const {
        uint64_t h = nodes.size();
        for (NameSet::Node n : nodes) h = mix(h ^ n);
        return h;
    }
};

// Sorted texts: a node is those that begin alike, as far as that is read.
class SortedNames final : public NameSet {
  public:
    SortedNames(std::vector<std::string> sorted, bool ignores_case) : names_(std::move(sorted)), ignores_case_(ignores_case) {
        nodes_.push_back({0, uint32_t(names_.size()), 0});
    }

    Node step(Node node, uint8_t byte) override {
        const std::lock_guard<std::mutex> guard(lock_);
        if (ignores_case_ && byte >= 'A' && byte <= 'Z') byte = uint8_t(byte - 'A' + 'a');
        const uint64_t key = pack(uint32_t(node), byte);
        if (const Node* known = steps_.find(key)) return *known;
        const Range at = nodes_[node];
        const auto first = names_.begin() + at.begin, last = names_.begin() + at.end;
        const auto before = [&](const std::string& name, uint32_t b) { return name.size() <= at.depth || uint8_t(name[at.depth]) < b; };
        const auto begin = std::lower_bound(first, last, uint32_t(byte), before), end = std::lower_bound(begin, last, byte + 1u, before);
        Node next = kNowhere;
        if (begin != end) {
            next = Node(nodes_.size());
            nodes_.push_back({uint32_t(begin - names_.begin()), uint32_t(end - names_.begin()), at.depth + 1});
        }
        return steps_[key] = next;
    }
    bool is_name(Node node) override {
        const std::lock_guard<std::mutex> guard(lock_);
        return nodes_[node].begin < nodes_[node].end && names_[nodes_[node].begin].size() == nodes_[node].depth;
    }
    const std::vector<std::string>* listed() override { return &names_; }
    bool ignores_case() override { return ignores_case_; }
    std::vector<std::string> rests(Node node, size_t most) override {
        const std::lock_guard<std::mutex> guard(lock_);
        const Range at = nodes_[node];
        std::vector<std::pair<size_t, uint32_t>> lengths;
        for (uint32_t i = at.begin; i < at.end; i++) lengths.emplace_back(names_[i].size(), i);
        const auto end = lengths.begin() + long(std::min(most, lengths.size()));
        std::partial_sort(lengths.begin(), end, lengths.end());
        std::vector<std::string> all;
        for (auto l = lengths.begin(); l != end; ++l) all.push_back(names_[l->second].substr(at.depth));
        return all;
    }

  private:
    std::mutex lock_;  // constraints share it
    struct Range {
        uint32_t begin, end, depth;
    };
    const std::vector<std::string> names_;
    const bool ignores_case_;
    std::vector<Range> nodes_;
    FlatMap<Node> steps_;
};

// Those of several sets.
class AnyNames final : public NameSet {
  public:
    explicit AnyNames(std::vector<NameSetRef> sets) : sets_(std::move(sets)) { nodes_.emplace_back(sets_.size(), kRoot); }
    Node step(Node node, uint8_t byte) override {
        const std::lock_guard<std::mutex> guard(lock_);
        std::vector<Node> next(nodes_[node]);
        for (size_t i = 0; i < sets_.size(); i++)
            if (next[i] != kNowhere) next[i] = sets_[i]->step(next[i], byte);
        if (std::all_of(next.begin(), next.end(), [](Node n) { return n == kNowhere; })) return kNowhere;
        const auto [known, is_new] = numbers_.try_emplace(next, Node(nodes_.size()));
        if (is_new) nodes_.push_back(std::move(next));
        return known->second;
    }
    bool is_name(Node node) override {
        const std::lock_guard<std::mutex> guard(lock_);
        for (size_t i = 0; i < sets_.size(); i++)
            if (nodes_[node][i] != kNowhere && sets_[i]->is_name(nodes_[node][i])) return true;
        return false;
    }
    std::vector<std::string> rests(Node node, size_t most) override {
        const std::lock_guard<std::mutex> guard(lock_);
        std::vector<std::string> all;
        for (size_t i = 0; i < sets_.size(); i++)
            if (nodes_[node][i] != kNowhere)
                for (std::string& rest : sets_[i]->rests(nodes_[node][i], most)) all.push_back(std::move(rest));
        std::sort(all.begin(), all.end(),
                  [](const std::string& a, const std::string& b) { return a.size() != b.size() ? a.size() < b.size() : a < b; });
        all.erase(std::unique(all.begin(), all.end()), all.end());
        all.resize(std::min(all.size(), most));
        return all;
    }

  private:
    std::mutex lock_;  // constraints share it
    const std::vector<NameSetRef> sets_;
    std::vector<std::vector<Node>> nodes_;  // of each
    std::unordered_map<std::vector<Node>, Node, NodesHash> numbers_;
};

// Any text that the terminal has, but some.
class OtherNames final : public NameSet {
  public:
    // `marked`: those that are not like the others, and those that are none; null: that is not known.
    OtherNames(NameSetRef but, NameSetRef marked) : but_(std::move(but)), marked_(std::move(marked)) {}
    Node step(Node node, uint8_t byte) override {
        const std::lock_guard<std::mutex> guard(lock_);
        const auto [but, marked] = nodes_[node];
        const Node next = but == kNowhere ? kNowhere : but_->step(but, byte);
        const Node other = marked == kNowhere ? kNowhere : marked_->step(marked, byte);
        const auto [known, is_new] = numbers_.try_emplace({next, other}, Node(nodes_.size()));
        if (is_new) nodes_.emplace_back(next, other);
        return known->second;
    }
    bool is_name(Node node) override {
        const std::lock_guard<std::mutex> guard(lock_);
        return nodes_[node].first == kNowhere || !but_->is_name(nodes_[node].first);
    }
    std::optional<std::vector<std::string>> unlike(Node node) override {
        const std::lock_guard<std::mutex> guard(lock_);
        constexpr size_t kMost = size_t(1) << 16;
        if (!marked_) return std::nullopt;
        const Node marked = nodes_[node].second;
        if (marked == kNowhere) return std::vector<std::string>();
        std::vector<std::string> rests = marked_->rests(marked, kMost);
        if (rests.size() == kMost) return std::nullopt;  // and perhaps more
        return rests;
    }
    std::vector<std::string> rests(Node, size_t) override { return {}; }
    NameSet* excluded() override { return but_.get(); }

  private:
    std::mutex lock_;  // constraints share it
    const NameSetRef but_, marked_;
    std::vector<std::pair<Node, Node>> nodes_{{kRoot, marked_ ? kRoot : kNowhere}};  // of both
    std::unordered_map<std::vector<Node>, Node, NodesHash> numbers_;
};

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
        .def_static(
            "of",
            [](std::vector<std::string> names, bool ignores_case) -> NameSetRef {
                std::sort(names.begin(), names.end());
                names.erase(std::unique(names.begin(), names.end()), names.end());
                if (!names.empty() && names[0].empty()) names.erase(names.begin());
                return std::make_shared<SortedNames>(std::move(names), ignores_case);
            },
            nb::arg("names"), nb::arg("ignores_case"),
            "These, but the empty one, which is no lexeme. `ignores_case`: of ASCII letters; then they are given in small ones.")
        .def_static(
            "any", [](std::vector<NameSetRef> sets) -> NameSetRef { return std::make_shared<AnyNames>(std::move(sets)); }, nb::arg("sets"),
            "Those of several sets.")
        .def_static(
            "but",
            [](NameSetRef names, NameSetRef marked) -> NameSetRef {
                return std::make_shared<OtherNames>(std::move(names), std::move(marked));
            },
            nb::arg("names"), nb::arg("marked").none(),
            "Any text that the terminal of the slot has, but these. `marked`: what may follow any text that is not among them is the same; "
            "`None`: that "
            "is not known.");
}

}  // namespace derivable
