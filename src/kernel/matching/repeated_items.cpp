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
    bool leads_out(uint32_t node, const Bytes& stays, const Bytes& unsafe) const;
    void take(uint32_t token) { words_[token >> 5] &= ~(1u << (token & 31)); }
    // A lexeme in progress may open such an array.
    bool is_opening(const Parse& x);
    bool is_refused(const Vocabulary::Comma& c);
    // What was not refused would not be for another string in progress.
    bool is_for_any(const Parse& t) const;
    struct End {
        LexState lex;           // before the quote
        std::string_view rest;  // from it on
        bool operator==(const End& other) const { return lex == other.lex && rest == other.rest; }
    };
    std::optional<End> end_of_string(const Parse& t, const std::string& bytes);
    // What such a token has from a place on cannot repeat an item.
    bool is_harmless(const Parse& x, const Vocabulary::Comma& c, int place);

    Runs& runs_;
    Access& access_;
    const Terminals& terminals_;
    const Vocabulary& vocabulary_;
    uint32_t* words_;
    std::vector<Runs::Layers> path_;
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

bool RepeatedItems::is_harmless(const Parse& x, const Vocabulary::Comma& c, int place) {
    if (!x.writing) return place > c.comma || (place > c.bracket && !is_opening(x));
    return x.writing->safe() && place > (x.writing->in_string() ? c.quote : c.comma);
}

// Where a token ends the string in progress. It is not one that is there already, for such a token is taken. So nothing before matters to what the
// token repeats, but where the lexer stands then; and the string itself, if all that may follow is to be that one, too. None if behind it another string
// is complete, which could be the same.
std::optional<RepeatedItems::End> RepeatedItems::end_of_string(const Parse& t, const std::string& bytes) {
    const size_t quote = bytes.find('"');
    if (quote == std::string::npos || std::count(bytes.begin(), bytes.end(), '"') > 2) return std::nullopt;
    LexState lex = t.lex;
    for (size_t i = 0; i < quote; i++)
        if (bytes[i] == '\\' || (lex = access_.lexer().step(lex, uint8_t(bytes[i]))) == kNoState) return std::nullopt;
    return End{lex, std::string_view(bytes).substr(quote)};
}

// PERF: in a string of an array of distinct ones most of the tokens with a comma differ in what they add to it: 130 us a mask, now 20 to 40.
void RepeatedItems::take_behind_commas(const Parse& t) {
    std::vector<End> harmless;  // whatever the string is
    const bool in_string = t.writing && t.writing->in_string();
    for (const Vocabulary::Comma& c : vocabulary_.commas) {
        if (!(words_[c.token >> 5] >> (c.token & 31) & 1)) continue;
        work(10);
        access_.pass();
        const std::string& bytes = vocabulary_.bytes[c.token];
        if (in_string && c.quote < 0) continue;  // the string goes on
        const auto end = in_string ? end_of_string(t, bytes) : std::nullopt;
        if (end && std::find(harmless.begin(), harmless.end(), *end) != harmless.end()) continue;
        if (is_refused(c)) take(c.token);
        else if (end && is_for_any(t)) harmless.push_back(*end);
    }
}

bool RepeatedItems::is_refused(const Vocabulary::Comma& c) {
    const std::string& bytes = vocabulary_.bytes[c.token];
    size_t d = 0;
    while (d < known_ && d < bytes.size() && bytes[d] == (*before_)[d]) d++;
    bool some = false;
    for (;; d++) {
        some = false;
        bool safe = true;
        for (const Parses& layer : path_[d])
            for (const Parse& x : layer) some = true, safe &= is_harmless(x, c, int(d));
        if (safe || d == bytes.size()) break;
        runs_.step_path(path_, d, uint8_t(bytes[d]));
    }
    before_ = &bytes;
    known_ = d;
    return !some;
}

// Either nothing is complete yet that could be there, or what comes next need not be the one value that is the string.
bool RepeatedItems::is_for_any(const Parse& t) const {
    for (const Parses& layer : path_[known_])
        for (const Parse& x : layer)
            if (!x.writing || x.writing->completed() == t.writing->completed() || runs_.can_spare_one(x)) return true;
    return false;
}

}  // namespace

void take_repeated(Runs& runs, Access& access, const Terminals& terminals, const Vocabulary& vocabulary, const Parse& t, uint32_t* words) {
    RepeatedItems items(runs, access, terminals, vocabulary, t, words);
    if (t.writing && !t.writing->safe()) items.take_in_progress(t);
    items.take_behind_commas(t);
}

}  // namespace derivable
