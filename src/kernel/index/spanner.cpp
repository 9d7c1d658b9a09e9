#include "index/spanner.hpp"

#include <algorithm>

#include "index/counted_strings.hpp"
#include "index/split_walk.hpp"
#include "support/task.hpp"

namespace derivable {

Spanner::Spanner(std::shared_ptr<const Vocabulary> vocabulary, Policy policy)
    : lexer(policy),
      prospects(lexer),
      vocabulary_(std::move(vocabulary)),
      residuals_(vocabulary_->trie) {
    uint64_t longest = 0;
    for (uint16_t d : vocabulary_->trie.depth) longest = std::max<uint64_t>(longest, uint64_t(d) + 1);
    lexer.set_longest_token(longest + 1);
}

void Spanner::forget() {
    num_forgotten_++;
    discarded.take(splits_);
    discarded.take(split_of_);
    discarded.take(repeated_);
    counted_strings_ = {};
    if (rests_) rests_->forget();
    residuals_.forget(discarded);
    latest_.clear();
    num_lately_ = 0;
    bytes_ = 0;
    joints_.clear();
    joint_of_ = {};
    for (const auto* all : {&tables_, &joint_tables_})
        for (const auto& tables : *all) tables->clear();
}

Spanner::~Spanner() = default;

size_t Spanner::bytes() const {
    return bytes_ + residuals_.bytes() + lexer.bytes() + (stretches_ ? stretches_->bytes() : 0) + (rests_ ? rests_->bytes() : 0);
}

std::unique_ptr<Split> Spanner::walk(ResidualId residual, LexState state, bool may_be_similar) {
    // The tables are those that were used last: they know the most. Walks side by side have tables of their own.
    struct Workplace {
        std::vector<std::unique_ptr<SplitTables>>& all;
        std::unique_ptr<SplitTables> tables;
        Beside beside;
        Workplace(std::vector<std::unique_ptr<SplitTables>>& from, const SplitParts& parts, bool single, LockHolder* holder)
            : all(from),
              beside(holder) {
            if (all.empty()) all.push_back(std::make_unique<SplitTables>(parts, single));
            tables = std::move(all.back());
            all.pop_back();
            tables->begin(beside);
        }
        ~Workplace() {
            beside.end();
            all.push_back(std::move(tables));
        }
    };
    const SplitParts parts{*vocabulary_, lexer, prospects, residuals_, discarded, bytes_};
    const bool single = is_single(state);
    for (;;) {
        if (single && goes_along(residual, state)) {
            Workplace at(tables_, parts, single, holder);
            if (std::unique_ptr<Split> result = SplitWalk(parts, *at.tables, at.beside, residual, state).run_along(stretches()))
                return result;
        }
        Neighbour beside = neighbour(residual, state, may_be_similar);
        if (beside.state != kNoState && !beside.split && !(beside.split = find(residual, beside.state))) {
            // Two states may each be the most similar to the other.
            beside.split = beside.unbounded || !is_plain(residual, beside.state)
                               ? &split(residual, beside.state)
                               : keep(residual, beside.state, walk(residual, beside.state, false));
        }
        Workplace at(single ? tables_ : joint_tables_, parts, single, holder);
        if (std::unique_ptr<Split> result = SplitWalk(parts, *at.tables, at.beside, residual, state).run(beside)) return result;
        near_[lexer.terminal_of(state)] = lexer.alike_for(state, beside.state);
    }
}

bool Spanner::goes_along(ResidualId residual, LexState state) {
    // PERF: characters that may still come. Where more are counted, few tokens meet the bound, and each count would be a state.
    constexpr uint64_t kFew = 24;
    ByteSet listed;
    if (residual != Residuals::kWholeVocabulary || lexer.on_list(state, listed) || alike(residual, state) != kNoState) return false;
    if (lexer.without_bound(state) == kNoState) return true;
    const auto place = lexer.place(state);
    return place && place->room <= kFew;
}

Neighbour Spanner::neighbour(ResidualId residual, LexState state, bool may_be_similar) {
    Neighbour beside;
    if (!is_single(state)) {
        if (lexer.policy() != Policy::kScannerless) beside = nearest(residual, state);
    } else if ((beside.state = lexer.without_bound(state)) != kNoState) {
        beside.unbounded = true;
    } else if (lexer.on_list(state, beside.listed)) {
        beside.state = lexer.off_list(state);
        beside.on_list = beside.state == kNoState || residuals_[residual].once;
        if (!beside.on_list) beside.state = kNoState;
    } else {
        beside.state = alike(residual, state);
        beside.distant = beside.state != kNoState;
        if (!beside.distant && (beside.state = any_string(residual, state)) == kNoState && may_be_similar)
            beside.state = similar(residual, state);
    }
    return beside;
}

template <class Act>
void Spanner::each_branch(ResidualId of, Act act) const {
    residuals_[of].bytes.each([&](uint8_t byte) { act(byte, uint64_t(residuals_.num_nodes_behind(byte))); });
}

uint64_t Spanner::alive_nodes(ResidualId of, LexState state) {
    uint64_t alive = 0;
    each_branch(of, [&](uint8_t byte, uint64_t nodes) {
        if (lexer.step_canonical(state, byte) != kNoState) alive += nodes;
    });
    return alive;
}

// Where a canonical state leads with a byte, and with how much of a residual; the most first.
std::vector<std::pair<LexState, uint64_t>> Spanner::next_states(ResidualId of, LexState state) {
    std::vector<std::pair<LexState, uint64_t>> all;
    each_branch(of, [&](uint8_t byte, uint64_t nodes) {
        const LexState next = lexer.step_canonical(state, byte);
        if (next == kNoState) return;
        auto known = std::find_if(all.begin(), all.end(), [&](const auto& n) { return n.first == next; });
        if (known == all.end()) all.emplace_back(next, nodes);
        else known->second += nodes;
    });
    std::sort(all.begin(), all.end(), [](auto a, auto b) { return a.second > b.second; });
    return all;
}

LexState Spanner::similar(ResidualId of, LexState state) {
    // PERF: below this many nodes a walk costs less than the comparison (a few microseconds).
    constexpr uint64_t kWorthwhile = 2000;
    if (!residuals_[of].of_vocabulary) return kNoState;
    // Where most of the tokens lead. That state must stay as it is on most of them: so does the inside of a string or a name.
    const auto nexts = next_states(of, state);
    uint64_t alive = 0;
    for (const auto& [next, nodes] : nexts) alive += nodes;
    if (alive < kWorthwhile) return kNoState;
    for (size_t i = 0; i < nexts.size() && i < 3; i++) {
        const auto [other, nodes] = nexts[i];
        if (other == state || nodes * 4 < alive) continue;
        uint64_t same = 0, gone = 0;
        each_branch(of, [&](uint8_t byte, uint64_t weight) {
            const LexState here = lexer.step_canonical(state, byte), there = lexer.step_canonical(other, byte);
            if (here == other && there == other) same += weight;
            if (here == kNoState && there != kNoState) gone += weight;
        });
        if (same * 4 >= alive && gone <= same) return other;
    }
    return kNoState;
}

// With most of the vocabulary, two bytes far: a state that goes on with any character, and then with a few, is nearer to nothing than to one
// that goes on with all. (What begins with some byte is taken to be like the whole vocabulary behind it.)
bool Spanner::goes_on_with_most(ResidualId of, LexState state) {
    const double all = vocabulary_->trie.size();
    double alive = 0, open = 0;
    const auto nexts = next_states(of, state);
    for (const auto& [next, nodes] : nexts) open += double(nodes);
    for (const auto& [next, nodes] : nexts) {
        if (alive * 2 > all || (alive + open) * 2 <= all) break;
        open -= double(nodes);
        alive += double(nodes) * double(alive_nodes(of, next)) / all;
    }
    return alive * 2 > all;
}

LexState Spanner::any_string(ResidualId of, LexState state) {
    if (of != Residuals::kWholeVocabulary) return kNoState;
    const LexState any = lexer.any_string(state);
    if (any == kNoState) return any;
    return goes_on_with_most(of, state) ? any : kNoState;
}

LexState Spanner::alike(ResidualId residual, LexState state) const {
    constexpr uint64_t kWorthwhile = 2;  // bytes
    if (residual != Residuals::kWholeVocabulary) return kNoState;
    const uint64_t* near = near_.find(lexer.terminal_of(state));
    const uint64_t least = std::max(kWorthwhile, near ? *near : 0);
    for (size_t i = 0; i < std::min(num_lately_, lately_.size()); i++) {
        const LexState other = lately_[(num_lately_ - 1 - i) % lately_.size()];
        if (lexer.alike_for(state, other) > least) return other;
    }
    return kNoState;
}

namespace {

// Of two lists that ascend, how many are in one only; `limit` if these are more.
size_t num_apart(const Lexer::Singles& a, const Lexer::Singles& b, size_t limit) {
    if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) >= limit) return limit;
    size_t apart = 0;
    auto x = a.begin(), y = b.begin();
    for (size_t left = a.size() + b.size(); left && apart < limit; left--) {
        if (x == a.end() || y == b.end()) return std::min(limit, apart + left);
        const LexState s = *x, o = *y;
        if (s == o) left--;
        else apart++;
        if (!(o < s)) ++x;
        if (!(s < o)) ++y;
    }
    return apart;
}

}  // namespace

