#include "matching/inner_constraint.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "masks/context.hpp"
#include "matching/index_view.hpp"
#include "matching/written_parses.hpp"
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
    std::vector<NamesHere> names_here(size_t most) const override;
    void write(PackedWriter& out) const override;
    Slack slack() const override;
    uint64_t least() const override;
    Nodes ends(const ByteSet& before) const override;

  private:
    const Parses& parses() const { return place_->now->parses; }
    void add_readings(Constraint& inner, const Decoded::Readings& readings, const std::vector<uint32_t>& own, uint32_t* words) const;
    std::vector<uint32_t> completed(Constraint& inner, const std::vector<const Decoded::Unfinished*>& open,
                                    const std::vector<uint32_t>& own) const;
    void allow_by_bytes(Constraint& inner, uint32_t* words) const;
    const std::shared_ptr<InnerLanguage> language_;
    Places::Place* const place_;
    const Transducer::State state_;
    const bool is_begun_;  // some of it is written
    const std::vector<uint32_t> key_;
};

// SAFETY: guarded by the lock of the constraint around.
class InnerLanguage final : public EmbeddedLanguage, public std::enable_shared_from_this<InnerLanguage> {
  public:
    InnerLanguage(std::shared_ptr<Constraint> inner, const Vocabulary& around, Symbol symbol)
        : inner_(std::move(inner)),
          symbol_(symbol),
          decoded_(&inner_->vocabulary() == &around ? nullptr : inner_->vocabulary().decoded.get()),
          transducer_(decoded_ ? *decoded_->transducer : Transducer::identity()) {}

    Symbol symbol() const override { return symbol_; }
    void set_around(Access& access) override { around_ = &access; }
    EmbeddedRef begin() override;
    EmbeddedRef read(PackedReader& in) override;
    void give_back() override;

