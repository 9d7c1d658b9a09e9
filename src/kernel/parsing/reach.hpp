// What an answer depended on: how far down the stack it looked, and what beside the stack.
//
// Masks are kept by just that (level 4 of the index), so a reach that says too little makes a wrong mask later. Therefore it is no
// parameter that may be forgotten, but a part of every answer about stacks and environments: answers that rest on others join their reaches
// (`|`), and what was asked of a stack that grew out of another one is told of that one (`below`).
#pragma once

#include <algorithm>
#include <cstdint>

namespace derivable {

struct Reach {
    static constexpr int kDeep = 1 << 20;  // of the stack: it is not known how far
    static constexpr uint32_t kNoTally = ~0u;

    int hops = 0;               // states below the top of the stack
    bool brackets = false;      // whether brackets are open
    bool blocks = false;        // the columns of the enclosing blocks
    uint32_t tally = kNoTally;  // how many objects are open around the outermost one whose tally mattered, itself included

    Reach& operator|=(Reach o) {
        hops = std::max(hops, o.hops);
        brackets |= o.brackets, blocks |= o.blocks;
        tally = std::min(tally, o.tally);
        return *this;
    }
    friend Reach operator|(Reach a, Reach b) { return a |= b; }
    // From a stack whose states so far down are the top of the other one's.
    Reach below(int states) const { return {hops + states, brackets, blocks, tally}; }
    // The same without the stack.
    Reach beside() const { return {0, brackets, blocks, tally}; }
};

template <class T>
struct Answer {
    T value;
    Reach reach;
};

}  // namespace derivable
