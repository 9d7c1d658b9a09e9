#include "index/split_tables.hpp"

#include <algorithm>
#include <tuple>

#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

void SplitTables::clear() {
    parts_.discarded.take(states_);
    states_.emplace_back();
    numbers_ = {};
    ends_of_characters_ = {};
    characters_ = {};
    deadly_ = {};
    agreeing_ = {};
    parts_.discarded.take(successors_);
    parts_.discarded.take(classes_);
    rows_ = {};
    groups_.clear();
    ways_.clear();
    group_ids_.clear();
    way_ids_.clear();
    piece_ids_ = {};
    list_ids_ = {};
    lists_.clear();
    list_items_ = {};
    difference_ids_ = {};
    parts_.discarded.take(pieces_);
    parts_.discarded.take(differences_);
    parts_.discarded.take(token_sets_);
    parts_.discarded.take(residuals_);
    bytes_ = 0;
}

SplitTables::ListId SplitTables::list(const Trie& t, const std::vector<uint32_t>& items, bool of_nodes) {
    work(20 + items.size());
    uint64_t hash = mix(WordsHash()(items) ^ pack(t.first_id, of_nodes));
    const ListId* known = list_ids_.find(hash, [&](ListId id) {
        const List& list = lists_[id];
        return list.trie == &t && list.of_nodes == of_nodes && std::equal(items.begin(), items.end(), list.begin, list.end);
    });
    if (known) return *known;
    work(3 * items.size());  // each is a place of its own in the trie
    uint32_t* begin = list_items_.add(items.size());
    const uint32_t* end = std::copy(items.begin(), items.end(), begin);
    bytes_ += items.size() * 4 + sizeof(List) + 32;
    lists_.push_back({&t, begin, end, of_nodes, of_nodes && is_antichain(t, begin, end)});
    list_ids_.put(hash, ListId(lists_.size() - 1));
    return ListId(lists_.size() - 1);
}

bool SplitTables::is_antichain(const Trie& t, const uint32_t* begin, const uint32_t* end) {
    return std::adjacent_find(begin, end, [&](uint32_t x, uint32_t y) { return y < t.end[x]; }) == end;
}

bool SplitTables::is_antichain(const Lists& lists) const {
    return std::all_of(lists.kept.begin(), lists.kept.end(), [&](ListId id) { return lists_[id].antichain; }) &&
           std::all_of(lists.own.begin(), lists.own.end(),
                       [](const TrieNodes& l) { return is_antichain(*l.trie, l.nodes.data(), l.nodes.data() + l.nodes.size()); });
}

std::vector<uint32_t> SplitTables::key_of(const Lists& lists, uint32_t kind) {
    std::vector<uint32_t> key{kind, uint32_t(lists.kept.size())};
    key.insert(key.end(), lists.kept.begin(), lists.kept.end());
    for (const TrieNodes& l : lists.own) {
        key.push_back(l.trie->first_id);
        key.push_back(uint32_t(l.nodes.size()));
        key.insert(key.end(), l.nodes.begin(), l.nodes.end());
    }
    return key;
}