// PERF: start states differ in a few terminals, so nearly all first bytes lead to the same states from several of them. Those of the nearest
// members are compared, by the vocabulary's share behind each byte. The largest mask of 80 programs by a loaded constraint: Python 1.9 to 0.4
// ms, Java 7.1 to 0.5, Go 4.0 to 0.4. Where they lead is not looked at: that was 340,000 instructions, and
// is 190,000.
Neighbour Spanner::nearest(ResidualId residual, LexState state) {
    constexpr uint64_t kWorthwhile = 200;  // nodes
    constexpr size_t kMostAsked = 256, kCompared = 4;
    const Split* split = residual.index() < latest_.size() ? latest_[residual.index()] : nullptr;
    if (!split || residuals_.size_at_least(residual) < kWorthwhile) return {};
    std::vector<std::pair<size_t, const Split*>> candidates;  // the first ones, by how many members are of one of the two only
    const Lexer::Singles mine = lexer.singles(lexer.members(state));
    size_t limit = ~size_t(0);
    for (size_t n = 0; split && n < kMostAsked; n++, split = split->previous) {
        work(5);
        const size_t others = num_apart(mine, lexer.singles(lexer.members(split->state)), limit) +
                              (lexer.obligations(split->state) != lexer.obligations(state));
        if (others >= limit) continue;
        auto after = std::find_if(candidates.begin(), candidates.end(), [&](const auto& c) { return c.first > others; });
        candidates.insert(after, {others, split});
        if (candidates.size() > kCompared) candidates.pop_back();
        if (candidates.size() == kCompared) limit = candidates.back().first;
    }
    uint64_t all = 0;
    std::array<uint64_t, 256> weights{};
    residuals_[residual].bytes.each([&](uint8_t byte) { all += weights[byte] = residuals_.num_nodes_behind(byte); });
    Neighbour best;
    uint64_t least = all / 16 + 1;
    for (const auto& [_, other] : candidates) {
        if (least <= all / 128) break;
        const ByteSet apart = lexer.apart(state, other->state, residuals_[residual].bytes);
        uint64_t weight = 0;
        apart.each([&](uint8_t byte) { weight += weights[byte]; });
        if (weight < least) least = weight, best.state = other->state, best.split = other, best.apart = apart;
    }
    return best;
}

