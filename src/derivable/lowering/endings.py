"""Blocks that nothing but the end of the text can close, lowered (docs/lexing.md, Indentation).

A dedent stands behind a newline, or at the end of the text behind anything: there one is appended for every block. The
symbols of a grammar that asks for both are told apart here by what stands before and behind them, and the dedents at
the end are left out of it. Then each of its sequences has a text again, which is what dead ends are decided by.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count

from ..errors import LimitError

__all__ = ["split_ends"]

_Production = Sequence[int]
_Variant = tuple[int, bool, bool | None]
"""A symbol; whether a newline (or dedent) stands before it; whether it ends with one. `None`: with all dedents left out
that would follow, of which there is at least one, and what stands before them is no newline."""


class _Split:
    def __init__(
        self, productions: Sequence[_Production], terminals: int, newline: int, dedent: int, most: int
    ) -> None:
        self.dedent = dedent
        self.steps, self.most = 0, most
        self.bodies: dict[int, list[_Production]] = {}
        for head, *body in productions:
            self.bodies.setdefault(head, []).append(body)
        self.nullable: set[int] = set()
        self.closing = {dedent}  # derives one
        self.ends: defaultdict[int, set[bool]] = defaultdict(set)  # a symbol without productions ends with nothing
        self.ends.update((t, {t in (newline, dedent)}) for t in range(1, terminals + 1))
        while True:
            before = len(self.nullable), len(self.closing), sum(map(len, self.ends.values()))
            for head, *body in productions:
                if self.nullable.issuperset(body):
                    self.nullable.add(head)
                if not self.closing.isdisjoint(body):
                    self.closing.add(head)
                for symbol in reversed(body):
                    self.ends[head] |= self.ends[symbol]
                    if symbol not in self.nullable:
                        break
            if before == (len(self.nullable), len(self.closing), sum(map(len, self.ends.values()))):
                break

    def step(self, symbol: int, before: bool) -> list[tuple[bool, int | _Variant]]:
        """What may stand for a symbol, and whether it ends with a newline."""
        if symbol == self.dedent and not before:
            return []
        if symbol not in self.closing | self.nullable and len(self.ends[symbol]) == 1:
            return [(end, symbol) for end in self.ends[symbol]]
        if symbol == self.dedent:
            return [(True, symbol)]
        return [(end, (symbol, before, end)) for end in (True, False)]

    def paths(self, body: _Production, before: bool) -> Iterator[tuple[list[int | _Variant], bool]]:
        """The bodies that may stand for one."""
        self.steps += 1  # two ways to end for each symbol of a body may be as many bodies as bits
        if self.steps > self.most:
            raise LimitError(
                "max_symbols", self.steps, self.most, "the rules of blocks, told apart by what they end with"
            )
        if not body:
            yield [], before
            return
        for end, symbol in self.step(body[0], before):
            for rest, last in self.paths(body[1:], end):
                yield [symbol, *rest], last

    def of(self, variant: _Variant) -> Iterator[list[int | _Variant]]:
        symbol, before, end = variant
        for body in self.bodies.get(symbol, ()):
            if end is not None:
                yield from (path for path, last in self.paths(body, before) if last == end)
                continue
            for i, item in enumerate(body):
                if not all(other == self.dedent or other in self.nullable for other in body[i + 1 :]):
                    continue
                for path, last in self.paths(body[:i], before):
                    if item == self.dedent and not last:
                        yield path
                    elif item in self.closing and item != self.dedent:
                        yield [*path, (item, last, None)]

    def goes_on(self, symbol: int, productive: set[_Variant]) -> bool:
        """Whether a symbol is a list that, whatever it ends with, can go on with what ends with a newline."""
        return any(
            last and productive.issuperset(item for item in path if isinstance(item, tuple))
            for first, *more in filter(None, self.bodies.get(symbol, ()))
            if first == symbol
            for path, last in self.paths(more, False)
        )

    def keeps_lines(self, body: _Production, productive: set[_Variant]) -> bool:
        """Whether each dedent in a body stands behind what ends with a newline, or can go on so that it does."""
        for i, symbol in enumerate(body):
            for other in reversed(body[:i] if symbol == self.dedent else ()):
                if self.goes_on(other, productive):
                    break
                if False in self.ends[other]:
                    return False
                if other not in self.nullable:
                    break
        return True


def split_ends(
    productions: Sequence[_Production], terminals: int, free: int, start: int, newline: int, dedent: int, most: int
) -> tuple[int, list[tuple[int, list[int]]], list[int]] | None:
    """What to add to the productions of a grammar in which a dedent may stand behind something else than a newline.

    Args:
        productions: head and body, nonterminals numbered behind the terminals.
        free: the first number that is not a symbol.
        most: steps of the construction, about as many as there are symbols in its result.

    Returns:
        A new start symbol, productions (head, body), and of which symbol each new one is a variant, in the order of
        their numbers. `None` if some dedent could stand behind a newline only by chance: wherever something else may
        stand before one, it must be a list that can go on with an item that ends with a newline. Then whatever can be
        begun can be finished in a text, and the terminals that are acceptable after a text are the same.

    Raises:
        LimitError: it takes more than `most` steps.
    """
    split = _Split(productions, terminals, newline, dedent, most)
    starts: list[_Variant] = [(start, False, True), (start, False, False), (start, False, None)]
    bodies: dict[_Variant, list[list[int | _Variant]]] = {}
    todo = list(starts)
    while todo:
        variant = todo.pop()
        if variant not in bodies:
            bodies[variant] = list(split.of(variant))
            todo += (item for body in bodies[variant] for item in body if isinstance(item, tuple))
    productive: set[_Variant] = set()
    size = -1
    while len(productive) > size:
        size = len(productive)
        for variant, some in bodies.items():
            if any(productive.issuperset(item for item in body if isinstance(item, tuple)) for body in some):
                productive.add(variant)
    if not all(split.keeps_lines(body, productive) for _, *body in productions):
        return None
    number = dict(zip((variant for variant in bodies if variant in productive), count(free)))
    made = [
        (number[variant], [number[item] if isinstance(item, tuple) else item for item in body])
        for variant in number
        for body in bodies[variant]
        if productive.issuperset(item for item in body if isinstance(item, tuple))
    ]
    first = free + len(number)
    made += [(first, [number[variant]]) for variant in starts if variant in number]
    return first, made, [symbol for symbol, _, _ in number] + [start]
