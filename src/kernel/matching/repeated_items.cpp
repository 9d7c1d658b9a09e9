#include "matching/repeated_items.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
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
    void take_behind_commas(const Parse& t);

  private:
    void take(uint32_t token) { words_[token >> 5] &= ~(1u << (token & 31)); }
    // A lexeme in progress may open such an array.
    bool is_opening(const Parse& x);
    bool is_refused(const Vocabulary::Comma& c);
    std::optional<std::string_view> from_quote(const Parse& t, const std::string& bytes);
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

void RepeatedItems::take_in_progress(const Parse& t) {
    const Trie& trie = vocabulary_.trie;
    std::vector<Bytes> unsafe{t.writing->unsafe_bytes()};  // by depth: where a byte may not make all parses safe
    for (uint32_t i = 0; i < trie.size();) {
        work(2);
        access_.pass();
        const size_t d = trie.depth[i];
        if (!unsafe[d][trie.byte[i]]) {
            i = trie.end[i];
        } else if (!runs_.step_path(path_, d, trie.byte[i])) {
            for (uint32_t k = trie.token_begin[i]; k < trie.token_begin[trie.end[i]]; k++) take(trie.tokens[k]);
            i = trie.end[i];
        } else {
            unsafe.resize(std::max(unsafe.size(), d + 2));
            unsafe[d + 1].reset();
            for (const Parses& layer : path_[d + 1])
                for (const Parse& x : layer)
                    if (x.writing && !x.writing->safe()) unsafe[d + 1] |= x.writing->unsafe_bytes();
            i++;
        }
    }
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

// The part of a token from the quote on that ends the string in progress, if nothing before it matters to what the token repeats: there the
// lexer stands where it stood, the string is new whatever it will be, and behind it no other is complete, which could be the same.
std::optional<std::string_view> RepeatedItems::from_quote(const Parse& t, const std::string& bytes) {
    if (!t.writing || !t.writing->safe() || !t.writing->in_string()) return std::nullopt;
    const size_t quote = bytes.find('"');
    if (quote == std::string::npos || std::count(bytes.begin(), bytes.end(), '"') > 2) return std::nullopt;
    LexState lex = t.lex;
    for (size_t i = 0; i < quote; i++)
        if (bytes[i] == '\\' || (lex = access_.lexer().step(lex, uint8_t(bytes[i]))) == kNoState) return std::nullopt;
    if (lex != t.lex) return std::nullopt;
    return std::string_view(bytes).substr(quote);
}

// PERF: in a string of an array of distinct ones most of the tokens with a comma differ in what they add to it: 130 us a mask, now 20 to 40.
void RepeatedItems::take_behind_commas(const Parse& t) {
    std::unordered_map<std::string_view, bool> taken;  // by from_quote()
    for (const Vocabulary::Comma& c : vocabulary_.commas) {
        if (!(words_[c.token >> 5] >> (c.token & 31) & 1)) continue;
        work(10);
        access_.pass();
        const auto rest = c.quote >= 0 ? from_quote(t, vocabulary_.bytes[c.token]) : std::nullopt;
        const auto known = rest ? taken.find(*rest) : taken.end();
        const bool repeats = known != taken.end() ? known->second : is_refused(c);
        if (rest) taken.emplace(*rest, repeats);
        if (repeats) take(c.token);
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

}  // namespace

void take_repeated(Runs& runs, Access& access, const Terminals& terminals, const Vocabulary& vocabulary, const Parse& t, uint32_t* words) {
    RepeatedItems items(runs, access, terminals, vocabulary, t, words);
    if (t.writing && !t.writing->safe()) items.take_in_progress(t);
    items.take_behind_commas(t);
}

}  // namespace derivable
