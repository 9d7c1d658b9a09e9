"""Texts of a grammar of which every slot was taken by a meaning, from left to right: from docs/lexing.md, "Names"."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from derivable.grammar import Grammar
from derivable.meaning import Meaning

from .recognizers import PlainReading, Recognizer
from .terminals import TerminalLanguage

__all__ = ["MeaningRecognizer"]

State = Hashable


class _Reading(PlainReading):
    """The sequence of terminals, and the state of the meaning."""

    def __init__(self, grammar: Grammar, sequences: TerminalLanguage) -> None:
        super().__init__(grammar, sequences)
        assert grammar.meaning is not None
        self.meaning, plain = grammar.meaning, PlainReading(grammar, sequences)
        self.start: Any = ((), self.meaning.start())
        self._after = plain.after
        self.expected: Callable[[Any], Any] = lambda state: sequences.acceptable(state[0])
        self.accepts: Callable[[Any], bool] = lambda state: (
            sequences.accepts(state[0]) and self.meaning.may_end(state[1])
        )

    def after(self, state: Any, name: str, lexeme: bytes, *, last: bool) -> Any | None:
        """Behind one more lexeme."""
        sequence = self._after(state[0], name, lexeme, last=last)
        then = read(self.meaning, state[1], name, lexeme)
        return None if sequence is None or then is None else (sequence, then)


def read(meaning: Meaning, state: State, name: str, lexeme: bytes) -> State | None:
    """The state behind a lexeme; `None`: it must not stand there."""
    if name not in meaning.slots:
        return state
    names = meaning.names(state, name)
    if names is not None and lexeme.decode() not in names:
        return None
    return meaning.read(state, name, lexeme.decode())


class MeaningRecognizer(Recognizer):
    """Says whether a text is a member, under any policy."""

    def __init__(self, grammar: Grammar) -> None:
        super().__init__(grammar)
        self.reading = _Reading(grammar, self.sequences)
        self.meaning = self.reading.meaning

    def _derives(self, text: bytes) -> bool:
        """Scannerless: the spans of every symbol, each from one state to another."""
        n = len(text)
        start = self.meaning.start()
        states: set[State] = {start}
        spans: dict[str, set[tuple[int, int, State, State]]] = {name: set() for name in self.cfg.productions}
        changed = True
        while changed:
            changed = False
            for name, pattern in self._patterns.items():
                found = set()
                for i in range(n + 1):
                    for j in range(i, n + 1):
                        if pattern.full_match(text[i:j]):
                            for state in states:
                                after = read(self.meaning, state, name, text[i:j]) if j > i else state
                                if after is not None and (j > i or name not in self.meaning.slots):
                                    found.add((i, j, state, after))
                changed |= found != spans.get(name)
                spans[name] = found
            for name, bodies in self.cfg.productions.items():
                for body in bodies:
                    reached = {(i, i, state, state) for i in range(n + 1) for state in states}
                    for symbol in body:
                        reached = {
                            (i, k, a, c)
                            for i, j, a, b in reached
                            for from_, k, b_, c in spans.get(symbol, ())
                            if from_ == j and b_ == b
                        }
                    if not reached <= spans[name]:
                        spans[name] |= reached
                        changed = True
            known = {after for found in spans.values() for *_, after in found}
            changed |= not known <= states
            states |= known
        return any((0, n, start, state) in spans[self.cfg.start] and self.meaning.may_end(state) for state in states)
