// Millions of texts in a file: a trie of their bytes, which is walked where it lies.
//
// A node is a record. What all texts below it share comes first, so a node with one child is none: most texts of a catalogue end in a path of their own.
// Children were written before their parents, from the last byte back, and a parent says how far back:
//
//     byte        bit 0: a text ends behind the path; bits 1 to 3: bytes of each distance, 0 of a leaf; bits 4 to 7: bytes of the path
//     byte        bytes of the path, if there are 15 and more
//     bytes       the path
//     and, but for a leaf:
//     2 bytes     of the shortest text from behind the path on, the lower one first
//     byte        children, less one
//     bytes       the first byte of each child, ascending
//     distances   from the parent back to each child, the lowest byte first
//
// SAFETY: a file may say anything, and may change while it is mapped. A record is read once, each of its parts within bounds, and a child lies before its
// parent: so a walk ends, and in a leaf, which is a text. Whatever the file says, no node is a dead end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/byte_set.hpp"

namespace derivable {

class Catalogue {
  public:
    // Where a record begins, and how much of its path was read.
    using Node = uint64_t;
    static constexpr Node kNowhere = ~0ULL;
    // Of a record.
    static constexpr uint32_t kIsText = 1, kWidthShift = 1, kWidthMask = 7, kPathShift = 4, kLongPath = 15, kLongestPath = 255;
    static constexpr size_t kLongestText = 0xFFFF;  // bytes
    // SAFETY: valid as long as the bytes. This and the methods throw BadArtifact where they meet what no writer wrote.
    Catalogue(std::string_view nodes, uint64_t root);

    Node root() const { return node(root_, 0); }
    Node step(Node node, uint8_t byte) const;  // kNowhere: no text goes on so
    ByteSet next(Node node) const;
    bool is_text(Node node) const;
    bool contains(std::string_view text) const;
    // The rests of some texts behind a node, short ones first.
    std::vector<std::string> rests(Node node, size_t most) const;

  private:
    struct Record {
        uint64_t position;
        const uint8_t *path, *firsts = nullptr, *distances = nullptr;
        uint32_t length, width, children = 0, least = 0;
        bool is_text;
    };
    // SAFETY: 0 is no node, so that it may stand for the root.
    static Node node(uint64_t position, uint32_t read) { return (position + 1) << 8 | read; }
    Record record(uint64_t position) const;
    uint64_t child(const Record& parent, uint32_t number) const;

    const uint8_t* bytes_;
    uint64_t size_, root_;
};

}  // namespace derivable
