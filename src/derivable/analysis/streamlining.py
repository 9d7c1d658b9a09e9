"""The steps of streamlining a mask store (Tran-Thien 2025): which sequences need not be asked about, and why.

Each step takes, for one state and what was read before it, each sequence of the store to the one that is asked for it
by now. What was read before is the terminal in progress, or more: the last terminals that the parser got (`history`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .legality import Verdict, agreement, interchangeable_terminals, judge
from .terminals import TerminalGrammar

__all__ = ["STEPS", "Chosen", "Row", "Sequence", "Streamlined", "Streamlining"]

Sequence = tuple[int, ...]

Chosen = dict[Sequence, Sequence | None]
"""Each sequence of a state to the one that is asked for it."""

STEPS = (
    "mask store",
    "1 interchangeable terminals",
    "2 direct successors",
    "3 pairs",
    "4 sequences",
    "5 equivalent automata",
)
"""The store, and what is left of it after each step; the first four are the post's, in its order."""


@dataclass(frozen=True)
class Row:
    """What tokens do in one state of the scanner.

    Attributes:
        state: of `MaskStore.scanner`.
        terminal: the one in progress; `None` at the beginning of a text, and where an ignored one is in progress.
        at_start: nothing was read.
        inside: rows of `Tokens` that end within the lexeme.
        leaving: rows of `Tokens` that end it, and
        profiles: for each what it adds, as a number of `MaskStore.profiles`.
        rests: for each what is left of it when the lexeme has ended, as a number of `Tokens.texts`.
    """

    state: int
    terminal: int | None
    at_start: bool
    inside: NDArray[np.int32]
    leaving: NDArray[np.int32]
    profiles: NDArray[np.int32]
    rests: NDArray[np.int32]

    @property
    def before(self) -> Sequence | None:
        """What the state alone says was read last: see `Streamlining`."""
        return () if self.at_start else None if self.terminal is None else (self.terminal,)


class Streamlined:
    """A mask store after some steps.

    Attributes:
        counts: entries after each of `STEPS`, of all states; with a history of several terminals, of all states and
            all terminals that may have come before.
        per_state: the same for every state, int [states, steps].
        representatives: for each state, each sequence of the store to the one that is asked for it: the empty one is
            always legal, `None` stands for never legal.
    """

    def __init__(
        self,
        streamlining: Streamlining,
        steps: int,
        counts: list[int],
        per_state: NDArray[np.int64],
        representatives: list[Chosen],
    ) -> None:
        self.counts = counts
        self.per_state = per_state
        self.representatives = representatives
        self._streamlining = streamlining
        self._steps = steps
        self._behind: dict[tuple[int, Sequence], Chosen] = {}

    def behind(self, state: int, history: Sequence) -> Chosen:
        """What `representatives` says of a state if more is known than the terminal in progress.

        Args:
            state: its number in `representatives`.
            history: the last terminals that the parser got, the one in progress included; the empty sequence: none yet.

        Cost: seconds for what was not asked before, then a look-up.
        """
        known = self._behind.get((state, history))
        if known is None:
            known = self._streamlining.run(self.representatives[state], history, self._steps)[-1]
            self._behind[state, history] = known
        return known


