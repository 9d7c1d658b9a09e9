// Sets of names, read byte by byte: against the lists that they were made of.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "lexing/name_sets.hpp"
#include "random_languages.hpp"

using namespace derivable;
using namespace derivable::testing;

namespace {

constexpr char kLetters[] = {'a', 'b', 'A', 'B'};

std::string small(std::string text) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    return text;
}

std::vector<std::string> all_texts(size_t longest) {
    std::vector<std::string> all{""};
    for (size_t i = 0; i < all.size(); i++)
        if (all[i].size() < longest)
            for (char c : kLetters) all.push_back(all[i] + c);
    return all;
}

// Names in any case, and names as they are spelled.
struct Listed {
    std::set<std::string> in_any_case, as_spelled;

    explicit Listed(Draw& draw) {
        const std::vector<std::string> texts = all_texts(3);
        for (uint32_t i = 0, n = draw.below(6); i < n; i++) in_any_case.insert(small(texts[1 + draw.below(uint32_t(texts.size()) - 1)]));
        for (uint32_t i = 0, n = draw.below(6); i < n; i++) as_spelled.insert(texts[1 + draw.below(uint32_t(texts.size()) - 1)]);
    }
    bool has(const std::string& text) const { return in_any_case.count(small(text)) || as_spelled.count(text); }
    bool may_begin(const std::string& text) const {
        const auto begins = [](const std::string& name, const std::string& read) { return name.compare(0, read.size(), read) == 0; };
        return std::any_of(in_any_case.begin(), in_any_case.end(), [&](const auto& name) { return begins(name, small(text)); }) ||
               std::any_of(as_spelled.begin(), as_spelled.end(), [&](const auto& name) { return begins(name, text); });
    }
    NameSetRef made() const {
        return any_name(
            {sorted_names({in_any_case.begin(), in_any_case.end()}, true), sorted_names({as_spelled.begin(), as_spelled.end()}, false)});
    }
};

NameSet::Node step_all(NameSet& names, const std::string& text) {
    NameSet::Node node = NameSet::kRoot;
    for (char c : text)
        if (node != NameSet::kNowhere) node = names.step(node, uint8_t(c));
    return node;
}

// Names that are not listed: as those of a file.
class Unlisted final : public NameSet {
  public:
    explicit Unlisted(NameSetRef names) : names_(std::move(names)) {}
    Node step(Node node, uint8_t byte) override { return names_->step(node, byte); }
    bool is_name(Node node) override { return names_->is_name(node); }
    std::vector<std::string> rests(Node node, size_t most) override { return names_->rests(node, most); }

  private:
    const NameSetRef names_;
};

}  // namespace

TEST_CASE("names are those that are listed") {
    for (uint32_t seed = 0; seed < 100; seed++) {
        CAPTURE(seed);
        Draw draw(seed);
        const Listed names(draw);
        const NameSetRef set = names.made();
        for (const std::string& text : all_texts(4)) {
            CAPTURE(text);
            const NameSet::Node node = step_all(*set, text);
            CHECK((node != NameSet::kNowhere) == names.may_begin(text));
            if (node == NameSet::kNowhere) continue;
            CHECK(set->is_name(node) == names.has(text));
            const ByteSet next = set->next(node);
            for (char c : kLetters) CHECK(bool(next[uint8_t(c)]) == names.may_begin(text + c));
            for (const std::string& rest : set->rests(node, 100)) CHECK(names.has(text + rest));
        }
    }
}

TEST_CASE("all other names are those that are not") {
    for (uint32_t seed = 0; seed < 100; seed++) {
        CAPTURE(seed);
        Draw draw(seed);
        const Listed but(draw), marked(draw);
        for (bool is_listed : {true, false}) {
            const auto made = [&](const Listed& names) -> NameSetRef {
                return is_listed ? names.made() : std::make_shared<Unlisted>(names.made());
            };
            const NameSetRef set = other_names(made(but), std::vector<NameSetRef>{made(marked)});
            for (const std::string& text : all_texts(4)) {
                CAPTURE(text);
                const NameSet::Node node = step_all(*set, text);
                CHECK(set->is_name(node) == !but.has(text));
                const std::optional<std::vector<std::string>> unlike = set->unlike(node);
                REQUIRE(unlike);
                CHECK(unlike->empty() == !(but.may_begin(text) || marked.may_begin(text)));
                for (const std::string& rest : *unlike) CHECK((but.has(text + rest) || marked.has(text + rest)));
            }
        }
        CHECK(!other_names(but.made(), std::nullopt)->unlike(NameSet::kRoot));
    }
}
