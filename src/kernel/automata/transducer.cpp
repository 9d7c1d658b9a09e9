#include "automata/transducer.hpp"

#include <algorithm>
#include <map>

#include "support/errors.hpp"
#include "support/task.hpp"

namespace derivable {

Transducer::Transducer(const std::vector<std::vector<Edge>>& edges, std::vector<char> may_end, State start)
    : steps_(edges.size()),
      ways_(edges.size()),
      outputs_{""},
      may_end_(std::move(may_end)),
      start_(start) {
    const size_t states = edges.size();
    bool fits = states > 0 && states < kNone && may_end_.size() == states && start < states;
    std::map<std::string, uint16_t> numbers{{"", 0}};
    const auto number = [&](const std::string& text) {
        const auto [known, is_new] = numbers.try_emplace(text, uint16_t(outputs_.size()));
        if (is_new) outputs_.push_back(text);
        return known->second;
    };
    for (size_t s = 0; s < states && fits; s++)
        for (const Edge& e : edges[s]) {
            fits = fits && e.first <= e.last && e.next < states;
            for (uint32_t byte = e.first; byte <= e.last && fits; byte++) {
                Step& step = steps_[s][byte];
                fits = step.next == kNone && outputs_.size() < kNone;
                step = {e.next, number(e.output ? *e.output : std::string(1, char(byte)))};
                const auto same = [&](const auto& way) { return way.second.next == step.next && way.second.output == step.output; };
                if (std::none_of(ways_[s].begin(), ways_[s].end(), same)) ways_[s].emplace_back(uint8_t(byte), step);
            }
        }
    if (!fits) throw BadGrammar("a transducer is malformed", "Let each state have one step for a byte, to a state that exists.");
    find_written();
}

// A least fixed point: what is written behind a step that writes nothing is written next.
void Transducer::find_written() {
    silent_ = may_end_;
    written_.resize(num_states());
    for (bool grew = true; grew;) {
        grew = false;
        for (State s = 0; s < num_states(); s++) {
            const ByteSet before = written_[s];
            const char was_silent = silent_[s];
            for (const auto& [_, step] : ways_[s]) {
                const std::string& output = outputs_[step.output];
                if (!output.empty()) {
                    written_[s].set(uint8_t(output[0]));
                } else if (!may_end_[step.next]) {
                    for (size_t w = 0; w < 4; w++) written_[s].words[w] |= written_[step.next].words[w];
                    silent_[s] |= silent_[step.next];
                } else {
                    silent_[s] = 1;
                }
            }
            grew = grew || before.words != written_[s].words || was_silent != silent_[s];
        }
    }
}

const Transducer& Transducer::identity() {
    static const Transducer only({{{0, 255, 0, std::nullopt}}}, {1}, 0);
    return only;
}

Transducer::State Transducer::run(State s, std::string_view text, std::string& out) const {
    for (char c : text) {
        const Step step = steps_[s][uint8_t(c)];
        if (step.next == kNone) return kNone;
        out += outputs_[step.output];
        s = step.next;
    }
    return s;
}

// Breadth first over (state, what is written so far).
std::optional<std::string> Transducer::encode(State from, std::string_view decoded) const {
    struct Place {
        State state;
        size_t written, before;
        uint8_t byte;
    };
    std::vector<Place> places{{from, 0, 0, 0}};
    std::vector<char> seen(num_states() * (decoded.size() + 1), 0);
    seen[from] = 1;
    for (size_t i = 0; i < places.size(); i++) {
        const Place at = places[i];
        if (at.written == decoded.size() && may_end_[at.state]) {
            std::string text;
            for (size_t p = i; p; p = places[p].before) text.push_back(char(places[p].byte));
            std::reverse(text.begin(), text.end());
            return text;
        }
        work(ways_[at.state].size());
        for (const auto& [byte, step] : ways_[at.state]) {
            const std::string& output = outputs_[step.output];
            if (decoded.compare(at.written, output.size(), output) != 0) continue;
            const size_t written = at.written + output.size();
            char& met = seen[written * num_states() + step.next];
            if (!std::exchange(met, 1)) places.push_back({step.next, written, i, byte});
        }
    }
    return std::nullopt;
}

size_t Transducer::longest_spelling() const {
    size_t longest = 1;
    for (int c = 0; c < 0x80; c++)
        if (const std::optional<std::string> text = encode(kMain, std::string(1, char(c)))) longest = std::max(longest, text->size());
    return longest;
}

}  // namespace derivable
