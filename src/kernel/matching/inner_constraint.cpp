#include "matching/inner_constraint.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "matching/context.hpp"
#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

class InnerLanguage;

class InnerText final : public EmbeddedText {
  public:
    // Where what it stands for has got is a place of the inner constraint, as a matcher's is.
    InnerText(std::shared_ptr<InnerLanguage> language, Places::Place* place, Transducer::State state, bool is_begun,
              std::vector<uint32_t> key)
        : language_(std::move(language)),
          place_(place),
          state_(state),
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
    std::optional<std::vector<uint32_t>> rest() const override;
    uint64_t context(int64_t hops) const override;
    Nodes ends(const ByteSet& before) const override;

  private:
    const Parses& parses() const { return place_->now->parses; }
    const std::shared_ptr<InnerLanguage> language_;
    Places::Place* const place_;
    const Transducer::State state_;
    const bool is_begun_;  // some of it is written
    const std::vector<uint32_t> key_;
};

// SAFETY: guarded by the lock of the constraint around.
class InnerLanguage final : public EmbeddedLanguage, public std::enable_shared_from_this<InnerLanguage> {
  public:
    InnerLanguage(std::shared_ptr<Constraint> inner, Symbol symbol)
        : inner_(std::move(inner)),
          symbol_(symbol),
          decoded_(inner_->vocabulary().decoded.get()),
          transducer_(decoded_ ? *decoded_->transducer : Transducer::identity()) {}

    Symbol symbol() const override { return symbol_; }
    void set_around(Access& access) override { around_ = &access; }
    EmbeddedRef begin() override;
    void give_back() override;

