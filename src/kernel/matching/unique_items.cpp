// What a constraint does about arrays of distinct items; json/unique_values.hpp says what its threads remember.
#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>

#include "matching/constraint.hpp"
#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

// Whether some continuation keeps the items apart: byte by byte, until what is written is safe.
bool Constraint::can_be_distinct(const Thread& t) {
    // A string with more values than there are to differ from can become one that is new.
    auto sure = [&](const Thread& x) {
        return !x.writing || x.writing->safe() || (x.writing->in_string() && lexer().has_more_strings(x.lex, x.writing->rivals()));
    };
    if (searching_ || sure(t)) return true;
    auto key_of = [](const Thread& x) { return mix(x.writing->key() ^ mix(pack(x.lex, x.stack)) ^ mix(x.environment)); };
    auto known = can_be_distinct_.find(key_of(t));
    if (known != can_be_distinct_.end()) return known->second;
    struct Searching {
        bool &flag, &forcing;
        bool was_forcing;
        Searching(bool& f, bool& g) : flag(f), forcing(g), was_forcing(std::exchange(g, false)) { flag = true; }
        ~Searching() { flag = false, forcing = was_forcing; }
    } searching(searching_, forcing_);
    struct Place {
        Thread thread;
        uint64_t key;
        size_t from;
    };
    std::vector<Place> places;
    // SAFETY: every place keeps a writing, and so counts as a try of each byte. Depth first these may grow without end (one more digit of an
    // exponent), so that way is soon given up.
    const uint64_t most = limits_.max_liveness_steps;
    auto search = [&](bool plain) {
        const uint64_t allowed = plain ? most / 64 : most;
        places.assign(1, {t, key_of(t), 0});
        std::deque<size_t> todo{0};
        std::unordered_map<uint64_t, size_t, MixHash> visits;
        Threads next;
        while (!todo.empty()) {
            if (const uint64_t steps = 256 * places.size(); steps > allowed) {
                if (plain) return false;
                throw LimitExceeded("max_liveness_steps", steps, most, "a value that an array of distinct items does not hold yet");
            }
            const size_t i = plain ? todo.back() : todo.front();
            plain ? todo.pop_back() : todo.pop_front();
            const Threads from{places[i].thread};
            const Bytes bytes = plain ? from[0].writing->plain_bytes() : ~Bytes();
            for (int turn = 1; turn <= 256; turn++) {
                const uint8_t b = uint8_t(',' + turn);  // a comma comes last, which is first where the last place is taken
                if (!bytes[b]) continue;
                work(20);
                step(from, b, next);
                for (Thread& to : next) {
                    uint64_t key = to.writing ? key_of(to) : 0;
                    auto before = can_be_distinct_.find(key);
                    const bool dead = before != can_be_distinct_.end() && !before->second;
                    if (sure(to) || (before != can_be_distinct_.end() && !dead)) {
                        for (size_t k = i;; k = places[k].from) {  // from wherever the way there led
                            can_be_distinct_[places[k].key] = true;
                            if (k == 0) return true;
                        }
                    }
                    if (dead || visits[key]++ > to.writing->likes()) continue;
                    todo.push_back(places.size());
                    places.push_back({std::move(to), key, i});
                }
            }
        }
        return false;
    };
    // PERF: there is nearly always a way without escapes and white space, soon found depth first. Objects that begin with a key and one of a list of
    // names took 3.8 ms a mask with all bytes at once, breadth first; now 0.3.
    if (search(true) || search(false)) return true;
    for (const Place& p : places) can_be_distinct_[p.key] = false;
    return false;
}

// Takes those tokens out of a thread's mask that repeat an item. Two walks find all of them: one along what the earlier items hold
// where the writing stands, for the value in progress; and one over the tokens with a comma, behind which another item may begin.
void Constraint::take_repeated(const Thread& t, uint32_t* words) {
    const Trie& trie = vocabulary_->trie;
    auto take = [&](uint32_t token) { words[token >> 5] &= ~(1u << (token & 31)); };
    std::vector<Layers> path{{{t}}};
    if (t.writing && !t.writing->safe()) {
        std::vector<Bytes> unsafe{t.writing->unsafe_bytes()};  // by depth: where a byte may not make all threads safe
        for (uint32_t i = 0; i < trie.size();) {
            work(2);
            pass();
            const size_t d = trie.depth[i];
            if (!unsafe[d][trie.byte[i]]) {
                i = trie.end[i];
            } else if (!step_path(path, d, trie.byte[i])) {
                for (uint32_t k = trie.token_begin[i]; k < trie.token_begin[trie.end[i]]; k++) take(trie.tokens[k]);
                i = trie.end[i];
            } else {
                unsafe.resize(std::max(unsafe.size(), d + 2));
                unsafe[d + 1].reset();
                for (const Threads& layer : path[d + 1])
                    for (const Thread& x : layer)
                        if (x.writing && !x.writing->safe()) unsafe[d + 1] |= x.writing->unsafe_bytes();
                i++;
            }
        }
    }
    auto opening = [&](const Thread& x) {  // a lexeme in progress may open such an array
        for (const Lexer::Exit& e : lexer().exits(x.lex))
            for (Symbol symbol : symbols_of(e.terminal))
                if (opens_distinct(symbol)) return true;
        return false;
    };
    // Whether what such a token has from a place on cannot repeat an item.
    auto harmless = [&](const Thread& x, const Vocabulary::Comma& c, int place) {
        if (!x.writing) return place > c.comma || (place > c.bracket && !opening(x));
        return x.writing->safe() && place > (x.writing->in_string() ? c.quote : c.comma);
    };
    const std::string* before = nullptr;
    size_t known = 0;  // so many bytes of `before` have been walked
    for (const Vocabulary::Comma& c : vocabulary_->commas) {
        if (!(words[c.token >> 5] >> (c.token & 31) & 1)) continue;
        work(10);
        pass();
        const std::string& bytes = vocabulary_->bytes[c.token];
        size_t d = 0;
        while (d < known && d < bytes.size() && bytes[d] == (*before)[d]) d++;
        for (bool some = true;; d++) {
            some = false;
            bool safe = true;
            for (const Threads& layer : path[d])
                for (const Thread& x : layer) some = true, safe &= harmless(x, c, int(d));
            if (!some) take(c.token);
            if (safe || d == bytes.size()) break;
            step_path(path, d, uint8_t(bytes[d]));
        }
        before = &bytes;
        known = d;
    }
}

}  // namespace derivable
