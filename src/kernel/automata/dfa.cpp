#include "automata/dfa.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {
bool holds_for_some(const Dfa& d, bool (*holds)(const Dfa&)) {
    return d.past ? std::any_of(d.past->variants.begin(), d.past->variants.end(), holds) : holds(d);
}
}  // namespace

bool Dfa::empty() const {
    return !holds_for_some(*this, [](const Dfa& d) { return !d.accepting.empty(); });
}

bool Dfa::accepts_empty() const {
    return holds_for_some(*this, [](const Dfa& d) { return !d.accepting.empty() && d.accepting[0]; });
}

bool Dfa::conditional() const {
    return holds_for_some(*this, [](const Dfa& d) { return !d.conditions.empty(); });
}

int32_t Dfa::run(std::string_view text) const {
    if (accepting.empty()) return kDead;
    int32_t state = 0;
    for (char c : text)
        if ((state = step(uint32_t(state), uint8_t(c))) < 0) return kDead;
    return state;
}

bool Dfa::accepts(std::string_view text) const {
    int32_t state = run(text);
    return state >= 0 && accepting[size_t(state)];
}

Dfa Dfa::literal(std::string_view text) {
    Dfa d;
    std::array<int, 256> seen;
    seen.fill(-1);
    d.num_classes = 1;  // class 0: bytes that do not occur
    for (char c : text)
        if (seen[uint8_t(c)] < 0) {
            if (d.num_classes == 256) {  // every byte occurs: class 0 is free for the last one
                seen[uint8_t(c)] = 0;
                break;
            }
            seen[uint8_t(c)] = int(d.num_classes++);
        }
    for (int b = 0; b < 256; b++) d.classes[size_t(b)] = uint8_t(seen[size_t(b)] < 0 ? 0 : seen[size_t(b)]);
    size_t n = text.size() + 1;
    d.table.assign(n * d.num_classes, kDead);
    for (size_t i = 0; i < text.size(); i++) d.table[i * d.num_classes + d.classes[uint8_t(text[i])]] = int32_t(i + 1);
    d.accepting.assign(n, 0);
    d.accepting[n - 1] = 1;
    d.condition.assign(n, 0);
    d.minimize();  // numbers the byte classes as every other automaton does
    return d;
}

