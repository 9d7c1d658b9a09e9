#include "parsing/written_stacks.hpp"

#include <algorithm>
#include <utility>

#include "support/task.hpp"

namespace derivable {

// Below a node come those that it stands on: a search in depth, but not by recursion, for stacks are as deep as texts are long.
void StackWriter::add(Frontier f) {
    std::vector<std::pair<NodeId, bool>> todo;  // and whether what it stands on is there
    for (NodeId n : stacks_.nodes(f)) todo.emplace_back(n, false);
    while (!todo.empty()) {
        const auto [n, is_ready] = todo.back();
        todo.pop_back();
        if (numbers_.find(n)) continue;
        work(5);
        if (is_ready) {
            nodes_.push_back(n);
            numbers_[n] = uint32_t(nodes_.size() + 1);
            continue;
        }
        todo.emplace_back(n, true);
        for (NodeId p : stacks_.parents(n)) todo.emplace_back(p, false);
    }
}

// A node is (symbol, 0) on the one before it, which nearly all are; else (symbol, ways) and for each how far back what it stands on is, and from the second
// on its symbol.
void StackWriter::write(PackedWriter& out) {
    out.put(nodes_.size());
    for (uint32_t i = 0; i < nodes_.size(); i++) {
        const StackGraph::Nodes below = stacks_.parents(nodes_[i]);
        const auto symbol = [&](NodeId p) { return stacks_.lr().symbol_between(stacks_.state(p), stacks_.state(nodes_[i])); };
        const auto distance = [&](NodeId p) { return i + 1 - *number(p); };
        const NodeId first = *below.begin();
        const bool is_chained = below.size() == 1 && distance(first) == 1;
        out.put(uint64_t(symbol(first)) * 2 + !is_chained);
        if (is_chained) continue;
        out.put(below.size());
        for (NodeId p : below) {
            out.put(distance(p));
            if (p != first) out.put(symbol(p));
        }
    }
}

void StackWriter::write(PackedWriter& out, Frontier f) const {
    const StackGraph::Nodes nodes = stacks_.nodes(f);
    out.put(nodes.size());
    for (NodeId n : nodes) out.put(nodes_.size() - *number(n));  // mostly it is the last
}

std::optional<uint32_t> StackWriter::number(NodeId n) const {
    const uint32_t* known = numbers_.find(n);
    return known ? std::optional(*known - 1) : std::nullopt;
}

StackReader::StackReader(Stacks& stacks, PackedReader& in) : stacks_(stacks), nodes_{StackGraph::only(Stacks::bottom())} {
    LrAutomaton& lr = stacks.lr();
    const size_t count = in.count();
    for (size_t i = 1; i <= count; i++) {
        const auto move = [&](NodeId below, uint64_t symbol) {
            PackedReader::check(symbol != kEnd && symbol < lr.productions().num_symbols());
            const LrState to = lr.move(stacks.state(below), Symbol(symbol));
            PackedReader::check(to != LrAutomaton::kNone);
            return to;
        };
        const uint64_t head = in.next();
        if (head % 2 == 0) {
            nodes_.push_back(stacks.on(move(nodes_.back(), head / 2), {nodes_.back()}));
            continue;
        }
        const size_t ways = in.count();
        LrState state = LrAutomaton::kNone;
        std::vector<NodeId> below;
        for (size_t way = 0; way < ways; way++) {
            const uint32_t distance = in.below(i + 1);
            PackedReader::check(distance > 0);
            below.push_back(nodes_[i - distance]);
            const LrState to = move(below.back(), way ? in.next() : head / 2);
            PackedReader::check(way == 0 || to == state);
            state = to;
        }
        PackedReader::check(!below.empty());
        nodes_.push_back(stacks.on(state, std::move(below)));
    }
}

Frontier StackReader::frontier(PackedReader& in) {
    std::vector<NodeId> nodes(in.count());
    PackedReader::check(!nodes.empty());
    for (NodeId& n : nodes) n = nodes_[nodes_.size() - 1 - in.below(nodes_.size())];
    return stacks_.frontier(std::move(nodes));
}

}  // namespace derivable
