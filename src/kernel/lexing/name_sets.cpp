#include "lexing/name_sets.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "support/errors.hpp"
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

bool is_shorter(std::string_view a, std::string_view b) { return a.size() != b.size() ? a.size() < b.size() : a < b; }

// Sorted texts, those in any case (in small letters) and those as they are spelled. A node is those that begin alike, as far as that is read, and its number
// says which, so that nothing is kept of the nodes that were asked for.
//
// PERF: with tables of these nodes the sets of 100 queries of SQL took 100 MB on llama-3's vocabulary, and grew with each query.
template <class Text>
class SortedTexts {
  public:
    using Lists = std::array<std::vector<Text>, 2>;
    struct Range {
        size_t begin = 0, end = 0;
        bool is_empty() const { return begin == end; }
    };
    struct Place {
        std::array<Range, 2> of;  // each list
        size_t depth = 0;
        bool is_nowhere() const { return of[0].is_empty() && of[1].is_empty(); }
    };
    explicit SortedTexts(Lists lists) : lists_(std::move(lists)) {
        size_t longest = 0;
        for (size_t i = 0; i < 2; i++) {
            while (lists_[i].size() >> bits_[i]) bits_[i]++;
            for (const Text& text : lists_[i]) longest = std::max(longest, text.size());
        }
        const uint32_t ranges = 2 * (bits_[0] + bits_[1]);
        const uint64_t most = ranges < 63 ? 1ULL << (63 - ranges) : 0;
        if (longest >= most)
            throw LimitExceeded("names", longest, most, "bytes of the longest of so many; put them into a file (Names.build)");
    }
    const Lists& lists() const { return lists_; }
    Place place(NameSet::Node node) const {
        Place at;
        for (size_t i = 0; i < 2; i++) {
            const uint64_t mask = (1ULL << bits_[i]) - 1;
            at.of[i].begin = size_t(node & mask), node >>= bits_[i];
            at.of[i].end = lists_[i].size() - size_t(node & mask), node >>= bits_[i];
        }
        at.depth = size_t(node);
        return at;
    }
    NameSet::Node node(const Place& at) const {
        uint64_t node = at.depth;
        for (size_t i = 2; i-- > 0;) {
            node = node << bits_[i] | uint64_t(lists_[i].size() - at.of[i].end);
            node = node << bits_[i] | uint64_t(at.of[i].begin);
        }
        return node;
    }
    Place step(const Place& at, uint8_t byte) const {
        return {{further(0, at.of[0], at.depth, uint8_t(small(char(byte)))), further(1, at.of[1], at.depth, byte)}, at.depth + 1};
    }
    // Bytes with which they go on.
    ByteSet next(const Place& at) const {
        ByteSet bytes;
        for (size_t i = 0; i < 2; i++) {
            Range range = at.of[i];
            if (!range.is_empty() && lists_[i][range.begin].size() == at.depth) range.begin++;
            while (!range.is_empty()) {
                const auto byte = uint8_t(lists_[i][range.begin][at.depth]);
                bytes.set(byte);
                if (i == 0 && byte >= 'a' && byte <= 'z') bytes.set(uint8_t(byte - 'a' + 'A'));
                range.begin = further(i, range, at.depth, byte).end;
            }
        }
        return bytes;
    }
    // visit(text) for those that end there.
    template <class Visit>
    void each_ended(const Place& at, Visit visit) const {
        for (size_t i = 0; i < 2; i++)
            if (!at.of[i].is_empty() && lists_[i][at.of[i].begin].size() == at.depth) visit(lists_[i][at.of[i].begin]);
    }

  private:
    Range further(size_t list, const Range& range, size_t depth, uint8_t byte) const {
        if (range.is_empty()) return {};
        const auto all = lists_[list].begin();
        const auto before = [&](const Text& text, uint32_t b) { return text.size() <= depth || uint8_t(text[depth]) < b; };
        const auto begin = std::lower_bound(all + long(range.begin), all + long(range.end), uint32_t(byte), before);
        const auto end = std::lower_bound(begin, all + long(range.end), byte + 1u, before);
        if (begin == end) return {};
        return {size_t(begin - all), size_t(end - all)};
    }
    const Lists lists_;
    std::array<uint32_t, 2> bits_{};  // of a number of texts
};

class SortedNames final : public NameSet {
  public:
    explicit SortedNames(Spellings sorted) : texts_(std::move(sorted)) {}
    Node step(Node node, uint8_t byte) override {
        const auto next = texts_.step(texts_.place(node), byte);
        return next.is_nowhere() ? kNowhere : texts_.node(next);
    }
    ByteSet next(Node node) override { return texts_.next(texts_.place(node)); }
    bool is_name(Node node) override {
        bool is = false;
        texts_.each_ended(texts_.place(node), [&](const std::string&) { is = true; });
        return is;
    }
    const Spellings* spellings() override { return &texts_.lists(); }
    const std::vector<std::string>* listed() override {
        const auto& [in_any_case, as_spelled] = texts_.lists();
        return in_any_case.empty() ? &as_spelled : as_spelled.empty() ? &in_any_case : nullptr;
    }
    bool ignores_case() override { return !texts_.lists()[0].empty(); }
    std::vector<std::string> rests(Node node, size_t most) override {
        const auto at = texts_.place(node);
        std::vector<std::string_view> all;
        for (size_t i = 0; i < 2; i++)
            for (size_t k = at.of[i].begin; k < at.of[i].end; k++) all.push_back(std::string_view(texts_.lists()[i][k]).substr(at.depth));
        const auto end = all.begin() + long(std::min(most, all.size()));
        std::partial_sort(all.begin(), end, all.end(), is_shorter);
        return {all.begin(), end};
    }

