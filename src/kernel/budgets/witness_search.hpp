// A witness where the lexer decides how a text is cut, or what an array holds: a text is put together lexeme by lexeme and followed byte by byte, as any text is.
// Where it is refused, or read otherwise than it was meant, the next way on is tried, depth first.
//
// Most places lead to one that is known after a few bytes (`"`, behind any letter of a string), so a witness is found sooner than it is made.
#pragma once

#include <cstddef>
#include <vector>

#include "budgets/witnesses.hpp"

namespace derivable {

class WitnessSearch {
  public:
    WitnessSearch(const Engine& engine, Lexemes& lexemes, Runs& runs, Witnesses& witnesses)
        : engine_(engine),
          lexemes_(lexemes),
          runs_(runs),
          witnesses_(witnesses),
          ways_(witnesses.ways()) {}

    // Null: none was found.
    Witness run(const Parses& from);

  private:
    static constexpr size_t kMostRefused = 4096;
    using Units = WaysOn::Units;
    struct Start {
        Cost cost;
        Units units;
        Frontier stack;
        Environment environment;
        bool is_newline;
        Meaning::State meaning = Meaning::kNone;
    };
    struct Step {
        WaysOn::Boundary boundary;
        Parses parses;
        size_t length;           // of the units before it
        bool has_ended = false;  // what the meaning asks for was tried
    };
    Witness found();
    bool may_reach_end(Frontier stack);
    std::vector<Start> starts(const Parses& from, size_t most_texts);
    // That complete a lexeme.
    std::vector<std::string> texts(LexState member, size_t most);
    void add_start(std::vector<Start>& all, const Parse& t, Symbol symbol, const std::string& text, Meaning::State meaning);
    void add_name_starts(std::vector<Start>& all, const Parse& t, size_t most_texts);
    void add_inner_start(std::vector<Start>& all, const Parse& t);
    void add_newlines(std::vector<Start>& all, const Parse& t, Symbol symbol);
    bool follow(const Units& units, Parses& parses);
    const Parse* meant(const Parses& parses, const WaysOn::Boundary& from, const WaysOn::Option& option);
    void push(Parses parses, Frontier stack, Environment environment, bool after_newline, Meaning::State meaning);
    bool descend();
    // Where the grammar would let the text end, or what it wants has no name.
    bool waits_for_meaning(const WaysOn::Boundary& boundary);
    // Goes on with what the meaning asks for; false: that is nothing, or refused.
    bool end_by_meaning(const Step& step);

    const Engine engine_;
    Lexemes& lexemes_;
    Runs& runs_;
    Witnesses& witnesses_;
    WaysOn& ways_;
    Units units_;
    std::vector<std::optional<Witnesses::Key>> keys_;  // of the places before each unit, and behind the last
    std::vector<Step> steps_;
    Witness rest_;  // known, behind the units
    size_t refused_ = 0;
};

}  // namespace derivable
