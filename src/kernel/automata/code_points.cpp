#include "automata/code_points.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "support/characters.hpp"
#include "support/errors.hpp"
#include "support/hashing.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {

constexpr uint32_t kPastAll = 0x110000;  // code points end here

// The UTF-8 of characters that each have a value, as a tree whose equal parts are shared; its leaves are the values.
class SpellingTree {
  public:
    struct Edge {
        uint8_t lo, hi;
        int32_t child;  // a value, or -2 - a node
    };
    static int32_t node(uint32_t id) { return -2 - int32_t(id); }
    static uint32_t node_of(int32_t child) { return uint32_t(-2 - child); }

    struct Segment {
        uint32_t first;
        int32_t value;  // or kDead
    };
    // `segments` begin with code point 0 and end with what is past them all.
    explicit SpellingTree(const std::vector<Segment>& segments) : segments_(segments) {
        std::vector<Edge> root;
        for (uint32_t cp = 0; cp < 0x80; cp++) append(root, uint8_t(cp), child(cp, 0, 0));
        for (uint32_t byte = 0xC2; byte <= 0xDF; byte++) append(root, uint8_t(byte), child((byte & 0x1F) << 6, 1, 0x80));
        for (uint32_t byte = 0xE0; byte <= 0xEF; byte++) append(root, uint8_t(byte), child((byte & 0xF) << 12, 2, 0x800));
        for (uint32_t byte = 0xF0; byte <= 0xF4; byte++) append(root, uint8_t(byte), child((byte & 7) << 18, 3, 0x10000));
        nodes.push_back(std::move(root));
    }

    std::vector<std::vector<Edge>> nodes;  // what an edge leads to comes before; the last one is the root

  private:
    static void append(std::vector<Edge>& edges, uint8_t byte, int32_t child) {
        if (child == kDead) return;
        if (!edges.empty() && edges.back().child == child && edges.back().hi + 1 == byte) edges.back().hi = byte;
        else edges.push_back({byte, byte, child});
    }
    // The segment of a code point. They are asked for in order.
    size_t segment(uint32_t cp) {
        while (segments_[at_ + 1].first <= cp) at_++;
        return at_;
    }
    // What `more` bytes after those of code point `lo` spell: of what is less than `least` there are shorter spellings.
    int32_t child(uint32_t lo, uint32_t more, uint32_t least) {
        const uint32_t hi = lo + (1u << (6 * more)) - 1;
        if (hi < least || lo >= kPastAll) return kDead;
        if (lo >= least) {
            const size_t s = segment(lo);
            if (more == 0 || (hi < segments_[s + 1].first)) return same(segments_[s].value, more);
        }
        std::vector<Edge> edges;
        work(16);
        for (uint32_t i = 0; i < 64; i++) append(edges, uint8_t(0x80 + i), child(lo + (i << (6 * (more - 1))), more - 1, least));
        return intern(edges);
    }
    // Any `more` bytes lead to the value.
    int32_t same(int32_t value, uint32_t more) {
        if (value == kDead || more == 0) return value;
        auto [it, fresh] = same_.try_emplace({value, more}, kDead);
        if (fresh) {
            const int32_t rest = same(value, more - 1);
            same_[{value, more}] = intern({{0x80, 0xBF, rest}});
        }
        return same_[{value, more}];
    }
    int32_t intern(const std::vector<Edge>& edges) {
        if (edges.empty()) return kDead;
        key_.clear();
        for (const Edge& e : edges) key_.push_back(uint32_t(e.lo) << 8 | e.hi), key_.push_back(uint32_t(e.child));
        const uint32_t id = ids_.intern(key_);
        if (id == nodes.size()) nodes.push_back(edges);
        return node(id);
    }

    const std::vector<Segment>& segments_;
    size_t at_ = 0;
    Interner ids_;
    std::vector<uint32_t> key_;
    std::map<std::pair<int32_t, uint32_t>, int32_t> same_;
};

