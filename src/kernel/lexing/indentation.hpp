// Indentation: the newline terminal's lexemes carry a column, from which the parser gets INDENT and DEDENT (docs/lexing.md).
//
// What a parse must remember beside lexer and parser is a *indentation*: the columns of the enclosing blocks, the depth of
// brackets, and how far a newline lexeme in progress has got. Indentations are interned: equal ones have equal ids.
//
// What a piece of text does to a indentation, whichever that is, is an *effect*: the spanner sorts tokens by it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/hashing.hpp"
#include "support/packed.hpp"

namespace derivable {

struct IndentationSpec {
    uint32_t newline = 0, indent = 0, dedent = 0;  // terminal symbols; 0: no indentation
    std::vector<uint32_t> open, close;             // brackets
    uint32_t tab = 8;
    bool stops = true;           // a tab goes to the next multiple of `tab`, and must not decide anything; else it counts `tab` columns
    bool final_newline = false;  // the end of the text may stand for a newline lexeme
    uint32_t step = 0;           // columns that a block is deeper; 0: any number
};

class Indentations {
  public:
    explicit Indentations(IndentationSpec spec) : spec(std::move(spec)) {
        levels_.push_back({0, 0, 0});
        intern({});
    }

    using Id = uint32_t;
    static constexpr Id kInitial = 0;
    const IndentationSpec spec;
    bool active() const { return spec.newline != 0; }

    // The columns of the enclosing blocks, innermost first; level 0 is the text itself.
    struct Level {
        uint32_t outer, column, alternate;  // the columns with tabs as they are, and with tabs as one
    };
    struct Indentation {
        uint32_t level = 0, depth = 0;
        uint32_t phase = 0;  // of a newline lexeme in progress: 0 no line feed yet, 1 blanks behind one, 2 something behind those
        uint32_t column = 0, alternate = 0;
    };
    const Indentation& operator[](Id id) const { return indentations_[id]; }
    const Level& level(uint32_t id) const { return levels_[id]; }
    Id intern(const Indentation& l);
    // By the columns themselves; and back, BadState.
    void write(PackedWriter& out, Id id) const;
    Id read(PackedReader& in);

    // Before the first byte of a lexeme.
    Id idle(Id id) {
        if (!active()) return id;
        const Indentation& l = indentations_[id];
        return l.phase || l.column ? intern({l.level, l.depth}) : id;
    }
    // A byte further in a lexeme that may still be a newline. Inside brackets nothing is counted.
    Id step(Id id, uint8_t byte);
    Id with_depth(Id id, int change);
    // So deep that more blanks make no difference.
    bool is_deepest(Id id) const {
        const Indentation& l = indentations_[id];
        const uint32_t most = std::max(spec.tab, spec.step);
        return l.column > levels_[l.level].column + most && l.alternate > levels_[l.level].alternate + most;
    }

    using Effect = uint32_t;
    static constexpr Effect kNothing = 0;
    Effect step_effect(Effect e, uint8_t byte);
    Id apply(Effect e, Id id);
    const std::vector<std::string>& effects() const { return effects_; }
    // The number of an effect, as it is in effects().
    Effect effect(const std::string& bytes);

    // What the column of a newline lexeme that ends here means to the parser.
    struct Turn {
        enum : uint8_t { kUnknown, kMisfit, kBlock, kDeeper } kind = kUnknown;  // kBlock: of an enclosing block; kDeeper: it begins one
        uint32_t dedents = 0;                                                   // blocks that end
        Id after = kInitial;
    };
    Turn turn(Id id);

  private:
    void count(Indentation& l, uint8_t byte) const;
    uint32_t push_level(uint32_t outer, uint32_t column, uint32_t alternate);

    std::vector<Level> levels_;
    std::vector<Indentation> indentations_;
    std::vector<Turn> turns_;  // by indentation
    FlatMap<Id> applied_;      // by effect and indentation
    FlatMap<Id> deeper_;       // by indentation and change of its depth
    std::unordered_map<std::vector<uint32_t>, uint32_t, WordsHash> level_ids_, indentation_ids_;
    // An effect is the bytes that matter: from the last line feed on, if there is one.
    std::vector<std::string> effects_{""};
    std::unordered_map<std::string, Effect> effect_ids_{{"", 0}};
};

}  // namespace derivable
