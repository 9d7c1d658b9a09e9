#include "lexing/name_sets.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "support/hashing.hpp"

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

}  // namespace

NameSetRef sorted_names(std::vector<std::string> names, bool ignores_case) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    if (!names.empty() && names[0].empty()) names.erase(names.begin());
    return std::make_shared<SortedNames>(std::move(names), ignores_case);
}

NameSetRef any_name(std::vector<NameSetRef> sets) { return std::make_shared<AnyNames>(std::move(sets)); }

NameSetRef other_names(NameSetRef names, NameSetRef marked) { return std::make_shared<OtherNames>(std::move(names), std::move(marked)); }

}  // namespace derivable
