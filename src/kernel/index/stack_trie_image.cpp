// What walks have settled, written down and read again: nodes when a stack gets to them.
#include <algorithm>
#include <map>

#include "index/stack_trie.hpp"
#include "support/archive.hpp"
#include "support/task.hpp"

namespace derivable {

// Lists of questions and sets, each once; then nodes, deeper ones first; then the roots.
//
// A node: the number of its list and one (0: nothing is known yet), where its children begin (0: there are none), its sets, those of splits
// before those of nodes. Behind nodes that are children of one: how many, their states, where they are.
class StackTrie::Writer {
  public:
    Writer(StackTrie& trie, const Spanner::Numbers& numbers) : trie_(trie), numbers_(numbers) {}

    // Where the children of a node begin. SAFETY: in a file ways may be of any length.
    uint32_t put_children(Node& node, uint32_t left = kDeepest) {
        if (left == 0) return 0;
        if (node.saved) read_children(node);
        std::map<uint32_t, std::pair<Node*, uint32_t>> all;  // by state; what is below
        for (Node* n = node.child; n; n = n->sibling)
            if (!is_of_several(*n)) all[n->state] = {n, 0};
        if (all.empty()) return 0;
        for (auto& [state, child] : all) child.second = put_children(*child.first, left - 1);
        std::vector<uint32_t> places;
        for (const auto& [state, child] : all) {
            const auto [n, below] = child;
            places.push_back(uint32_t(nodes_.size()));
            for (uint32_t word : {n->open ? n->open->number + 1 : 0, below, n->num_found}) nodes_.push_back(word);
            for (uint32_t i = 0; i < n->num_found; i++) nodes_.push_back(number_of(*n->found[i]));
        }
        const auto begin = uint32_t(nodes_.size());
        nodes_.push_back(uint32_t(all.size()));
        for (const auto& [state, child] : all) nodes_.push_back(state);
        nodes_.insert(nodes_.end(), places.begin(), places.end());
        return begin;
    }
    struct Root {
        uint32_t split, brackets, state, begin;
    };
    std::vector<Root> put_roots() {
        std::map<std::pair<uint32_t, uint32_t>, Node*> all;  // by the split's number and the depth of brackets
        for (const auto [split, number] : numbers_.splits)
            if (Node* root = trie_.roots_[split]) all[{number, 0}] = root;
        trie_.deeper_roots_.each([&](uint64_t key, Node* root) {
            const auto split = numbers_.splits.find(uint32_t(key >> 32));
            if (split != numbers_.splits.end()) all[{split->second, uint32_t(key)}] = root;
        });
        std::vector<Root> roots;
        for (const auto& [place, root] : all)
            if (const uint32_t begin = put_children(*root)) roots.push_back({place.first, place.second, root->state, begin});
        return roots;
    }
    // Returns how many words nodes take.
    uint32_t put_nodes(ImageWriter& out) const {
        sets_.save(out);
        out.list(nodes_);
        return uint32_t(nodes_.size());
    }

  private:
    // SAFETY: such words are numbers of lists that another process does not have (Stacks::signature).
    static bool is_of_several(const Node& node) { return node.state >> 31; }

    void read_children(Node& node) {
        try {
            ImageReader in = trie_.image_.at(trie_.first_node_ + node.saved);
            for (uint32_t state : in.list()) trie_.child(node, state);
        } catch (const BadArtifact&) {}
    }
    uint32_t number_of(const TokenSet& set) {
        const uint32_t* of_split = numbers_.sets.find(set);
        return of_split ? *of_split : numbers_.sets.size() + sets_.add(set);
    }

