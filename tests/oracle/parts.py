"""Parts of bounded tokens, from the definition in docs/endings.md: slow, over finite languages, without the engine.

An item of a grammar is a text language (a set of strings) with a bound on tokens or none, a sequence, a choice, or a
repetition. A reading of a text is a place between two items, or a lexeme in progress with the tokens that it lies in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

__all__ = ["Choice", "Item", "Parts", "Reading", "Sequence", "Star", "Text"]


class Text:
    """Some strings, and in how many tokens one of them may lie."""

    def __init__(self, strings: Iterable[bytes], max_tokens: int | None = None) -> None:
        self.max_tokens = max_tokens
        self.shortest: dict[bytes, int] = {}  # by the beginning of a string
        for string in strings:
            for end in range(len(string) + 1):
                begun = string[:end]
                self.shortest[begun] = min(len(string), self.shortest.get(begun, len(string)))

    def lacks(self, begun: bytes) -> int | None:
        """Bytes until it is complete; `None`: nothing begins so."""
        return None if begun not in self.shortest else self.shortest[begun] - len(begun)


@dataclass(frozen=True)
class Sequence:
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Choice:
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Star:
    item: Item


Item = Text | Sequence | Choice | Star


@dataclass(frozen=True)
class Reading:
    """What is to come behind the lexeme in progress; the lexeme, if there is one, what of it was read, its tokens."""

    rest: tuple[Item, ...]
    lexeme: Text | None = None
    begun: bytes = b""
    tokens: int = 0


class Parts:
    """All readings of a text that is given token by token."""

    def __init__(self, grammar: Item) -> None:
        self.readings = {Reading((grammar,))}

    def after(self, token: bytes) -> Parts:
        made = object.__new__(Parts)
        readings = self.readings
        for byte in token:
            readings = {after for reading in readings for after in _step(reading, bytes([byte]))}
        made.readings = {ended for reading in readings for ended in _end_token(reading)}
        return made

    def may_end(self) -> bool:
        return any(_may_be_empty(reading.rest) for each in self.readings for reading in _boundaries(each))

    def __bool__(self) -> bool:
        return bool(self.readings)


def _boundaries(reading: Reading) -> Iterator[Reading]:
    """The places between two lexemes where the text may stand."""
    if reading.lexeme is None:
        yield reading
    elif reading.lexeme.lacks(reading.begun) == 0:
        yield Reading(reading.rest)


def _step(reading: Reading, byte: bytes) -> Iterator[Reading]:
    if reading.lexeme is not None and reading.lexeme.lacks(reading.begun + byte) is not None:
        yield Reading(reading.rest, reading.lexeme, reading.begun + byte, reading.tokens)
    for place in _boundaries(reading):
        for lexeme, rest in _next(place.rest):
            if lexeme.lacks(byte) is not None:
                yield Reading(rest, lexeme, byte, 0)


def _end_token(reading: Reading) -> Iterator[Reading]:
    lexeme = reading.lexeme
    if lexeme is None or lexeme.max_tokens is None:
        yield reading
        return
    tokens = reading.tokens + 1
    lacks = lexeme.lacks(reading.begun)
    assert lacks is not None
    if tokens < lexeme.max_tokens and lacks <= lexeme.max_tokens - tokens:
        yield Reading(reading.rest, lexeme, reading.begun, tokens)
    elif tokens == lexeme.max_tokens and lacks == 0:
        yield Reading(reading.rest)


def _next(rest: tuple[Item, ...], repeated: frozenset[Star] = frozenset()) -> Iterator[tuple[Text, tuple[Item, ...]]]:
    """The texts that may come next, and what is behind each."""
    if not rest:
        return
    first, *others = rest
    behind = tuple(others)
    match first:
        case Text():
            yield first, behind
            if first.lacks(b"") == 0:
                yield from _next(behind, repeated)
        case Sequence(items):
            yield from _next((*items, *behind), repeated)
        case Choice(items):
            for item in items:
                yield from _next((item, *behind), repeated)
        case Star(item):
            if first not in repeated:  # of an item without text one is as good as many
                yield from _next((item, first, *behind), repeated | {first})
            yield from _next(behind, repeated)


def _may_be_empty(rest: tuple[Item, ...]) -> bool:
    def may(item: Item) -> bool:
        match item:
            case Text():
                return item.lacks(b"") == 0
            case Sequence(items):
                return all(map(may, items))
            case Choice(items):
                return any(map(may, items))
            case Star():
                return True

    return all(map(may, rest))
