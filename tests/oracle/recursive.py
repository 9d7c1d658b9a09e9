"""Grammars that hold themselves, from the definition in docs/lexing.md.

The language is the least one that is what the grammar makes of it. A text in a text is no longer than that one, so all
texts up to a length are found by beginning with none, and making more of them until there are no others.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass

__all__ = ["LeastLanguage", "Made", "concatenated", "repeated"]

Texts = Set[bytes]


@dataclass(frozen=True)
class Made:
    """What a grammar is made of: its texts up to a length, given those of the grammar itself."""

    texts: Callable[[Texts, int], Texts]


def concatenated(parts: list[Texts], longest: int) -> Texts:
    """Texts of the first, then of the second, and so on."""
    found: Texts = {b""}
    for part in parts:
        found = {one + other for one in found for other in part if len(one) + len(other) <= longest}
    return found


def repeated(part: Texts, low: int, high: int | None, longest: int) -> Texts:
    """So many texts in a row."""
    found: set[bytes] = set()
    row: Texts = {b""}
    for times in range(longest + low + 1 if high is None else high + 1):
        if times >= low:
            found |= row
        row = concatenated([row, part], longest)
    return found


class LeastLanguage:
    """Says whether a text, no longer than `longest`, is a member of the least language."""

    def __init__(self, made: Made, longest: int) -> None:
        self.longest = longest
        self.texts: Texts = frozenset()
        while (more := made.texts(self.texts, longest)) != self.texts:
            self.texts = more

    def member(self, text: bytes) -> bool:
        """`text ∈ L`."""
        assert len(text) <= self.longest, text
        return text in self.texts
