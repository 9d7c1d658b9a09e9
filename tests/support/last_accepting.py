"""Where a leftmost-first automaton ends its match."""

from __future__ import annotations

from derivable._kernel import Dfa

__all__ = ["last_accepting"]


def last_accepting(automaton: Dfa, data: bytes) -> int:
    """The last position at which a walk over `data` accepts; 0 also stands for none."""
    state, last = 0, 0
    for i, byte in enumerate(data):
        state = automaton.step(state, byte)
        if state < 0:
            break
        if automaton.is_accepting(state):
            last = i + 1
    return last
