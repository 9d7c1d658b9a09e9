// Names that exist: what may stand in a slot of the grammar, a marked terminal, depends on what was written before (`derivable.meaning`).
//
// To the parser a slot is a terminal like any other, and to the lexer, too: it competes for the longest match. But its lexeme counts only if it is one
// of the names that there are at this place. So a lexeme that may be one is followed twice: by a parse in which it is none (there slots are not among
// the symbols, Terminals::of), and by one in which it is one and nothing else, which remembers what was written of it.
//
// What was read is a state of the meaning. It belongs to the parse, as columns and tallies do, and no mask of a parse depends on it but by the names.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lexing/name_sets.hpp"
#include "parsing/productions.hpp"
#include "sequence/environment.hpp"
#include "support/hashing.hpp"

namespace derivable {

// What was read, to whoever says what names there are. Calls may throw; then the operation is refused.
class Meaning {
  public:
    using State = uint32_t;
    static constexpr State kNone = 0;  // also a veto
    // Behind whatever names: any text is one everywhere, and none is refused. Plus what the names that were read since may add to what is missing, in bytes.
    static constexpr State kAny = 1u << 30;
    static bool is_any(State state) { return state >> 30 == 1; }
    virtual ~Meaning() = default;
    virtual State start() = 0;
    virtual NameSetRef names(State state, Symbol slot) = 0;  // null: none
    virtual State read(State state, Symbol slot, std::string_view text) = 0;
    virtual bool is_free(Symbol slot) = 0;  // read() takes all names that there are
    virtual bool may_end(State state) = 0;
    // Texts that may have to be written, beside what the grammar asks for, until it lets the text end; none: that is not known. And what one name may add
    // to them, beside itself.
    virtual std::optional<std::vector<std::string>> missing(State state) = 0;
    virtual std::vector<std::string> growth(Symbol slot) = 0;
    // Bytes of the shortest name that there may be, and the names that it may be, if they are known.
    virtual std::pair<uint32_t, std::vector<std::string>> longest(Symbol slot) = 0;
    // A state as bytes, and the state of bytes that somebody else may have written.
    virtual std::string written(State state) = 0;
    virtual State restored(std::string_view bytes) = 0;
    // No other states are asked about from here on, and their numbers may be used again.
    virtual void keep(const std::vector<State>& states) = 0;
};

// Lexemes of slots that are in progress, and what is known of the meaning. SAFETY: guarded by the constraint's lock.
class Slots {
  public:
    using Place = uint32_t;  // in a lexeme of a slot; none: kNone
    static constexpr Place kNone = 0;
    using Texts = std::vector<std::string>;

    // `layout`: newline, INDENT and DEDENT, where they are slots, else kEnd. They have no names; the meaning is told of them.
    using Layout = std::array<Symbol, 3>;
    template <class All>
    Slots(std::shared_ptr<Meaning> meaning, const All& slots, const Layout& layout) : meaning_(std::move(meaning)) {
        for (const auto& slot : slots) {
            symbols_.push_back(slot.symbol);
            is_free_.resize(std::max<size_t>(is_free_.size(), slot.symbol + 1));
            is_free_[slot.symbol] = meaning_->is_free(slot.symbol);
        }
        for (size_t i = 0; i < layout.size(); i++)
            if (layout[i] != kEnd) {
                is_free_.resize(std::max<size_t>(is_free_.size(), layout[i] + 1));
                is_free_[layout[i]] = true;
                layout_[i] = root(layout[i], nullptr);
            }
    }

