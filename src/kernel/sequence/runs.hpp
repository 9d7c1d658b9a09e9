// Runs of the matcher's automaton: parses along bytes, along tokens, and along all tokens of the vocabulary at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automata/transducer.hpp"
#include "sequence/lexeme_bounds.hpp"
#include "sequence/lexemes.hpp"
#include "sequence/run_table.hpp"
#include "sequence/stepper.hpp"
#include "sequence/unique_items.hpp"
#include "support/byte_set.hpp"
#include "support/task.hpp"
#include "tokens/vocabulary.hpp"

namespace derivable {

class Runs {
  public:
    // `lookahead`: lexemes that may end inside a token (DOMINO's k).
    Runs(const Engine& engine, Lexemes& lexemes, Stepper& stepper, UniqueItems& unique_items, const Vocabulary& vocabulary,
         uint64_t lookahead)
        : engine_(engine),
          lexemes_(lexemes),
          stepper_(stepper),
          unique_items_(unique_items),
          vocabulary_(vocabulary),
          lookahead_(lookahead),
          bounds_(engine, lexemes, stepper) {}

    // One byte further; an empty result means the byte is not allowed. `in_order`: as Stepper::step.
    void step(const Parses& from, uint8_t byte, Parses& to, bool in_order = false) {
        to.clear();
        stepper_.step(from, byte, to, &to, unique_items_.keep(), in_order);
    }
    // All bytes of a text; false, and no parses, if some byte is not allowed. `to` is empty before. Where lexemes are bounded the text counts as the fewest
    // tokens that spell it.
    bool advance(const Parses& from, std::string_view bytes, Parses& to);
    // How often a refused advance(), or a mask made byte by byte, got further than before. It is gone on with.
    uint64_t times_further() const { return times_further_; }
    void note_further() { times_further_++; }
    void forget_halted() { halted_.clear(); }
    // Calls visit(parse) for those that it has.
    template <class Visit>
    void each_halted(Visit visit) const {
        for (const Halted& halted : halted_)
            for (const Parses* parses : {&halted.from, &halted.now})
                for (const Parse& t : *parses) visit(t);
    }
    // As advance(), for the bytes of one token, which may be limited by the lookahead, and by bounds of lexemes.
    bool advance_token(const Parses& from, std::string_view bytes, Parses& to);
    // One token further, taken as a terminal (a TokenReference); adds to `to`.
    void step_token(const Parses& from, uint32_t token, Parses& to);
    // Some token may be taken as a terminal here.
    bool names_token(const Parses& parses);
    // The text may end.
    bool accepting(const Parses& parses);
    // As Stepper::lexer_states.
    std::vector<LexState> lexer_states(const Parses& parses) { return stepper_.lexer_states(parses); }
    // As Stepper::likely_bytes.
    ByteSet likely_bytes(const std::vector<LexState>& lexer_states) { return stepper_.likely_bytes(lexer_states); }
    UniqueItems& unique_items() { return unique_items_; }
    LexemeBounds& bounds() { return bounds_; }
    // Bytes that may follow, as 256 bits.
    std::array<uint64_t, 4> next_bytes(const Parses& parses);