    StackTrie& trie_;
    const Spanner::Numbers& numbers_;
    SetNumbers sets_;
    std::vector<uint32_t> nodes_{0};
};

void StackTrie::archive(Archive& a, Spanner::Numbers& numbers, const Spanner& spanner, uint32_t vocabulary_size, size_t symbols) {
    Writer writer(*this, numbers);
    std::vector<Writer::Root> roots;
    if (!a.reading()) roots = writer.put_roots();
    a.lists(open_words_, 0, [&](std::vector<uint32_t>&& words) {
        a.check(words.size() % kQuestionWords == 0);
        const Open& open = *add_open_list(std::move(words));
        for (uint32_t i = 0; i < open.size; i++) {
            const Question& q = open.questions[i];
            a.check(q.symbol < symbols && q.end > i && q.end <= open.size);
        }
        a.check(open_words_.size() == open.number + 1);  // there was none like it
        return open.number;
    });
    if (a.reading()) sets_of_splits_ = std::move(numbers.sets_read), vocabulary_size_ = vocabulary_size;
    const uint32_t words = a.reading() ? find_nodes(a.in()) : writer.put_nodes(a.out());
    a.each(roots, 4, [&](Writer::Root& r) {
        a.below(r.split, spanner.num_splits());
        a.number(r.brackets);
        a.below(r.state, kDeepest);
        a.below(r.begin, words);
        if (!a.reading()) return;
        Node* root = add_nodes(1);
        root->state = r.state;
        root->saved = r.begin;
        (r.brackets ? deeper_roots_[pack(r.split, r.brackets)] : roots_[r.split]) = root;
    });
    if (a.reading()) image_ = a.in();
}

// Where nodes' sets and nodes are; of the latter, how many words.
uint32_t StackTrie::find_nodes(ImageReader& in) {
    for (uint32_t n = in.count(2); n > 0; n--) {
        saved_sets_.push_back(in.position());
        in.next();
        in.run(in.count());
    }
    restored_sets_.resize(saved_sets_.size());
    constexpr uint32_t kLeastNode = 5;  // words, with those of its parent
    const uint32_t words = in.count();
    left_ = words / kLeastNode;  // SAFETY: nodes may share children in a file, as a tree they would be many more
    first_node_ = in.position();
    in.run(words);
    return words;
}

StackTrie::Node* StackTrie::read_child(Node& parent, uint32_t state) {
    Node* node = nullptr;
    try {
        ImageReader in = image_.at(first_node_ + parent.saved);
        const uint32_t count = in.next();
        const uint32_t *states = in.run(count), *places = in.run(count), *at = std::lower_bound(states, states + count, state);
        if (at == states + count || *at != state) return nullptr;
        node = read_node(image_.at(first_node_ + places[at - states]), parent.saved);
    } catch (const BadArtifact&) { return nullptr; }  // nothing is known
    node->state = state;
    add_child(parent, *node);
    return node;
}

StackTrie::Node* StackTrie::read_node(ImageReader in, uint32_t before) {
    in.check(left_ > 0);
    const uint32_t list = in.below(open_words_.size() + 1), saved = in.below(before), found = in.count();
    work(10 + found);
    const TokenSet** sets = found_.add(found);
    for (uint32_t i = 0; i < found; i++) sets[i] = saved_set(in.next());
    Node* node = add_nodes(1);
    left_--;
    if (list) node->open = &open_lists_[list - 1];
    node->saved = saved;  // earlier, so there is an end to them
    node->found = sets;
    node->num_found = found;
    return node;
}

const TokenSet* StackTrie::saved_set(uint32_t number) {
    if (number < sets_of_splits_.size()) return sets_of_splits_[number].get();
    number -= uint32_t(sets_of_splits_.size());
    image_.check(number < restored_sets_.size());
    const TokenSet*& set = restored_sets_[number];
    if (!set) {
        ImageReader in = image_.at(saved_sets_[number]);
        set = &sets_.emplace_back(TokenSet::restored(in, vocabulary_size_));
        set_bytes_ += sizeof(TokenSet) + set->bytes();
        work(set->cost());
    }
    return set;
}

}  // namespace derivable