    bool active() const { return meaning_ != nullptr; }
    // What of some names may stand in a slot; null: none.
    void set_possible(std::function<NameSetRef(Symbol, const NameSetRef&)> possible) { possible_ = std::move(possible); }
    const std::vector<Symbol>& symbols() const { return symbols_; }
    Meaning::State start() { return active() ? meaning_->start() : Meaning::kNone; }
    // Before a lexeme of a slot. kNone: there are no names.
    Place begin(Meaning::State state, Symbol slot);
    Place step(Place place, uint8_t byte);
    // For who goes through many names: the names, where in them a place is, and the place some text further.
    NameSet& names(Place place) const { return *roots_[places_[place].root].names; }
    NameSet::Node node(Place place) const { return places_[place].node; }
    Place further(Place place, std::string_view text) {
        for (char c : text) place = place == kNone ? kNone : step(place, uint8_t(c));
        return place;
    }
    Symbol symbol(Place place) const { return roots_[places_[place].root].slot; }
    std::vector<std::string> rests(Place place, size_t most) const { return names(place).rests(node(place), most); }
    std::pair<uint32_t, Texts> longest(Symbol slot) { return meaning_->longest(slot); }
    bool is_name(Place place) const { return names(place).is_name(node(place)); }
    // Behind a name. kNone: it is not allowed.
    //
    // PERF: behind a free name it is asked for when somebody needs it: any text may stand for an alias, and of tokens that end one there are thousands.
    Meaning::State read(Meaning::State state, Place name);
    bool may_end(Meaning::State state);
    // Behind what a newline lexeme gave the parser.
    Meaning::State read_line_end(Meaning::State state, LineEnd end);

    // What the meaning still asks for; null: that is not known.
    const Texts* missing(Meaning::State state);
    // What the names add that were read since any may stand, in bytes. None: more than is counted.
    static std::optional<size_t> added_to(Meaning::State any) {
        const size_t added = any - Meaning::kAny;
        return added < kMostAdded ? std::optional(added) : std::nullopt;
    }
    const Texts& growth(Symbol slot) {
        auto known = growth_.find(slot);
        if (known == growth_.end()) known = growth_.emplace(slot, meaning_->growth(slot)).first;
        return known->second;
    }
    std::string written(Meaning::State state) { return meaning_->written(settled(state)); }
    Meaning::State restored(std::string_view bytes) { return meaning_->restored(bytes); }
    std::string text(Place place) const;
    bool is_at_start(Place place) const { return places_[place].parent == kNone; }

    // What was asked of a state and of those behind it: names that there are in some slots, and names that were read.
    struct Asked {
        struct Read {
            uint32_t from, to;  // of `begun`; `to` is kVeto where it was refused
            Place name;
        };
        static constexpr uint32_t kVeto = ~0u;
        Meaning::State state;
        std::vector<std::vector<std::pair<Symbol, Place>>> begun;  // of the state first
        std::vector<Read> reads;
    };
    // Takes down what is asked from here on, whoever asks, until it is finished.
    class Recording {
      public:
        Recording(Slots& slots, Meaning::State state) : slots_(slots), state_(state) { slots_.recordings_.push_back(this); }
        ~Recording() { slots_.recordings_.erase(std::find(slots_.recordings_.begin(), slots_.recordings_.end(), this)); }
        Recording(const Recording&) = delete;
        Recording& operator=(const Recording&) = delete;
        void add(Meaning::State from, Place name, Meaning::State to) {
            if (known_.insert(pack(from, name)).second) reads_.push_back({from, name, to});
        }
        void add_begun(Meaning::State state, Symbol slot, Place place) {
            std::vector<std::pair<Symbol, Place>>& of_state = begun_[state];
            const auto is_it = [&](const auto& b) { return b.first == slot; };
            if (std::none_of(of_state.begin(), of_state.end(), is_it)) of_state.emplace_back(slot, place);
        }
        Asked finish() const;

      private:
        struct Read {
            Meaning::State from;
            Place name;
            Meaning::State to;
        };
        Slots& slots_;
        const Meaning::State state_;
        std::vector<Read> reads_;
        std::unordered_set<uint64_t> known_;
        std::unordered_map<Meaning::State, std::vector<std::pair<Symbol, Place>>> begun_;
    };
    // The same was answered, or would be, but for names that do not matter, of which `matters` is asked: no text with that in it is read. Asks again, and
    // of no slot but those that were asked for then, so that who records this takes down the same.
    template <class Matters>
    bool answers(Meaning::State state, const Asked& asked, Matters matters);

    // As Tallies: places and states that nobody is at are forgotten.
    bool wants_collection() const { return num_known_ > collect_at_; }
    void want_collection() { collect_at_ = 0; }
    void begin_collection() { marked_states_.clear(), marked_places_.clear(); }
    void mark(Meaning::State state, Place place);
    void finish_collection();