namespace {

// Merges byte classes whose columns are equal, in order of first byte.
void merge_classes(Dfa& d) {
    const size_t n = d.num_states(), k = d.num_classes;
    std::vector<uint64_t> hash(k, 0);
    for (size_t s = 0; s < n; s++)
        for (size_t c = 0; c < k; c++) hash[c] = (hash[c] ^ uint32_t(d.table[s * k + c])) * 0x9E3779B97F4A7C15ULL;
    auto same = [&](uint32_t a, uint32_t b) {
        for (size_t s = 0; s < n; s++)
            if (d.table[s * k + a] != d.table[s * k + b]) return false;
        return true;
    };
    std::vector<uint32_t> merged(k, ~0u), kept;
    for (uint8_t byte_class : d.classes) {
        uint32_t& number = merged[byte_class];
        if (number != ~0u) continue;
        for (number = 0; number < kept.size(); number++)
            if (hash[kept[number]] == hash[byte_class] && same(kept[number], byte_class)) break;
        if (number == kept.size()) kept.push_back(byte_class);
    }
    for (auto& c : d.classes) c = uint8_t(merged[c]);
    bool in_order = kept.size() == k;
    for (uint32_t c = 0; c < k && in_order; c++) in_order = kept[c] == c;
    if (in_order) return;
    std::vector<int32_t> table(n * kept.size());
    for (size_t s = 0; s < n; s++)
        for (size_t c = 0; c < kept.size(); c++) table[s * kept.size() + c] = d.table[s * k + kept[c]];
    d.table = std::move(table);
    d.num_classes = uint32_t(kept.size());
}

// Those of some states that are reachable from the first ones through such states only, breadth first.
std::vector<uint32_t> breadth_first(const Dfa& d, std::vector<uint8_t> some, const std::vector<int32_t>& first) {
    const size_t k = d.num_classes;
    std::vector<uint32_t> order;
    auto reach = [&](int32_t s) {
        if (s >= 0 && std::exchange(some[size_t(s)], 0)) order.push_back(uint32_t(s));
    };
    for (int32_t s : first) reach(s);
    for (size_t i = 0; i < order.size(); i++)
        for (size_t c = 0; c < k; c++) reach(d.table[order[i] * k + c]);
    return order;
}

// The states reachable from the first ones that can reach acceptance, breadth first.
std::vector<uint32_t> useful(const Dfa& d, const std::vector<int32_t>& first) {
    size_t n = d.num_states(), k = d.num_classes;
    if (n == 0) return {};
    work(n * k / 2);
    std::vector<uint32_t> heads(n + 1, 0), from;
    for (int32_t t : d.table)
        if (t >= 0) heads[size_t(t) + 1]++;
    for (size_t i = 0; i < n; i++) heads[i + 1] += heads[i];
    from.resize(heads[n]);
    std::vector<uint32_t> fill(heads.begin(), heads.end() - 1);
    for (size_t s = 0; s < n; s++)
        for (size_t c = 0; c < k; c++)
            if (int32_t t = d.table[s * k + c]; t >= 0) from[fill[size_t(t)]++] = uint32_t(s);
    std::vector<uint8_t> alive(n, 0);
    std::vector<uint32_t> todo;
    for (size_t s = 0; s < n; s++)
        if (d.accepting[s]) alive[s] = 1, todo.push_back(uint32_t(s));
    while (!todo.empty()) {
        uint32_t s = todo.back();
        todo.pop_back();
        work(1);
        for (uint32_t i = heads[s]; i < heads[s + 1]; i++)
            if (!alive[from[i]]) alive[from[i]] = 1, todo.push_back(from[i]);
    }
    return breadth_first(d, std::move(alive), first);
}

// Keeps these states, in this order. Returns the new number of each, or kDead.
std::vector<int32_t> keep(Dfa& d, const std::vector<uint32_t>& order) {
    const size_t n = d.num_states(), k = d.num_classes;
    std::vector<int32_t> number(n, kDead);
    for (size_t i = 0; i < order.size(); i++) number[order[i]] = int32_t(i);
    bool in_order = order.size() == n;
    for (uint32_t s = 0; s < n && in_order; s++) in_order = order[s] == s;
    if (in_order) return number;
    Dfa out;
    out.classes = d.classes;
    out.num_classes = d.num_classes;
    out.looks = std::move(d.looks);
    out.table.resize(order.size() * k);
    out.accepting.reserve(order.size());
    out.condition.reserve(order.size());
    int32_t* to = out.table.data();
    std::vector<uint32_t> conditions(d.conditions.size() + 1, 0);  // of each that is kept, its new number
    for (uint32_t s : order) {
        for (size_t c = 0; c < k; c++) {
            const int32_t t = d.table[s * k + c];
            *to++ = t < 0 ? kDead : number[size_t(t)];
        }
        out.accepting.push_back(d.accepting[s]);
        uint32_t& condition = conditions[d.condition[s]];
        if (d.condition[s] && !condition)
            out.conditions.push_back(d.conditions[d.condition[s] - 1]), condition = uint32_t(out.conditions.size());
        out.condition.push_back(condition);
    }
    d = std::move(out);
    return number;
}

// The transitions of an automaton by where they lead: those into state t are from heads[t].
struct Incoming {
    struct Transition {
        uint32_t byte_class, source;
    };
    std::vector<uint32_t> heads;
    std::vector<Transition> into;

