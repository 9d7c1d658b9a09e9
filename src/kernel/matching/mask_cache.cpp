// Masks: looked up at level 4, or computed (byte by byte where walking the spanner tree is too ambiguous).
#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

#include "matching/slow_masks.hpp"
#include "matching/span_walk.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {
constexpr uint32_t kMaxPrefixNodes = 1u << 20;
}  // namespace

int Constraint::compute(Thread t, std::vector<uint32_t>& words) {
    words.assign(vocabulary_->words(), 0);
    work(words.size() / 64);
    looked_at_environment_ = 0;
    tally_depth_ = tallies_.active() ? tallies_.depth(t.environment) : 0;
    operation->take();
    int looked = 0;
    bool by_bytes = find_partial(t) != nullptr;
    if (!by_bytes) try {
            looked = SpanWalk(*this, words).run(t);
        } catch (const TooAmbiguous&) { by_bytes = true; }
    if (by_bytes) {
        words.assign(vocabulary_->words(), 0);  // there may be tokens in it that were still to be taken out again (add_except)
        compute_by_bytes(t, words);
        looked_at_environment_ = kDepth | kLevels;
        looked = kMaxKeyHops + 1;
    }
    if (!distinct_.empty()) take_repeated(t, words.data());
    int hops = 0;
    if (thread_accepts(t, &hops))
        for (uint32_t e : vocabulary_->eos) words[e >> 5] |= 1u << (e & 31);
    return std::max({looked, hops, fill_references(t, words)});
}

// path[depth + 1]: the threads after one byte more than path[depth]; false if there are none.
bool Constraint::step_path(std::vector<Layers>& path, size_t depth, uint8_t byte) {
    if (path.size() < depth + 2) path.resize(depth + 2);
    if (limits_.lookahead != kNoLookahead) return step_layers(path[depth], byte, depth == 0, path[depth + 1]);
    path[depth + 1].resize(1);
    step(path[depth][0], byte, path[depth + 1][0]);
    return !path[depth + 1][0].empty();
}

template <typename Visit>
void Constraint::each_token(const Threads& threads, uint32_t& next, Visit&& visit) {
    const Trie& trie = vocabulary_->trie;
    std::vector<Layers> path{{threads}};
    for (uint32_t i = 0; i < next;)  // the way to where it goes on
        if (trie.end[i] <= next) i = trie.end[i];
        else step_path(path, trie.depth[i], trie.byte[i]), i++;
    while (next < trie.size()) {
        work(2);
        pass();
        if (!step_path(path, trie.depth[next], trie.byte[next])) {
            next = trie.end[next];
            continue;
        }
        const uint32_t node = next++;
        for (uint32_t k = trie.token_begin[node]; k < trie.token_begin[node + 1]; k++)
            if (!visit(trie.tokens[k])) return;
    }
}

Constraint::Partial* Constraint::find_partial(const Thread& t) {
    for (Partial& p : partials_)
        if (p.thread.lex == t.lex && p.thread.stack == t.stack && p.thread.environment == t.environment) return &p;
    return nullptr;
}

// What was found out before it was refused is kept, and so is the last mask.
void Constraint::compute_by_bytes(Thread t, std::vector<uint32_t>& words) {
    constexpr size_t kMost = 4;
    Partial* known = find_partial(t);
    Partial p{t, 0, {}};
    if (known) std::swap(p, *known);  // SAFETY: while others pass there is none
    else p.words.assign(vocabulary_->words(), 0);
    struct Keep {
        std::deque<Partial>& all;
        Partial& p;
        ~Keep() {
            auto free = std::find_if(all.begin(), all.end(), [](const Partial& x) { return x.words.empty(); });
            if (free == all.end() && all.size() < kMost) all.push_front(std::move(p));
            else *(free == all.end() ? all.end() - 1 : free) = std::move(p);
        }
    } keep{partials_, p};
    each_token({t}, p.next, [&](uint32_t token) {
        p.words[token >> 5] |= 1u << (token & 31);
        return true;
    });
    words = p.words;
}

bool Constraint::can_begin() {
    Operation all(*this, Task::kUnbounded);
    bool found = false;
    uint32_t next = 0;
    each_token(initial_, next, [&](uint32_t) {
        found = true;
        return false;
    });
    if (found || accepting(initial_)) return true;
    std::vector<uint32_t> words(vocabulary_->words(), 0);
    for (Thread t : initial_) fill_references(t, words);
    return std::any_of(words.begin(), words.end(), [](uint32_t w) { return w != 0; });
}

void Constraint::drop_rows() {
    prefix_roots_.clear();
    prefixes_ = {};
    num_prefixes_ = 0;
    row_ids_.clear();
    rows_.clear();
    stats_.row_bytes = 0;
    stack_trie_ = {};
}