    using Layers = RunTable::Layers;
    // path[depth + 1]: the parses after one byte more than path[depth]; false if there are none.
    bool step_path(std::vector<Layers>& path, size_t depth, uint8_t byte);
    // How far each_token() has got.
    struct Place {
        uint32_t next = 0;         // node of the vocabulary's trie
        std::vector<Layers> path;  // [d]: before the byte of depth d on the way there; nothing yet: only the parses themselves
    };
    // Calls visit(token) for every token of text that the parses allow, until it says no; from a place on, which is moved on.
    template <typename Visit>
    void each_token(const Parses& parses, Place& at, Visit&& visit) {
        each_token_with_parses(parses, at, false, all, [&](uint32_t token, uint64_t, const Layers&) { return visit(token); });
    }
    // Calls judge(parses) for all to which tokens of text lead, each once or so, and visit(token, what it said) for each of these tokens, until that says no.
    // The parses are empty where bounds of lexemes refuse the token. wants(node): of the vocabulary's trie, that its tokens are to be looked at.
    template <typename Wants, typename Judge, typename Visit>
    void judge_tokens(const Parses& parses, Wants&& wants, Judge&& judge, Visit&& visit);
    static bool all(uint32_t) { return true; }
    // A token ends here: parses whose bounds of lexemes it breaks are left out.
    void end_token(Parses& parses);
    static constexpr uint32_t kRoot = ~0u;  // above all nodes of a trie
    // Where a text that is decoded stands: the number of the parses behind what was decoded, these parses, and the state of the transducer.
    struct Decoded {
        uint64_t number;
        const Parses& parses;
        Transducer::State state;
    };
    // Goes along what is below some nodes of a trie as far as the parses allow, and `wants(node)`; calls visit(node, where). Not with a lookahead.
    template <typename Wants, typename Visit>
    void each_node_below(const Parses& parses, const Trie& trie, const std::vector<uint32_t>& roots, const Transducer& transducer,
                         Transducer::State from, Wants&& wants, Visit&& visit);

  private:
    // One byte after the other.
    bool step_all(const Parses& from, std::string_view bytes, Parses& to);
    // `exact`: the parses are those behind the token, also where it ends within a character.
    template <typename Wants, typename Visit>
    void each_token_with_parses(const Parses& parses, Place& at, bool exact, Wants&& wants, Visit&& visit);
    void step_token_inside(const Parses& from, uint32_t token, Parses& to);
    // One byte of a token further; false if it is not allowed. `first`: it is the token's first.
    bool step_layers(const Layers& from, uint8_t byte, bool first, Layers& to);

