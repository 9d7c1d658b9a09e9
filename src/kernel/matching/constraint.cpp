#include "matching/constraint.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "matching/prewarm.hpp"
#include "support/archive.hpp"
#include "support/errors.hpp"
#include "support/packed.hpp"
#include "support/task.hpp"

namespace derivable {

Constraint::Constraint(std::shared_ptr<const Vocabulary> vocabulary, std::shared_ptr<Spanner> spanner, ConstraintSpec spec)
    : image_(std::move(spec.splits)),
      vocabulary_(std::move(vocabulary)),
      spanner_(std::move(spanner)),
      limits_(spec.limits),
      lr_(std::move(spec.productions)),
      stacks_(lr_),
      environments_(std::move(spec.indentation), std::move(spec.tallies)),
      slots_(std::move(spec.meaning), spec.slots, spec.layout),
      access_(*spanner_, limits_.cache_bytes, [this] { return wants_collection(); }),
      liveness_(spanner_->lexer, stacks_, terminals_.all_to_lexer(), terminals_.all_ignored(), limits_.max_liveness_steps),
      engine_{access_, *spanner_, stacks_, liveness_, terminals_, environments_, slots_},
      lexemes_(engine_),
      stepper_(engine_, lexemes_, limits_.max_parses),
      unique_items_(access_, stacks_, stepper_, limits_.max_liveness_steps),
      runs_(engine_, lexemes_, stepper_, unique_items_, *vocabulary_, limits_.lookahead),
      masks_(engine_, lexemes_, runs_, *vocabulary_, limits_.lookahead, limits_.cache_bytes, serial, limits_.accelerators),
      text_ends_(engine_, lexemes_, runs_),
      witnesses_(engine_, lexemes_, runs_, *vocabulary_, limits_.lookahead),
      budget_masks_(engine_, lexemes_, runs_, masks_, *vocabulary_, witnesses_) {
    Operation all(access_, Task::kUnbounded);
    Lexer& lexer = access_.lexer();
    for (TerminalSpec& terminal : spec.terminals)
        if (terminal.recognizer.counts_rounds() && lexer.policy() == Policy::kScannerless) {  // only there states are alike
            terminal.recognizer = terminal.recognizer.copy();
            terminal.recognizer.bound_rounds([this](CountingAutomaton& round) { return spanner_->most_rounds(round); });
        }
    for (const auto& language : spec.languages) language->set_around(access_);
    terminals_.add(lexer, std::move(spec.terminals), std::move(spec.references), spec.distinct, std::move(spec.languages), spec.slots);
    // SAFETY: not under scannerless, where the lexer has other grammars' terminals, and nothing is asked of liveness.
    if (!spec.slots.empty() && lexer.policy() != Policy::kScannerless) {
        std::vector<Symbol> others;
        for (const Slot& slot : spec.slots)
            if (slot.symbol != slot.base) others.push_back(slot.symbol);
        liveness_.set_alike(others);
    }
    slots_.set_possible(
        [this](Symbol slot, const NameSetRef& names) { return possible_names_.of(access_.lexer(), terminals_.to_lexer(slot), names); });
    runs_.bounds().prepare();
    if (environments_.tallies.active()) prepare_tallies();
    if (environments_.indentations.active()) {
        const IndentationSpec& indentation = environments_.indentations.spec;
        terminals_.compete_everywhere(indentation.newline);
        liveness_.set_indentation(indentation);
        const TerminalId newline = terminals_.to_lexer(indentation.newline);
        spanner_->prospects.set_newline(environments_.indentations, newline, !lexemes_.blocks().newline_goes_on(newline));
    }
    if (lexer.policy() != Policy::kScannerless)
        spanner_->prospects.set_always_alive([this](LexState s) { return liveness_.always_alive(s); });
    if (slots_.active() && lexer.policy() != Policy::kScannerless)
        spanner_->prospects.set_unwanted([this](TerminalId t) { return terminals_.is_of_slots(t); });
    if (!image_.is_empty()) restore_splits();
    initial_ = {{lexemes_.between(stacks_.bottom(), kNoEnvironment), stacks_.bottom()}};
    if (!lexemes_.alive(initial_[0]) && !lexemes_.may_end(initial_[0]).value)
        throw BadGrammar("under longest match no text at all is in the language: some lexeme always swallows the next one",
                         "Separate lexemes that can run together, for example with an ignored white space terminal.");
    if (slots_.active()) begin_names();
    if (lexer.policy() != Policy::kScannerless) prepare(!image_.is_empty());
    else prepare_walks();
    all.forget_bytes();  // counted by who compiles
}

// Where nothing keeps lexemes apart, that is known of lexemes, and not of the place before the first one.
bool Constraint::is_always_alive(LexState first) {
    if (liveness_.always_alive(first)) return true;
    Lexer& lexer = access_.lexer();
    const std::vector<uint8_t>& bytes = lexer.kinds.representatives();
    return std::all_of(bytes.begin(), bytes.end(), [&](uint8_t byte) {
        const LexState next = lexer.step(first, byte);
        return next == kNoState || liveness_.always_alive(next);
    });
}

// SAFETY: names are asked for while the constraint is made.
void Constraint::begin_names() {
    if (access_.lexer().policy() != Policy::kScannerless && !is_always_alive(initial_[0].lex))
        throw Unsupported("meaning",
                          "under longest match, a grammar whose lexemes can run together has no slots: whether a text can be "
                          "completed would depend on the names");
    stacks_.collect_rarely();  // masks of names
    initial_[0].meaning = slots_.start();
    const Parse first = initial_[0];
    lexemes_.names(first, first.lex, ByteSet::all(), [&](Parse name) { initial_.push_back(std::move(name)); });
}

// What every text needs, rather now than in the middle of one. Where splits were restored there is little left to be done for the others.
void Constraint::prepare(bool restored) {
    constexpr uint64_t kWorthwhile = 10;  // steps
    constexpr size_t kManyTerminals = 32;
    try {
        Task task(std::min(limits_.max_step_work, Task::kUnbounded / kWorthwhile) * kWorthwhile);
        task.enter();
        liveness_.prepare();
        masks_.row(initial_[0]);
        if (!restored && spanner_->lexer.policy() == Policy::kLongest && terminals_.size() > kManyTerminals)
            prewarm(spanner_->lexer, stacks_, terminals_, environments_, lexemes_, runs_, masks_);
    } catch (const LimitExceeded&) {  // will be met again where it matters
    }
    masks_.counters = {};
}

// PERF: of a vocabulary, once: the first mask in a string of bounded length took 3.5 ms, and one in `[0-9]{8}` 1 ms more (llama-3).
void Constraint::prepare_walks() {
    const Lexer& lexer = access_.lexer();
    const std::vector<TerminalId>& all = terminals_.all_to_lexer();
    for (auto t = all.begin() + 1; t < all.end(); ++t) {
        const Recognizer& recognizer = lexer.automata.recognizer(*t);
        if (const JsonStrings* s = recognizer.strings(); s && s->is_bounded() && !s->counted_values())
            spanner_->counted_strings(s->escapes());
    }
    spanner_->stretches();
}

// In one token as many members end as there are bytes that each of them needs, and the one that was in progress.
void Constraint::prepare_tallies() {
    constexpr uint64_t kAny = 1u << 16;
    ByteSet needed;
    uint64_t most = 1;
    environments_.tallies.each_counting([&](Symbol symbol) {
        const std::optional<uint8_t> byte = access_.lexer().automata.recognizer(terminals_.to_lexer(symbol)).needed_byte();
        if (byte) needed.set(*byte);
        else most = kAny;
    });
    needed.each([&](uint8_t byte) { most += spanner_->most_in_token(byte); });
    environments_.tallies.set_most_at_once(most);
}

void Constraint::archive_splits(Archive& a) {
    Spanner::Numbers numbers;
    lr_.archive(a);
    stacks_.archive(a);
    spanner_->archive(a, numbers);
    liveness_.archive(a);
    masks_.maker().archive(a, numbers);
}

void Constraint::restore_splits() {
    if (spanner_->lexer.policy() == Policy::kScannerless) throw BadArtifact("its index is of another kind of lexer");
    Archive archive(image_);
    archive_splits(archive);
    archive.in().check_at_end();
}

std::string Constraint::saved_splits() {
    Operation all(access_, Task::kUnbounded);
    if (access_.lexer().policy() == Policy::kScannerless) return {};
    Archive archive;
    archive_splits(archive);
    return archive.out().bytes();
}

uint64_t Constraint::content() {
    Operation all(access_, Task::kUnbounded);
    access_.take();
    PackedWriter out;
    Productions& productions = lr_.productions();
    out.put(uint64_t(access_.lexer().policy()));
    for (uint32_t i = 0; i < productions.size(); i++) {
        out.put(productions[i].head), out.put(productions[i].body.size());
        for (Symbol s : productions[i].body) out.put(s);
    }
    for (Symbol s = 0; s < productions.num_symbols(); s++) {
        out.put(productions.units(s).size());
        for (Symbol unit : productions.units(s)) out.put(unit);
    }
    for (Symbol s = 1; s < terminals_.size(); s++) out.text(access_.lexer().automata.recognizer(terminals_.to_lexer(s)).content());
    return checksum(out.bytes().data(), out.bytes().size());
}

bool Constraint::can_begin() {
    Operation all(access_, Task::kUnbounded);
    return masks_.allows_some(initial_);
}

Stats Constraint::stats() {
    Operation all(access_, Task::kUnbounded);
    access_.take();
    Stats s;
    s.counters = masks_.counters;
    s.run_bytes = access_.run_bytes();
    s.rows = masks_.cache().size();
    s.row_bytes = masks_.cache().bytes() + masks_.maker().bytes();
    s.lr_states = lr_.num_states();
    s.stack_nodes = stacks_.num_live();
    s.spanner_bytes = spanner_->bytes();
    s.separable =
        spanner_->lexer.policy() == Policy::kScannerless || liveness_.always_alive(lexemes_.between(stacks_.bottom(), kNoEnvironment));
    return s;
}

AcceleratorUses Constraint::uses() {
    Operation all(access_, Task::kUnbounded);
    access_.take();
    AcceleratorUses uses = masks_.counters.uses;
    for (size_t i = 0; i < uses.size(); i++) uses[i] += spanner_->uses()[i];
    return uses;
}

void Constraint::collect_if_needed() {
    places.clear_left(moments);
    unique_items_.forget_if_many();
    if (access_.is_suspended()) return;  // they refer to stack nodes
    if (access_.uses_too_much()) give_back();
    if (wants_collection()) collect();
}

void Constraint::collect() {
    // Not a part of it can be done alone.
    Task whole(Task::kUnbounded);
    whole.enter();
    Tallies& tallies = environments_.tallies;
    const bool with_tallies = tallies.wants_collection(), with_slots = slots_.wants_collection();
    if (with_tallies) {
        tallies.begin_collection();
        masks_.maker().each_partial([&](const Parse& t) { tallies.mark(t.environment); });
        runs_.each_halted([&](const Parse& t) { tallies.mark(t.environment); });
    }
    if (with_slots) {
        const auto mark = [&](const Parse& t) { slots_.mark(t.meaning, t.slot); };
        slots_.begin_collection();
        masks_.maker().each_partial(mark);
        runs_.each_halted(mark);
        for (const Parse& t : initial_) mark(t);
    }
    num_collections_++;
    stacks_.collect([&](const std::function<void(Frontier)>& mark) {
        for (const Parse& t : initial_) mark(t.stack);
        masks_.maker().each_partial([&](const Parse& t) { mark(t.stack); });
        runs_.each_halted([&](const Parse& t) { mark(t.stack); });
        places.each([&](const Moment* now) {
            for (const Moment* h = now; h && h->collection != num_collections_; h = h->before) {
                h->collection = num_collections_;
                for (const Parse& t : h->parses) {
                    mark(t.stack);
                    if (with_tallies) tallies.mark(t.environment);
                    if (with_slots) slots_.mark(t.meaning, t.slot);
                }
            }
        });
    });
    if (with_tallies) tallies.finish_collection();
    if (with_slots) slots_.finish_collection();
}

// All that is not a place of a matcher: masks, splits, what is known about stacks, and the LR states that no stack has any more. The states that are
// left are numbered anew, in their order; then everything is found again where it is asked for.
void Constraint::give_back() {
    if (access_.is_suspended()) return;
    masks_.give_back();
    runs_.forget_halted();
    environments_.tallies.want_collection();
    slots_.want_collection();
    collect();
    stacks_.forget_states();
    if (spanner_->lexer.policy() != Policy::kScannerless) {
        spanner_->forget();
        spanner_->discarded.some(~size_t(0));
    }
    for (const auto& language : terminals_.languages()) language->give_back();
    access_.note_given_back();
}

}  // namespace derivable