std::shared_ptr<const TokenSet> SplitTables::tokens(const Lists& lists, std::vector<uint32_t>& beside) {
    if (!beside.empty()) {
        each(lists, [&](const Trie& t, const uint32_t* begin, const uint32_t* end) {
            for (const uint32_t* range = begin; range != end; range += 2)
                for (uint32_t k = range[0]; k < range[1]; k++) beside[t.tokens[k] >> 5] |= 1u << (t.tokens[k] & 31);
        });
        auto result = std::make_shared<const TokenSet>(TokenSet::of(beside));
        parts_.bytes += result->bytes();
        return result;
    }
    std::vector<uint32_t> key;
    if (!lists.kept.empty()) {
        key = key_of(lists, 0);
        if (auto known = token_sets_.find(key); known != token_sets_.end()) return known->second;
    }
    TokenSet all;
    size_t count = 0;
    work(1 + lists.kept.size());
    each(lists, [&](const Trie&, const uint32_t* begin, const uint32_t* end) {
        for (const uint32_t* range = begin; range != end; range += 2) count += range[1] - range[0];
    });
    work(count / 4);
    all.expect(count, parts_.vocabulary.words());
    each(lists, [&](const Trie& t, const uint32_t* begin, const uint32_t* end) {
        for (const uint32_t* range = begin; range != end; range += 2)
            for (uint32_t k = range[0]; k < range[1]; k++) all.add(t.tokens[k], parts_.vocabulary.words());
    });
    all.pack();
    parts_.bytes += all.bytes();
    auto result = std::make_shared<const TokenSet>(std::move(all));
    if (!lists.kept.empty()) {
        bytes_ += result->bytes() + key.size() * 4 + 128;
        token_sets_.emplace(std::move(key), result);
    }
    return result;
}

std::vector<TrieNodes> SplitTables::nodes(const Lists& lists, const std::vector<ListId>& others) const {
    std::vector<TrieNodes> all;
    each_but(lists, others, [&](const Trie& t, const uint32_t* begin, const uint32_t* end) {
        work(size_t(end - begin) * 6);
        if (all.empty() || all.back().trie != &t) all.push_back({&t, {}});
        all.back().nodes.insert(all.back().nodes.end(), begin, end);
    });
    return all;
}

ResidualId SplitTables::residual(const Lists& lists, bool once) {
    std::vector<uint32_t> key;
    if (!lists.kept.empty()) {
        key = key_of(lists, once);
        if (auto known = residuals_.find(key); known != residuals_.end()) return known->second;
    }
    const ResidualId result = parts_.residuals.add(nodes(lists, {}), once);
    if (!lists.kept.empty()) {
        bytes_ += key.size() * 4 + 64;
        residuals_.emplace(std::move(key), result);
    }
    return result;
}

SplitTables::Local SplitTables::local(LexState s) {
    if (s == kNoState) return kDead;
    if (const Local* known = numbers_.find(s)) return *known;
    work(20);
    // A state is 2 KB and more, with the lists made of it: where each walk meets thousands, as many that were forgotten are freed, or they pile up.
    parts_.discarded.some(4);
    // SAFETY: what is asked about a state may be refused (LimitExceeded). It has no number before all is answered.
    State x{s, group_of(s), false, parts_.prospects.may_be_newline(s)};
    if (single_) {
        x.leaves = lexer_.accepts_single(s);
    } else {
        x.exits = lexer_.exits(s);
        x.leaves = !x.exits.empty();
        x.ways.assign(x.exits.size() * (lexer_.policy() == Policy::kScannerless ? 1 : 256), kUnknownWay);
    }
    x.classes = classes_of(s);
    states_.push_back(std::move(x));
    const auto number = Local(states_.size() - 1);
    rows_[number];
    return numbers_[s] = number;
}

const ByteClasses* SplitTables::classes_of(LexState s) {
    const std::array<uint8_t, 256>* classes = single_ ? lexer_.classes(s) : nullptr;
    if (!classes) return &ByteClasses::alone();
    auto known = classes_.find(classes);
    if (known == classes_.end()) {
        work(100);
        bytes_ += 2'000;
        known = classes_.emplace(classes, ByteClasses(*classes)).first;
    }
    return &known->second;  // SAFETY: references to elements of an unordered_map stay valid
}

// PERF: a state is soon asked where all bytes lead, of which few differ. Where each state is new, as in a pattern that counts words, that was 60%
// of a comparison.
SplitTables::Local SplitTables::find_next(Local from, uint8_t byte) {
    const Local found = beside_->look([&] { return local(step(states_[from].lex, byte)); });
    std::array<Local, 256>& row = rows_[from];
    states_[from].classes->each_other(byte, [&](uint8_t b) { row[b] = found; });
    return row[byte] = found;
}

