#include "json/listed_numbers.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "json/decimal.hpp"
#include "support/hashing.hpp"

namespace derivable {

namespace {

std::string plain(const Decimal& n) {
    const std::string decimals = n.decimals();
    return decimals.empty() ? n.whole() : n.whole() + "." + decimals;
}

std::string mantissa(const Decimal& n) { return n.digits.size() > 1 ? n.digits.substr(0, 1) + "." + n.digits.substr(1) : n.digits; }

using Edges = std::vector<TextGraph::Edge>;

// What digits say once they are whole: the text may stop, and the exponents that may follow (ascending). By number; 0 is neither.
struct Ends {
    bool stops;
    std::vector<int32_t> exponents;
    bool operator<(const Ends& o) const { return std::tie(stops, exponents) < std::tie(o.stops, o.exponents); }
};

// A state that the text under way has passed, and that may still get edges.
struct Open {
    Edges edges;
    uint32_t ends = 0;
    bool decimal = false;  // behind a point
    uint32_t zeros = 0;    // there: what zeros lead to
};

class Automaton {
  public:
    using Texts = std::vector<std::pair<std::string, Ends>>;

    Automaton() {
        graph_.edges.emplace_back(), graph_.accepting.push_back(false);  // 0 is the start, known last
        ends_of_.push_back({false, {}});
        numbers_of_[ends_of_[0]] = 0;
    }
    TextGraph whole(Texts (&sides)[2]) {
        Edges start = digits(sides[0]);
        if (!sides[1].empty()) {
            const uint32_t negative = state(false, digits(sides[1]));
            start.push_back({'-', negative});
        }
        graph_.edges[0] = std::move(start);
        return std::move(graph_);
    }

  private:
    uint32_t state(bool accepting, Edges edges) {
        key_.assign(1, accepting);
        for (const TextGraph::Edge& e : edges) key_.push_back(e.byte), key_.push_back(e.to);
        const uint32_t known = states_.size(), found = states_.intern(key_);
        if (found == known) numbers_.push_back(fresh(accepting, std::move(edges)));
        return numbers_[found];
    }
    uint32_t fresh(bool accepting, Edges edges) {
        graph_.edges.push_back(std::move(edges)), graph_.accepting.push_back(accepting);
        return uint32_t(graph_.edges.size() - 1);
    }
    uint32_t number(const Ends& ends) {
        auto [it, is_new] = numbers_of_.try_emplace(ends, uint32_t(ends_of_.size()));
        if (is_new) ends_of_.push_back(ends);
        return it->second;
    }

