// Sets of names, read byte by byte: those that are listed, those of several sets, and all that are not listed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/byte_set.hpp"

namespace derivable {

// Names in any case are kept in small letters. Of ASCII: that is what databases ignore.
inline char small(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

// Names, as a trie of their bytes. Equal sets are one object where that can be told.
class NameSet {
  public:
    using Node = uint64_t;  // a place in a file, where there are too many for numbers
    static constexpr Node kRoot = 0, kNowhere = ~0ULL;
    virtual ~NameSet() = default;
    virtual Node step(Node node, uint8_t byte) = 0;  // kNowhere: no name goes on so
    // With others, perhaps: the bytes with which names go on.
    virtual ByteSet next(Node) { return ByteSet::all(); }
    virtual bool is_name(Node node) = 0;
    // Any text is a name but for some, and what may follow one may follow all others, but for some: the rests of both, behind a node. None: it is not so.
    virtual std::optional<std::vector<std::string>> unlike(Node) { return std::nullopt; }
    // All of them, sorted: those in any case of ASCII letters (in small ones), and those as they are spelled; null: they are not listed.
    using Spellings = std::array<std::vector<std::string>, 2>;
    virtual const Spellings* spellings() { return nullptr; }
    // The same where they are of one kind; and those that are none, where all others are.
    virtual const std::vector<std::string>* listed() { return nullptr; }
    virtual NameSet* excluded() { return nullptr; }
    virtual bool ignores_case() { return false; }
    // The rests of some names, short ones first; none: those that the terminal has.
    virtual std::vector<std::string> rests(Node node, size_t most) = 0;
};
using NameSetRef = std::shared_ptr<NameSet>;

// These, but the empty one, which is no lexeme. `ignores_case`: of ASCII letters; then they are given in small ones.
NameSetRef sorted_names(std::vector<std::string> names, bool ignores_case);

// Those of several sets.
NameSetRef any_name(std::vector<NameSetRef> sets);

// Any text that the terminal has, but some. `marked`: what may follow one that is not among these is the same, whatever it is; none: that is not known.
NameSetRef other_names(NameSetRef names, std::optional<std::vector<NameSetRef>> marked);

}  // namespace derivable