    explicit Incoming(const Dfa& d) : heads(d.num_states() + 1, 0) {
        const uint32_t n = d.num_states(), k = d.num_classes;
        for (int32_t t : d.table)
            if (t >= 0) heads[size_t(t) + 1]++;
        for (size_t i = 1; i < heads.size(); i++) heads[i] += heads[i - 1];
        into.resize(heads.back());
        std::vector<uint32_t> fill(heads.begin(), heads.end() - 1);
        for (uint32_t s = 0; s < n; s++)
            for (uint32_t c = 0; c < k; c++)
                if (int32_t t = d.table[size_t(s) * k + c]; t >= 0) into[fill[size_t(t)]++] = {c, s};
    }
};

// Hopcroft's partition refinement, by transitions that there are (as Valmari and Lehtinen, STACS 2008). Returns the block of every state.
// What leads nowhere need not be split by: a state that has no way on by a byte class is told from one that has when blocks are split by
// where the latter leads.
std::vector<uint32_t> equivalence(const Dfa& d) {
    const uint32_t n = d.num_states(), k = d.num_classes;
    const Incoming incoming(d);
    const auto& heads = incoming.heads;
    const auto& into = incoming.into;
    std::vector<uint32_t> elements(n), place(n), block(n), begin, end, marked;
    std::unordered_map<uint32_t, uint32_t> labels;
    std::vector<std::vector<uint32_t>> initial;
    for (uint32_t s = 0; s < n; s++) {  // not accepting; accepting under these conditions
        uint32_t id = labels.try_emplace(d.accepting[s] ? 1 + d.condition[s] : 0, uint32_t(initial.size())).first->second;
        if (id == initial.size()) initial.emplace_back();
        initial[id].push_back(s);
    }
    uint32_t at = 0;
    std::vector<uint32_t> todo;  // blocks to split by
    for (uint32_t b = 0; b < initial.size(); b++) {
        begin.push_back(at);
        for (uint32_t s : initial[b]) elements[at] = s, place[s] = at++, block[s] = b;
        end.push_back(at);
        marked.push_back(0);
        todo.push_back(b);
    }
    std::vector<uint32_t> touched, used;
    std::vector<std::vector<uint32_t>> sources(k);  // of what leads into the block, as it is when its turn comes
    while (!todo.empty()) {
        const uint32_t b = todo.back();
        todo.pop_back();
        work(1);
        for (uint32_t at = begin[b]; at < end[b]; at++)
            for (uint32_t i = heads[elements[at]]; i < heads[elements[at] + 1]; i++) {
                if (sources[into[i].byte_class].empty()) used.push_back(into[i].byte_class);
                sources[into[i].byte_class].push_back(into[i].source);
            }
        for (uint32_t c : used) {
            work(1 + 2 * sources[c].size());
            for (uint32_t s : sources[c]) {  // each once: an automaton leads from it to one state
                uint32_t sb = block[s], target = begin[sb] + marked[sb];
                if (marked[sb] == 0) touched.push_back(sb);
                uint32_t other = elements[target];
                std::swap(elements[place[s]], elements[target]);
                place[other] = place[s];
                place[s] = target;
                marked[sb]++;
            }
            sources[c].clear();
            for (uint32_t tb : touched) {
                uint32_t m = marked[tb];
                marked[tb] = 0;
                if (m == end[tb] - begin[tb]) continue;
                uint32_t fresh = uint32_t(begin.size());
                // The smaller half becomes the new block.
                if (m <= end[tb] - begin[tb] - m) {
                    begin.push_back(begin[tb]);
                    end.push_back(begin[tb] + m);
                    begin[tb] += m;
                } else {
                    begin.push_back(begin[tb] + m);
                    end.push_back(end[tb]);
                    end[tb] = begin[tb] + m;
                }
                marked.push_back(0);
                for (uint32_t i = begin[fresh]; i < end[fresh]; i++) block[elements[i]] = fresh;
                todo.push_back(fresh);  // where the whole block waits both halves do; otherwise the smaller is enough
            }
            touched.clear();
        }
        used.clear();
    }
    return block;
}

}  // namespace

// PERF: what has been numbered breadth first is reached in one pass, and accepts after a few to and fro. A list of all that leads to each state was half
// of reading the automata of a saved constraint.
bool Dfa::trimmed() const {
    constexpr int kMostPasses = 64;
    const size_t n = num_states(), k = num_classes;
    std::vector<uint8_t> reached(n, 0), alive = accepting;
    if (n > 0) reached[0] = 1;
    work(n * k / 4);
    bool in_order = true;
    for (size_t s = 0; s < n && in_order; s++) {
        in_order = reached[s];
        for (size_t c = 0; c < k; c++)
            if (const int32_t t = table[s * k + c]; t >= 0) reached[size_t(t)] = 1;
    }
    size_t dead = n;
    for (int pass = 0; pass < kMostPasses && in_order && dead > 0; pass++) {
        dead = 0;
        work(n / 4);
        for (size_t i = 0; i < n; i++) {
            const size_t s = pass % 2 ? i : n - 1 - i;
            for (size_t c = 0; c < k && !alive[s]; c++)
                if (const int32_t t = table[s * k + c]; t >= 0) alive[s] = alive[size_t(t)];
            dead += !alive[s];
        }
    }
    return dead == 0 || useful(*this, {0}).size() == n;
}

void Dfa::number() {
    if (empty()) return;
    keep(*this, breadth_first(*this, std::vector<uint8_t>(num_states(), 1), {0}));
}

void Dfa::minimize() {
    std::vector<int32_t> starts{0};
    minimize(starts);
}

