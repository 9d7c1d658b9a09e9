#include "matching/repeated_items.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/task.hpp"

namespace derivable {

namespace {

class RepeatedItems {
  public:
    RepeatedItems(Runs& runs, Access& access, const Terminals& terminals, const Vocabulary& vocabulary, const Parse& t, uint32_t* words)
        : runs_(runs),
          access_(access),
          terminals_(terminals),
          vocabulary_(vocabulary),
          words_(words),
          path_{{{t}}} {}

    void take_in_progress(const Parse& t);
    // Behind that.
    void take_behind_commas(const Parse& t);

  private:
    using Layers = Runs::Layers;
    bool leads_out(uint32_t node, const Bytes& stays, const Bytes& unsafe) const;
    void take(uint32_t token) { words_[token >> 5] &= ~(1u << (token & 31)); }
    // A lexeme in progress may open such an array.
    bool is_opening(const Parse& x);
    bool is_refused(const Vocabulary::Comma& c);
    // A string in progress at some place of a token, or nowhere: there is a number for the whole token then.
    // SAFETY: the parse is that of the mask, or one of path_, until another token is stepped.
    struct Ending {
        const Parse& parse;  // in progress there,
        size_t place;        // where it ends,
        LexState lex;        // the lexer's state then,
        uint64_t rest;       // and what follows from there on
    };
    std::optional<Ending> ending(const Parse& t, const Vocabulary::Comma& c);
    // What was not refused would not be for another string in progress;
    bool is_for_any(const Parse& t) const;
    // nor whatever the values are that were written before.
    bool is_always(const Ending& x, const std::string& bytes);
    // The path along a token, as far as this place at least.
    void step_to(const std::string& bytes, size_t place);
    // What such a token has from a place on cannot repeat an item.
    bool is_settled(const Parse& x, const Vocabulary::Comma& c, int place);

