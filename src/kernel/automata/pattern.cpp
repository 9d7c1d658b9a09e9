#include "automata/pattern.hpp"

#include <algorithm>
#include <array>

#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

namespace {
constexpr uint32_t kMaxDepth = 4000;  // SAFETY: bounds the recursion of Thompson's construction

// Bytes that are equal for equal trees only. Graphs are not compared: each has a number.
std::string content(const Pattern::Tree& t, uint64_t graph) {
    std::string bytes;
    auto add = [&](const auto& values) {
        bytes += std::to_string(values.size()) + ' ';
        bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
    };
    add(std::array{uint64_t(t.kind), uint64_t(t.min), uint64_t(t.max), uint64_t(t.lazy + 2 * t.ahead + 4 * t.negative), graph});
    add(t.items), add(t.text), add(t.bytes), add(t.code_points);
    return bytes;
}

}  // namespace

Pattern::Node Pattern::add(Tree tree) {
    work(50);
    for (Node item : tree.items) tree.depth = std::max(tree.depth, trees_[item].depth + 1);
    if (tree.depth > kMaxDepth) throw LimitExceeded("nesting of a pattern", tree.depth, kMaxDepth);
    const auto [known, is_new] = known_.try_emplace(content(tree, tree.kind == Kind::kGraph ? trees_.size() : 0), Node(trees_.size()));
    if (!is_new) return known->second;
    auto empty = [&](Node item) { return trees_[item].nullable; };
    switch (tree.kind) {
        case Kind::kBytes: tree.nullable = tree.text.empty(); break;
        case Kind::kByteSet:
        case Kind::kChars:
        case Kind::kAny: break;
        case Kind::kGraph: tree.nullable = !tree.graph.accepting.empty() && tree.graph.accepting[0]; break;
        case Kind::kConcat: tree.nullable = std::all_of(tree.items.begin(), tree.items.end(), empty); break;
        case Kind::kAlt: tree.nullable = std::any_of(tree.items.begin(), tree.items.end(), empty); break;
        case Kind::kRepeat: tree.nullable = tree.min == 0 || empty(tree.items[0]); break;
        case Kind::kLook: tree.nullable = true; break;
    }
    trees_.push_back(std::move(tree));
    return known->second;
}

Pattern::Node Pattern::add(Kind kind, std::vector<Node> items) {
    Tree t{kind};
    t.items = std::move(items);
    return add(std::move(t));
}

Pattern::Node Pattern::bytes(std::string text) {
    Tree t{Kind::kBytes};
    t.text = std::move(text);
    return add(std::move(t));
}

Pattern::Node Pattern::byte_set(std::vector<std::pair<uint8_t, uint8_t>> ranges) {
    Tree t{Kind::kByteSet};
    t.bytes = std::move(ranges);
    return add(std::move(t));
}

Pattern::Node Pattern::chars(CodePoints code_points) {
    Tree t{Kind::kChars};
    t.code_points = std::move(code_points);
    return add(std::move(t));
}

Pattern::Node Pattern::concat(std::vector<Node> items) { return add(Kind::kConcat, std::move(items)); }

Pattern::Node Pattern::alt(std::vector<Node> items) { return add(Kind::kAlt, std::move(items)); }

Pattern::Node Pattern::repeat(Node item, uint32_t min, int64_t max, bool lazy) {
    Tree t{Kind::kRepeat};
    t.items = {item};
    t.min = min;
    t.max = max;
    t.lazy = lazy;
    return add(std::move(t));
}

Pattern::Node Pattern::look(Node item, bool ahead, bool negative) {
    // "Any character" in an assertion means "not the end of the text", whatever the bytes.
    static const CodePoints any_character{{0, 0xD7FF}, {0xE000, 0x10FFFF}};
    const bool any = trees_[item].kind == Kind::kChars && trees_[item].code_points == any_character;
    Tree t{Kind::kLook};
    t.items = {any ? add(Kind::kAny, {}) : item};
    t.ahead = ahead;
    t.negative = negative;
    return add(std::move(t));
}

Pattern::Node Pattern::automaton(const Dfa& dfa) {
    if (!dfa.conditions.empty()) throw Unsupported("look-ahead", "look-ahead past the end of an operand of a set operation");
    if (dfa.num_states() == 0) return alt({});
    Tree t{Kind::kGraph};
    for (uint32_t s = 0; s < dfa.num_states(); s++) {
        std::vector<Graph::Edge> edges;
        for (int b = 0; b < 256; b++) {
            int32_t to = dfa.step(s, uint8_t(b));
            if (to < 0) continue;
            if (!edges.empty() && edges.back().to == uint32_t(to) && edges.back().hi + 1 == b) edges.back().hi = uint8_t(b);
            else edges.push_back({uint8_t(b), uint8_t(b), uint32_t(to)});
        }
        t.graph.edges.push_back(std::move(edges));
        t.graph.accepting.push_back(dfa.accepting[s]);
    }
    if (t.graph.edges.size() == 1 && t.graph.edges[0].empty()) return bytes("");
    return add(std::move(t));
}

Pattern::Node Pattern::graph(const std::vector<std::vector<std::tuple<uint8_t, uint8_t, uint32_t>>>& edges,
                             const std::vector<bool>& accepting) {
    if (edges.size() != accepting.size()) throw BadGrammar("a graph must say of every state whether it accepts", "");
    Tree t{Kind::kGraph};
    for (size_t s = 0; s < edges.size(); s++) {
        std::vector<Graph::Edge> out;
        for (auto [lo, hi, to] : edges[s]) {
            if (lo > hi || to >= edges.size()) throw BadGrammar("a graph has an edge to no state", "");
            out.push_back({lo, hi, to});
        }
        t.graph.edges.push_back(std::move(out));
        t.graph.accepting.push_back(accepting[s]);
    }
    return add(std::move(t));
}

}  // namespace derivable
