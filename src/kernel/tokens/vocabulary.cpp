#include "tokens/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "support/errors.hpp"

namespace derivable {

void Vocabulary::find_commas() {
    std::unordered_map<std::string_view, uint32_t> rests;
    for (uint32_t t : trie.tokens) {
        const std::string& b = bytes[t];
        if (!std::memchr(b.data(), ',', b.size())) continue;  // PERF: rfind asks byte by byte; most tokens have none
        const size_t comma = b.rfind(',');
        auto before = [&](char c) { return comma ? int(b.rfind(c, comma - 1)) : -1; };  // npos: -1
        Comma& c = commas.emplace_back(Comma{t, int(comma), before('"'), before('['), {}});
        size_t place = 0;
        for (Comma::Quote& quote : c.quotes) {
            if ((place = b.find('"', place)) == std::string::npos) break;
            const auto next = uint32_t(rests.size());
            quote = {int(place), rests.emplace(std::string_view(b).substr(place), next).first->second};
            place++;
        }
    }
    auto others = std::stable_partition(commas.begin(), commas.end(), [](const Comma& c) { return c.quote >= 0; });
    num_quoted = size_t(others - commas.begin());
}

void Vocabulary::index(const std::vector<uint32_t>& order) {
    std::vector<std::pair<std::string_view, uint32_t>> entries;
    entries.reserve(size());
    if (order.empty())
        for (uint32_t i = 0; i < size(); i++) entries.emplace_back(bytes[i], i);
    else
        for (uint32_t i : order) entries.emplace_back(bytes[i], i);
    trie = Trie::build(std::move(entries));
    find_commas();
}

Vocabulary Vocabulary::from_tables(std::string_view lengths, std::string_view blob, std::string_view order, std::vector<uint32_t> eos) {
    auto number = [](std::string_view table, size_t i) {
        auto at = [&](size_t k) { return uint32_t(uint8_t(table[4 * i + k])); };
        return at(0) | at(1) << 8 | at(2) << 16 | at(3) << 24;
    };
    constexpr uint32_t kNone = ~0u, kLongest = 0xFFFF;
    Vocabulary v;
    const size_t count = lengths.size() / 4;
    if (lengths.size() % 4 || order.size() % 4 || count == 0 || count > (1u << 24))
        throw BadArtifact("its tables are not those of a vocabulary");
    v.bytes.reserve(count);
    size_t used = 0, of_text = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t length = number(lengths, i);
        if (length == kNone) {
            v.bytes.emplace_back();
            continue;
        }
        if (length == 0 || length > kLongest || length > blob.size() - used)
            throw BadArtifact("the token " + std::to_string(i) + " has a length that cannot be");
        v.bytes.emplace_back(blob.substr(used, length));
        used += length;
        of_text++;
    }
    if (used != blob.size()) throw BadArtifact("its tokens have fewer bytes than there are");
    for (uint32_t e : eos)
        if (e >= count || !v.bytes[e].empty())
            throw BadArtifact("the end of sequence " + std::to_string(e) + " is a token of text, or none");
    v.eos = std::move(eos);
    // What is in another order is only sorted again; but each token has to be there once.
    std::vector<uint32_t> ids;
    std::vector<char> seen(count, 0);
    for (size_t i = 0; i < order.size() / 4; i++) {
        const uint32_t id = number(order, i);
        if (id >= count || v.bytes[id].empty() || std::exchange(seen[id], 1))
            throw BadArtifact("its order of tokens names one that is not there, or twice");
        ids.push_back(id);
    }
    if (!ids.empty() && ids.size() != of_text) throw BadArtifact("its order of tokens leaves some out");
    v.index(ids);
    return v;
}

namespace {

// Characters of all kinds that grammars tell apart, mostly letters.
constexpr std::array<std::string_view, 12> kSomeCharacters = {"a",      "\x01",   "\x7f",   "\u00e9", "\u03a9", "\u0429",
                                                              "\u05d0", "\u3042", "\u4e00", "\uac00", "\u20ac", "\U0001f600"};

// What tokens are that do not stand for a whole text, read from a state on; each text that has no id gets one.
class Readings {
  public:
    Readings(const Vocabulary& of, const Transducer& transducer, std::vector<std::string>& bytes)
        : of_(of),
          transducer_(transducer),
          bytes_(bytes) {}