void Dfa::minimize(std::vector<int32_t>& starts) {
    // Equal conditions get equal numbers first, so that they can be compared as numbers.
    std::map<Conditions, uint32_t> numbers;
    for (uint32_t& c : condition)
        if (c) work(1), c = numbers.try_emplace(conditions[c - 1], c).first->second;
    const std::vector<int32_t> kept = keep(*this, useful(*this, starts));
    for (int32_t& start : starts) start = start < 0 || kept.empty() ? kDead : kept[size_t(start)];
    if (std::all_of(condition.begin(), condition.end(), [](uint32_t c) { return c == 0; })) {
        conditions.clear();
        looks.clear();
    }
    if (empty()) {
        classes.fill(0);
        num_classes = 1;
        return;
    }
    merge_classes(*this);
    uint32_t n = num_states();
    std::vector<uint32_t> block = equivalence(*this);
    std::vector<int32_t> representative(n, -1);
    uint32_t blocks = 0;
    for (uint32_t s = 0; s < n; s++)
        if (representative[block[s]] < 0) representative[block[s]] = int32_t(s), blocks++;
    if (blocks < n) {
        std::vector<int32_t> new_id(n, -1);
        std::vector<uint32_t> order;
        auto number = [&](int32_t s) {
            if (s < 0 || new_id[block[size_t(s)]] >= 0) return;
            new_id[block[size_t(s)]] = int32_t(order.size());
            order.push_back(uint32_t(representative[block[size_t(s)]]));
        };
        for (int32_t start : starts) number(start);
        for (size_t i = 0; i < order.size(); i++)
            for (uint32_t c = 0; c < num_classes; c++) number(table[size_t(order[i]) * num_classes + c]);
        for (int32_t& start : starts) start = start < 0 ? kDead : new_id[block[size_t(start)]];
        std::vector<int32_t> new_table;
        std::vector<uint8_t> new_accepting;
        std::vector<uint32_t> new_condition;
        for (uint32_t s : order) {
            for (uint32_t c = 0; c < num_classes; c++) {
                int32_t t = table[size_t(s) * num_classes + c];
                new_table.push_back(t < 0 ? kDead : new_id[block[size_t(t)]]);
            }
            new_accepting.push_back(accepting[s]);
            new_condition.push_back(condition[s]);
        }
        table = std::move(new_table);
        accepting = std::move(new_accepting);
        condition = std::move(new_condition);
        merge_classes(*this);
    }
}

Dfa Dfa::with_past(Past past) {
    // Moore's refinement: pasts are told apart by their automata, then by where bytes lead them.
    std::vector<uint32_t> block, number;
    std::vector<Dfa> variants;
    std::unordered_map<std::string, uint32_t> known;
    for (Dfa& v : past.variants) {
        auto [it, fresh] = known.try_emplace(v.fingerprint(), uint32_t(variants.size()));
        if (fresh) variants.push_back(std::move(v));
        number.push_back(it->second);
    }
    for (uint32_t v : past.variant) block.push_back(number[v]);
    past.variant = block;
    for (size_t blocks = 0;;) {
        Interner keys;
        std::vector<uint32_t> refined;
        work(block.size() * past.num_classes);
        for (size_t s = 0; s < block.size(); s++) {
            std::vector<uint32_t> key{block[s]};
            for (uint32_t c = 0; c < past.num_classes; c++) key.push_back(block[past.table[s * past.num_classes + c]]);
            refined.push_back(keys.intern(key));
        }
        block = std::move(refined);
        if (keys.size() == blocks) break;
        blocks = keys.size();
    }
    Dfa whole = variants[past.variant[0]];
    auto merged = std::make_shared<Past>();
    merged->classes = past.classes;
    merged->num_classes = past.num_classes;
    for (size_t s = 0; s < block.size(); s++)
        if (block[s] == merged->variant.size()) {  // blocks are numbered in order of their first state
            merged->variant.push_back(past.variant[s]);
            for (uint32_t c = 0; c < past.num_classes; c++) merged->table.push_back(block[past.table[s * past.num_classes + c]]);
        }
    merged->variants = std::move(variants);
    if (merged->variant.size() > 1) whole.past = std::move(merged);
    return whole;
}

Dfa Dfa::without_empty() const {
    if (!accepts_empty()) return *this;
    if (past) {
        Past p = *past;
        for (Dfa& d : p.variants) d = d.without_empty();
        return with_past(std::move(p));
    }
    Dfa d = *this;
    // A fresh start with the old one's transitions, not accepting; minimize() drops the old start if nothing returns to it.
    uint32_t n = num_states(), k = num_classes;
    d.table.assign(size_t(n + 1) * k, kDead);
    for (uint32_t c = 0; c < k; c++) d.table[c] = table[c] < 0 ? kDead : table[c] + 1;
    for (size_t i = 0; i < size_t(n) * k; i++) d.table[k + i] = table[i] < 0 ? kDead : table[i] + 1;
    d.accepting.insert(d.accepting.begin(), 0);
    d.condition.insert(d.condition.begin(), 0);
    d.minimize();
    return d;
}