    const Engine engine_;
    Lexemes& lexemes_;
    Stepper& stepper_;
    UniqueItems& unique_items_;
    const Vocabulary& vocabulary_;
    const uint64_t lookahead_;
    struct Halted {
        Parses from, now;
        std::string read;  // between them
    };
    LexemeBounds bounds_;
    std::deque<Halted> halted_;  // the last one first
    uint64_t times_further_ = 0;
};

template <typename Wants, typename Visit>
void Runs::each_token_with_parses(const Parses& parses, Place& at, bool exact, Wants&& wants, Visit&& visit) {
    const Trie& trie = vocabulary_.trie;
    RunTable table;
    std::vector<uint32_t> path;
    if (at.path.empty()) at.path.push_back({parses});
    for (const Layers& layers : at.path) path.push_back(table.place_of(layers));
    struct Leave {  // refused or not
        Place& at;
        const RunTable& table;
        const std::vector<uint32_t>& path;
        ~Leave() {
            at.path.clear();
            try {
                for (uint32_t place : path)
                    if (place != RunTable::kNowhere) at.path.push_back(table[place]);
            } catch (const std::bad_alloc&) { at = {}; }
        }
    } leave{at, table, path};
    auto step = [&](uint32_t place, uint8_t byte, bool first) {
        return table.step(place, byte, first, [&](const Layers& from, Layers& to) { return step_layers(from, byte, first, to); });
    };
    uint32_t times_forgotten = 0;
    auto enter = [&](uint32_t node) {
        const size_t depth = trie.depth[node];
        path.resize(depth + 1);
        if (table.is_full()) table.forget(path), times_forgotten++;
        path.push_back(step(path[depth], trie.byte[node], depth == 0));
        return path.back() != RunTable::kNowhere;
    };
    // Whatever is below a node leads back to where its byte has led, character by character. PERF: of a mask of `format: "regex"` behind a letter,
    // 4.5 ms, most was going through the rest of words.
    auto stays = [&](uint32_t node) {
        constexpr uint32_t kWorthAsking = 32;  // nodes
        constexpr uint64_t kMore = 1ULL << byte_kind(0x80);
        uint64_t kinds = trie.below[node];
        if (exact && kinds & ~(kMore - 1)) return false;
        if (trie.end[node] - node < kWorthAsking || (kinds & ~(kMore - 1) && !(trie.well_formed[node] >> kBetween & 1))) return false;
        return table.stays(path.back(), kinds & ~kMore, [&](uint32_t place, uint8_t byte) { return step(place, byte, false); });
    };
    while (at.next < trie.size()) {
        work(2);
        engine_.access.pass();
        if (!wants(at.next) || !enter(at.next)) {
            at.next = trie.end[at.next];
            continue;
        }
        const uint32_t node = at.next, behind = stays(node) ? trie.end[node] : node + 1;
        work((trie.token_begin[behind] - trie.token_begin[node]) / 4);
        at.next = behind;  // SAFETY: what counts before may be refused
        for (uint32_t k = trie.token_begin[node]; k < trie.token_begin[behind]; k++)
            if (!visit(trie.tokens[k], pack(times_forgotten, path.back()), table[path.back()])) return;
    }
}

template <typename Wants, typename Judge, typename Visit>
void Runs::judge_tokens(const Parses& parses, Wants&& wants, Judge&& judge, Visit&& visit) {
    using Verdict = decltype(judge(std::declval<Parses&>()));
    std::unordered_map<uint64_t, Verdict> verdicts;  // by the number of the parses behind a token
    std::optional<uint64_t> last;
    Verdict* verdict = nullptr;  // on the last one
    Place at;
    each_token_with_parses(parses, at, true, wants, [&](uint32_t token, uint64_t number, const Layers& layers) {
        if (last == number) return visit(token, *verdict);
        auto known = verdicts.find(number);
        if (known == verdicts.end()) {
            Parses behind;
            for (const Parses& layer : layers) behind.insert(behind.end(), layer.begin(), layer.end());
            end_token(behind);
            known = verdicts.emplace(number, judge(behind)).first;
        }
        last = number, verdict = &known->second;
        return visit(token, *verdict);
    });
}

template <typename Wants, typename Visit>
void Runs::each_node_below(const Parses& parses, const Trie& trie, const std::vector<uint32_t>& roots, const Transducer& transducer,
                           Transducer::State from, Wants&& wants, Visit&& visit) {
    RunTable table;
    std::vector<uint32_t> path{table.place_of({parses})};
    std::vector<Transducer::State> states{from};  // along it
    uint32_t times_forgotten = 0;
    const auto step_all = [&](uint32_t place, std::string_view bytes) {
        for (char c : bytes) {
            if (place == RunTable::kNowhere) break;
            place = table.step(place, uint8_t(c), false, [&](const Layers& before, Layers& to) {
                to.resize(1);
                step(before[0], uint8_t(c), to[0]);
                return !to[0].empty();
            });
        }
        return place;
    };
    for (uint32_t root : roots) {
        const size_t above = root == kRoot ? 0 : size_t(trie.depth[root]) + 1;
        const uint32_t end = root == kRoot ? trie.size() : trie.end[root];
        for (uint32_t node = root + 1; node < end;) {  // kRoot + 1 is 0
            work(2);
            engine_.access.pass();
            const size_t depth = trie.depth[node] - above;
            path.resize(depth + 1), states.resize(depth + 1);
            if (table.is_full()) table.forget(path), times_forgotten++;
            const Transducer::Step next = wants(node) ? transducer.step(states.back(), trie.byte[node]) : Transducer::Step();
            const uint32_t place = next.next == Transducer::kNone ? RunTable::kNowhere : step_all(path.back(), transducer.output(next));
            if (place == RunTable::kNowhere) {
                node = trie.end[node];
                continue;
            }
            path.push_back(place), states.push_back(next.next);
            visit(node, Decoded{pack(times_forgotten, place), table[place][0], next.next});
            node++;
        }
    }
}

}  // namespace derivable