SplitTables::Local SplitTables::find_alike(Local s, size_t reach) {
    Local found = s;
    if (lexer_.policy() == Policy::kScannerless)
        found = beside_->look([&] { return local(lexer_.for_short_texts(states_[s].lex, kReaches[reach])); });
    return states_[s].habits[reach].alike = found;
}

uint32_t SplitTables::group_of(LexState s, Indentations::Effect effect) {
    const auto [sureness, key] = parts_.prospects.sureness(s);
    const Group g{sureness, key, effect};
    auto [it, fresh] = group_ids_.try_emplace({uint32_t(g.sureness), g.key, effect}, uint32_t(groups_.size()));
    if (fresh) groups_.push_back(g);
    return it->second;
}

uint16_t SplitTables::way_of(TerminalId terminal, Obligations obligations, Indentations::Effect effect) {
    const std::array<uint32_t, 3> key{terminal.index(), obligations.index(), effect};
    auto known = way_ids_.find(key);
    if (known != way_ids_.end()) return uint16_t(known->second);
    if (ways_.size() >= kNoWay) throw TooAmbiguous();  // SAFETY: with nothing kept, which would come out as kNoWay when asked again
    ways_.push_back({terminal, obligations, effect});
    return uint16_t(way_ids_[key] = uint32_t(ways_.size() - 1));
}

uint16_t SplitTables::way_out(State& x, size_t e, uint8_t byte) {
    uint16_t& known = x.ways[x.ways.size() == x.exits.size() ? e : e * 256 + byte];
    if (known != kUnknownWay) return known;
    const Lexer::Exit exit = x.exits[e];
    const Obligations owed = lexer_.unsettled(exit.obligations, byte);
    return known = owed == Lexer::kViolated ? kNoWay : way_of(exit.terminal, owed);
}

// The state that a text leads to which ends a character, from `place` in it; kDead if that hangs on the character, or if something else
// than the rest of a character may follow. A lexeme can be completed from here if it can from there.
SplitTables::Local SplitTables::end_of_character(Utf8State place, Local s) {
    if (place == kBetween || s == kDead) return s;
    const uint64_t key = pack(s, place);
    if (const Local* known = ends_of_characters_.find(key)) return *known;
    Local end = states_[s].leaves ? kDead : kUnknown;
    // Under scannerless every state that is left can be completed: only what belongs to the character matters.
    const bool scannerless = lexer_.policy() == Policy::kScannerless;
    auto look_at = [&](uint8_t byte) {
        const Utf8State to = character_step(place, byte);
        const Local after = next(s, byte);
        if (to == kNowhere) {
            if (after != kDead) end = kDead;
            return;
        }
        const Local other = end_of_character(to, after);
        end = end == kUnknown || end == other ? other : kDead;
    };
    if (scannerless) {
        for (uint8_t byte : states_[s].classes->more())
            if (end != kDead) look_at(byte);
    } else {
        for (uint32_t byte = 0; end != kDead && byte < 0x100; byte++) look_at(uint8_t(byte));
    }
    return ends_of_characters_[key] = end;
}

// First bytes, by kinds, with which every character leads from the state back to it.
uint64_t SplitTables::characters(Local s) {
    if (const uint64_t* known = characters_.find(s)) return *known;
    uint64_t all = 0, others = 0;
    for (uint32_t byte = 0xC2; byte < 0xF5; byte++) {
        const uint64_t kind = 1ULL << byte_kind(uint8_t(byte));
        if (others & kind) continue;
        (end_of_character(character_step(kBetween, uint8_t(byte)), next(s, uint8_t(byte))) == s ? all : others) |= kind;
    }
    return characters_[s] = all & ~others;
}

