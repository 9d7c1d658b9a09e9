"""Languages inside languages, from the definition in docs/lexing.md.

A text of an inner grammar cuts the text around it as a named token does. So a text is a member if some pieces of it,
none of them empty, are members of the inner languages, and the rest, with a token in place of each piece, is one of the
grammar around. Where an inner language has the empty text, its terminal may be left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from derivable.encodings import Encoding, encoding
from derivable.expr import Embedded, Ref, Repeat, Special
from derivable.grammar import Grammar, Terminal

from .meaning import MeaningRecognizer
from .recognizers import Recognizer

__all__ = ["EmbeddedRecognizer"]

_FIRST_MARK = 0xF8  # bytes that no text holds


class EmbeddedRecognizer:
    """Says whether a text is a member of `L`, for grammars with terminals that are `Embedded`."""

    def __init__(self, grammar: Grammar) -> None:
        self.inner: dict[bytes, EmbeddedRecognizer | MeaningRecognizer | Decoded] = {}
        terminals: dict[str, Terminal] = {}
        rules = dict(grammar.rules)
        for name, terminal in grammar.terminals.items():
            if not isinstance(terminal.expr, Embedded):
                terminals[name] = terminal
                continue
            mark = bytes([_FIRST_MARK + len(self.inner)])
            within = Grammar.of(terminal.expr.grammar)
            inner = EmbeddedRecognizer(within) if within.meaning is None else MeaningRecognizer(within)
            key = terminal.expr.encoding
            self.inner[mark] = Decoded(inner, encoding(key)) if key else inner
            terminals[f"{name}_"] = replace(terminal, expr=Special(f"<{mark.decode('latin-1')}>"))
            rules[name] = Repeat(Ref(f"{name}_"), 0 if self.inner[mark].member(b"") else 1, 1)
        self.outer = Recognizer(replace(grammar, rules=rules, terminals=terminals))
        self._members: dict[bytes, bool] = {}
        self._around: dict[bytes, bool] = {}

    def member(self, text: bytes) -> bool:
        """`text ∈ L`."""
        if text not in self._members:
            self._members[text] = any(map(self._derives, self._readings(text)))
        return self._members[text]

    def _derives(self, text: bytes) -> bool:
        if text not in self._around:
            self._around[text] = self.outer.member(text)
        return self._around[text]

    def _readings(self, text: bytes) -> Iterator[bytes]:
        """The text with marks in place of some pieces of it."""
        if not text:
            yield b""
            return
        for rest in self._readings(text[1:]):
            yield text[:1] + rest
        for end in range(1, len(text) + 1):
            marks = [mark for mark, inner in self.inner.items() if inner.member(text[:end])]
            for rest in self._readings(text[end:]) if marks else ():
                for mark in marks:
                    yield mark + rest


class Decoded:
    """Says whether a text, decoded, is a member of another language."""

    def __init__(self, inner: EmbeddedRecognizer | MeaningRecognizer, how: Encoding) -> None:
        self._inner, self._how = inner, how

    def member(self, text: bytes) -> bool:
        """What the text stands for is in the language."""
        state, decoded = self._how.start, b""
        for byte in text:
            ways = [edge for edge in self._how.edges[state] if edge[0] <= byte <= edge[1]]
            if not ways:
                return False
            [(_, _, state, written)] = ways
            decoded += bytes([byte]) if written is None else written
        return self._how.may_end[state] and self._inner.member(decoded)