class Streamlining:
    """The steps. Each takes each sequence of the store to the one that is asked for it by now.

    `before` is what the parser got last: one terminal or more, the empty sequence at the beginning of a text, and
    `None` if it is not known.
    """

    def __init__(self, grammar: TerminalGrammar) -> None:
        self.grammar = grammar
        self._same = {
            symbol: min(members)
            for members in map(grammar.symbols, interchangeable_terminals(grammar))
            for symbol in members
        }
        self._successors = {x: frozenset(following) for x, following in grammar.successors.items()}
        self._begin = frozenset(grammar.begin)
        self._verdicts: dict[tuple[Sequence, Sequence], Verdict] = {}
        self._classes: dict[tuple[Sequence, frozenset[Sequence]], dict[Sequence, Sequence]] = {}
        self.steps = (self.exchange, self.follow, self.pairs, self.whole, self.equivalent)

    def run(self, entries: Iterable[Sequence], before: Sequence | None, steps: int) -> list[Chosen]:
        """What is asked for each entry, without a step and after each of the first ones."""
        current: Chosen = {sequence: sequence for sequence in entries}
        found = [current]
        for step in self.steps[:steps]:
            current = step(current, self._exchanged(before))
            found.append(current)
        return found

    def pairs_before(self, terminal: int) -> list[int]:
        """The terminals that may come right before one."""
        return [x for x in self._successors if self.verdict((x,), (terminal,)).accepted]

    def representative(self, terminal: int) -> int:
        """The one that stands for the terminals that are interchangeable with it."""
        return self._same.get(terminal, terminal)

    def _exchanged(self, sequence: Sequence | None) -> Sequence | None:
        return None if sequence is None else tuple([self.representative(symbol) for symbol in sequence])

    def _each(self, current: Chosen, change: Callable[[Sequence], Sequence | None]) -> Chosen:
        changed = {s: change(s) for s in dict.fromkeys(current.values()) if s is not None}
        return {sequence: None if asked is None else changed[asked] for sequence, asked in current.items()}

    def exchange(self, current: Chosen, before: Sequence | None) -> Chosen:
        """1: interchangeable terminals are one."""
        return self._each(current, self._exchanged)

    def follow(self, current: Chosen, before: Sequence | None) -> Chosen:
        """2: the direct-successor graph must allow each pair."""

        def change(sequence: Sequence) -> Sequence | None:
            if not sequence:
                return sequence
            if before == () and sequence[0] not in self._begin:
                return None
            if before and sequence[0] not in self._successors.get(before[-1], ()):
                return None
            allowed = all(b in self._successors.get(a, ()) for a, b in pairwise(sequence))
            return sequence if allowed else None

        return self._each(current, change)

    def pairs(self, current: Chosen, before: Sequence | None) -> Chosen:
        """3: pairs that are never legal go; what is always legal behind the terminal before it is that terminal's."""
        last = (before or ())[-1:]

        def change(sequence: Sequence) -> Sequence | None:
            whole = last + sequence
            if any(not self.verdict((a,), (b,)).accepted for a, b in pairwise(whole)):
                return None
            while len(whole) > 1 and not self.verdict(whole[-2:-1], whole[-1:]).refused:
                whole = whole[:-1]
            return whole[len(last) :]

        return self._each(current, change)

    def whole(self, current: Chosen, before: Sequence | None) -> Chosen:
        """4: the same for whole sequences."""

        def change(sequence: Sequence) -> Sequence | None:
            if not sequence:
                return sequence
            if before is None:
                return sequence if len(sequence) < 2 or self.verdict(sequence[:1], sequence[1:]).accepted else None
            verdict = self.verdict(before, sequence)
            return None if not verdict.accepted else sequence if verdict.refused else ()

        return self._each(current, change)

    def equivalent(self, current: Chosen, before: Sequence | None) -> Chosen:
        """5: sequences whose automata over unknown stacks are equivalent are one (the post's future work)."""
        if before is None:
            return current
        asked = frozenset(s for s in current.values() if s)
        known = self._classes.get((before, asked))
        if known is None:
            ordered = sorted(asked, key=lambda s: (len(s), s))
            known = {(): ()} | dict(agreement(self.grammar, before, ordered))
            self._classes[before, asked] = known
        return self._each(current, known.__getitem__)

    def verdict(self, before: Sequence, sequence: Sequence) -> Verdict:
        """What the grammar says about a sequence behind others, remembered.

        What one terminal of history decides a longer history decides alike.
        """
        known = self._verdicts.get((before, sequence))
        if known is None:
            known = self.verdict(before[1:], sequence) if len(before) > 1 else None
            if known is None or known.is_open:
                known = judge(self.grammar, before, sequence)
            self._verdicts[before, sequence] = known
        return known

    def decided_by_more(self, terminal: int, asked: Iterable[Sequence]) -> tuple[int, int]:
        """How many cases behind one terminal (a representative) are open; how many the terminal before it decides.

        A case is a terminal that may come before this one, and a sequence that is never legal, or always, behind some
        histories but not behind all.
        """
        left = [s for s in {*asked} if s and self.verdict((terminal,), s).is_open]
        pairs = {(self.representative(x), terminal) for x in self.pairs_before(terminal)} if left else set()
        decided = sum(not self.verdict(pair, s).is_open for pair in pairs for s in left)
        return len(pairs) * len(left), decided
