// Bytes that act alike: what a state of any terminal does with one of them it does with all.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lexing/terminal_automata.hpp"

namespace derivable {

class ByteKinds {
  public:
    explicit ByteKinds(const TerminalAutomata& automata) : automata_(automata) {}

    // One of each kind, ascending.
    const std::vector<uint8_t>& representatives();
    // All terminals are of tables, or count. Not under scannerless, where terminals of other grammars may be added.
    bool are_known() {
        if (judged_ != automata_.num_terminals()) judge();
        return are_known_;
    }
    // A fixed one of those that act as this one does, if the kinds are known. PERF: so that what a state does with a byte is worked out once for all of
    // these, some 60 of 256.
    uint8_t like(uint8_t byte) { return are_known() ? represented_[byte] : byte; }

  private:
    void judge();

    const TerminalAutomata& automata_;
    std::vector<uint8_t> representatives_;
    uint32_t found_ = 0, judged_ = 0;         // for so many terminals
    std::array<uint8_t, 256> represented_{};  // by byte
    bool are_known_ = false;
};

}  // namespace derivable