// The inside of a text that may hold characters of several bytes: the place in a character, and the state behind it. Elsewhere that is
// kDead.
std::pair<Utf8State, SplitTables::Local> SplitTables::standing(Local s) {
    if (states_[s].home == kUnknown) {
        // Under scannerless it is enough that some characters can follow: what they lead to is asked afterwards.
        const bool scannerless = lexer_.policy() == Policy::kScannerless;
        auto inside = [&](Local x) { return scannerless ? ~deadly(x) & kFirst : characters(x); };
        uint32_t place = kBetween;
        Local home = inside(s) ? s : kDead;
        while (home == kDead && ++place < kNumUtf8States)
            if (const Local end = end_of_character(Utf8State(place), s); end != kDead && inside(end)) home = end;
        states_[s].place = Utf8State(place);
        states_[s].home = home;
    }
    return {states_[s].place, states_[s].home};
}

// The state behind a character that begins with a byte; kDead if that hangs on the rest of it.
SplitTables::Local SplitTables::behind(Local s, uint8_t first) {
    return first < 0x80 ? next(s, first) : end_of_character(character_step(kBetween, first), next(s, first));
}

// Kinds of bytes that begin a character, of which some lead nowhere.
uint64_t SplitTables::deadly(Local s) {
    if (const uint64_t* known = deadly_.find(s)) return *known;
    uint64_t found = 0;
    for (auto [byte, kinds] : states_[s].classes->firsts())
        if (kinds & ~found && behind(s, byte) == kDead) found |= kinds;
    return deadly_[s] = found;
}

// Where the characters lead that begin with bytes of some kinds, each state once, but for kinds of which some lead nowhere.
const std::vector<std::pair<SplitTables::Local, uint64_t>>& SplitTables::successors(Local s) {
    auto [it, fresh] = successors_.try_emplace(s);
    auto& all = it->second;  // SAFETY: references to elements of an unordered_map stay valid
    if (!fresh) return all;
    const uint64_t dead = deadly(s);
    for (auto [byte, kinds] : states_[s].classes->firsts()) {
        if (!(kinds & ~dead)) continue;
        const Local to = behind(s, byte);
        auto known = std::find_if(all.begin(), all.end(), [&](const auto& x) { return x.first == to; });
        if (known == all.end()) all.emplace_back(to, kinds & ~dead);
        else known->second |= kinds & ~dead;
    }
    return all;
}

// Under scannerless: kinds of bytes such that the lexeme can still be completed after any characters that begin with them, in texts of a
// reach. PERF: a pattern that may stand anywhere ("wifi") leaves the state at each letter of its own, but no letter leads nowhere. Its first
// mask was 0.8 million units of work, nearly all nodes. One that counts leads nowhere only behind as many characters as there is room for.
uint64_t SplitTables::calm(Local s, size_t reach) {
    constexpr size_t kMost = 48;  // states
    if (states_[s].habits[reach].calm_known) return states_[s].habits[reach].calm;
    const size_t longest = reach < kReaches.size() ? kReaches[reach] : ~size_t(0);
    const uint64_t dead = deadly(s);
    uint64_t kinds = ~dead & ~kMore;
    for (bool again = true; again && kinds;) {
        again = false;
        std::vector<std::pair<Local, size_t>> reached{{s, 0}};  // and after how many characters at least
        for (size_t i = 0; i < reached.size() && reached[i].second + 1 < longest && !again; i++)
            for (auto [behind, of] : successors(reached[i].first)) {
                if (!(of & kinds)) continue;
                const Local to = single_ ? within(behind, reach) : behind;
                if (std::any_of(reached.begin(), reached.end(), [to = to](auto x) { return x.first == to; })) continue;
                // Where more is deadly, these kinds of bytes are left out, and the others are looked at anew.
                if (deadly(to) & ~dead || reached.size() == kMost) {
                    kinds &= ~of;
                    again = true;
                    break;
                }
                reached.emplace_back(to, reached[i].second + 1);
            }
    }
    states_[s].habits[reach].calm_known = true;
    return states_[s].habits[reach].calm = kinds | kMore;
}

