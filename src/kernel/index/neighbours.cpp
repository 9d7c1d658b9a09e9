#include "index/neighbours.hpp"

#include <algorithm>

#include "support/task.hpp"

namespace derivable {

const std::array<Neighbours::Rule, 5> Neighbours::kRules{{
    {Accelerator::kUnbounded, &Neighbours::unbounded},
    {Accelerator::kLists, &Neighbours::on_list},
    {Accelerator::kAlike, &Neighbours::alike},
    {Accelerator::kAnyString, &Neighbours::any_string},
    {Accelerator::kNearest, &Neighbours::nearest},
}};

void Neighbours::note(ResidualId residual, LexState state, Split& split) {
    split.residual = residual;
    split.state = state;
    if (latest_.size() <= residual.index()) latest_.resize(residuals_.size(), nullptr);
    split.previous = std::exchange(latest_[residual.index()], &split);
}

void Neighbours::note_whole_vocabulary(LexState state) {
    if (is_single(state) && lexer_.alike.alike_for(state, state)) lately_[num_lately_++ % lately_.size()] = state;
}

void Neighbours::forget() {
    latest_.clear();
    num_lately_ = 0;
}

bool Neighbours::is_ordinary(LexState state) {
    ByteSet listed;
    return is_single(state) && lexer_.alike.without_bound(state) == kNoState && !lexer_.automata.ask(&JsonStrings::on_list, state, listed);
}

Neighbour Neighbours::unbounded(ResidualId, LexState state) {
    Neighbour beside;
    if (!is_single(state)) return beside;
    if (const LexState whole = lexer_.alike.without_bound(state); whole != kNoState) {
        beside.state = lexer_.alike.canonical(whole);
        beside.unbounded = true;
    }
    return beside;
}

Neighbour Neighbours::on_list(ResidualId residual, LexState state) {
    Neighbour beside;
    if (!is_single(state) || lexer_.alike.without_bound(state) != kNoState ||
        !lexer_.automata.ask(&JsonStrings::on_list, state, beside.listed))
        return {};
    beside.state = lexer_.alike.off_list(state);
    beside.on_list = beside.state == kNoState || residuals_[residual].once;
    return beside.on_list ? beside : Neighbour();
}

Neighbour Neighbours::alike(ResidualId residual, LexState state) {
    Neighbour beside;
    if (!is_ordinary(state)) return beside;
    beside.state = distant(residual, state);
    beside.distant = beside.state != kNoState;
    return beside;
}

template <class Act>
void Neighbours::each_branch(ResidualId of, Act act) const {
    residuals_[of].bytes.each([&](uint8_t byte) { act(byte, uint64_t(residuals_.num_nodes_behind(byte))); });
}

uint64_t Neighbours::alive_nodes(ResidualId of, LexState state) {
    uint64_t alive = 0;
    each_branch(of, [&](uint8_t byte, uint64_t nodes) {
        if (lexer_.alike.step_canonical(state, byte) != kNoState) alive += nodes;
    });
    return alive;
}

// Where a canonical state leads with a byte, and with how much of a residual; the most first.
std::vector<std::pair<LexState, uint64_t>> Neighbours::next_states(ResidualId of, LexState state) {
    std::vector<std::pair<LexState, uint64_t>> all;
    each_branch(of, [&](uint8_t byte, uint64_t nodes) {
        const LexState next = lexer_.alike.step_canonical(state, byte);
        if (next == kNoState) return;
        auto known = std::find_if(all.begin(), all.end(), [&](const auto& n) { return n.first == next; });
        if (known == all.end()) all.emplace_back(next, nodes);
        else known->second += nodes;
    });
    std::sort(all.begin(), all.end(), [](auto a, auto b) { return a.second > b.second; });
    return all;
}

// With most of the vocabulary, two bytes far: a state that goes on with any character, and then with a few, is nearer to nothing than to one
// that goes on with all. (What begins with some byte is taken to be like the whole vocabulary behind it.)
bool Neighbours::goes_on_with_most(ResidualId of, LexState state) {
    const double all = vocabulary_.trie.size();
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

Neighbour Neighbours::any_string(ResidualId of, LexState state) {
    if (!is_ordinary(state) || of != Residuals::kWholeVocabulary) return {};
    const LexState any = lexer_.alike.any_string(state);
    return any != kNoState && goes_on_with_most(of, state) ? Neighbour{any} : Neighbour();
}

LexState Neighbours::distant(ResidualId residual, LexState state) const {
    constexpr uint64_t kWorthwhile = 2;  // bytes
    if (residual != Residuals::kWholeVocabulary) return kNoState;
    const uint64_t* near = near_.find(lexer_.automata.terminal_of(state));
    const uint64_t least = std::max(kWorthwhile, near ? *near : 0);
    for (size_t i = 0; i < std::min(num_lately_, lately_.size()); i++) {
        const LexState other = lately_[(num_lately_ - 1 - i) % lately_.size()];
        if (lexer_.alike.alike_for(state, other) > least) return other;
    }
    return kNoState;
}

namespace {

// Of two lists that ascend, how many are in one only; `limit` if these are more.
size_t num_apart(const Singles& a, const Singles& b, size_t limit) {
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
Neighbour Neighbours::nearest(ResidualId residual, LexState state) {
    if (lexer_.policy() == Policy::kScannerless) return {};
    constexpr uint64_t kWorthwhile = 200;  // nodes
    constexpr size_t kMostAsked = 256, kCompared = 4;
    const Split* split = residual.index() < latest_.size() ? latest_[residual.index()] : nullptr;
    if (!split || residuals_.size_at_least(residual) < kWorthwhile) return {};
    std::vector<std::pair<size_t, const Split*>> candidates;  // the first ones, by how many members are of one of the two only
    const Singles mine = lexer_.sets.singles(lexer_.members(state));
    size_t limit = ~size_t(0);
    for (size_t n = 0; split && n < kMostAsked; n++, split = split->previous) {
        work(5);
        const size_t others = num_apart(mine, lexer_.sets.singles(lexer_.members(split->state)), limit) +
                              (lexer_.obligations(split->state) != lexer_.obligations(state));
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
        const ByteSet apart = lexer_.apart(state, other->state, residuals_[residual].bytes);
        uint64_t weight = 0;
        apart.each([&](uint8_t byte) { weight += weights[byte]; });
        if (weight < least) least = weight, best.state = other->state, best.split = other, best.apart = apart;
    }
    return best;
}

}  // namespace derivable