  private:
    const SortedTexts<std::string> texts_;
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
        std::sort(all.begin(), all.end(), is_shorter);
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

// Any text that the terminal has, but some, which are listed, as those are that are marked.
class OtherSortedNames final : public NameSet {
  public:
    OtherSortedNames(NameSetRef but, std::optional<std::vector<NameSetRef>> marked)
        : but_(std::move(but)),
          marked_(std::move(marked)),
          texts_(merged()) {}

    Node step(Node node, uint8_t byte) override {
        const auto next = texts_.step(texts_.place(node), byte);
        return texts_.node(next.is_nowhere() ? decltype(next)() : next);
    }
    bool is_name(Node node) override {
        bool is = true;
        texts_.each_ended(texts_.place(node), [&](const Text& text) { is = is && !text.is_left_out; });
        return is;
    }
    std::optional<std::vector<std::string>> unlike(Node node) override {
        constexpr size_t kMost = size_t(1) << 16;
        if (!marked_) return std::nullopt;
        const auto at = texts_.place(node);
        if (at.of[0].end - at.of[0].begin + at.of[1].end - at.of[1].begin >= kMost) return std::nullopt;
        std::vector<std::string> rests;
        for (size_t i = 0; i < 2; i++)
            for (size_t k = at.of[i].begin; k < at.of[i].end; k++) rests.emplace_back(texts_.lists()[i][k].text.substr(at.depth));
        return rests;
    }
    std::vector<std::string> rests(Node, size_t) override { return {}; }
    NameSet* excluded() override { return but_.get(); }

  private:
    struct Text {
        std::string_view text;  // of one of the sets
        bool is_left_out;
        size_t size() const { return text.size(); }
        char operator[](size_t i) const { return text[i]; }
    };
    SortedTexts<Text>::Lists merged() const {
        SortedTexts<Text>::Lists all;
        for (size_t i = 0; i < 2; i++) {
            std::vector<Text>& texts = all[i];
            const auto add = [&](NameSet& names, bool is_left_out) {
                const auto begun = long(texts.size());
                for (const std::string& text : (*names.spellings())[i]) texts.push_back({text, is_left_out});
                std::inplace_merge(texts.begin(), texts.begin() + begun, texts.end(),
                                   [](const Text& a, const Text& b) { return a.text < b.text; });
            };
            add(*but_, true);
            if (marked_)
                for (const NameSetRef& names : *marked_) add(*names, false);
            // Of equal ones the first: inplace_merge is stable.
            texts.erase(std::unique(texts.begin(), texts.end(), [](const Text& a, const Text& b) { return a.text == b.text; }),
                        texts.end());
        }
        return all;
    }
    const NameSetRef but_;
    const std::optional<std::vector<NameSetRef>> marked_;
    const SortedTexts<Text> texts_;
};

// The same of any sets.
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

// Each once.
void sort_once(std::vector<std::string>& texts) {
    std::sort(texts.begin(), texts.end());
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
}

bool all_are_listed(const std::vector<NameSetRef>& sets) {
    return std::all_of(sets.begin(), sets.end(), [](const NameSetRef& names) { return names->spellings(); });
}

}  // namespace

NameSetRef sorted_names(std::vector<std::string> names, bool ignores_case) {
    sort_once(names);
    if (!names.empty() && names[0].empty()) names.erase(names.begin());
    NameSet::Spellings all;
    all[ignores_case ? 0 : 1] = std::move(names);
    return std::make_shared<SortedNames>(std::move(all));
}

NameSetRef any_name(std::vector<NameSetRef> sets) {
    if (!all_are_listed(sets)) return std::make_shared<AnyNames>(std::move(sets));
    NameSet::Spellings all;
    for (size_t i = 0; i < 2; i++) {
        for (const NameSetRef& names : sets) all[i].insert(all[i].end(), (*names->spellings())[i].begin(), (*names->spellings())[i].end());
        sort_once(all[i]);
    }
    return std::make_shared<SortedNames>(std::move(all));
}

NameSetRef other_names(NameSetRef names, std::optional<std::vector<NameSetRef>> marked) {
    if (names->spellings() && (!marked || all_are_listed(*marked)))
        return std::make_shared<OtherSortedNames>(std::move(names), std::move(marked));
    NameSetRef unlike;
    if (marked) {
        marked->push_back(names);
        unlike = std::make_shared<AnyNames>(std::move(*marked));
    }
    return std::make_shared<OtherNames>(std::move(names), std::move(unlike));
}

}  // namespace derivable