SplitTables::Local SplitTables::steady(const Trie& t, uint32_t i, Local s) {
    if (s == kDead) return s;
    const bool scannerless = lexer_.policy() == Policy::kScannerless;
    uint64_t kinds = t.below[i];
    // PERF: all bytes of a kind are asked for where they lead, each of which may be a state that is new. Behind a name of an interface of Go 48 residuals of
    // a few nodes took 36,000 instructions each.
    const bool is_small = t.end[i] - i < kWorthAsking;
    if (!scannerless && is_small && kinds & (kFirst | kMore) && states_[s].home == kUnknown) return kUnknown;
    if (kinds & (kFirst | kMore)) {
        const auto [place, home] = standing(s);
        const bool stands = home != kDead && t.well_formed[i] >> place & 1;
        if (scannerless) {
            if (!stands) return kUnknown;
            s = home;
        } else if (stands && !(kinds & kFirst & ~characters(home))) {
            kinds &= ~(kFirst | kMore), s = home;
        }
    }
    if (!scannerless && is_small && kinds & ~states_[s].leading_back) return kUnknown;
    if (!(kinds & states_[s].leading_away))
        for (uint64_t unknown = kinds & ~states_[s].leading_back; unknown; unknown &= unknown - 1) {
            const uint64_t kind = unknown & -unknown;
            const bool back = leads_back(s, uint8_t(__builtin_ctzll(unknown)), scannerless);
            (back ? states_[s].leading_back : states_[s].leading_away) |= kind;
            if (!back) break;
        }
    if (!(kinds & ~states_[s].leading_back)) return s;
    if (!scannerless) return kUnknown;
    const size_t reach = reach_of(t.height[i]);
    if (!states_[s].habits[reach].calm_known && !is_worth_asking(s, t.end[i] - i)) return kUnknown;
    // All kinds together: one that leads back from here may lead nowhere from where another leads to.
    return !(kinds & deadly(s)) && !(kinds & ~calm(s, reach)) ? s : kUnknown;
}

SplitTables::Stretch SplitTables::stretch(Local s, const Stretches& stretches) {
    const uint64_t worthwhile = stretches.num_nodes() / 16;
    constexpr size_t kMost = 256;  // states
    Stretch found{kOfOneByte | kFirst, {s}};
    for (;;) {
        const Local from = found.states.back();
        if (from == kDead || states_[from].leaves || found.states.size() > kMost) return {};
        // Where characters that begin with bytes of the kinds lead. A kind of which they lead to several states is none.
        std::vector<std::pair<Local, uint64_t>> to;
        uint64_t seen = 0, mixed = 0;
        for (auto [byte, kinds] : states_[from].classes->firsts()) {
            if (!(kinds &= found.kinds)) continue;
            const Local next_state = behind(from, byte);
            auto known = std::find_if(to.begin(), to.end(), [&](const auto& x) { return x.first == next_state; });
            if (known == to.end()) known = to.insert(known, {next_state, 0});
            mixed |= kinds & seen & ~known->second;
            known->second |= kinds;
            seen |= kinds;
        }
        Local best = kDead;
        if (found.states.size() > 1) {
            if (to.size() == 1) best = to[0].first;
        } else {
            uint64_t most = worthwhile, kinds_of_best = 0;
            for (auto [state, kinds] : to)
                if (const uint64_t nodes = stretches.num_nodes_of(kinds & ~mixed); state != kDead && nodes > most)
                    most = nodes, best = state, kinds_of_best = kinds & ~mixed;
            if (!(found.kinds = kinds_of_best)) return {};
        }
        if (best == kDead) break;
        const auto before = std::find(found.states.begin(), found.states.end(), best);
        if ((found.period = size_t(found.states.end() - before))) break;
        found.states.push_back(best);
    }
    uint64_t walked = 0;
    for (uint32_t b = 0; b < 256; b++) {
        const auto byte = uint8_t(b);
        const bool is_text = character_step(kBetween, byte) != kNowhere, is_other = !is_text || !(found.kinds >> byte_kind(byte) & 1);
        if (!is_other && found.period) continue;
        for (size_t i = is_other ? 0 : found.states.size() - 1; i < found.states.size(); i++) {
            if (next(found.states[i], byte) == kDead) continue;
            if (!is_text) return {};  // of an automaton that somebody made of bytes
            found.others.set(byte);
            walked += stretches.num_nodes(byte);
            break;
        }
    }
    work(50 * found.states.size());
    return walked * 8 > stretches.num_nodes_of(found.kinds) ? Stretch{} : found;
}