    // The edges of the first digits. The texts are taken in order, so what the next one leaves behind is whole.
    Edges digits(Texts& texts) {
        std::sort(texts.begin(), texts.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        std::vector<Open> path(1);
        std::string last;
        for (size_t i = 0; i < texts.size();) {
            const std::string& text = texts[i].first;
            Ends ends{false, {}};
            for (; i < texts.size() && texts[i].first == text; i++) {
                ends.stops |= texts[i].second.stops;
                ends.exponents.insert(ends.exponents.end(), texts[i].second.exponents.begin(), texts[i].second.exponents.end());
            }
            std::sort(ends.exponents.begin(), ends.exponents.end());
            ends.exponents.erase(std::unique(ends.exponents.begin(), ends.exponents.end()), ends.exponents.end());
            const size_t same = size_t(std::mismatch(last.begin(), last.end(), text.begin(), text.end()).first - last.begin());
            close(path, last, same);
            for (size_t place = same; place < text.size(); place++) path.push_back(opened(path.back(), text[place]));
            path.back().ends = path.back().zeros = number(ends);
            last = text;
        }
        close(path, last, 0);
        return std::move(path[0].edges);
    }
    static Open opened(const Open& before, char c) {
        Open o;
        o.decimal = before.decimal || c == '.';
        if (c == '.') o.zeros = before.ends;
        if (before.decimal && c == '0') o.ends = o.zeros = before.zeros;
        return o;
    }
    // Finishes the states beyond so many characters.
    void close(std::vector<Open>& path, const std::string& text, size_t length) {
        while (path.size() > length + 1) {
            Open done = std::move(path.back());
            path.pop_back();
            const uint8_t byte = uint8_t(text[path.size() - 1]);
            path.back().edges.push_back({byte, finished(done)});
        }
    }
    uint32_t finished(Open& done) {
        const auto names = [&](uint8_t byte) {
            return std::any_of(done.edges.begin(), done.edges.end(), [&](auto& e) { return e.byte == byte; });
        };
        if (!done.decimal && done.ends && !names('.')) {
            const uint32_t point = state(false, {{'0', zeros(done.ends)}});
            done.edges.push_back({'.', point});
        } else if (done.decimal && done.zeros && !names('0')) {
            done.edges.push_back({'0', zeros(done.zeros)});
        }
        exponent(done.edges, done.ends);
        return state(ends_of_[done.ends].stops, std::move(done.edges));
    }
    // Zeros behind the last decimal that matters.
    uint32_t zeros(uint32_t ends) {
        auto [it, is_new] = loops_.try_emplace(ends, 0);
        if (is_new) {
            const uint32_t loop = it->second = fresh(ends_of_[ends].stops, {});
            Edges edges{{'0', loop}};
            exponent(edges, ends);
            graph_.edges[loop] = std::move(edges);
            return loop;
        }
        return it->second;
    }
    // Adds the edges to `e`, its sign and one of the exponents, zeros in front.
    void exponent(Edges& edges, uint32_t ends) {
        if (ends_of_[ends].exponents.empty()) return;
        auto [it, is_new] = tails_.try_emplace(ends_of_[ends].exponents, 0);
        if (is_new) {
            std::vector<std::string> up, down;
            for (int32_t e : ends_of_[ends].exponents) {
                if (e >= 0) up.push_back(std::to_string(e));
                if (e <= 0) down.push_back(std::to_string(-e));
            }
            Edges after = powers(std::move(up));
            if (!after.empty()) {
                const uint32_t plus = state(false, after);
                after.push_back({'+', plus});
            }
            Edges below = powers(std::move(down));
            if (!below.empty()) {
                const uint32_t minus = state(false, std::move(below));
                after.push_back({'-', minus});
            }
            it->second = state(false, std::move(after));
        }
        edges.push_back({'E', it->second}), edges.push_back({'e', it->second});
    }
    Edges powers(std::vector<std::string> texts) {
        if (texts.empty()) return {};
        const bool zero = std::find(texts.begin(), texts.end(), "0") != texts.end();
        texts.erase(std::remove(texts.begin(), texts.end(), "0"), texts.end());
        std::sort(texts.begin(), texts.end());
        texts.push_back("");
        struct Step {
            Edges edges;
            bool accepting;
        };
        std::vector<Step> path{{{}, false}};
        std::string last;
        for (const std::string& text : texts) {
            const size_t same = size_t(std::mismatch(last.begin(), last.end(), text.begin(), text.end()).first - last.begin());
            while (path.size() > same + 1) {
                Step done = std::move(path.back());
                path.pop_back();
                const uint8_t byte = uint8_t(last[path.size() - 1]);
                path.back().edges.push_back({byte, state(done.accepting, std::move(done.edges))});
            }
            path.resize(text.size() + 1, {{}, false});
            path.back().accepting = !text.empty();
            last = text;
        }
        const uint32_t loop = fresh(zero, {});
        Edges edges = std::move(path[0].edges);
        edges.push_back({'0', loop});
        graph_.edges[loop] = edges;
        return edges;
    }

    TextGraph graph_;
    Interner states_;                // accepting, and bytes and targets of the edges
    std::vector<uint32_t> numbers_;  // by number in `states_`
    std::vector<uint32_t> key_;
    std::vector<Ends> ends_of_;
    std::map<Ends, uint32_t> numbers_of_;
    std::map<uint32_t, uint32_t> loops_;
    std::map<std::vector<int32_t>, uint32_t> tails_;
};

}  // namespace

std::vector<TextGraph> listed_numbers(const std::vector<std::string>& literals, size_t most, uint64_t longest) {
    std::vector<Decimal> numbers;
    numbers.reserve(literals.size());
    for (const std::string& text : literals) numbers.push_back(Decimal::read(text, longest));
    std::sort(numbers.begin(), numbers.end());  // neighbours share what they begin with
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    std::vector<TextGraph> graphs;
    for (size_t i = 0; i < numbers.size();) {
        Automaton::Texts sides[2];
        for (size_t size = 0; i < numbers.size() && size <= most; i++) {
            const Decimal& n = numbers[i];
            const std::string shown = plain(n), short_form = mantissa(n);
            size += shown.size() + short_form.size();
            for (int side = 0; side < 2; side++) {
                if (!n.digits.empty() && n.negative != bool(side)) continue;  // 0 may be written -0
                sides[side].push_back({shown, {true, {}}});
                if (!short_form.empty()) sides[side].push_back({short_form, {false, {int32_t(n.exponent)}}});
            }
        }
        graphs.push_back(Automaton().whole(sides));
    }
    return graphs;
}

}  // namespace derivable
