#include "lexing/byte_kinds.hpp"

#include <cstddef>
#include <utility>

#include "support/hashing.hpp"

namespace derivable {

const std::vector<uint8_t>& ByteKinds::representatives() {
    if (representatives_.empty() || found_ != automata_.num_terminals()) {
        Interner kinds;
        std::vector<uint8_t> found;  // SAFETY: known when it is complete, for memory may be refused
        for (size_t b = 0; b < 256; b++) {
            std::vector<uint32_t> key;
            for (uint32_t a = 0; a < automata_.num_automata(); a++) automata_.at(a).append_classes(uint8_t(b), key);
            for (const Past* p : automata_.looking_back()) key.push_back(p->classes[b]);
            const uint32_t before = kinds.size(), kind = kinds.intern(key);
            if (kind == before) found.push_back(uint8_t(b));
            represented_[b] = found[kind];
        }
        representatives_ = std::move(found);
        found_ = automata_.num_terminals();
    }
    return representatives_;
}

void ByteKinds::judge() {
    are_known_ = automata_.policy() != Policy::kScannerless;
    for (uint32_t a = 0; are_known_ && a < automata_.num_automata(); a++)
        are_known_ = automata_.at(a).has_table() || automata_.at(a).counts_rounds();
    if (are_known_) representatives();
    judged_ = automata_.num_terminals();
}

}  // namespace derivable
