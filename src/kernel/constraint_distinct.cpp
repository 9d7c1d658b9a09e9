// What a constraint does about arrays of distinct items; distinct.hpp says what its threads remember.
#include "constraint.hpp"

namespace derivable {

// Whether some continuation keeps the items apart: breadth first, byte by byte, until what is written is safe.
bool Constraint::can_be_distinct(const Thread& t) {
    Lexer& lexer = spanner_->lexer;
    // A string that takes any characters can become one that is new.
    auto sure = [&](const Thread& x) { return !x.writing || x.writing->safe() || (x.writing->in_string() && lexer.in_free_string(x.lex)); };
    if (searching_ || sure(t)) return true;
    auto key_of = [](const Thread& x) { return mix(x.writing->key() ^ mix(pack(x.lex, x.stack))); };
    auto known = can_be_distinct_.find(key_of(t));
    if (known != can_be_distinct_.end()) return known->second;
    struct Searching {
        bool& flag;
        explicit Searching(bool& f) : flag(f) { flag = true; }
        ~Searching() { flag = false; }
    } searching(searching_);
    struct Place {
        Thread thread;
        uint64_t key;
        size_t from;
    };
    std::vector<Place> places{{t, key_of(t), 0}};
    std::unordered_map<uint64_t, size_t, MixHash> visits;
    Threads next;
    bool found = false;
    for (size_t i = 0; i < places.size() && !found; i++) {
        if (i * 256 > limits_.max_liveness_steps)
            throw LimitExceeded("max_liveness_steps", i * 256, limits_.max_liveness_steps, "a value that an array of distinct items does not hold yet");
        for (int b = 0; b < 256 && !found; b++) {
            step({places[i].thread}, uint8_t(b), next);
            for (Thread& to : next) {
                uint64_t key = to.writing ? key_of(to) : 0;
                auto before = can_be_distinct_.find(key);
                const bool dead = before != can_be_distinct_.end() && !before->second;
                found |= sure(to) || (before != can_be_distinct_.end() && !dead);
                if (!found && !dead && visits[key]++ <= to.writing->likes()) places.push_back({std::move(to), key, i});
            }
        }
        if (found)  // from wherever the way there led
            for (size_t k = i;; k = places[k].from) {
                can_be_distinct_[places[k].key] = true;
                if (k == 0) break;
            }
    }
    if (!found)
        for (const Place& p : places) can_be_distinct_[p.key] = false;
    return found;
}

// Takes those tokens out of a thread's mask that repeat an item. Most of the vocabulary is passed over: as long as the writing is safe, a
// token has to end one item and begin another to repeat anything.
void Constraint::take_repeated(const Thread& t, std::vector<uint32_t>& words) {
    const uint64_t comma = 1ull << byte_kind(','), quote = 1ull << byte_kind('"'), bracket = 1ull << byte_kind('[');
    const Trie& trie = vocabulary_->trie;
    auto opening = [&](const Thread& x) {  // a lexeme in progress may open such an array
        for (const Lexer::Exit& e : spanner_->lexer.exits(x.lex))
            for (Symbol symbol : to_symbols_[e.terminal])
                if (opens_distinct(symbol)) return true;
        return false;
    };
    // Whether no token with these bytes still to come can repeat an item.
    auto harmless = [&](const Thread& x, uint64_t kinds) {
        if (!(kinds & comma)) return !x.writing || x.writing->safe();
        if (!x.writing) return !(kinds & bracket) && !opening(x);
        return x.writing->safe() && x.writing->in_string() && !(kinds & quote);
    };
    std::vector<Layers> path{{{t}}};
    for (uint32_t i = 0; i < trie.size();) {
        const uint64_t kinds = trie.below[i] | 1ull << byte_kind(trie.byte[i]);
        bool pass = true;
        for (const Threads& layer : path[trie.depth[i]])
            for (const Thread& x : layer) pass &= harmless(x, kinds);
        if (pass) {
            i = trie.end[i];
        } else if (!step_path(path, i)) {
            for (uint32_t k = trie.token_begin[i]; k < trie.token_begin[trie.end[i]]; k++) words[trie.tokens[k] >> 5] &= ~(1u << (trie.tokens[k] & 31));
            i = trie.end[i];
        } else {
            i++;
        }
    }
}

}  // namespace derivable