    const Vocabulary& vocabulary() const { return decoded_ ? *decoded_->of : inner_->vocabulary(); }  // that is written in
    const Decoded* decoded() const { return decoded_; }                                                  // null: it stands for itself
    const Transducer& transducer() const { return transducer_; }
    const TextEnds::Beginnings& beginnings(const ByteSet& before) {
        auto& known = beginnings_[before.words];
        if (!known) known = std::make_unique<TextEnds::Beginnings>(vocabulary().trie, transducer_, before);
        return *known;
    }
    // An operation on the inner constraint, with what is left of the one around.
    template <class Act>
    auto within(Act act) {
        around_->leave();
        Operation operation(inner_->access(), Task::current() ? Task::current()->left() : Task::kUnbounded);
        inner_->collect_if_needed();
        return act(*inner_, operation);
    }
    // The rest of what was begun to be decoded can be completed, and the parses take it.
    bool can_complete(Constraint& inner, const Parses& parses, Transducer::State state, uint32_t depth = 0) {
        constexpr uint32_t kDeepest = 64;  // bytes of what stands for a character
        if (parses.empty() || depth > kDeepest) return false;
        if (transducer_.may_end(state)) return true;
        const auto& ways = transducer_.ways(state);
        return std::any_of(ways.begin(), ways.end(), [&](const auto& way) {
            Parses behind;
            return step_all(inner, parses, transducer_.output(way.second), behind) && can_complete(inner, behind, way.second.next, depth + 1);
        });
    }
    static bool step_all(Constraint& inner, const Parses& from, std::string_view bytes, Parses& to) {
        Parses now;
        to = from;
        for (char c : bytes) {
            now.swap(to);
            inner.runs().step(now, uint8_t(c), to);
        }
        return !to.empty();
    }
    // Null where that has no future.
    EmbeddedRef text(Operation& operation, const Parses& parses, Transducer::State state, bool is_begun) {
        if (!can_complete(*inner_, parses, state)) return nullptr;
        EmbeddedRef found;
        operation.without_counting([&] {
            std::vector<uint32_t> key = key_of(parses, state, is_begun);
            std::weak_ptr<const InnerText>& known = texts_[key];
            if ((found = known.lock())) return;
            Places::Place* place = inner_->places.add(inner_->moments);
            const Moment* now = inner_->moments.add(nullptr, {parses});
            now->references++;
            place->now = now;
            const auto made = std::make_shared<const InnerText>(shared_from_this(), place, state, is_begun, std::move(key));
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
    static std::vector<uint32_t> key_of(const Parses& parses, Transducer::State state, bool is_begun) {
        std::vector<std::array<uint32_t, 8>> all;
        for (const Parse& t : parses) {
            const auto writing = uint64_t(reinterpret_cast<uintptr_t>(t.writing.get()));
            const auto embedded = uint64_t(reinterpret_cast<uintptr_t>(t.embedded.get()));
            all.push_back({t.lex.index(), t.stack.index(), t.environment, t.tokens, uint32_t(writing), uint32_t(writing >> 32),
                           uint32_t(embedded), uint32_t(embedded >> 32)});
        }
        std::sort(all.begin(), all.end());
        std::vector<uint32_t> key{state, is_begun};
        for (const auto& words : all) key.insert(key.end(), words.begin(), words.end());
        return key;
    }

    const std::shared_ptr<Constraint> inner_;
    const Symbol symbol_;
    const Decoded* const decoded_;
    const Transducer& transducer_;
    Access* around_ = nullptr;
    std::unordered_map<std::vector<uint32_t>, std::weak_ptr<const InnerText>, WordsHash> texts_;  // that there are
    std::map<std::array<uint64_t, 4>, std::unique_ptr<TextEnds::Beginnings>> beginnings_;         // by the bytes behind them
};

EmbeddedRef InnerLanguage::begin() {
    return within(
        [&](Constraint& inner, Operation& operation) { return text(operation, inner.initial(), transducer_.start(), false); });
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
    const Transducer::Step step = language_->transducer().step(state_, byte);
    if (step.next == Transducer::kNone) return nullptr;
    return language_->within([&](Constraint& inner, Operation& operation) {
        Parses next;
        language_->step_all(inner, parses(), language_->transducer().output(step), next);
        return language_->text(operation, next, step.next, true);
    });
}

// A token cuts what is decoded, too.
EmbeddedRef InnerText::take(uint32_t token) const {
    if (!language_->transducer().may_end(state_)) return nullptr;
    return language_->within([&](Constraint& inner, Operation& operation) {
        Parses next;
        inner.runs().step_token(parses(), token, next);
        return language_->text(operation, next, state_, true);
    });
}

EmbeddedRef InnerText::end_token() const {
    return language_->within([&](Constraint& inner, Operation& operation) {
        Parses next = parses();
        inner.runs().end_token(next);
        return language_->text(operation, next, state_, is_begun_);
    });
}

bool InnerText::may_end() const {
    return is_begun_ && language_->transducer().may_end(state_) &&
           language_->within([&](Constraint& inner, Operation&) { return inner.runs().accepting(parses()); });
}

bool InnerText::names_token() const {
    return language_->transducer().may_end(state_) &&
           language_->within([&](Constraint& inner, Operation&) { return inner.runs().names_token(parses()); });
}

void InnerText::allow(uint32_t* words) const {
    const auto add = [&](uint32_t token) { words[token >> 5] |= 1u << (token & 31); };
    const auto add_all = [&](const Trie& trie, uint32_t node, auto may) {
        for (uint32_t k = trie.token_begin[node]; k < trie.token_begin[node + 1]; k++)
            if (may(trie.tokens[k])) add(trie.tokens[k]);
    };
    language_->within([&](Constraint& inner, Operation&) {
        std::map<std::pair<uint64_t, Transducer::State>, bool> known;  // by number of parses, and state
        const auto may_stand = [&](const Runs::Decoded& at, Transducer::State state) {
            if (language_->transducer().may_end(state)) return true;
            const auto [answer, is_new] = known.try_emplace({at.number, state}, false);
            if (is_new) answer->second = language_->can_complete(inner, at.parses, state);
            return answer->second;
        };
        const auto wants_all = [](uint32_t) { return true; };
        if (state_ != Transducer::kMain) {
            const Trie& trie = language_->vocabulary().trie;
            inner.runs().each_node_below(parses(), trie, {Runs::kRoot}, language_->transducer(), state_, wants_all,
                                         [&](uint32_t node, const Runs::Decoded& at) {
                                             add_all(trie, node, [&](uint32_t) { return may_stand(at, at.state); });
                                         });
            return true;
        }
        std::vector<uint32_t> own(inner.vocabulary().words());
        inner.masks().fill_without_end(parses(), own.data());
        for (size_t w = 0; w < own.size(); w++) words[w] |= own[w];
        const Decoded* decoded = language_->decoded();
        if (!decoded) return true;
        const Trie& trie = decoded->unfinished;
        const Runs::Decoded here{~0ULL, parses(), state_};
        for (uint32_t token : decoded->silent)
            if (may_stand(here, decoded->behind.at(token))) add(token);
        inner.runs().each_node_below(parses(), trie, {Runs::kRoot}, Transducer::identity(), Transducer::kMain, wants_all,
                                     [&](uint32_t node, const Runs::Decoded& at) {
                                         add_all(trie, node, [&](uint32_t token) { return may_stand(at, decoded->behind.at(token)); });
                                     });
        return true;
    });
}

std::optional<std::vector<uint32_t>> InnerText::rest() const {
    return language_->within([&](Constraint& inner, Operation&) -> std::optional<std::vector<uint32_t>> {
        const Witness found = inner.witnesses().find(parses());
        if (!found) return std::nullopt;
        const std::vector<uint32_t> units(found.text->units.begin() + found.at, found.text->units.end());
        if (!language_->decoded()) return units;
        std::string bytes;  // no token is named in a text that is encoded
        for (uint32_t unit : units) {
            if (unit & WitnessText::kToken) return std::nullopt;
            bytes.push_back(char(unit));
        }
        const std::optional<std::string> encoded = language_->transducer().encode(state_, bytes);
        return encoded ? std::optional(WitnessText::units_of(*encoded)) : std::nullopt;
    });
}

uint64_t InnerText::context(int64_t hops) const {
    return language_->within([&](Constraint& inner, Operation&) {
        return mix(derivable::context(inner.access().lexer(), inner.terminals(), inner.stacks(), parses(), hops) ^ state_);
    });
}

EmbeddedText::Nodes InnerText::ends(const ByteSet& before) const {
    return language_->within([&](Constraint& inner, Operation&) -> Nodes {
        if (state_ == Transducer::kMain) return inner.text_ends().find(parses(), language_->beginnings(before));
        // PERF: few of these states are in the middle of a text, and fewer are asked twice.
        const Trie& trie = language_->vocabulary().trie;
        std::vector<uint32_t> nodes;
        uint64_t kinds = 0;
        before.each([&](uint8_t byte) { kinds |= 1ULL << byte_kind(byte); });
        inner.runs().each_node_below(
            parses(), trie, {Runs::kRoot}, language_->transducer(), state_, [&](uint32_t node) { return (trie.below[node] & kinds) != 0; },
            [&](uint32_t node, const Runs::Decoded& at) {
                bool goes_on = false;
                for (uint32_t child = node + 1; child < trie.end[node] && !goes_on; child = trie.end[child])
                    goes_on = before[trie.byte[child]];
                if (goes_on && language_->transducer().may_end(at.state) && inner.runs().accepting(at.parses)) nodes.push_back(node);
            });
        return inner.text_ends().interned(std::move(nodes));
    });
}

}  // namespace

std::shared_ptr<EmbeddedLanguage> inner_language(std::shared_ptr<Constraint> inner, Symbol symbol) {
    return std::make_shared<InnerLanguage>(std::move(inner), symbol);
}

}  // namespace derivable