// Bytes that all nodes of a tree take alike are one class, in order of their first bytes. Returns how many there are.
uint32_t number_classes(const SpellingTree& tree, std::array<uint8_t, 256>& classes) {
    std::array<uint8_t, 257> boundary{};
    for (const auto& edges : tree.nodes)
        for (const SpellingTree::Edge& e : edges) boundary[e.lo] = boundary[size_t(e.hi) + 1] = 1;
    std::array<uint8_t, 256> segment{};
    for (size_t b = 1; b < 256; b++) segment[b] = uint8_t(segment[b - 1] + boundary[b]);
    std::vector<std::vector<uint32_t>> columns(segment[255] + size_t(1), std::vector<uint32_t>(tree.nodes.size(), uint32_t(kDead)));
    for (size_t t = 0; t < tree.nodes.size(); t++)
        for (const SpellingTree::Edge& e : tree.nodes[t])
            for (uint32_t i = segment[e.lo]; i <= segment[e.hi]; i++) columns[i][t] = uint32_t(e.child);
    Interner distinct;
    for (size_t b = 0; b < 256; b++) classes[b] = uint8_t(distinct.intern(columns[segment[b]]));
    return distinct.size();
}

// The rows of a table, numbered; of those that are added, equal ones are one.
class Rows {
  public:
    using Ways = std::vector<std::pair<uint8_t, int32_t>>;  // where byte classes lead, in ascending order; the others lead nowhere
    Rows(std::vector<int32_t>& table, uint32_t width) : table_(table), width_(width), ways_(table.size() / width, 0) {}
    uint32_t size() const { return uint32_t(ways_.size()); }
    // The number of a row. PERF: most have few ways of many classes; compared as a whole, 29,665 states took 36 ms instead of 33.
    uint32_t add(const Ways& row) {
        uint64_t hash = 0;
        for (auto [byte_class, to] : row) hash = (hash ^ pack(byte_class, uint32_t(to))) * 0x9E3779B97F4A7C15ULL;
        if (const uint32_t* known = numbers_.find(hash, [&](uint32_t number) { return is(number, row); })) return *known;
        table_.resize(table_.size() + width_, kDead);
        ways_.push_back(uint32_t(row.size()));
        write(size() - 1, row);
        numbers_.put(hash, size() - 1);
        return size() - 1;
    }
    void write(uint32_t number, const Ways& row) {
        for (auto [byte_class, to] : row) table_[size_t(number) * width_ + byte_class] = to;
    }

  private:
    bool is(uint32_t number, const Ways& row) const {
        const int32_t* const at = &table_[size_t(number) * width_];
        return ways_[number] == row.size() && std::all_of(row.begin(), row.end(), [&](auto way) { return at[way.first] == way.second; });
    }
    std::vector<int32_t>& table_;
    const uint32_t width_;
    std::vector<uint32_t> ways_;  // of each row, how many; of those that were not added, 0
    NumbersByHash numbers_;
};

}  // namespace

bool decode(std::string_view text, std::vector<uint32_t>& code_points) {
    code_points.clear();
    Utf8State place = kBetween;
    for (const char c : text) {
        const uint8_t byte = uint8_t(c);
        if (place != kBetween) code_points.back() = code_points.back() << 6 | (byte & 0x3F);
        else code_points.push_back(byte < 0x80 ? byte : byte < 0xE0 ? byte & 0x1F : byte < 0xF0 ? byte & 0xF : byte & 7);
        if ((place = character_step(place, byte)) == kNowhere) return false;
    }
    return place == kBetween;
}

Graph utf8_graph(const CodePoints& characters) {
    std::vector<SpellingTree::Segment> segments{{0, kDead}};
    auto begin = [&](uint32_t at, int32_t value) {
        if (segments.back().first == at) segments.pop_back();
        segments.push_back({at, value});
    };
    for (auto [lo, hi] : characters) begin(lo, 0), begin(hi + 1, kDead);
    begin(kPastAll, kDead);
    const SpellingTree tree(segments);
    // The root is state 0, and the character's end the last one.
    const uint32_t n = uint32_t(tree.nodes.size());
    Graph graph;
    graph.edges.resize(n + 1);
    graph.accepting.assign(n + 1, 0);
    graph.accepting[n] = 1;
    for (uint32_t t = 0; t < n; t++)
        for (const SpellingTree::Edge& e : tree.nodes[t])
            graph.edges[n - 1 - t].push_back({e.lo, e.hi, e.child >= 0 ? n : n - 1 - SpellingTree::node_of(e.child)});
    return graph;
}

