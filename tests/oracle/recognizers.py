"""Membership in the byte language of a grammar, one recogniser for each policy, straight from `docs/lexing.md`."""

from __future__ import annotations

import re

from derivable.grammar import Grammar, Terminal

from .indentation import indented_member
from .regular import pattern_of
from .terminals import TerminalLanguage, expand

__all__ = ["Recognizer"]


_CUT = re.compile(rb"[\xf8-\xff]")


def _around(text: bytes, pos: int) -> tuple[int, int]:
    """The piece of text around `pos`: a special token cuts it, no lexeme and no look-around sees across."""
    if not _CUT.search(text):
        return 0, len(text)
    breaks = [cut.start() for cut in _CUT.finditer(text)]
    if pos in breaks:
        return pos, pos + 1
    return max((i + 1 for i in breaks if i < pos), default=0), min((i for i in breaks if i > pos), default=len(text))


class Recognizer:
    """Says whether a text is a member of `L`."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        expressions = {name: terminal.expr for name, terminal in grammar.terminals.items()}
        self.cfg = expand(grammar).trimmed().with_ignored(grammar.ignore, expressions)
        self.sequences = TerminalLanguage(grammar)
        self._order = {name: index for index, name in enumerate(grammar.terminals)}
        self._patterns = {name: pattern_of(expr) for name, expr in self.cfg.terminals.items()}
        self._all, self._ignored = frozenset(self.cfg.terminals), frozenset(grammar.ignore)
        self._looks_behind = any(pattern.looks_behind for pattern in self._patterns.values())
        self._winners: dict[tuple[frozenset[str], bytes, int], tuple[int, str] | None] = {}

    def member(self, text: bytes) -> bool:
        """`text ∈ L`."""
        if self.grammar.lexing == "scannerless":
            return self._derives(text)
        if self.grammar.indentation is not None:
            return indented_member(
                self.grammar, self.sequences, lambda seen, more, pos: self._winner(text, seen, more, pos), text
            )
        sequence = self.lex(text)
        return sequence is not None and self.sequences.accepts(sequence)

    def lex(self, text: bytes) -> tuple[str, ...] | None:
        """The terminals of `text` under `longest` or `basic`, ignored ones dropped; `None` where the cutting stops."""
        sequence: tuple[str, ...] = ()
        pos = 0
        if not self.sequences.viable(sequence):
            return None
        while pos < len(text):
            winner = self._winner(text, sequence, frozenset(), pos)
            if winner is None:
                return None
            pos += winner[0]
            name = winner[1]
            if name not in self.grammar.ignore:
                sequence = (*sequence, name)
                if not self.sequences.viable(sequence):
                    return None
        return sequence

    def _winner(self, text: bytes, sequence: tuple[str, ...], more: frozenset[str], pos: int) -> tuple[int, str] | None:
        """Length and name of the lexeme that begins at `pos`; `more` terminals compete."""
        start, stop = _around(text, pos)
        if not self._looks_behind:
            start = pos
        key = self._candidates(sequence) | more, text[start:stop], pos - start
        if key not in self._winners:
            self._winners[key] = self._first_of(*key)
        return self._winners[key]

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

    def _candidates(self, sequence: tuple[str, ...]) -> frozenset[str]:
        if self.grammar.lexing == "basic":
            return self._all
        return self.sequences.acceptable(sequence) | self._ignored

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
