"""A text as the kernel takes it, and where its parts lie as people count."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

from lark.tree import Meta

from ..vocabulary import Vocabulary
from .lexemes import NO_BYTE

__all__ = ["Written"]


class Written:
    """A text, or tokens.

    Attributes:
        units: its bytes, and `NO_BYTE` for a token without any.
        tokens: (begin, length, id) of those that are known.
    """

    def __init__(self, units: Sequence[int], tokens: Sequence[tuple[int, int, int]], names: dict[int, str]) -> None:
        self.units, self.tokens = units, tokens
        self._names = names  # of special tokens, by where they stand

    @classmethod
    def of_text(cls, text: str | bytes, special: dict[str, int]) -> Written:
        """A text; names of special tokens in it, of those that are given, are these tokens."""
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        units: list[int] = []
        tokens: list[tuple[int, int, int]] = []
        names: dict[int, str] = {}
        at = 0
        for begin, end, name in _places(data, special):
            units += data[at:begin]
            names[len(units)] = name
            tokens.append((len(units), 1, special[name]))
            units.append(NO_BYTE)
            at = end
        return cls([*units, *data[at:]], tokens, names)

    @classmethod
    def of_tokens(cls, ids: Iterable[int], vocabulary: Vocabulary) -> Written:
        """The text of some tokens."""
        named = {number: name for name, number in vocabulary.special_ids.items()}
        units: list[int] = []
        tokens: list[tuple[int, int, int]] = []
        names: dict[int, str] = {}
        for number in ids:
            data = vocabulary.token_bytes(number)
            if not data:
                names[len(units)] = named.get(number, "")
            tokens.append((len(units), max(1, len(data or b"")), number))
            units += data or (NO_BYTE,)
        return cls(units, tokens, names)

    def part(self, begin: int, end: int) -> Written:
        """From one unit to another."""
        tokens = [(at - begin, length, each) for at, length, each in self.tokens if begin <= at and at + length <= end]
        names = {at - begin: name for at, name in self._names.items() if begin <= at < end}
        return Written(self.units[begin:end], tokens, names)

    def data(self, begin: int, end: int) -> bytes | None:
        """The bytes of a part; none if there are tokens without."""
        part = self.units[begin:end]
        return None if NO_BYTE in part else bytes(part)

    def text(self, begin: int, end: int) -> str:
        """A part as text; special tokens stand in it by their names."""
        data = bytearray()
        for at in range(begin, end):
            if self.units[at] == NO_BYTE:
                data += self._names[at].encode()
            else:
                data.append(self.units[at])
        return data.decode("utf-8", "replace")

    @cached_property
    def _beginnings(self) -> list[int]:
        """Units at which a character begins."""
        return [at for at, unit in enumerate(self.units) if unit & 0xC0 != 0x80 or unit == NO_BYTE]

    @cached_property
    def _lines(self) -> list[int]:
        """Units at which a line begins."""
        return [0, *(at + 1 for at, unit in enumerate(self.units) if unit == 0x0A)]

    def place(self, unit: int) -> tuple[int, int, int]:
        """Characters before a unit; line and column, from 1 on."""
        before = bisect_left(self._beginnings, unit)
        line = bisect_right(self._lines, unit)
        return before, line, before - bisect_left(self._beginnings, self._lines[line - 1]) + 1

    def meta(self, begin: int, end: int) -> Meta:
        """Where a part lies, as Lark says it."""
        meta = Meta()  # type: ignore[no-untyped-call]
        meta.empty = False
        meta.start_pos, meta.line, meta.column = self.place(begin)
        meta.end_pos, meta.end_line, meta.end_column = self.place(end)
        return meta


def _places(data: bytes, names: Collection[str]) -> Iterable[tuple[int, int, str]]:
    """Where some names stand in a text, from left to right; of several that begin in one place the longest."""
    ordered = sorted(filter(None, names), key=len, reverse=True)
    if ordered:
        for found in re.finditer(b"|".join([re.escape(name.encode()) for name in ordered]), data):
            yield *found.span(), found[0].decode()
