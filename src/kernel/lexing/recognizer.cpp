#include "lexing/recognizer.hpp"

#include <algorithm>

namespace derivable {

Recognizer Recognizer::any_string(Escapes escapes) {
    return Recognizer(std::make_shared<const Dfa>(JsonStrings({}, true, 0, JsonStrings::kNoMaximum, escapes).to_dfa(1000)));
}

bool Recognizer::has_next(uint32_t state) const {
    if (counting_) return counting_->next(state).size() > 0;
    const auto row = table_->table.begin() + long(size_t(state) * table_->num_classes);
    return std::any_of(row, row + table_->num_classes, [](int32_t next) { return next >= 0; });
}

ByteSet Recognizer::bytes(uint32_t state) const {
    ByteSet all;
    if (rule_ && rule_->only_listed(state, all)) return all;
    if (counting_) return counting_->next(state);
    for (uint32_t byte = 0; byte < 256; byte++)
        if (!table_ || table_->step(state, uint8_t(byte)) >= 0) all.set(uint8_t(byte));
    return all;
}

std::string Recognizer::key() const {
    if (table_) return table_->fingerprint();
    return rule_ ? "json " + rule_->key() : counting_ ? "counting " + counting_->saved() : "number " + range_->key();
}

void Recognizer::write(PackedWriter& out, uint32_t state) const {
    if (table_) out.put(state);
    else if (rule_) rule_->write(out, state);
    else counting_->write(out, state);
}

uint32_t Recognizer::read(PackedReader& in) { return table_ ? in.below(num_states()) : rule_ ? rule_->read(in) : counting_->read(in); }

void Recognizer::append_classes(uint8_t byte, std::vector<uint32_t>& key) const {
    if (counting_) key.push_back(counting_->classes()[byte]);
    if (!table_) return;
    key.push_back(table_->classes[byte]);
    for (const LookDfa& look : table_->looks) key.push_back(look.classes[byte]);
}

void Recognizer::make_table() {
    owned_ = std::make_shared<const Dfa>(number_range(*range_, NumberRange::kSmallStates));
    table_ = owned_.get();
}

// It is alone in its class: bytes of a class act alike.
std::optional<uint8_t> Recognizer::needed_byte() const {
    constexpr uint32_t kFew = 64;
    if (!table_ || table_->past || num_states() > kFew) return std::nullopt;
    const uint32_t classes = table_->num_classes;
    auto accepts_without = [&](uint32_t needed) {
        std::vector<char> seen(num_states(), 0);
        std::vector<uint32_t> todo{0};
        while (!todo.empty()) {
            const uint32_t state = todo.back();
            todo.pop_back();
            if (std::exchange(seen[state], 1)) continue;
            if (accepts(state)) return true;
            for (uint32_t c = 0; c < classes; c++)
                if (const int32_t next = table_->table[size_t(state) * classes + c]; c != needed && next >= 0)
                    todo.push_back(uint32_t(next));
        }
        return false;
    };
    std::vector<uint32_t> sizes(classes, 0);
    for (const uint8_t c : table_->classes) sizes[c]++;
    for (uint32_t byte = 0; byte < 256; byte++)
        if (const uint8_t c = table_->classes[byte]; sizes[c] == 1 && !accepts_without(c)) return uint8_t(byte);
    return std::nullopt;
}

std::optional<std::string> Recognizer::shortest_rest(uint32_t state, uint8_t filler) {
    if (rule_) return rule_->shortest_rest(state, filler);
    if (counting_) return counting_->shortest_rest(state);
    if (!shortest_) {
        ByteSet all;
        all.words.fill(~0ULL);
        shortest_ = std::make_shared<const ShortestRests>(*table_, all);
    }
    return shortest_->length(state) == ShortestRests::kNone ? std::nullopt : std::optional(shortest_->text(*table_, state));
}

uint64_t Recognizer::longest_rest() {
    constexpr uint64_t kSigns = 8;  // of a number, beside digits
    if (awaits_table()) return range_->key().size() + kSigns;
    if (rule_) return rule_->longest_rest();
    if (counting_) return counting_->longest_rest();
    if (!num_states()) return 0;
    shortest_rest(0, 'a');
    uint64_t most = 0;
    for (uint32_t s = 0; s < num_states(); s++) most = std::max<uint64_t>(most, shortest_->length(s));
    return most;
}

std::pair<ByteSet, ByteSet> Recognizer::outer_bytes() const {
    ByteSet first, last;
    if (rule_) return rule_->outer_bytes();
    if (counting_) return counting_->outer_bytes();
    if (awaits_table()) {
        for (int b = '0'; b <= '9'; b++) first.set(uint8_t(b)), last.set(uint8_t(b));
        first.set('-');
        return {first, last};
    }
    std::vector<char> ends(table_->num_classes, 0);
    for (size_t i = 0; i < table_->table.size(); i++)
        if (const int32_t to = table_->table[i]; to >= 0 && table_->accepting[uint32_t(to)]) ends[i % table_->num_classes] = 1;
    for (int b = 0; b < 256; b++) {
        if (num_states() && table_->step(0, uint8_t(b)) >= 0) first.set(uint8_t(b));
        if (ends[table_->classes[size_t(b)]]) last.set(uint8_t(b));
    }
    return {first, last};
}

size_t Recognizer::bytes() const {
    if (awaits_table()) return 512;
    if (counting_) return counting_->bytes();
    return table_ ? table_->table.size() * 4 + table_->num_states() * 16 + 512 : 20 * rule_->key().size() + 512;
}

const Conditions* Recognizer::conditions(uint32_t state) const {
    if (!table_) return nullptr;
    const uint32_t condition = table_->condition[state];
    return condition ? &table_->conditions[condition - 1] : nullptr;
}

bool Recognizer::has_look(uint32_t i, uint32_t state) const {
    return table_ && i < table_->looks.size() && state < table_->looks[i].matches_at_end.size();
}

std::vector<Recognizer> Recognizer::variants() const {
    std::vector<Recognizer> all;
    for (const Dfa& variant : past()->variants) all.emplace_back(std::shared_ptr<const Dfa>(owned_, &variant));
    return all;
}

std::optional<Recognizer> Recognizer::unbounded() const {
    if (!rule_ || !rule_->is_bounded() || !rule_->values()) return std::nullopt;
    return Recognizer(std::make_shared<JsonStrings>(rule_->without_bound()));
}

int32_t Recognizer::acting_as(const Recognizer& other, uint32_t state, uint64_t bytes) {
    if (rule_) return rule_->acting_as(*other.rule_, state, bytes);
    if (counting_) return int32_t(counting_->acting_as(state, bytes));
    if (!KEquivalence::is_worthwhile(*table_)) return int32_t(state);
    if (!short_texts_) short_texts_ = std::make_shared<const KEquivalence>(*table_);
    return int32_t(short_texts_->first_alike(state, bytes));
}

}  // namespace derivable