// Under scannerless: kinds of bytes that begin a character which leads back to each of two states, or leads both to the same.
uint64_t SplitTables::agreeing(Local s, Local other) {
    uint64_t apart = 0;
    const ByteClasses* classes = states_[s].classes;
    if (states_[other].classes != classes) classes = &ByteClasses::alone();
    for (auto [byte, kinds] : classes->firsts())
        if (kinds & ~apart && next(s, byte) != next(other, byte) && (behind(s, byte) != s || behind(other, byte) != other)) apart |= kinds;
    return agreeing_[pack(s, other)] = ~apart;
}

// The states that two places in a character lead to, where what is below node i goes on from there; kDead if that is not so.
std::pair<SplitTables::Local, SplitTables::Local> SplitTables::standing_alike(const Trie& t, uint32_t i, Local s, Local other) {
    const auto [place, home] = standing(s);
    const auto [other_place, other_home] = standing(other);
    if (home == kDead || other_home == kDead || place != other_place || !(t.well_formed[i] >> place & 1)) return {kDead, kDead};
    return {home, other_home};
}

bool SplitTables::agree(const Trie& t, uint32_t i, Local s, Local other) {
    if (s == kDead || other == kDead) return s == other;
    if (states_[s].leaves != states_[other].leaves) return false;
    if (t.below[i] & (kFirst | kMore)) std::tie(s, other) = standing_alike(t, i, s, other);
    if (s == kDead || states_[s].leaves != states_[other].leaves) return false;
    const uint64_t* known = agreeing_.find(pack(s, other));
    if (!known && !is_worth_asking(s, t.end[i] - i)) return false;
    return !(t.below[i] & ~(known ? *known : agreeing(s, other)));
}

// PERF: of 13,000 nodes of llama-3 that a comparison of `(\S+\s+){0,199}\S+` came to 9,000 were within characters of several bytes, nearly all
// of which come to the same: now 11,300 nodes in all; of `[^/]+` 10,000, now 6,000.
uint64_t SplitTables::agreeing_kinds(const Trie& t, uint32_t i, Local s, Local other) {
    if (s == kDead || other == kDead || states_[s].leaves != states_[other].leaves) return 0;
    const bool is_worth = is_worth_asking(s, t.end[i] - i);
    auto kinds = [&](Local x, Local y) {
        const uint64_t* known = agreeing_.find(pack(x, y));
        return known ? *known : is_worth ? agreeing(x, y) : 0;
    };
    if (t.below[i] & (kFirst | kMore) && (is_worth || (states_[s].home != kUnknown && states_[other].home != kUnknown)))
        if (const auto [home, other_home] = standing_alike(t, i, s, other); home != kDead)
            return states_[home].leaves == states_[other_home].leaves ? kinds(home, other_home) : 0;
    return kinds(s, other) & kOfOneByte;
}

// Whether each byte of a kind leads back to the state.
bool SplitTables::leads_back(Local s, uint8_t kind, bool by_characters) {
    const std::vector<uint8_t>& bytes = bytes_of_kind(kind);
    return std::all_of(bytes.begin(), bytes.end(), [&](uint8_t b) {
        if (by_characters) return character_step(kBetween, b) == kNowhere || behind(s, b) == s;
        return next(s, b) == s;
    });
}

}  // namespace derivable
