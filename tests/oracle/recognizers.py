"""Membership in the byte language of a grammar, one recogniser for each policy, straight from `docs/lexing.md`."""

from __future__ import annotations

import re
from typing import Any, Protocol

from derivable.grammar import Grammar, Terminal

from .indentation import IndentedReading
from .regular import pattern_of
from .terminals import TerminalLanguage, expand

__all__ = ["Recognizer"]


Sequence = tuple[str, ...]

_CUT = re.compile(rb"[\xf8-\xff]")


def _around(text: bytes, pos: int) -> tuple[int, int]:
    """The piece of text around `pos`: a special token cuts it, no lexeme and no look-around sees across."""
    if not _CUT.search(text):
        return 0, len(text)
    breaks = [cut.start() for cut in _CUT.finditer(text)]
    if pos in breaks:
        return pos, pos + 1
    return max((i + 1 for i in breaks if i < pos), default=0), min((i for i in breaks if i > pos), default=len(text))


class Reading(Protocol):
    """What the lexemes read so far mean; a state is all of it that matters for what follows."""

    start: Any

    def expected(self, state: Any, /) -> frozenset[str]:
        """The terminals that compete beside the ignored ones."""

    def after(self, state: Any, name: str, lexeme: bytes, /, *, last: bool) -> Any | None:
        """The state behind one more lexeme, which may be the last of the text; `None` if no text does so."""

    def accepts(self, state: Any, /) -> bool:
        """The text may end here."""


class PlainReading:
    """Terminals in a row, ignored ones dropped: the state is the sequence."""

    start: Sequence = ()

    def __init__(self, grammar: Grammar, sequences: TerminalLanguage) -> None:
        self.ignored, self.sequences = frozenset(grammar.ignore), sequences
        self.expected, self.accepts = sequences.acceptable, sequences.accepts

    def after(self, sequence: Sequence, name: str, _: bytes, *, last: bool) -> Sequence | None:
        """The sequence with one more."""
        if name in self.ignored:
            return sequence
        return (*sequence, name) if self.sequences.viable((*sequence, name)) else None


class Recognizer:
    """Says whether a text is a member of `L`."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        expressions = {name: terminal.expr for name, terminal in grammar.terminals.items()}
        self.cfg = expand(grammar).trimmed().with_ignored(grammar.ignore, expressions)
        self.sequences = TerminalLanguage(grammar)
        self.reading: Reading = (PlainReading if grammar.indentation is None else IndentedReading)(
            grammar, self.sequences
        )
        self._order = {name: index for index, name in enumerate(grammar.terminals)}
        self._patterns = {name: pattern_of(expr) for name, expr in self.cfg.terminals.items()}
        self._all, self._ignored = frozenset(self.cfg.terminals), frozenset(grammar.ignore)
        self._looks_behind = any(pattern.looks_behind for pattern in self._patterns.values())
        self._winners: dict[tuple[frozenset[str], bytes, int], tuple[int, str] | None] = {}
        self._accepted: dict[tuple[Any, bytes, int], bool] = {}

    def member(self, text: bytes) -> bool:
        """`text ∈ L`."""
        if self.grammar.lexing == "scannerless":
            return self._derives(text)
        return self.sequences.viable(()) and self._accepts(self.reading.start, text, 0)

    def _accepts(self, state: Any, text: bytes, pos: int) -> bool:
        """Under `longest` or `basic`: the text from `pos` on leads from the state to the end of a member.

        Without look-behind what is before `pos` does not matter: texts share the answers for how they end.
        """
        if pos == len(text):
            return self.reading.accepts(state)
        key = (state, text, pos) if self._looks_behind else (state, text[pos:], 0)
        if key not in self._accepted:
            after, end = self.step(state, text, pos)
            self._accepted[key] = after is not None and self._accepts(after, text, end)
        return self._accepted[key]

    def step(self, state: Any, text: bytes, pos: int) -> tuple[Any | None, int]:
        """What the lexeme at `pos` leads to, and where it ends; no state where the text cannot be a member."""
        start, stop = _around(text, pos)
        if not self._looks_behind:
            start = pos
        key = self.competing(state), text[start:stop], pos - start
        if key not in self._winners:
            self._winners[key] = self._first_of(*key)
        winner = self._winners[key]
        if winner is None:
            return None, pos
        end = pos + winner[0]
        return self.reading.after(state, winner[1], text[pos:end], last=end == len(text)), end

    def competing(self, state: Any) -> frozenset[str]:
        """The terminals of which one may come next."""
        return self._all if self.grammar.lexing == "basic" else self.reading.expected(state) | self._ignored

    def _first_of(self, names: frozenset[str], text: bytes, pos: int) -> tuple[int, str] | None:
        terminals = self.grammar.terminals
        winner: tuple[int, int, bool, int, str] | None = None
        for name in names:
            length = self._patterns[name].match_length(text, pos)
            if length is None or length == 0:
                continue
            terminal = terminals.get(name, Terminal(self.cfg.terminals[name]))
            rank = (length, terminal.priority, terminal.literal, -self._order.get(name, 0), name)
            if winner is None or rank > winner:
                winner = rank
        return None if winner is None else (winner[0], winner[-1])

    def _derives(self, text: bytes) -> bool:
        """Scannerless: for every symbol the spans `(i, j)` of `text` that it derives, as a least fixed point."""
        positions = range(len(text) + 1)
        spans: dict[str, set[tuple[int, int]]] = {name: set() for name in self.cfg.productions}
        for name, pattern in self._patterns.items():
            spans[name] = {(i, j) for i in positions for j in positions[i:] if pattern.full_match(text[i:j])}
        changed = True
        while changed:
            changed = False
            for name, bodies in self.cfg.productions.items():
                for body in bodies:
                    reached = {(i, i) for i in positions}
                    for symbol in body:
                        reached = {(i, k) for i, j in reached for start, k in spans[symbol] if start == j}
                    if not reached <= spans[name]:
                        spans[name] |= reached
                        changed = True
        return (0, len(text)) in spans[self.cfg.start]
