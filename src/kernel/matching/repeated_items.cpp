#include "matching/repeated_items.hpp"

#include <algorithm>
#include <string>
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
    void take_behind_commas();

  private:
    void take(uint32_t token) { words_[token >> 5] &= ~(1u << (token & 31)); }
    // A lexeme in progress may open such an array.
    bool is_opening(const Parse& x);
    // What such a token has from a place on cannot repeat an item.
    bool is_harmless(const Parse& x, const Vocabulary::Comma& c, int place);

    Runs& runs_;
    Access& access_;
    const Terminals& terminals_;
    const Vocabulary& vocabulary_;
    uint32_t* words_;
    std::vector<Runs::Layers> path_;
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

void RepeatedItems::take_behind_commas() {
    const std::string* before = nullptr;
    size_t known = 0;  // so many bytes of `before` have been walked
    for (const Vocabulary::Comma& c : vocabulary_.commas) {
        if (!(words_[c.token >> 5] >> (c.token & 31) & 1)) continue;
        work(10);
        access_.pass();
        const std::string& bytes = vocabulary_.bytes[c.token];
        size_t d = 0;
        while (d < known && d < bytes.size() && bytes[d] == (*before)[d]) d++;
        for (bool some = true;; d++) {
            some = false;
            bool safe = true;
            for (const Parses& layer : path_[d])
                for (const Parse& x : layer) some = true, safe &= is_harmless(x, c, int(d));
            if (!some) take(c.token);
            if (safe || d == bytes.size()) break;
            runs_.step_path(path_, d, uint8_t(bytes[d]));
        }
        before = &bytes;
        known = d;
    }
}

}  // namespace

void take_repeated(Runs& runs, Access& access, const Terminals& terminals, const Vocabulary& vocabulary, const Parse& t, uint32_t* words) {
    RepeatedItems items(runs, access, terminals, vocabulary, t, words);
    if (t.writing && !t.writing->safe()) items.take_in_progress(t);
    items.take_behind_commas();
}

}  // namespace derivable
