// Languages inside a language: a terminal whose lexemes are the texts of another grammar, with its own lexer, parser and environment.
//
// Such a lexeme cuts the text as a named token does (TokenReference): what stands before it is cut as if the text ended there, what stands behind
// it as if it began there, and itself it is cut as if it stood alone. It may end wherever it is a text of its language; where it could go on, too,
// there are two readings, and so two parses.
//
// It may also be encoded, as in a JSON string: then what it stands for is a text of the grammar.
//
// Here is what the grammar around sees of an inner one. matching/inner_constraint.hpp is what stands behind it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parsing/productions.hpp"
#include "support/byte_set.hpp"

namespace derivable {

class Access;
class EmbeddedText;
class PackedReader;
class PackedWriter;
using EmbeddedRef = std::shared_ptr<const EmbeddedText>;

// Names that may stand somewhere, as far as they are listed, or with which one that is in progress may go on.
struct NamesHere {
    std::vector<Symbol> slot;        // behind the terminals of the inner languages that it lies in, the outermost first
    std::string begun;               // of one in progress
    std::vector<std::string> rests;  // short ones first
};

// A text of an inner language, as far as it is written. Of one language equal ones are one object, so they are compared by their addresses.
//
// SAFETY: to be used within an operation on the constraint around, while no walk refers to its splits: the lock of these is let go of.
class EmbeddedText {
  public:
    virtual ~EmbeddedText() = default;

    virtual Symbol symbol() const = 0;                   // the terminal of the grammar around
    virtual EmbeddedRef step(uint8_t byte) const = 0;    // one byte further; null: it is not allowed
    virtual EmbeddedRef take(uint32_t token) const = 0;  // a token that the inner grammar names; null: not here
    virtual EmbeddedRef end_token() const = 0;           // a token ends here, and parts may lie in so many; null: in no more
    virtual bool may_end() const = 0;                    // it is a text of its language, and not empty
    virtual bool names_token() const = 0;                // some token may be taken
    virtual void allow(uint32_t* words) const = 0;       // adds the tokens with which it goes on and does not end
    // The rest of some text, as WitnessText::units; null: none is known.
    virtual std::optional<std::vector<uint32_t>> rest() const = 0;
    virtual uint64_t context(int64_t hops) const = 0;                  // as Matcher::context
    virtual std::vector<NamesHere> names_here(size_t most) const = 0;  // of what it stands for
    virtual void write(PackedWriter& out) const = 0;                   // as every process knows it (EmbeddedLanguage::read)
    // Tokens that suffice to end it, and by how many more any next token may raise that, at most (budgets/slack.hpp); kNone: it is not known.
    struct Slack {
        static constexpr uint64_t kNone = ~0ULL;
        uint64_t needed = kNone, per_token = kNone;
    };
    virtual Slack slack() const = 0;
    // Tokens that suffice to end it, where its stacks alone do not tell its rest; kNone: they do, or it is not known.
    virtual uint64_t least() const = 0;

    // Beginnings of tokens: nodes of the vocabulary's trie.
    using Nodes = std::shared_ptr<const std::vector<uint32_t>>;
    // Those with which it ends, if the next byte of the token is one of these. Never null.
    virtual Nodes ends(const ByteSet& before) const = 0;
};

class EmbeddedLanguage {
  public:
    virtual ~EmbeddedLanguage() = default;

    virtual Symbol symbol() const = 0;
    virtual EmbeddedRef begin() = 0;  // before its first byte
    // What EmbeddedText::write() wrote: BadState, and where no text stands so.
    virtual EmbeddedRef read(PackedReader& in) = 0;
    virtual void give_back() = 0;  // all that can be made again
    // Operations on which constraint it is used in. Once, before all else.
    virtual void set_around(Access& access) = 0;
};

}  // namespace derivable
