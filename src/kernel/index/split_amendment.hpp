// Level 1 beside a split of the same residual by another state that nearly all first bytes lead to the same states from: what is behind
// the others was walked from both, and the split is changed by that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "index/split_tables.hpp"
#include "support/byte_set.hpp"
#include "support/task.hpp"

namespace derivable {

class SplitAmendment {
  public:
    SplitAmendment(const SplitParts& parts, SplitTables& tables, Beside& beside, ResidualId residual, LexState state, const Split& base)
        : parts_(parts),
          tables_(tables),
          beside_(beside),
          residual_(residual),
          state_(state),
          base_(base) {}

    // `walked`: the branches whose outcome is in `gone`, as the base has it, and in `come`, as the state does. False: what these branches
    // share with the others cannot be told from the outcomes, so all has to be walked.
    bool run(const SplitLists::Outcome& gone, const SplitLists::Outcome& come, const std::vector<uint32_t>& walked, Split& result) {
        std::vector<Change> inside;
        for (const auto& [group, lists] : gone.inside) of(inside, group).gone = &lists;
        for (const auto& [group, lists] : come.inside) of(inside, group).come = &lists;
        if (!is_once_ && !is_told(inside, walked)) return false;
        amend_inside(inside, result);
        amend_exits(gone, come, result);
        return true;
    }

  private:
    inline static const SplitLists::Lists kNone;
    struct Change {
        uint32_t group;
        const SplitLists::Lists *gone = &kNone, *come = &kNone;  // of ranges
        bool met = false;
    };
    static Change& of(std::vector<Change>& all, uint32_t group) {
        for (Change& c : all)
            if (c.group == group) return c;
        all.push_back({group});
        return all.back();
    }

    // Of some lists that are not among others.
    std::vector<uint32_t> tokens(const SplitLists::Lists& lists, const SplitLists::Lists& others) {
        std::vector<uint32_t> all;
        work(2 + lists.kept.size());
        tables_.lists.each_but(lists, others.kept, [&](const Trie& t, const uint32_t* begin, const uint32_t* end) {
            for (const uint32_t* range = begin; range != end; range += 2)
                all.insert(all.end(), t.tokens.begin() + range[0], t.tokens.begin() + range[1]);
        });
        work(all.size());
        return all;
    }
    std::vector<TrieNodes> nodes(const SplitLists::Lists& lists, const SplitLists::Lists& others) {
        work(2 + lists.kept.size());
        return tables_.lists.nodes(lists, others.kept);
    }

    // Of a residual that has tokens in several branches (cut in several ways): what is gone from these is gone.
    bool is_told(const std::vector<Change>& inside, const std::vector<uint32_t>& walked) {
        if (!parts_.residuals.are_apart(residual_, walked, beside_)) return false;
        ByteSet others = parts_.residuals[residual_].bytes;
        for (uint32_t branch : walked) others.remove(parts_.residuals.byte(branch));
        for (const Change& c : inside) {
            std::vector<uint32_t> come = tokens(*c.come, kNone);
            work(5 * come.size());
            std::sort(come.begin(), come.end());
            for (uint32_t token : tokens(*c.gone, *c.come))
                if (!std::binary_search(come.begin(), come.end(), token) && may_end_elsewhere(token, tables_.states.group(c.group), others))
                    return false;
        }
        return true;
    }

    // Some end of the token that begins with one of these bytes may have the same outcome.
    bool may_end_elsewhere(uint32_t token, const WalkStates::Group& group, const ByteSet& bytes) {
        const std::string& text = parts_.vocabulary.bytes[token];
        for (size_t begin = 0; begin < text.size(); begin++) {
            if (!bytes[uint8_t(text[begin])]) continue;
            LexState s = state_;
            for (size_t i = begin; i < text.size() && s != kNoState; i++) {
                work(1);
                s = tables_.states.step(s, uint8_t(text[i]));
            }
            if (s == kNoState) continue;
            const auto [sureness, key] = parts_.prospects.sureness(s);
            if (sureness == group.sureness && key == group.key) return true;
        }
        return false;
    }