  private:
    struct Root {
        Symbol slot = kEnd;
        NameSetRef names;
    };
    // PERF: 24 bytes, and 12 to 24 of `steps_`. A text in its stead, and a table by texts, took several times that, and walks through llama-3's vocabulary make
    // a million of them: the limit on memory was met after 25 programs of Python.
    struct At {
        uint32_t root = 0;
        Place parent = kNone;  // a byte before
        NameSet::Node node = NameSet::kRoot;
        uint8_t byte = 0;
    };
    static constexpr size_t kMostAdded = size_t(1) << 16;
    bool is_any(Place place) const { return roots_[places_[place].root].names == any_; }
    Meaning::State read_any(Meaning::State state, Symbol slot);
    Place root(Symbol slot, NameSetRef names);
    Place added(At at);
    // Texts by which two sets differ, or their beginnings that no name of both has; none: that is not known.
    static std::optional<std::vector<std::string>> difference(NameSet& one, NameSet& other);
    Place names_of(Meaning::State state, Symbol slot);
    // A state that Python has, for one that was not asked for yet.
    static constexpr Meaning::State kOwed = 1u << 31;
    Meaning::State settled(Meaning::State state);
    Meaning::State read_unrecorded(Meaning::State state, Place name);
    Meaning::State read_now(Meaning::State state, Place name);

    const std::shared_ptr<Meaning> meaning_;
    const NameSetRef any_ = other_names(sorted_names({}, false), std::nullopt);
    std::function<NameSetRef(Symbol, const NameSetRef&)> possible_;
    std::vector<Symbol> symbols_;
    std::array<Place, 3> layout_{};  // kNone: no slot
    std::vector<At> places_{1};
    std::vector<Root> roots_{1};
    std::vector<Place> free_;           // of places_
    std::vector<uint32_t> free_roots_;  // of roots_
    // Of places, answers and states that are owed.
    static constexpr size_t kCollectAt = size_t(1) << 20, kAnswer = 8;  // what is held of it, in places
    size_t num_known_ = 0, collect_at_ = kCollectAt;
    std::unordered_set<Meaning::State> marked_states_;
    std::unordered_set<Place> marked_places_;
    std::unordered_map<std::vector<uint32_t>, Place, WordsHash> beginnings_;  // by slot and names
    // What was asked of the meaning. PERF: a call into Python takes a microsecond and more, and the interpreter's lock.
    FlatMap<Place> begun_;          // by state and slot
    FlatMap<Place> steps_;          // by place and byte
    FlatMap<Meaning::State> read_;  // by state and place
    FlatMap<char> may_end_;
    std::unordered_map<Meaning::State, std::optional<Texts>> missing_;
    std::unordered_map<Symbol, Texts> growth_;
    std::vector<char> is_free_;  // by symbol
    std::vector<Recording*> recordings_;
    struct Owed {
        Meaning::State before;
        Place name;
        Meaning::State state = Meaning::kNone;  // once it was asked for
    };
    std::vector<Owed> owed_;
    std::vector<uint32_t> free_owed_;       // of owed_
    FlatMap<Meaning::State> owed_numbers_;  // by state and place
};

template <class Matters>
bool Slots::answers(Meaning::State state, const Asked& asked, Matters matters) {
    if (state == asked.state && recordings_.empty()) return true;
    const auto same = [&](Meaning::State at, const std::vector<std::pair<Symbol, Place>>& begun) {
        return std::all_of(begun.begin(), begun.end(), [&](const auto& b) {
            const Place now = begin(at, b.first);
            if (now == b.second) return true;
            if (now == kNone || b.second == kNone) return false;
            const std::optional<std::vector<std::string>> texts = difference(names(now), names(b.second));
            return texts && std::none_of(texts->begin(), texts->end(), matters);
        });
    };
    if (!same(state, asked.begun[0])) return false;
    std::vector<Meaning::State> states(asked.begun.size(), Meaning::kNone);
    states[0] = state;
    for (const Asked::Read& r : asked.reads) {
        const Meaning::State next = read(states[r.from], r.name);
        if ((next == Meaning::kNone) != (r.to == Asked::kVeto)) return false;
        if (r.to == Asked::kVeto) continue;
        if (states[r.to] != Meaning::kNone && states[r.to] != next) return false;  // what was one state is two here
        if (std::exchange(states[r.to], next) == Meaning::kNone && !same(next, asked.begun[r.to])) return false;
    }
    return true;
}

}  // namespace derivable