void Constraint::note_miss(Thread t, std::chrono::steady_clock::time_point begin, uint64_t nodes, int hops) {
    const int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
    stats_.miss_ns += uint64_t(ns);
    stats_.longest_miss_ns = std::max(stats_.longest_miss_ns, uint64_t(ns));
    if (ns < SlowMasks::threshold.load(std::memory_order_relaxed)) return;
    auto* listener = SlowMasks::listener.load();
    if (!listener) return;
    std::vector<uint32_t> lexeme;
    for (auto [symbol, state] : named_lexeme(t.lex)) lexeme.push_back(symbol);
    listener({serial, ns, stats_.walk_nodes - nodes, hops > kMaxKeyHops, std::move(lexeme)});
}

const std::vector<uint32_t>* Constraint::find_row(const Thread& t, RowKey* key) {
    auto found = prefix_roots_.find(t.lex);
    if (found == prefix_roots_.end() || !stacks.signature(t.stack, found->second.hops, signature_)) return nullptr;
    uint32_t node = found->second.node;
    signature_.insert(signature_.begin(), environment_key(t, found->second.looked_at_environment));
    for (size_t i = 0; i < signature_.size(); i++) {
        if ((node = prefixes_[node].child(signature_[i])) == PrefixNode::kNoNode) break;
        uint8_t looked = found->second.looked_at_environment & (kDepth | kLevels);
        uint32_t last = node;
        if (prefixes_[node].row < 0 && prefixes_[node].looked_at_tally) {
            looked |= prefixes_[node].looked_at_tally;
            last = prefixes_[node].child(tally_key(t.environment, prefixes_[node].looked_at_tally));
        }
        if (last == PrefixNode::kNoNode || prefixes_[last].row < 0) continue;
        if (key) *key = {uint32_t(std::max<size_t>(i, 1) - 1), looked};
        return rows_[size_t(prefixes_[last].row)];
    }
    return nullptr;
}

const std::vector<uint32_t>* Constraint::keep_row(const Thread& t, RowKey key, const std::vector<uint32_t>& words) {
    if (key.hops > kMaxKeyHops || !stacks.signature(t.stack, key.hops, signature_)) return nullptr;
    if (!suspended_ && (stats_.row_bytes + stack_trie_.bytes() > limits_.cache_bytes || num_prefixes_ > kMaxPrefixNodes)) drop_rows();
    if (rows_.size() == rows_.capacity()) rows_.reserve(2 * rows_.size() + 16);  // SAFETY: before the row has a number
    auto [row, fresh] = row_ids_.try_emplace(words, uint32_t(rows_.size()));
    if (fresh) {
        rows_.push_back(&row->first);
        stats_.row_bytes += words.size() * 4 + 64;
    }
    auto [root, new_root] = prefix_roots_.try_emplace(t.lex, PrefixRoot{num_prefixes_, key.hops});
    num_prefixes_ += new_root;
    root->second.hops = std::max(root->second.hops, key.hops);
    root->second.looked_at_environment |= key.looked_at_environment;
    signature_.insert(signature_.begin(), environment_key(t, root->second.looked_at_environment));
    uint32_t node = root->second.node;
    auto descend = [&](uint64_t word) {
        uint32_t next = prefixes_[node].child(word);
        if (next == PrefixNode::kNoNode) {
            next = num_prefixes_++;
            prefixes_[node].add_child(word, next);
        }
        node = next;
    };
    for (uint64_t word : signature_) descend(word);
    if (const uint8_t looked = key.looked_at_environment & (kTopTally | kTallies); looked && tallies_.active())
        descend(tally_key(t.environment, prefixes_[node].looked_at_tally |= looked));
    prefixes_[node].row = int32_t(row->second);
    return &row->first;
}

const std::vector<uint32_t>& Constraint::row(Thread t) {
    stats_.masks++;
    if (const std::vector<uint32_t>* known = find_row(t)) {
        stats_.mask_hits++;
        return *known;
    }
    std::vector<uint32_t> computed;                       // not scratch_: others may compute meanwhile
    const auto begin = std::chrono::steady_clock::now();  // PERF: 25 ns, of a mask that takes thousands
    const uint64_t nodes = stats_.walk_nodes;
    int hops = compute(t, computed);
    note_miss(t, begin, nodes, hops);
    scratch_.swap(computed);
    const std::vector<uint32_t>* kept = keep_row(t, {uint32_t(hops), looked_at_environment_}, scratch_);
    return kept ? *kept : scratch_;
}

void Constraint::fill(const Threads& threads, uint32_t* mask) {
    if (threads.size() == 1 && !threads[0].writing) {
        const std::vector<uint32_t>& r = row({threads[0].lex, threads[0].stack, threads[0].environment});
        std::copy(r.begin(), r.end(), mask);
        return;
    }
    // SAFETY: what may be refused half-way is not the caller's before it is complete.
    std::vector<uint32_t> all(vocabulary_->words(), 0), own;
    for (const Thread& t : threads) {
        own = row({t.lex, t.stack, t.environment});
        work(own.size() / 40);
        if (t.writing) take_repeated(t, own.data());
        for (size_t i = 0; i < all.size(); i++) all[i] |= own[i];
    }
    std::copy(all.begin(), all.end(), mask);
}

}  // namespace derivable