    void amend_inside(std::vector<Change>& inside, Split& result) {
        const uint32_t words = parts_.vocabulary.words();
        auto put = [&](Split::Inside i, TokenSet tokens) {
            if (!tokens.count()) return;
            parts_.bytes += tokens.bytes();
            i.tokens = std::make_shared<const TokenSet>(std::move(tokens));
            result.inside.push_back(std::move(i));
        };
        for (const Split::Inside& i : base_.inside) {
            Change* change = nullptr;
            for (Change& c : inside)
                if (const WalkStates::Group& g = tables_.states.group(c.group);
                    g.sureness == i.sureness && g.key == i.key && g.effect == i.effect)
                    change = &c;
            if (!change) {
                result.inside.push_back(i);
                continue;
            }
            change->met = true;
            // What is gone from one branch may have come by another, so all is put in.
            const std::vector<uint32_t> gone = tokens(*change->gone, *change->come);
            const std::vector<uint32_t> come = tokens(*change->come, is_once_ ? *change->gone : kNone);
            work(i.tokens->cost());
            TokenSet set = i.tokens->amended(gone, come, words);
            if (set == *i.tokens) result.inside.push_back(i);
            else put(i, std::move(set));
        }
        for (const Change& c : inside)
            if (const WalkStates::Group& g = tables_.states.group(c.group); !c.met)
                put({g.sureness, g.key, nullptr, g.effect, nullptr, {}}, TokenSet().amended({}, tokens(*c.come, kNone), words));
    }

    void amend_exits(const SplitLists::Outcome& gone, const SplitLists::Outcome& come, Split& result) {
        beside_.end();
        result.exits_once = base_.exits_once && std::all_of(come.exits.begin(), come.exits.end(),
                                                            [&](const auto& e) { return tables_.lists.is_antichain(e.second); });
        auto lists = [](const SplitLists::Outcome& outcome, uint32_t way) {
            for (const auto& [w, lists] : outcome.exits)
                if (w == way) return &lists;
            return &kNone;
        };
        std::vector<uint32_t> ways;
        for (const auto* outcome : {&gone, &come})
            for (const auto& [way, lists] : outcome->exits)
                if (std::find(ways.begin(), ways.end(), way) == ways.end()) ways.push_back(way);
        for (uint32_t i = base_.exits_before; i < base_.exits.size(); i++) {
            Split::Exit exit = base_.exits[i];
            auto way = std::find_if(ways.begin(), ways.end(), [&](uint32_t w) {
                const WalkStates::Way& x = tables_.states.way(w);
                return x.terminal == exit.terminal && x.obligations == exit.obligations && x.effect == exit.effect;
            });
            if (way != ways.end()) {
                const SplitLists::Lists &before = *lists(gone, *way), &after = *lists(come, *way);
                const std::vector<TrieNodes> out = nodes(before, after), in = nodes(after, before);
                if (!out.empty() || !in.empty()) exit.residual = parts_.residuals.amended(exit.residual, out, in, result.exits_once);
                ways.erase(way);
            }
            if (!parts_.residuals[exit.residual].branches.empty()) result.exits.push_back(std::move(exit));
        }
        for (uint32_t way : ways) {
            const WalkStates::Way& w = tables_.states.way(way);
            result.exits.push_back(
                {w.terminal, w.obligations, parts_.residuals.add(nodes(*lists(come, way), kNone), result.exits_once), w.effect, {}});
        }
    }

    const SplitParts& parts_;
    SplitTables& tables_;
    Beside& beside_;
    const ResidualId residual_;
    const LexState state_;
    const Split& base_;
    const bool is_once_ = parts_.residuals[residual_].once;
};

}  // namespace derivable
