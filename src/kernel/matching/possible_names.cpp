#include "matching/possible_names.hpp"

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "support/task.hpp"

namespace derivable {

namespace {
constexpr size_t kMostKnown = 4'096;

// Names but for those with some beginnings, which are nodes of what is left out.
class WithoutBeginnings final : public NameSet {
  public:
    WithoutBeginnings(NameSetRef names, std::unordered_set<Node> refused) : names_(std::move(names)), refused_(std::move(refused)) {}
    Node step(Node node, uint8_t byte) override {
        const auto [at, but] = nodes_[node];
        const Node next = names_->step(at, byte);
        const Node left_out = but == kNowhere ? kNowhere : names_->excluded()->step(but, byte);
        if (next == kNowhere || refused_.count(left_out)) return kNowhere;
        const auto [known, is_new] = numbers_.try_emplace(pack(uint32_t(next), uint32_t(left_out)), Node(nodes_.size()));
        if (is_new) nodes_.emplace_back(next, left_out);
        return known->second;
    }
    bool is_name(Node node) override { return names_->is_name(nodes_[node].first); }
    std::vector<std::string> rests(Node, size_t) override { return {}; }

  private:
    const NameSetRef names_;
    const std::unordered_set<Node> refused_;
    std::vector<std::pair<Node, Node>> nodes_{{kRoot, kRoot}};  // of the names, and of what is left out
    std::unordered_map<uint64_t, Node, MixHash> numbers_;
};

// Whether every rest is left out, from a state of the recognizer and a node of what is left out.
class Search {
  public:
    Search(const Recognizer& recognizer, const std::vector<char>& few_rests, NameSet& left_out)
        : recognizer_(recognizer),
          few_rests_(few_rests),
          left_out_(left_out) {}

    bool is_dead(uint32_t state, NameSet::Node node) {
        if (!few_rests_[state]) return false;
        const uint64_t key = pack(state, uint32_t(node));
        if (const auto known = known_.find(key); known != known_.end()) return known->second;
        work(256);
        bool dead = !recognizer_.accepts(state) || left_out_.is_name(node);
        for (uint32_t byte = 0; byte < 256 && dead; byte++) {
            const int32_t next = recognizer_.step_table(state, uint8_t(byte));
            if (next < 0) continue;
            const NameSet::Node further = left_out_.step(node, uint8_t(byte));
            dead = further != NameSet::kNowhere && is_dead(uint32_t(next), further);
        }
        return known_[key] = dead;
    }

  private:
    const Recognizer& recognizer_;
    const std::vector<char>& few_rests_;
    NameSet& left_out_;
    std::unordered_map<uint64_t, bool, MixHash> known_;
};
}  // namespace

NameSetRef PossibleNames::of(const Lexer& lexer, TerminalId terminal, const NameSetRef& names) {
    if (!names || !names->excluded() || !names->excluded()->listed()) return names;
    const Recognizer& recognizer = lexer.automata.recognizer(terminal);
    if (!recognizer.has_table() || recognizer.past()) return names;
    const std::vector<char>& few = few_rests(terminal, recognizer);
    if (std::find(few.begin(), few.end(), char(1)) == few.end()) return names;
    std::vector<uint32_t> key{terminal.index()};
    for (uint32_t word : address_words(names.get())) key.push_back(word);
    if (const auto known = known_.find(key); known != known_.end()) return known->second.possible;
    NameSetRef possible = found(recognizer, few, names);
    if (known_.size() >= kMostKnown) known_.clear();
    return known_.emplace(std::move(key), Known{names, possible}).first->second.possible;
}

NameSetRef PossibleNames::found(const Recognizer& recognizer, const std::vector<char>& few_rests, const NameSetRef& names) {
    NameSet& left_out = *names->excluded();
    Search search(recognizer, few_rests, left_out);
    if (search.is_dead(0, NameSet::kRoot)) return nullptr;
    std::unordered_set<NameSet::Node> refused;
    for (const std::string& text : *left_out.listed()) {
        int32_t state = 0;
        NameSet::Node node = NameSet::kRoot;
        for (size_t i = 0; i < text.size(); i++) {
            work(2);
            node = left_out.step(node, uint8_t(text[i]));
            state = recognizer.step_table(uint32_t(state), uint8_t(text[i]));
            if (state < 0) break;
            if (!search.is_dead(uint32_t(state), node)) continue;
            refused.insert(node);
            break;
        }
    }
    return refused.empty() ? names : std::make_shared<WithoutBeginnings>(names, std::move(refused));
}

// States that lead to states with few rests only, from those that lead nowhere on.
const std::vector<char>& PossibleNames::few_rests(TerminalId terminal, const Recognizer& recognizer) {
    if (const auto known = few_rests_.find(terminal.index()); known != few_rests_.end()) return known->second;
    const uint32_t size = recognizer.num_states();
    work(256 * uint64_t(size));
    std::vector<std::vector<uint32_t>> before(size);
    std::vector<uint32_t> open(size, 0), done;
    for (uint32_t state = 0; state < size; state++) {
        for (uint32_t byte = 0; byte < 256; byte++)
            if (const int32_t next = recognizer.step_table(state, uint8_t(byte)); next >= 0)
                before[uint32_t(next)].push_back(state), open[state]++;
        if (!open[state]) done.push_back(state);
    }
    std::vector<char> few(size, 0);
    while (!done.empty()) {
        const uint32_t state = done.back();
        done.pop_back();
        few[state] = 1;
        for (uint32_t each : before[state])
            if (--open[each] == 0) done.push_back(each);
    }
    return few_rests_.emplace(terminal.index(), std::move(few)).first->second;
}

}  // namespace derivable