    std::vector<Transducer::State> states{Transducer::kMain};  // that tokens lead to
    // The main state is the first one.
    Decoded::Readings from(Transducer::State from) {
        Decoded::Readings all;
        all.same.assign(of_.words(), 0);
        for (uint32_t token = 0; token < of_.size(); token++) {
            if (of_.bytes[token].empty()) continue;
            std::string text;
            const Transducer::State behind = transducer_.run(from, of_.bytes[token], text);
            if (behind == Transducer::kNone) continue;
            if (std::find(states.begin(), states.end(), behind) == states.end()) states.push_back(behind);
            if (text.empty() || !transducer_.may_end(behind)) {
                const uint32_t id = this->id(text);
                all.unfinished.push_back({token, id, completed(text, behind), behind});
            } else if (from == Transducer::kMain || bytes_[token] == text) {
                if (from == Transducer::kMain) ids_.try_emplace(text, token), bytes_[token] = std::move(text);
                all.same[token >> 5] |= 1u << (token & 31);
            } else {
                all.others.emplace_back(id(text), token);
            }
        }
        return all;
    }

  private:
    uint32_t id(const std::string& text) {
        if (text.empty()) return Decoded::kNothing;
        const auto [known, is_new] = ids_.try_emplace(text, uint32_t(bytes_.size()));
        if (is_new) bytes_.push_back(text);
        return known->second;
    }
    // The ids of a text with characters behind it that can be written from a state on.
    std::shared_ptr<const std::vector<uint32_t>> completed(const std::string& text, Transducer::State behind) {
        if (transducer_.may_end(behind)) return nullptr;
        std::shared_ptr<const std::vector<uint32_t>>& known = completed_[{text, behind}];
        if (known) return known;
        std::vector<uint32_t> all;
        for (const auto& [_, step] : transducer_.ways(behind))
            if (transducer_.may_end(step.next)) all.push_back(id(text + std::string(transducer_.output(step))));
        for (std::string_view some : kSomeCharacters)
            if (transducer_.encode(behind, some)) all.push_back(id(text + std::string(some)));
        if (all.empty()) add_ends(text, behind, all);
        return known = std::make_shared<const std::vector<uint32_t>>(std::move(all));
    }

    // In the middle of a character: some of those that it may be.
    void add_ends(const std::string& text, Transducer::State behind, std::vector<uint32_t>& all) {
        constexpr size_t kMost = 64, kMostPlaces = 4096;
        std::vector<std::pair<std::string, Transducer::State>> places{{text, behind}};
        for (size_t i = 0; i < places.size() && places.size() < kMostPlaces && all.size() < kMost; i++)
            for (const auto& [_, step] : transducer_.ways(places[i].second)) {
                std::string longer = places[i].first + std::string(transducer_.output(step));
                if (transducer_.may_end(step.next)) all.push_back(id(longer));
                else places.emplace_back(std::move(longer), step.next);
            }
    }

    const Vocabulary& of_;
    const Transducer& transducer_;
    std::vector<std::string>& bytes_;
    std::unordered_map<std::string, uint32_t> ids_;
    std::map<std::pair<std::string, Transducer::State>, std::shared_ptr<const std::vector<uint32_t>>> completed_;
};

}  // namespace

Vocabulary Vocabulary::of_decoded(std::shared_ptr<const Vocabulary> of, std::shared_ptr<const Transducer> transducer) {
    constexpr size_t kWorthwhile = 4, kMostReadings = 8;  // tokens that a state reads; states
    auto decoded = std::make_shared<Decoded>();
    Vocabulary v;
    v.eos = of->eos;
    v.bytes.resize(of->size());
    const auto is_worthwhile = [&](Transducer::State from) {
        size_t count = 0;
        for (const std::string& token : of->bytes) {
            std::string text;
            count += !token.empty() && transducer->run(from, token, text) != Transducer::kNone;
        }
        return count >= kWorthwhile;
    };
    Readings readings(*of, *transducer, v.bytes);
    if (transducer->start() != Transducer::kMain) readings.states.push_back(transducer->start());
    for (size_t i = 0; i < readings.states.size() && decoded->readings.size() < kMostReadings; i++) {
        const Transducer::State from = readings.states[i];
        if (!i || is_worthwhile(from)) decoded->readings.emplace(from, readings.from(from));
    }
    decoded->of_byte.fill(Decoded::kNothing);
    for (uint32_t id = 0; id < v.bytes.size(); id++)
        if (v.bytes[id].size() == 1) decoded->of_byte[uint8_t(v.bytes[id][0])] = id;
    for (uint32_t byte = 0; byte < 256; byte++) {
        if (decoded->of_byte[byte] != Decoded::kNothing) continue;
        decoded->of_byte[byte] = uint32_t(v.bytes.size());
        v.bytes.emplace_back(1, char(byte));
    }
    v.index();
    decoded->of = std::move(of);
    decoded->transducer = std::move(transducer);
    v.decoded = std::move(decoded);
    return v;
}

}  // namespace derivable
