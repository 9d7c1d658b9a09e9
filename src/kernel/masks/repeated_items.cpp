#include "masks/repeated_items.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/task.hpp"

namespace derivable {

namespace {
// The only member is in a string of a list, which may still come out as so many values. None: it is not known.
std::optional<uint64_t> num_strings(const Lexer& lexer, LexState members) {
    if (!StateNumber::is_single(members)) return std::nullopt;
    return lexer.automata.ask(&JsonStrings::num_values, members);
}
}  // namespace

// What is written but the values is the same for many masks, so the tokens that are harmless whatever the values are asked about once.
RepeatedItems::RepeatedItems(const Parts& parts, const Parse& t, const PackedMask& mask, std::optional<UniqueItems::Place> of_mask)
    : parts_(parts),
      unique_items_(parts.runs.unique_items()),
      parse_(t),
      mask_(mask) {
    // A string goes on where no quote ends it. Where no array is open, only what opens one matters.
    const bool in_string = t.writing && t.writing->in_string(), is_outside = !t.writing && !is_opening(t);
    uint32_t list;
    if (of_mask) {
        const uint32_t number = unique_items_.number(of_mask->add(uint32_t(in_string) << 1 | uint32_t(is_outside)));
        const uint32_t* known = unique_items_.commas(number);
        list = known ? *known : unique_items_.note_commas(number, with_comma(in_string, is_outside));
    } else {
        list = unique_items_.note_list(with_comma(in_string, is_outside));
    }
    commas_ = unique_items_.list(list);
    if (commas_.empty() || !t.writing || !is_few()) return;
    place_ = unique_items_.number(unique_items_.place_inside(t.lex, t).add_long(t.writing->shape()).add(list));
    if (const std::vector<uint32_t>* known = unique_items_.doubtful(*place_)) commas_ = *known, is_told_ = true;
}

std::vector<uint32_t> RepeatedItems::with_comma(bool in_string, bool is_outside) const {
    const Vocabulary& vocabulary = parts_.vocabulary;
    std::vector<uint32_t> out(in_string ? vocabulary.num_quoted : vocabulary.commas.size());
    const std::vector<uint32_t> words = mask_.words();
    size_t size = 0;
    for (uint32_t i = 0; i < out.size(); i++) {
        const Vocabulary::Comma& c = vocabulary.commas[i];
        out[size] = i;
        size += (words[c.token >> 5] >> (c.token & 31) & 1) && (!is_outside || c.bracket >= 0);
    }
    out.resize(size);
    work(vocabulary.commas.size() / 8);
    return out;
}

std::vector<uint32_t> RepeatedItems::tokens() {
    path_.assign(1, {{parse_}});
    if (parse_.writing && !parse_.writing->safe()) take_in_progress();
    std::sort(taken_.begin(), taken_.end());
    taken_in_progress_ = taken_.size();
    const size_t before = commas_.size();
    auto is_harmless = [&](uint32_t i) { return !take_behind_comma(parts_.vocabulary.commas[i]); };
    commas_.erase(std::remove_if(commas_.begin(), commas_.end(), is_harmless), commas_.end());
    if (place_ && !(is_told_ && commas_.size() == before)) unique_items_.note_doubtful(*place_, commas_);
    return std::move(taken_);
}

// PERF: before an item nearly all bytes that matter are white space, which changes nothing, and in a string the beginnings of escapes. Of 770 steps of 2,000
// instructions those that led back were left out (llama-3, a mask of 1.77 million instructions, then 0.34); of the 8,719 that 532 masks still took, 3,727 are
// left without those that can do no harm.
void RepeatedItems::take_in_progress() {
    const Trie& trie = parts_.vocabulary.trie;
    std::vector<Depth> depths{{parse_.writing->unsafe_bytes(), unique_items_.harmless_bytes(parse_), 0, {}}};
    size_t stepped = 0;  // path_ is that of the token up to here
    std::string bytes;
    const auto begin_list = [&](size_t depth) { depths[depth].listed = listed_at(path_[depth]), depths[depth].begun = depth; };
    const auto take_all = [&](uint32_t i) {
        for (uint32_t k = trie.token_begin[i]; k < trie.token_begin[trie.end[i]]; k++) take(trie.tokens[k]);
    };
    begin_list(0);
    for (uint32_t i = 0; i < trie.size();) {
        work(2);
        parts_.access.pass();
        const size_t d = trie.depth[i];
        const uint8_t byte = trie.byte[i];
        const size_t first = depths[d].first;
        bytes.resize(d);
        bytes.push_back(char(byte));
        stepped = std::min(stepped, d);
        if (depths[d].listed != kNoState) {
            LexState next = kNoState;
            const size_t begun = depths[d].begun;
            const Listed found = follow_list(depths[d].listed, *path_[begun][0][0].writing, bytes.substr(begun), next);
            if (found == Listed::kRepeats) take_all(i);
            if (found == Listed::kGoesOn) {
                depths.resize(std::max(depths.size(), d + 2));
                depths[d + 1] = {{}, {}, d + 1, {}, next, begun};
            }
            if (found != Listed::kUnknown) {
                i = found == Listed::kGoesOn ? i + 1 : trie.end[i];
                continue;
            }
            for (; stepped < d; stepped++) parts_.runs.step_path(path_, stepped, uint8_t(bytes[stepped]));
        }
        if (depths[d].listed == kNoState && (!depths[d].unsafe[byte] || is_harmless(i, depths[d], depths[first].stays))) {
            i = trie.end[i];
        } else if (!parts_.runs.step_path(path_, d, byte)) {
            take_all(i);
            i = trie.end[i];
        } else {
            stepped = d + 1;
            depths.resize(std::max(depths.size(), d + 2));
            const Bytes harmless = depths[d].harmless[byte] ? depths[d].harmless : Bytes();
            // The first byte of a token is stepped otherwise.
            if (d && depths[d].listed == kNoState && path_[d + 1] == path_[d]) {
                depths[first].stays.set(byte);
                depths[d + 1] = {depths[d].unsafe, harmless, first, {}};
            } else {
                Bytes unsafe;
                for (const Parses& layer : path_[d + 1])
                    for (const Parse& x : layer)
                        if (x.writing && !x.writing->safe()) unsafe |= x.writing->unsafe_bytes();
                depths[d + 1] = {unsafe, harmless, d + 1, {}};
                begin_list(d + 1);
            }
            i++;
        }
    }
}

LexState RepeatedItems::listed_at(const Layers& layers) const {
    if (layers.size() != 1 || layers[0].size() != 1) return kNoState;
    const Parse& x = layers[0][0];
    const bool is_item = x.writing && x.writing->between_characters_of_item();
    return is_item && num_strings(parts_.access.lexer(), x.lex) ? x.lex : kNoState;
}

// PERF: byte by byte with all that a parse carries the masks before and in an item took 1.0 ms, and 21 at worst, instead of 0.14 and 4.5 (benchmarks/parts.py: 270
// names of which 200 are used up, llama-3).
RepeatedItems::Listed RepeatedItems::follow_list(LexState listed, const Writing& item, const std::string& read, LexState& next) {
    const auto is_plain = [](char c) { return uint8_t(c) >= 0x20 && c != '"' && c != '\\'; };
    Lexer& lexer = parts_.access.lexer();
    next = lexer.step(listed, uint8_t(read.back()));
    work(4);
    if (next == kNoState) return Listed::kGone;
    if (!is_plain(read.back())) return Listed::kUnknown;
    const size_t used = item.likes_with(read);
    if (!used) return Listed::kSafe;
    const std::optional<uint64_t> all = num_strings(lexer, next);
    if (!all) return Listed::kUnknown;  // within a character
    if (*all > used) return Listed::kGoesOn;
    // Items may be no strings of the list.
    uint64_t gone = 0;
    bool are_plain = true;
    item.each_rest_with(read, [&](std::string_view rest) {
        LexState s = next;
        are_plain &= std::all_of(rest.begin(), rest.end(), is_plain);
        for (size_t k = 0; k < rest.size() && s != kNoState; k++) s = lexer.step(s, uint8_t(rest[k]));
        work(4 + rest.size());
        gone += s != kNoState && lexer.step(s, '"') != kNoState;
    });
    return !are_plain ? Listed::kUnknown : gone == *all ? Listed::kRepeats : Listed::kGoesOn;
}

// No token below a node, which it leads to with an unsafe byte, is refused: behind bytes that do no harm stands no other that may.
bool RepeatedItems::is_harmless(uint32_t node, const Depth& at, const Bytes& stays) const {
    constexpr uint32_t kPatience = 256;  // nodes, about as much as a step
    const Trie& trie = parts_.vocabulary.trie;
    const Bytes harmless = at.harmless | stays;
    if (!harmless[trie.byte[node]]) return false;
    const Bytes harmful = at.unsafe & ~harmless;
    uint64_t kinds = 0;
    for (size_t word = 0; word < 4; word++)
        for (uint64_t rest = (harmful >> 64 * word & Bytes(~0ULL)).to_ullong(); rest; rest &= rest - 1)
            kinds |= 1ULL << byte_kind(uint8_t(64 * word + size_t(__builtin_ctzll(rest))));
    if (!(trie.below[node] & kinds)) return true;
    uint32_t asked = 0;
    for (uint32_t i = node + 1; i < trie.end[node];) {
        work(1);
        if (++asked > kPatience || (!harmless[trie.byte[i]] && at.unsafe[trie.byte[i]])) return false;
        i = harmless[trie.byte[i]] ? i + 1 : trie.end[i];
    }
    return true;
}

bool RepeatedItems::is_opening(const Parse& x) const {
    for (const Lexer::Exit& e : parts_.access.lexer().exits(x.lex))
        for (Symbol symbol : parts_.terminals.of(e.terminal))
            if (parts_.terminals.opens_distinct(symbol)) return true;
    return false;
}

bool RepeatedItems::is_settled(const Parse& x, const Vocabulary::Comma& c, int place) const {
    if (!x.writing) return place > c.comma || (place > c.bracket && !is_opening(x));
    return x.writing->safe() && place > (x.writing->in_string() ? c.quote : c.comma);
}

// The string is not one that is there already, for such a token is taken. So nothing before matters to what the token repeats, but where the lexer stands
// then; and the string itself, if all that may follow is to be that one, too. None if behind it another string is complete, which could be the same.
std::optional<RepeatedItems::Ending> RepeatedItems::ending(const Vocabulary::Comma& c) {
    const Parse& t = parse_;
    const std::string& bytes = parts_.vocabulary.bytes[c.token];
    const Vocabulary::Comma::Quote* quote = c.quotes;
    const Parse* in_progress = &t;
    auto place = bytes.begin();
    // SAFETY: of items behind that in progress, tokens that repeat one are not taken yet.
    if (t.writing && t.writing->before_value() && quote->place >= 0 && bytes.find_first_not_of(" \t\n\r") == size_t(quote->place)) {
        step_to(bytes, size_t(quote->place) + 1);
        const Layers& begun = path_[size_t(quote->place) + 1];
        if (begun.size() == 1 && begun[0].size() == 1 && begun[0][0].writing && begun[0][0].writing->in_item())
            in_progress = &begun[0][0], place += quote++->place + 1;
    }
    if (!in_progress->writing || !in_progress->writing->in_string()) return Ending{t, 0, t.lex, kToken | c.token};
    const auto end = bytes.begin() + quote->place;
    if (quote->place < 0 || std::count(end, bytes.end(), '"') > 2) return std::nullopt;
    LexState lex = in_progress->lex;
    for (; place < end; ++place)
        if (*place == '\\' || (lex = parts_.access.lexer().step(lex, uint8_t(*place))) == kNoState) return std::nullopt;
    return Ending{*in_progress, size_t(quote->place), lex, quote->rest};
}

// PERF: in a string of an array of distinct ones most of the tokens with a comma differ in what they add to it: 130 us a mask, then 25. What makes no
// difference whatever the values are was found again for each mask, now once: 9.
bool RepeatedItems::take_behind_comma(const Vocabulary::Comma& c) {
    if (std::binary_search(taken_.begin(), taken_.begin() + ptrdiff_t(taken_in_progress_), c.token)) return true;
    work(10);
    parts_.access.pass();
    const std::optional<Ending> x = ending(c);
    uint32_t always = 0;
    std::optional<uint32_t> around;
    if (x) {
        const WritingRef& writing = x->parse.writing;
        const uint64_t shape = writing ? writing->shape() : UniqueItems::kNoShape;
        always = unique_items_.number(unique_items_.place_inside(x->lex, x->parse).add_long(x->rest).add_long(shape));
        if (is_few() && unique_items_.is_harmless(always)) return false;
        if (writing && writing->in_string()) {
            UniqueItems::Place place = UniqueItems::place(x->lex, x->parse).add_long(x->rest);
            around = unique_items_.number(place.add(writing, UniquePlaces::Written::kAround));
            if (unique_items_.is_harmless(*around)) return true;
        }
    }
    if (is_refused(c)) {
        take(c.token);
    } else if (x && is_few() && is_always(*x, parts_.vocabulary.bytes[c.token])) {
        unique_items_.note_harmless(always);
        return false;
    } else if (around && is_for_any(x->parse)) {
        unique_items_.note_harmless(*around);
    }
    return true;
}

void RepeatedItems::step_to(const std::string& bytes, size_t place) {
    if (before_ != &bytes) {
        size_t same = 0;
        while (same < known_ && same < bytes.size() && bytes[same] == (*before_)[same]) same++;
        before_ = &bytes, known_ = same;
    }
    for (; known_ < place; known_++) parts_.runs.step_path(path_, known_, uint8_t(bytes[known_]));
}

bool RepeatedItems::is_refused(const Vocabulary::Comma& c) {
    const std::string& bytes = parts_.vocabulary.bytes[c.token];
    step_to(bytes, 0);
    for (;; step_to(bytes, known_ + 1)) {
        bool some = false, safe = true;
        for (const Parses& layer : path_[known_])
            for (const Parse& x : layer) some = true, safe &= is_settled(x, c, int(known_));
        if (safe || known_ == bytes.size()) return !some;
    }
}

// Either nothing is complete yet that could be there, or what comes next need not be the one value that is the string.
bool RepeatedItems::is_for_any(const Parse& t) const {
    for (const Parses& layer : path_[known_])
        for (const Parse& x : layer)
            if (!x.writing || x.writing->completed() == t.writing->completed() || unique_items_.can_spare_one(x)) return true;
    return false;
}

// Up to the first comma only what is in progress ends, and tokens with which that is one of the values are taken. At the end of the token something is in
// progress, or begins, that may become any of more values than there are. Or no array is open behind the comma, and what the token opens is its own: the
// parse's mask, whatever it has written, knows about that.
//
// SAFETY: it holds whatever stands below the arrays (place_inside), for nothing on the way has looked below their ground. With other things there a token
// may have more ways, but none of these less.
bool RepeatedItems::is_always(const Ending& x, const std::string& bytes) {
    if (!x.parse.writing) return true;
    const size_t comma = bytes.find(',', x.place);
    if (comma == std::string::npos) return false;
    step_to(bytes, bytes.size());
    const auto each = [&](size_t place, auto visit) {
        for (const Parses& layer : path_[place])
            for (const Parse& y : layer) visit(y);
    };
    const NodeId ground = x.parse.ground;
    bool is_closed = true, stays_open = true, stays_on_ground = true, some = false;
    size_t completed = UniqueItems::kMany;
    each(comma + 1, [&](const Parse& y) {
        if (y.writing) is_closed = false, completed = std::min(completed, y.writing->completed());
    });
    for (size_t d = 0; d <= bytes.size(); d++)
        each(d, [&](const Parse& y) {
            stays_open &= d <= comma || y.writing;
            stays_on_ground &= !y.writing || y.ground == ground;
        });
    each(bytes.size(), [&](const Parse& y) {
        some |= is_closed || (stays_open && y.writing->completed() <= completed && unique_items_.can_spare_any(y));
    });
    return some && stays_on_ground;
}

}  // namespace derivable
