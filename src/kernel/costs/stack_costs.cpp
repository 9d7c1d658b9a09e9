#include "costs/stack_costs.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "support/task.hpp"

namespace derivable {

std::vector<StackCosts::Way> StackCosts::ways(NodeId n) {
    LrAutomaton& lr = stacks_.lr();
    const LrState state = stacks_.state(n);
    std::vector<Way> out;
    if (state == LrAutomaton::kStart && lr.productions().start_nullable()) out.push_back({0, kEnd, kNoNode});
    for (auto [production, dot] : lr.kernel(state)) {
        const Production& p = lr.productions()[production];
        work(5 + p.body.size());
        const Cost rest = symbols_.rest(production, dot);
        if (rest >= kNoCost) continue;
        const Symbol first = dot < p.body.size() ? symbols_.first(p.body[dot]) : kEnd;
        if (production == 0) out.push_back({rest, first, kNoNode});
        else
            for (NodeId below : stacks_.pop(n, dot)) out.push_back({rest, first, stacks_.after(below, p.head)});
    }
    return out;
}

// With all that it leads to at its height. False: `todo` has lower ones that come first.
bool StackCosts::settle(NodeId n, std::vector<NodeId>& todo) {
    struct Open {
        NodeId node;
        std::vector<Way> ways;
        Known best;
        bool settled = false;
    };
    std::vector<Open> level;
    const auto place = [&](NodeId x) {
        const auto at = std::find_if(level.begin(), level.end(), [&](const Open& o) { return o.node == x; });
        if (at == level.end()) level.push_back({x, ways(x), {}});
        return size_t(at - level.begin());
    };
    const size_t before = todo.size();
    place(n);
    for (size_t i = 0; i < level.size(); i++)
        for (size_t k = 0; k < level[i].ways.size(); k++) {
            const NodeId after = level[i].ways[k].after;
            if (after == kNoNode || known_.find(after)) continue;
            if (height(after) < height(n)) todo.push_back(after);
            else place(after);
        }
    if (todo.size() > before) return false;
    const auto offer = [](Open& o, const Way& way, Cost behind) {
        if (const Cost cost = sum(way.rest, behind); cost < o.best.cost) o.best = {cost, way.first, way.after};
    };
    for (Open& o : level)
        for (const Way& way : o.ways) {
            if (way.after == kNoNode) offer(o, way, 0);
            else if (const Known* lower = known_.find(way.after)) offer(o, way, lower->cost);
        }
    for (size_t left = level.size(); left > 0; left--) {
        Open* least = nullptr;
        for (Open& o : level)
            if (!o.settled && (!least || o.best.cost < least->best.cost)) least = &o;
        work(level.size());
        least->settled = true;
        known_[least->node] = least->best;
        for (Open& o : level)
            for (const Way& way : o.ways)
                if (!o.settled && way.after == least->node) offer(o, way, least->best.cost);
    }
    return true;
}

StackCosts::Known StackCosts::known(NodeId n) {
    if (const Known* found = known_.find(n)) return *found;
    std::vector<NodeId> todo{n};
    while (!todo.empty()) {
        const NodeId x = todo.back();
        if (known_.find(x) || settle(x, todo)) todo.pop_back();
    }
    return *known_.find(n);
}

Cost StackCosts::of(Frontier f) {
    Cost least = kNoCost;
    for (NodeId n : stacks_.nodes(f)) least = std::min(least, known(n).cost);
    return least;
}

// All that can be reached by completing items, with each of theirs.
Cost StackCosts::most(Frontier f) {
    Cost all = 0;
    for (NodeId top : stacks_.nodes(f)) {
        std::vector<NodeId> todo{top};
        while (!todo.empty()) {
            const NodeId n = todo.back();
            if (most_.find(n)) {
                todo.pop_back();
                continue;
            }
            // At one height nodes may lead to one another.
            std::vector<NodeId> level{n};
            Cost most = 0;
            const size_t before = todo.size();
            for (size_t i = 0; i < level.size(); i++)
                for (const Way& way : ways(level[i])) {
                    const NodeId after = way.after;
                    most = std::max(most, after == kNoNode ? way.rest : sum(way.rest, known(after).cost));
                    if (after == kNoNode || std::find(level.begin(), level.end(), after) != level.end()) continue;
                    if (const Cost* lower = most_.find(after)) most = std::max(most, *lower);
                    else if (height(after) < height(n)) todo.push_back(after);
                    else level.push_back(after);
                }
            if (todo.size() > before) continue;
            most_[n] = most;
            todo.pop_back();
        }
        all = std::max(all, *most_.find(top));
    }
    return all;
}

Symbol StackCosts::next(Frontier f) {
    NodeId best = kNoNode;
    Cost least = kNoCost;
    for (NodeId n : stacks_.nodes(f))
        if (const Cost cost = known(n).cost; cost < least) least = cost, best = n;
    while (best != kNoNode) {
        const Known k = known(best);
        if (k.first != kEnd || k.below == kNoNode) return k.first;
        best = k.below;
    }
    return kEnd;
}

}  // namespace derivable
