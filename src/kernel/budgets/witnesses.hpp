// Witnesses of places of a text, found and kept.
//
// Under scannerless lexemes may be cut anywhere, so what completes a stack is a sequence of terminals, each spelled by a shortest text; then a witness of a
// parse is the rest of its lexeme and what stands behind that. Elsewhere, and where the items of an array must differ, such a text is a guess that is followed
// byte by byte (WitnessSearch): a lexeme may swallow the next one. What comes out is no estimate in either case: these bytes are in the language.
//
// The text is cut into tokens anew, since one token may span several terminals. All places that it goes through have its rest for a witness.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "budgets/ways_on.hpp"
#include "costs/witness.hpp"
#include "sequence/runs.hpp"
#include "support/hashing.hpp"

namespace derivable {

class Witnesses {
  public:
    Witnesses(const Engine& engine, Lexemes& lexemes, Runs& runs, const Vocabulary& vocabulary, uint64_t lookahead)
        : engine_(engine),
          lexemes_(lexemes),
          runs_(runs),
          vocabulary_(vocabulary),
          lookahead_(lookahead) {}

    // Null if none is known, which is no proof that there is none. Cost: some microseconds where the stack is known, tens where it is new; the first one also
    // what symbols cost.
    Witness find(const Parses& parses);
    // Whether all is known by stacks: then so are witnesses of parses by at_boundary() and the rest of their lexemes.
    bool is_by_stacks() const {
        return engine_.spanner.lexer.policy() == Policy::kScannerless && !engine_.terminals.has_distinct() && !engine_.terminals.embeds() &&
               !engine_.slots.active() && lookahead_ == kNoLookahead;
    }
    // Behind a lexeme that has ended. Only where is_by_stacks().
    Witness at_boundary(Frontier stack, Environment environment);
    // The fewest tokens that spell some bytes; as many as there are bytes if no tokens do.
    uint64_t tokens_of_bytes(std::string_view bytes);
    // Calls visit(token, rest) for tokens with which a witness goes on.
    template <class Visit>
    void each_next(const Witness& w, Visit visit) {
        const std::vector<uint32_t>& units = w.text->units;
        if (w.at == units.size()) return;
        if (units[w.at] & WitnessText::kToken) return visit(units[w.at] & ~WitnessText::kToken, Witness{w.text, w.at + 1});
        const FewestTokens& fewest = ways().fewest_tokens();
        fewest.each_prefix(w.bytes(fewest.longest()), [&](size_t length, uint32_t token) {
            const Witness rest{w.text, w.at + uint32_t(length)};
            if (rest.tokens() != FewestTokens::kNone) visit(token, rest);
        });
    }
    // For WitnessSearch: places by their parses. Null: not known.
    struct Key {
        std::vector<uint32_t> words;
        std::vector<EmbeddedRef> texts;  // SAFETY: their addresses are among the words
        bool operator==(const Key& o) const { return words == o.words; }
        bool operator<(const Key& o) const { return words < o.words; }
        struct Hash {
            size_t operator()(const Key& key) const { return WordsHash()(key.words); }
        };
    };
    std::optional<Key> key_of(const Parses& parses) const;
    const Witness* known(const Key& key) const;
    // Of units behind which `rest` stands, if it is there; `borders`: where lexemes begin, if tokens must not span any. Null: no tokens spell it.
    Witness made(WaysOn::Units units, const Witness& rest, const std::vector<size_t>& borders);
    void keep(Key key, const Witness& w);
    WaysOn& ways();

  private:
    Witness find_by_stacks(const Parses& parses);

    const Engine engine_;
    Lexemes& lexemes_;
    Runs& runs_;
    const Vocabulary& vocabulary_;
    const uint64_t lookahead_;
    std::unique_ptr<WaysOn> ways_;
    std::unordered_map<Key, Witness, Key::Hash> known_;
    FlatMap<Witness> by_boundary_;  // by stack and environment
    size_t num_boundaries_ = 0;
    const Renumbering::Told nodes_{engine_.stacks.nodes(), [this] { known_.clear(), by_boundary_ = {}, num_boundaries_ = 0; }};
};

}  // namespace derivable