bool Spanner::is_plain(ResidualId residual, LexState state) const {
    uint64_t need, room;
    return residual != Residuals::kWholeVocabulary || !is_single(state) || !lexer.is_counted(state, need, room);
}

CountedStrings& Spanner::counted_strings(Escapes escapes) {
    std::unique_ptr<CountedStrings>& known = counted_strings_[size_t(escapes)];
    if (!known) known = std::make_unique<CountedStrings>(*vocabulary_, residuals_, bytes_, escapes);
    return *known;
}

Stretches& Spanner::stretches() {
    if (!stretches_) stretches_ = std::make_unique<Stretches>(*vocabulary_);
    return *stretches_;
}

LexemeBegins& Spanner::begins() {
    if (!begins_) begins_ = std::make_unique<LexemeBegins>(*vocabulary_);
    return *begins_;
}

LexemeRests& Spanner::rests() {
    if (!rests_) rests_ = std::make_unique<LexemeRests>(*vocabulary_, lexer, residuals_);
    return *rests_;
}

uint32_t Spanner::most_in_token(uint8_t byte) {
    uint32_t& known = most_in_token_[byte];
    if (!known) known = vocabulary_->trie.most_of(byte) + 1;
    return known - 1;
}

uint64_t Spanner::most_rounds(CountingAutomaton& round) {
    constexpr uint64_t kPatience = 4'000'000;  // configurations looked at
    std::string made_of = round.saved();
    if (const auto known = most_rounds_.find(made_of); known != most_rounds_.end()) return known->second;
    const Trie& trie = vocabulary_->trie;
    const uint64_t shortest = std::max<uint64_t>(1, round.shortest());
    std::vector<std::pair<CountingAutomaton::Rounds, uint32_t>> on_way{
        {round.anywhere(), 0}};  // before each depth; the most that have ended
    uint64_t most = 0, looked_at = 0;
    for (uint32_t i = 0; i < trie.size() && looked_at < kPatience;) {
        on_way.resize(trie.depth[i] + 2u);
        const auto& before = on_way[trie.depth[i]];
        auto& after = on_way[trie.depth[i] + 1];
        after.second = std::max(before.second, round.read(before.first, trie.byte[i], after.first));
        most = std::max<uint64_t>(most, after.second);
        looked_at += before.first.size() * (1 + after.first.size() / 8);
        const bool too_short = after.second + trie.height[i] / shortest + 1 <= most;
        i = too_short ? trie.end[i] : i + 1;
    }
    if (looked_at >= kPatience) most = CountingAutomaton::kNoMaximum;
    return most_rounds_[std::move(made_of)] = most;
}

