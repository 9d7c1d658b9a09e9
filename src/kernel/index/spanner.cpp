#include "index/spanner.hpp"

#include <algorithm>

#include "index/counted_strings.hpp"
#include "index/neighbours.hpp"
#include "index/split_walk.hpp"
#include "support/task.hpp"

namespace derivable {

Spanner::Spanner(std::shared_ptr<const Vocabulary> vocabulary, Policy policy, Accelerators accelerators)
    : lexer(policy),
      prospects(lexer),
      vocabulary_(std::move(vocabulary)),
      accelerators_(accelerators),
      residuals_(vocabulary_->trie),
      neighbours_(std::make_unique<Neighbours>(*vocabulary_, lexer, residuals_)) {
    uint64_t longest = 0;
    for (uint16_t d : vocabulary_->trie.depth) longest = std::max<uint64_t>(longest, uint64_t(d) + 1);
    lexer.alike.set_longest_token(longest + 1);
}

void Spanner::forget() {
    discarded.take(splits_);
    discarded.take(split_of_);
    discarded.take(repeated_);
    counted_strings_ = {};
    if (rests_) rests_->forget();
    residuals_.forget(discarded);
    neighbours_->forget();
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

const Split* Spanner::keep(ResidualId residual, LexState state, std::unique_ptr<Split> split) {
    const Split*& place = split_of_[pack(residual, state)];  // SAFETY: null if making room for it is refused
    if (place) return place;                                 // made by others meanwhile
    split->id = num_splits_++;
    splits_.push_back(std::move(split));
    place = splits_.back().get();
    neighbours_->note(residual, state, *splits_.back());  // SAFETY: behind keeping it, for making room may be refused
    return place;
}

// Each way declines where it does not help; the last is for all.
std::unique_ptr<Split> Spanner::make(ResidualId residual, LexState state) {
    auto by = [&](Accelerator part, std::unique_ptr<Split> made) {
        uses_[size_t(part)] += made != nullptr;
        return made;
    };
    for (bool again = true; again;) {
        again = false;
        if (auto made = by(Accelerator::kCountedStrings, by_count(residual, state))) return made;
        if (auto made = by(Accelerator::kStretches, along_stretches(residual, state))) return made;
        for (const Neighbours::Rule& rule : Neighbours::kRules) {
            if (!accelerators_.has(rule.part)) continue;
            Neighbour beside = (*neighbours_.*rule.find)(residual, state);
            if (!beside) continue;
            if (auto made = by(rule.part, walk_beside(residual, state, beside))) return made;
            neighbours_->note_too_near(state, beside.state);  // there may be another one
            again = true;
            break;
        }
    }
    return walk(residual, state, [](SplitWalk& walk) { return walk.run({}); });
}

template <class Run>
std::unique_ptr<Split> Spanner::walk(ResidualId residual, LexState state, Run run) {
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
    Workplace at(single ? tables_ : joint_tables_, parts, single, holder);
    SplitWalk walk(parts, *at.tables, at.beside, residual, state);
    return run(walk);
}

std::unique_ptr<Split> Spanner::walk_beside(ResidualId residual, LexState state, Neighbour beside) {
    if (beside.state != kNoState && !beside.split) beside.split = &split(residual, beside.state);
    return walk(residual, state, [&](SplitWalk& walk) { return walk.run(beside); });
}

std::unique_ptr<Split> Spanner::by_count(ResidualId residual, LexState state) {
    if (!accelerators_.has(Accelerator::kCountedStrings) || is_plain(residual, state)) return nullptr;
    const auto [need, room] = *lexer.automata.ask(&JsonStrings::counted, state);
    return counted_strings(lexer.automata.recognizer_of(state).strings()->escapes()).split(need, room);
}

std::unique_ptr<Split> Spanner::along_stretches(ResidualId residual, LexState state) {
    // PERF: characters that may still come. Where more are counted, few tokens meet the bound, and each count would be a state.
    constexpr uint64_t kFew = 24;
    ByteSet listed;
    if (!accelerators_.has(Accelerator::kStretches) || residual != Residuals::kWholeVocabulary || !is_single(state)) return nullptr;
    if (lexer.automata.ask(&JsonStrings::on_list, state, listed)) return nullptr;
    // Beside a state that only the longest tokens tell from it less is walked.
    if (accelerators_.has(Accelerator::kAlike) && neighbours_->distant(residual, state) != kNoState) return nullptr;
    if (lexer.alike.without_bound(state) != kNoState) {
        const auto place = lexer.automata.ask(&JsonStrings::place, state);
        if (!place || place->room > kFew) return nullptr;
    }
    return walk(residual, state, [&](SplitWalk& walk) { return walk.run_along(stretches()); });
}

bool Spanner::is_plain(ResidualId residual, LexState state) const {
    return residual != Residuals::kWholeVocabulary || !is_single(state) || !lexer.automata.ask(&JsonStrings::counted, state);
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
    if (!accelerators_.has(Accelerator::kResidualStates)) return state;
    const LexState members = lexer.members(state);
    const Singles all = lexer.sets.singles(members);
    if (std::any_of(all.begin(), all.end(), [&](LexState single) { return lexer.automata.accepts(single); })) return state;
    const ByteSet bytes = residuals_[residual].bytes;
    const LexState left = lexer.sets.keep_if(members, [&](LexState single) { return lexer.sets.bytes(single).meets(bytes); });
    work(10 * all.size());
    return left == kNoState ? lexer.none() : lexer.with_obligations(left, lexer.obligations(state));
}

const Split& Spanner::split(ResidualId residual, LexState state) {
    if (const Split* known = find(residual, state)) return *known;
    if (const LexState like = for_residual(residual, state); like != state) {
        const Split& same = split(residual, like);
        bytes_ += 32;
        uses_[size_t(Accelerator::kResidualStates)]++;
        return *(split_of_[pack(residual, state)] = &same);
    }
    std::unique_ptr<Split> result = make(residual, state);
    if (residual == Residuals::kWholeVocabulary) neighbours_->note_whole_vocabulary(state);
    return *keep(residual, state, std::move(result));
}

ResidualId Spanner::behind(const std::vector<uint32_t>& nodes) {
    const Trie& trie = vocabulary_->trie;
    TrieNodes children{&trie, {}};
    bool are_apart = true;
    uint32_t end = 0;
    for (uint32_t node : nodes) {
        are_apart = are_apart && node >= end;
        end = std::max(end, trie.end[node]);
        trie.each_child(node, ByteSet::all(), [&](uint32_t child, uint8_t) { children.nodes.push_back(child); });
    }
    return residuals_.add({std::move(children)}, are_apart);
}

// PERF: of five overlapping classes of keys there are 32 terminals, each of which was a walk of 2 ms: one walk follows all of them.
const Spanner::Joint& Spanner::joint(ResidualId residual, LexState members) {
    constexpr size_t kMany = 4;
    constexpr uint64_t kWorthwhile = 2500;  // nodes
    const Singles all = lexer.sets.singles(members);
    if (!accelerators_.has(Accelerator::kJointSplits) || all.size() < kMany || !residuals_[residual].of_vocabulary ||
        are_many(lexer.sets.bytes_of_sets()))
        return kNone;
    const uint64_t key = pack(residual, members);
    if (auto known = joint_of_.find(key)) return **known;
    std::vector<LexState> dear, rest;
    ByteSet bytes;
    for (LexState single : all) {
        work(5);
        const LexState s = lexer.alike.canonical(single);
        // Walks of numbers are short, and each of their sets of remainders would be a state that is seen once.
        auto is_short = [&] {
            work(residuals_[residual].branches.size());
            return neighbours_->alive_nodes(residual, s) < kWorthwhile;
        };
        const bool alone = find(residual, s) || lexer.automata.ask(&JsonStrings::on_list, s, bytes) || !is_plain(residual, s) || is_short();
        (alone ? rest : dear).push_back(single);
    }
    if (dear.size() < kMany) return *(joint_of_[key] = &kNone);
    joints_.push_back({lexer.sets.of(dear), std::move(rest)});
    uses_[size_t(Accelerator::kJointSplits)]++;
    return *(joint_of_[key] = &joints_.back());
}

// PERF: tokens of up to 128 dashes were 64 lexemes one behind the other, walked anew in each new context. Thirty programs of SynCode's
// Java: 42,347 to 27,958 nodes walked, 8% fewer instructions.
const Split* Spanner::repeated(ResidualId residual, LexState state, TerminalId terminal, Obligations obligations) {
    constexpr size_t kWorthwhile = 4, kMost = 256;  // residuals
    if (!accelerators_.has(Accelerator::kRepeatedLexemes)) return nullptr;
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
        uses_[size_t(Accelerator::kRepeatedLexemes)]++;
        for (size_t i = result->exits.size(); i-- > 0;)
            if (again(result->exits[i])) {
                result->exits.erase(result->exits.begin() + long(i));
                result->exits_before -= i < result->exits_before;
            }
    }
    return (repeated_[key] = std::move(result)).get();
}

}  // namespace derivable
