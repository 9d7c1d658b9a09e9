#include "matching/inner_constraint.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "matching/context.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

class InnerLanguage;

class InnerText final : public EmbeddedText {
  public:
    // Where it stands is a place of the inner constraint, as a matcher's is.
    InnerText(std::shared_ptr<InnerLanguage> language, Places::Place* place, bool is_begun, std::vector<uint32_t> key)
        : language_(std::move(language)),
          place_(place),
          is_begun_(is_begun),
          key_(std::move(key)) {}
    ~InnerText() override;
    InnerText(const InnerText&) = delete;
    InnerText& operator=(const InnerText&) = delete;

    Symbol symbol() const override;
    EmbeddedRef step(uint8_t byte) const override;
    EmbeddedRef take(uint32_t token) const override;
    EmbeddedRef end_token() const override;
    bool may_end() const override;
    bool names_token() const override;
    void allow(uint32_t* words) const override;
    Witness witness() const override;
    uint64_t context(int64_t hops) const override;
    Nodes ends(const ByteSet& before) const override;

  private:
    const Parses& parses() const { return place_->now->parses; }
    const std::shared_ptr<InnerLanguage> language_;
    Places::Place* const place_;
    const bool is_begun_;  // some of it is written
    const std::vector<uint32_t> key_;
};

// SAFETY: guarded by the lock of the constraint around.
class InnerLanguage final : public EmbeddedLanguage, public std::enable_shared_from_this<InnerLanguage> {
  public:
    InnerLanguage(std::shared_ptr<Constraint> inner, Symbol symbol) : inner_(std::move(inner)), symbol_(symbol) {}

    Symbol symbol() const override { return symbol_; }
    void set_around(Access& access) override { around_ = &access; }
    EmbeddedRef begin() override;
    void give_back() override;

    // An operation on the inner constraint, with what is left of the one around.
    template <class Act>
    auto within(Act act) {
        around_->leave();
        Operation operation(inner_->access(), Task::current() ? Task::current()->left() : Task::kUnbounded);
        inner_->collect_if_needed();
        return act(*inner_, operation);
    }
    // Null for no parses.
    EmbeddedRef text(Operation& operation, const Parses& parses, bool is_begun) {
        if (parses.empty()) return nullptr;
        EmbeddedRef found;
        operation.without_counting([&] {
            std::vector<uint32_t> key = key_of(parses, is_begun);
            std::weak_ptr<const InnerText>& known = texts_[key];
            if ((found = known.lock())) return;
            Places::Place* place = inner_->places.add(inner_->moments);
            const Moment* now = inner_->moments.add(nullptr, {parses});
            now->references++;
            place->now = now;
            const auto made = std::make_shared<const InnerText>(shared_from_this(), place, is_begun, std::move(key));
            known = made, found = made;
        });
        return found;
    }
    void leave(Places::Place* place, const std::vector<uint32_t>& key) {
        inner_->places.leave(place);
        const auto known = texts_.find(key);
        if (known != texts_.end() && known->second.expired()) texts_.erase(known);
    }

  private:
    // In any order: they are a set.
    static std::vector<uint32_t> key_of(const Parses& parses, bool is_begun) {
        std::vector<std::array<uint32_t, 8>> all;
        for (const Parse& t : parses) {
            const auto writing = reinterpret_cast<uintptr_t>(t.writing.get()), embedded = reinterpret_cast<uintptr_t>(t.embedded.get());
            all.push_back({t.lex.index(), t.stack.index(), t.environment, t.tokens, uint32_t(writing), uint32_t(uint64_t(writing) >> 32),
                           uint32_t(embedded), uint32_t(uint64_t(embedded) >> 32)});
        }
        std::sort(all.begin(), all.end());
        std::vector<uint32_t> key{is_begun};
        for (const auto& words : all) key.insert(key.end(), words.begin(), words.end());
        return key;
    }

    const std::shared_ptr<Constraint> inner_;
    const Symbol symbol_;
    Access* around_ = nullptr;
    std::unordered_map<std::vector<uint32_t>, std::weak_ptr<const InnerText>, WordsHash> texts_;  // that there are
};

EmbeddedRef InnerLanguage::begin() {
    return within([&](Constraint& inner, Operation& operation) { return text(operation, inner.initial(), false); });
}

void InnerLanguage::give_back() {
    within([](Constraint& inner, Operation&) {
        inner.give_back();
        return true;
    });
}

InnerText::~InnerText() { language_->leave(place_, key_); }

Symbol InnerText::symbol() const { return language_->symbol(); }

EmbeddedRef InnerText::step(uint8_t byte) const {
    return language_->within([&](Constraint& inner, Operation& operation) {
        Parses next;
        inner.runs().step(parses(), byte, next);
        return language_->text(operation, next, true);
    });
}

EmbeddedRef InnerText::take(uint32_t token) const {
    return language_->within([&](Constraint& inner, Operation& operation) {
        Parses next;
        inner.runs().step_token(parses(), token, next);
        return language_->text(operation, next, true);
    });
}

EmbeddedRef InnerText::end_token() const {
    return language_->within([&](Constraint& inner, Operation& operation) {
        Parses next = parses();
        inner.runs().end_token(next);
        return language_->text(operation, next, is_begun_);
    });
}

bool InnerText::may_end() const {
    return is_begun_ && language_->within([&](Constraint& inner, Operation&) { return inner.runs().accepting(parses()); });
}

bool InnerText::names_token() const {
    return language_->within([&](Constraint& inner, Operation&) { return inner.runs().names_token(parses()); });
}

void InnerText::allow(uint32_t* words) const {
    language_->within([&](Constraint& inner, Operation&) {
        std::vector<uint32_t> own(inner.vocabulary().words());
        inner.masks().fill_without_end(parses(), own.data());
        for (size_t w = 0; w < own.size(); w++) words[w] |= own[w];
        return true;
    });
}

Witness InnerText::witness() const {
    return language_->within([&](Constraint& inner, Operation&) { return inner.witnesses().find(parses()); });
}

uint64_t InnerText::context(int64_t hops) const {
    return language_->within([&](Constraint& inner, Operation&) {
        return derivable::context(inner.access().lexer(), inner.terminals(), inner.stacks(), parses(), hops);
    });
}

EmbeddedText::Nodes InnerText::ends(const ByteSet& before) const {
    return language_->within([&](Constraint& inner, Operation&) { return inner.text_ends().find(parses(), before); });
}

}  // namespace

std::shared_ptr<EmbeddedLanguage> inner_language(std::shared_ptr<Constraint> inner, Symbol symbol) {
    return std::make_shared<InnerLanguage>(std::move(inner), symbol);
}

}  // namespace derivable