// PERF: behind a name there are blanks and operators, and it is no matter which keywords and numbers may stand there. Of the samples 15,200 (Python), 13,200
// (Java) and 15,900 (Go) splits became 9,100, 6,500 and 5,000; loading takes 5 to 20% less, and p99.9 of their programs is 4 to 8% less (llama-3).
LexState Spanner::for_residual(ResidualId residual, LexState state) {
    if (lexer.policy() == Policy::kScannerless || residual == Residuals::kWholeVocabulary) return state;
    const LexState members = lexer.members(state);
    const Lexer::Singles all = lexer.singles(members);
    if (std::any_of(all.begin(), all.end(), [&](LexState single) { return lexer.accepts_single(single); })) return state;
    const ByteSet bytes = residuals_[residual].bytes;
    const LexState left = lexer.members_if(members, [&](LexState single) { return lexer.bytes(single).meets(bytes); });
    work(10 * all.size());
    return left == kNoState ? lexer.none() : lexer.with_obligations(left, lexer.obligations(state));
}

const Split& Spanner::split(ResidualId residual, LexState state) {
    if (const Split* known = find(residual, state)) return *known;
    if (const LexState like = for_residual(residual, state); like != state) {
        const Split& same = split(residual, like);
        bytes_ += 32;
        return *(split_of_[pack(residual, state)] = &same);
    }
    uint64_t need, room;
    std::unique_ptr<Split> result;
    if (!is_plain(residual, state) && lexer.is_counted(state, need, room)) {
        result = counted_strings(lexer.escapes(state)).split(need, room);
    } else {
        result = walk(residual, state);
    }
    if (residual == Residuals::kWholeVocabulary && is_single(state) && lexer.alike_for(state, state))
        lately_[num_lately_++ % lately_.size()] = state;
    return *keep(residual, state, std::move(result));
}

// PERF: of five overlapping classes of keys there are 32 terminals, each of which was a walk of 2 ms: one walk follows all of them.
const Spanner::Joint& Spanner::joint(ResidualId residual, LexState members) {
    constexpr size_t kMany = 4;
    constexpr uint64_t kWorthwhile = 2500;  // nodes
    const Lexer::Singles all = lexer.singles(members);
    if (all.size() < kMany || !residuals_[residual].of_vocabulary || are_many(lexer.set_bytes())) return kNone;
    const uint64_t key = pack(residual, members);
    if (auto known = joint_of_.find(key)) return **known;
    std::vector<LexState> dear, rest;
    ByteSet bytes;
    for (LexState single : all) {
        work(5);
        const LexState s = lexer.canonical(single);
        // Walks of numbers are short, and each of their sets of remainders would be a state that is seen once.
        auto is_short = [&] {
            work(residuals_[residual].branches.size());
            return alive_nodes(residual, s) < kWorthwhile;
        };
        const bool alone = find(residual, s) || lexer.on_list(s, bytes) || !is_plain(residual, s) || is_short();
        (alone ? rest : dear).push_back(single);
    }
    if (dear.size() < kMany) return *(joint_of_[key] = &kNone);
    joints_.push_back({lexer.together(dear), std::move(rest)});
    return *(joint_of_[key] = &joints_.back());
}

// PERF: tokens of up to 128 dashes were 64 lexemes one behind the other, walked anew in each new context. Thirty programs of SynCode's
// Java: 42,347 to 27,958 nodes walked, 8% fewer instructions.
const Split* Spanner::repeated(ResidualId residual, LexState state, TerminalId terminal, Obligations obligations) {
    constexpr size_t kWorthwhile = 4, kMost = 256;  // residuals
    const std::array<uint32_t, 4> key{residual.index(), state.index(), terminal.index(), obligations.index()};
    if (auto known = repeated_.find(key); known != repeated_.end()) return known->second.get();
    auto again = [&](const Split::Exit& e) {
        return e.terminal == terminal && e.obligations == obligations && e.effect == Indentations::kNothing && e.except.empty();
    };
    std::vector<ResidualId> left{residual};
    for (size_t i = 0; i < left.size() && left.size() <= kMost; i++)
        for (const Split::Exit& e : split(left[i], state).exits)
            if (again(e) && std::find(left.begin(), left.end(), e.residual) == left.end()) left.push_back(e.residual);
    std::unique_ptr<Split> result;
    if (left.size() >= kWorthwhile && left.size() <= kMost) {
        result = std::make_unique<Split>(split(residuals_.united(left), state));
        result->id = num_splits_++;
        for (size_t i = result->exits.size(); i-- > 0;)
            if (again(result->exits[i])) {
                result->exits.erase(result->exits.begin() + long(i));
                result->exits_before -= i < result->exits_before;
            }
    }
    return (repeated_[key] = std::move(result)).get();
}

}  // namespace derivable