Dfa Dfa::product(const Dfa& a, const Dfa& b, Op op, uint64_t max_states) {
    for (const Dfa* d : {&a, &b})
        if (!d->conditions.empty()) throw Unsupported("look-ahead", "look-ahead past the end of an operand of a set operation");
    Dfa out;
    std::array<uint8_t, 256> classes{};
    std::unordered_map<uint64_t, uint32_t, MixHash> pairs;
    std::vector<uint8_t> bytes;
    for (int i = 0; i < 256; i++) {
        auto [it, fresh] = pairs.try_emplace(pack(a.classes[size_t(i)], b.classes[size_t(i)]), uint32_t(pairs.size()));
        if (fresh) bytes.push_back(uint8_t(i));
        classes[size_t(i)] = uint8_t(it->second);
    }
    out.classes = classes;
    out.num_classes = uint32_t(bytes.size());
    // PERF: a table of all pairs where it is small: half the time of a product.
    const size_t cells = (size_t(a.num_states()) + 1) * (size_t(b.num_states()) + 1);
    std::vector<int32_t> cell(cells <= 1u << 18 ? cells : 0, kDead);
    std::unordered_map<uint64_t, int32_t, MixHash> ids;
    std::vector<std::pair<int32_t, int32_t>> states;
    auto id = [&](int32_t x, int32_t y) -> int32_t {
        bool dead = op == Op::kAnd ? x < 0 || y < 0 : op == Op::kOr ? x < 0 && y < 0 : x < 0;
        if (dead) return kDead;
        int32_t& known = cell.empty() ? ids.try_emplace(pack(uint32_t(x), uint32_t(y)), kDead).first->second
                                      : cell[size_t(x + 1) * (size_t(b.num_states()) + 1) + size_t(y + 1)];
        if (known == kDead) {
            known = int32_t(states.size());
            if (states.size() >= max_states)
                throw LimitExceeded("max_dfa_states", states.size() + 1, max_states, "set operation on automata");
            states.emplace_back(x, y);
            bool in_a = x >= 0 && a.accepting[size_t(x)], in_b = y >= 0 && b.accepting[size_t(y)];
            out.accepting.push_back(op == Op::kAnd ? in_a && in_b : op == Op::kOr ? in_a || in_b : in_a && !in_b);
            out.condition.push_back(0);
        }
        return known;
    };
    id(a.empty() ? kDead : 0, b.empty() ? kDead : 0);
    for (size_t i = 0; i < states.size(); i++) {
        work(2 * bytes.size());
        for (uint8_t byte : bytes) {
            auto [x, y] = states[i];
            out.table.push_back(id(x < 0 ? kDead : a.step(uint32_t(x), byte), y < 0 ? kDead : b.step(uint32_t(y), byte)));
        }
    }
    out.minimize();
    return out;
}

std::string Dfa::fingerprint() const {
    std::string out;
    out.reserve(512 + table.size() * sizeof(int32_t) + num_states() * 5);
    auto put = [&](const void* p, size_t n) { out.append(static_cast<const char*>(p), n); };
    auto put_word = [&](uint32_t w) { put(&w, sizeof w); };
    put_word(num_states());
    put(classes.data(), classes.size());
    put(table.data(), table.size() * sizeof(int32_t));
    put(accepting.data(), accepting.size());
    put(condition.data(), condition.size() * sizeof(uint32_t));
    for (const Conditions& alternatives : conditions)
        for (const Condition& all : alternatives)
            for (const Lookahead& o : all) put_word(o.look), put_word(o.state), put_word(o.negative);
    for (const LookDfa& l : looks) {
        put(l.classes.data(), 256);
        put(l.table.data(), l.table.size() * sizeof(int32_t));
        put(l.matches_at_end.data(), l.matches_at_end.size());
    }
    if (past) {
        put(past->classes.data(), 256);
        put(past->table.data(), past->table.size() * sizeof(uint32_t));
        put(past->variant.data(), past->variant.size() * sizeof(uint32_t));
        for (const Dfa& d : past->variants) out += d.fingerprint();
    }
    return out;
}

}  // namespace derivable