Atoms::Atoms(const std::vector<const CodePoints*>& sets) : of_sets_(sets.size()) {
    std::vector<std::pair<uint32_t, uint32_t>> turns;  // where a set begins or ends, and which
    for (uint32_t i = 0; i < sets.size(); i++)
        for (auto [lo, hi] : *sets[i]) turns.emplace_back(lo, i), turns.emplace_back(hi + 1, i);
    std::sort(turns.begin(), turns.end());
    std::vector<uint32_t> within;  // the sets that hold the segment, sorted
    Interner atoms;
    segments_.push_back({0, kNone});
    for (size_t t = 0; t < turns.size();) {
        const uint32_t at = turns[t].first;
        for (; t < turns.size() && turns[t].first == at; t++) {
            auto place = std::lower_bound(within.begin(), within.end(), turns[t].second);
            if (place != within.end() && *place == turns[t].second) within.erase(place);
            else within.insert(place, turns[t].second);
        }
        work(2 + within.size());
        uint32_t atom = kNone;
        if (!within.empty()) {
            const uint32_t before = atoms.size();
            atom = atoms.intern(within);
            if (atom >= kMost) {
                few_ = false;
                return;
            }
            if (atom == before)
                for (uint32_t set : within) {
                    auto& of_set = of_sets_[set];
                    if (!of_set.empty() && of_set.back().second + 1u == atom) of_set.back().second = uint8_t(atom);
                    else of_set.emplace_back(uint8_t(atom), uint8_t(atom));
                }
        }
        if (segments_.back().first == at) segments_.back().atom = atom;
        else segments_.push_back({at, atom});
    }
    if (segments_.back().first < kPastAll) segments_.push_back({kPastAll, kNone});
}

Dfa Atoms::spelled(const Dfa& over_atoms, uint64_t max_states) const {
    if (over_atoms.empty()) return over_atoms;
    const uint32_t n = over_atoms.num_states(), k = over_atoms.num_classes;
    // Atoms between which the automaton makes no difference are one value: so no two classes of bytes will be alike.
    std::vector<uint8_t> used(k, 0);
    for (size_t i = 0; i < over_atoms.table.size(); i++) used[i % k] |= over_atoms.table[i] != kDead;
    std::vector<SpellingTree::Segment> segments;
    for (const Segment& s : segments_) {
        const uint32_t value = s.atom == kNone ? 0 : over_atoms.classes[s.atom];
        const int32_t now = s.atom == kNone || !used[value] ? kDead : int32_t(value);
        if (segments.empty() || segments.back().value != now || s.first == kPastAll) segments.push_back({s.first, now});
    }
    const SpellingTree tree(segments);

    Dfa out;
    out.num_classes = number_classes(tree, out.classes);
    out.table.resize(size_t(n) * out.num_classes, kDead);
    // A state within a character is what its bytes lead to: from each of the automaton's states, the tree from its leaves up.
    Rows rows(out.table, out.num_classes);
    std::vector<int32_t> reached(tree.nodes.size());
    std::vector<Rows::Ways> by_class(tree.nodes.size());  // where a node's byte classes lead
    for (uint32_t t = 0; t < tree.nodes.size(); t++) {
        std::array<bool, 256> seen{};
        for (const SpellingTree::Edge& e : tree.nodes[t])
            for (uint32_t byte = e.lo; byte <= e.hi; byte++)
                if (!std::exchange(seen[out.classes[byte]], true)) by_class[t].emplace_back(out.classes[byte], e.child);
    }
    Rows::Ways row;
    for (uint32_t s = 0; s < n; s++) {
        const int32_t* const leads = &over_atoms.table[size_t(s) * k];
        for (uint32_t t = 0; t < tree.nodes.size(); t++) {
            work(2 + by_class[t].size());
            row.clear();
            for (auto [byte_class, child] : by_class[t])
                if (const int32_t to = child >= 0 ? leads[child] : reached[SpellingTree::node_of(child)]; to != kDead)
                    row.emplace_back(byte_class, to);
            if (t + 1 == tree.nodes.size()) rows.write(s, row);
            else reached[t] = row.empty() ? kDead : int32_t(rows.add(row));
        }
        if (rows.size() > max_states) throw LimitExceeded("max_dfa_states", rows.size(), max_states, "a pattern's automaton");
    }
    out.accepting = over_atoms.accepting;
    out.accepting.resize(rows.size(), 0);
    out.condition.assign(rows.size(), 0);
    out.number();
    return out;
}

}  // namespace derivable