    const Vocabulary& vocabulary() const { return decoded_ ? *decoded_->of : inner_->vocabulary(); }  // that is written in
    const Decoded* decoded() const { return decoded_; }                                               // null: it stands for itself
    const Transducer& transducer() const { return transducer_; }
    const TextEnds::Beginnings& beginnings(Transducer::State from, const ByteSet& before) {
        auto& known = beginnings_[{from, before.words}];
        if (!known) known = std::make_unique<TextEnds::Beginnings>(vocabulary().trie, transducer_, from, before);
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
    bool can_complete(Constraint& inner, const Parses& parses, Transducer::State from) {
        if (parses.empty()) return false;
        if (transducer_.may_end(from)) return true;
        RunTable table;
        std::vector<std::pair<uint32_t, Transducer::State>> places{{table.place_of({parses}), from}};
        std::set<std::pair<uint32_t, Transducer::State>> seen{places[0]};
        while (!places.empty()) {
            const auto [place, state] = places.back();
            places.pop_back();
            for (const auto& [_, step] : transducer_.ways(state)) {
                work(10);
                Parses behind;
                if (!step_all(inner, table[place][0], transducer_.output(step), behind)) continue;
                if (transducer_.may_end(step.next)) return true;
                const std::pair next{table.place_of({std::move(behind)}), step.next};
                if (seen.insert(next).second) places.push_back(next);
            }
        }
        return false;
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
        std::vector<uint32_t> key;
        // SAFETY: what belongs to a text is freed by the constraint around; its place is the inner one's, and is used again.
        operation.without_counting([&] {
            key = key_of(parses, state, is_begun);
            if (const auto known = texts_.find(key); known != texts_.end()) found = known->second.lock();
        });
        if (found) return found;
        Places::Place* place = inner_->places.add(inner_->moments);
        const Moment* now = inner_->moments.add(nullptr, {parses});
        now->references++;
        place->now = now;
        operation.without_counting([&] {
            std::weak_ptr<const InnerText>& known = texts_[key];
            const auto made = std::make_shared<const InnerText>(shared_from_this(), place, state, is_begun, std::move(key));
            known = made, found = made;
        });
        return found;
    }
    // Tokens that are kept by where a text stands (InnerText::completed), as long as numbers of stacks stay what they are.
    const std::vector<uint32_t>*& completed(const std::vector<uint32_t>& key) {
        constexpr size_t kMost = size_t(1) << 16;
        if (completed_.size() > kMost || std::exchange(num_collections_, inner_->num_collections()) != inner_->num_collections())
            completed_.clear();
        return completed_[key];
    }
    const std::vector<uint32_t>* note(std::vector<uint32_t> tokens) { return &lists_[lists_.intern(std::move(tokens))]; }
    void leave(Places::Place* place, const std::vector<uint32_t>& key) {
        inner_->places.leave(place);
        const auto known = texts_.find(key);
        if (known != texts_.end() && known->second.expired()) texts_.erase(known);
    }

  private:
    // In any order: they are a set.
    static std::vector<uint32_t> key_of(const Parses& parses, Transducer::State state, bool is_begun) {
        std::vector<std::array<uint32_t, 10>> all;
        for (const Parse& t : parses) {
            const auto writing = address_words(t.writing.get()), embedded = address_words(t.embedded.get());
            all.push_back({t.lex.index(), t.stack.index(), t.environment, t.tokens, writing[0], writing[1], embedded[0], embedded[1],
                           t.meaning, t.slot});
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
    uint32_t num_collections_ = 0;
    std::unordered_map<std::vector<uint32_t>, const std::vector<uint32_t>*, WordsHash> completed_;
    Interner lists_;
    std::map<std::pair<Transducer::State, std::array<uint64_t, 4>>, std::unique_ptr<TextEnds::Beginnings>> beginnings_;
};

EmbeddedRef InnerLanguage::begin() {
    return within([&](Constraint& inner, Operation& operation) { return text(operation, inner.initial(), transducer_.start(), false); });
}

EmbeddedRef InnerLanguage::read(PackedReader& in) {
    const auto state = Transducer::State(in.below(transducer_.num_states()));
    const bool is_begun = in.flag();
    return within([&](Constraint& inner, Operation& operation) {
        const EmbeddedRef found = text(operation, read_parses(inner, in), state, is_begun);
        in.check(found != nullptr);
        return found;
    });
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
    language_->within([&](Constraint& inner, Operation&) {
        const Decoded* decoded = language_->decoded();
        const Decoded::Readings* readings = nullptr;
        if (decoded)
            if (const auto found = decoded->readings.find(state_); found != decoded->readings.end()) readings = &found->second;
        if (decoded && !readings) {
            allow_by_bytes(inner, words);
            return true;
        }
        std::vector<uint32_t> own(inner.vocabulary().words());
        inner.masks().fill_without_end(parses(), own.data());
        if (!decoded)
            for (size_t w = 0; w < own.size(); w++) words[w] |= own[w];
        else add_readings(inner, *readings, own, words);
        return true;
    });
}

void InnerText::add_readings(Constraint& inner, const Decoded::Readings& readings, const std::vector<uint32_t>& own,
                             uint32_t* words) const {
    const auto is_allowed = [&](uint32_t id) { return own[id >> 5] >> (id & 31) & 1; };
    const auto add = [&](uint32_t token) { words[token >> 5] |= 1u << (token & 31); };
    for (size_t w = 0; w < readings.same.size(); w++) words[w] |= own[w] & readings.same[w];
    for (const auto& [id, token] : readings.others)
        if (is_allowed(id)) add(token);
    std::vector<const Decoded::Unfinished*> open;
    for (const Decoded::Unfinished& u : readings.unfinished) {
        if (u.text != Decoded::kNothing && !is_allowed(u.text)) continue;
        const auto& completed = u.completed;  // none: it need not be
        if (!completed ||
            std::any_of(completed->begin(), completed->end(), [&](uint32_t id) { return id == Decoded::kNothing || is_allowed(id); }))
            add(u.token);
        else open.push_back(&u);
    }
    if (open.empty()) return;
    // SAFETY: not by addresses, of which there may be others behind a text.
    const bool is_for_keeping = std::none_of(parses().begin(), parses().end(), [](const Parse& t) { return t.writing || t.embedded; });
    if (!is_for_keeping) {
        for (uint32_t token : completed(inner, open, own)) add(token);
        return;
    }
    const std::vector<uint32_t>*& known = language_->completed(key_);
    if (!known) known = language_->note(completed(inner, open, own));
    for (uint32_t token : *known) add(token);
}

// Those of some tokens whose last character has a spelling of more than one byte more.
std::vector<uint32_t> InnerText::completed(Constraint& inner, const std::vector<const Decoded::Unfinished*>& open,
                                           const std::vector<uint32_t>& own) const {
    const Decoded& decoded = *language_->decoded();
    // PERF: the mask knows which bytes may come. Where none does that `\u` can stand for, there is no way for 300 digits to be tried.
    const auto may_write = [&](Transducer::State state) {
        const auto [bytes, may_be_silent] = language_->transducer().next_written(state);
        bool some = may_be_silent;
        bytes.each([&](uint8_t byte) { some = some || own[decoded.of_byte[byte] >> 5] >> (decoded.of_byte[byte] & 31) & 1; });
        return some;
    };
    std::vector<uint32_t> tokens;
    for (const Decoded::Unfinished* u : open) {
        const bool is_silent = u->text == Decoded::kNothing;
        if (is_silent && !may_write(u->behind)) continue;
        Parses behind;
        language_->step_all(inner, parses(), is_silent ? std::string_view() : inner.vocabulary().bytes[u->text], behind);
        if (language_->can_complete(inner, behind, u->behind)) tokens.push_back(u->token);
    }
    return tokens;
}

void InnerText::allow_by_bytes(Constraint& inner, uint32_t* words) const {
    const Trie& trie = language_->vocabulary().trie;
    std::map<std::pair<uint64_t, Transducer::State>, bool> known;  // by number of parses, and state
    const auto may_stand = [&](const Runs::Decoded& at) {
        if (language_->transducer().may_end(at.state)) return true;
        const auto [answer, is_new] = known.try_emplace({at.number, at.state}, false);
        if (is_new) answer->second = language_->can_complete(inner, at.parses, at.state);
        return answer->second;
    };
    inner.runs().each_node_below(
        parses(), trie, {Runs::kRoot}, language_->transducer(), state_, [](uint32_t) { return true; },
        [&](uint32_t node, const Runs::Decoded& at) {
            if (trie.token_begin[node] == trie.token_begin[node + 1] || !may_stand(at)) return;
            for (uint32_t k = trie.token_begin[node]; k < trie.token_begin[node + 1]; k++)
                words[trie.tokens[k] >> 5] |= 1u << (trie.tokens[k] & 31);
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

std::vector<NamesHere> InnerText::names_here(size_t most) const {
    return language_->within([&](Constraint& inner, Operation&) { return derivable::names_here(inner, parses(), most); });
}

void InnerText::write(PackedWriter& out) const {
    out.put(state_);
    out.put(is_begun_);
    language_->within([&](Constraint& inner, Operation&) {
        write_parses(inner, parses(), out);
        return true;
    });
}

EmbeddedText::Slack InnerText::slack() const {
    return language_->within([&](Constraint& inner, Operation&) { return inner.budget_masks().slack().of(parses()); });
}

uint64_t InnerText::least() const {
    if (!language_->transducer().may_end(state_)) return Slack::kNone;
    return language_->within([&](Constraint& inner, Operation&) {
        return inner.slots().active() ? inner.budget_masks().slack().least(parses()) : uint64_t(Slack::kNone);
    });
}

EmbeddedText::Nodes InnerText::ends(const ByteSet& before) const {
    return language_->within(
        [&](Constraint& inner, Operation&) { return inner.text_ends().find(parses(), language_->beginnings(state_, before)); });
}

}  // namespace

bool is_inner_language(const Constraint& inner, const Vocabulary& around) {
    const Vocabulary& own = inner.vocabulary();
    return &own == &around || (own.decoded && own.decoded->of.get() == &around);
}

std::shared_ptr<EmbeddedLanguage> inner_language(std::shared_ptr<Constraint> inner, const Vocabulary& around, Symbol symbol) {
    return std::make_shared<InnerLanguage>(std::move(inner), around, symbol);
}

}  // namespace derivable