    Runs& runs_;
    Access& access_;
    const Terminals& terminals_;
    const Vocabulary& vocabulary_;
    uint32_t* words_;
    std::vector<Layers> path_;
    static constexpr uint64_t kToken = 1ULL << 32;
    const std::string* before_ = nullptr;  // the token that was stepped last,
    size_t known_ = 0;                     // and how many of its bytes
};

// PERF: before an item nearly all bytes that matter are white space, which changes nothing: of 770 steps of 2,000 instructions most are left out (llama-3,
// a mask of 1.77 million instructions, now 0.34).
void RepeatedItems::take_in_progress(const Parse& t) {
    const Trie& trie = vocabulary_.trie;
    struct Depth {
        Bytes unsafe;  // a byte that may not make all parses safe
        size_t first;  // the least depth on the way with the same parses
        Bytes stays;   // if that is this one: bytes that lead back to them
    };
    std::vector<Depth> depths{{t.writing->unsafe_bytes(), 0, {}}};
    for (uint32_t i = 0; i < trie.size();) {
        work(2);
        access_.pass();
        const size_t d = trie.depth[i];
        const uint8_t byte = trie.byte[i];
        const Bytes& stays = depths[depths[d].first].stays;
        if (!depths[d].unsafe[byte] || (stays[byte] && !leads_out(i, stays, depths[d].unsafe))) {
            i = trie.end[i];
        } else if (!runs_.step_path(path_, d, byte)) {
            for (uint32_t k = trie.token_begin[i]; k < trie.token_begin[trie.end[i]]; k++) take(trie.tokens[k]);
            i = trie.end[i];
        } else {
            depths.resize(std::max(depths.size(), d + 2));
            // The first byte of a token is stepped otherwise.
            if (d && path_[d + 1] == path_[d]) {
                depths[depths[d].first].stays.set(byte);
                depths[d + 1] = {depths[d].unsafe, depths[d].first, {}};
            } else {
                Bytes unsafe;
                for (const Parses& layer : path_[d + 1])
                    for (const Parse& x : layer)
                        if (x.writing && !x.writing->safe()) unsafe |= x.writing->unsafe_bytes();
                depths[d + 1] = {unsafe, d + 1, {}};
            }
            i++;
        }
    }
}

// Below a node something may be refused: behind bytes that change nothing stands another one that matters.
bool RepeatedItems::leads_out(uint32_t node, const Bytes& stays, const Bytes& unsafe) const {
    const Trie& trie = vocabulary_.trie;
    for (uint32_t i = node + 1; i < trie.end[node];) {
        work(1);
        if (stays[trie.byte[i]]) i++;
        else if (unsafe[trie.byte[i]]) return true;
        else i = trie.end[i];
    }
    return false;
}

bool RepeatedItems::is_opening(const Parse& x) {
    for (const Lexer::Exit& e : access_.lexer().exits(x.lex))
        for (Symbol symbol : terminals_.of(e.terminal))
            if (terminals_.opens_distinct(symbol)) return true;
    return false;
}

bool RepeatedItems::is_settled(const Parse& x, const Vocabulary::Comma& c, int place) {
    if (!x.writing) return place > c.comma || (place > c.bracket && !is_opening(x));
    return x.writing->safe() && place > (x.writing->in_string() ? c.quote : c.comma);
}

// The string is not one that is there already, for such a token is taken. So nothing before matters to what the token repeats, but where the lexer stands
// then; and the string itself, if all that may follow is to be that one, too. None if behind it another string is complete, which could be the same.
std::optional<RepeatedItems::Ending> RepeatedItems::ending(const Parse& t, const Vocabulary::Comma& c) {
    const std::string& bytes = vocabulary_.bytes[c.token];
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
        if (*place == '\\' || (lex = access_.lexer().step(lex, uint8_t(*place))) == kNoState) return std::nullopt;
    return Ending{*in_progress, size_t(quote->place), lex, quote->rest};
}

// PERF: in a string of an array of distinct ones most of the tokens with a comma differ in what they add to it: 130 us a mask, then 25. What makes no
// difference whatever the values are was found again for each mask, now once: 9.
void RepeatedItems::take_behind_commas(const Parse& t) {
    UniqueItems& unique_items = runs_.unique_items();
    const bool in_string = t.writing && t.writing->in_string(), is_outside = !t.writing && !is_opening(t);
    const bool is_small = !t.writing || t.writing->completed() + 2 < UniqueItems::kMany;
    // A string goes on where no quote ends it.
    for (size_t i = 0; i < (in_string ? vocabulary_.num_quoted : vocabulary_.commas.size()); i++) {
        const Vocabulary::Comma& c = vocabulary_.commas[i];
        if (!(words_[c.token >> 5] >> (c.token & 31) & 1)) continue;
        work(10);
        access_.pass();
        if (is_outside && c.bracket < 0) continue;
        const std::optional<Ending> x = ending(t, c);
        uint64_t always = 0, around = 0;
        if (x) {
            const WritingRef& writing = x->parse.writing;
            const uint64_t behind = mix(UniqueItems::place(x->lex, x->parse) ^ mix(x->rest));
            always = mix(behind ^ (writing ? writing->shape() : 0));
            if (is_small && unique_items.is_harmless(always)) continue;
            if (writing && writing->in_string() && unique_items.is_harmless(around = mix(behind ^ writing->key_around()))) continue;
        }
        if (is_refused(c)) take(c.token);
        else if (x && is_small && is_always(*x, vocabulary_.bytes[c.token])) unique_items.note_harmless(always);
        else if (around && is_for_any(x->parse)) unique_items.note_harmless(around);
    }
}

void RepeatedItems::step_to(const std::string& bytes, size_t place) {
    if (before_ != &bytes) {
        size_t same = 0;
        while (same < known_ && same < bytes.size() && bytes[same] == (*before_)[same]) same++;
        before_ = &bytes, known_ = same;
    }
    for (; known_ < place; known_++) runs_.step_path(path_, known_, uint8_t(bytes[known_]));
}

bool RepeatedItems::is_refused(const Vocabulary::Comma& c) {
    const std::string& bytes = vocabulary_.bytes[c.token];
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
            if (!x.writing || x.writing->completed() == t.writing->completed() || runs_.unique_items().can_spare_one(x)) return true;
    return false;
}

// Up to the first comma only what is in progress ends, and tokens with which that is one of the values are taken. At the end of the token something is in
// progress, or begins, that may become any of more values than there are. Or no array is open behind the comma, and what the token opens is its own.
bool RepeatedItems::is_always(const Ending& x, const std::string& bytes) {
    if (!x.parse.writing) return true;
    const size_t comma = bytes.find(',', x.place);
    if (comma == std::string::npos) return false;
    step_to(bytes, bytes.size());
    const auto each = [&](size_t place, auto visit) {
        for (const Parses& layer : path_[place])
            for (const Parse& y : layer) visit(y);
    };
    bool is_closed = true, stays_open = true, some = false;
    size_t completed = UniqueItems::kMany;
    each(comma + 1, [&](const Parse& y) {
        if (y.writing) is_closed = false, completed = std::min(completed, y.writing->completed());
    });
    for (size_t d = comma + 1; d <= bytes.size(); d++) each(d, [&](const Parse& y) { stays_open &= bool(y.writing); });
    each(bytes.size(), [&](const Parse& y) {
        some |= is_closed || (stays_open && y.writing->completed() <= completed && runs_.unique_items().can_spare_any(y));
    });
    return some;
}

}  // namespace

void take_repeated(Runs& runs, Access& access, const Terminals& terminals, const Vocabulary& vocabulary, const Parse& t, uint32_t* words) {
    RepeatedItems items(runs, access, terminals, vocabulary, t, words);
    if (t.writing && !t.writing->safe()) items.take_in_progress(t);
    items.take_behind_commas(t);
}

}  // namespace derivable
