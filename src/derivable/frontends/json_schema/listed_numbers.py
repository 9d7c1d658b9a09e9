"""The texts of listed numbers: one automaton for all of them, made from the sorted texts, equal ends shared.

A number has two texts here, plain and with an exponent (`numbers`), and both are digits, perhaps a point and decimals,
to which zeros may be added once there is a point. So one tree of digits serves both: at the end of a number's plain
digits the text may stop, at the end of its mantissa the exponent may follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from ...expr import Expr, Graph
from .numbers import spellings

__all__ = ["listed_numbers"]

Edge = tuple[int, int, int]
Exponents = frozenset[int]
Ends = tuple[bool, Exponents]
"""What digits say once they are whole: the text may stop, and the exponents that may follow."""

_NONE: Ends = False, frozenset()
_POINT, _ZERO, _PLUS, _MINUS = b".0+-"


def listed_numbers(values: list[Decimal], most: int) -> Iterator[Expr]:
    """Every plain and normalised scientific literal of exactly these numbers, in automata of about `most` states.

    Cost: the digits of the numbers.
    """
    signed: list[tuple[bool, str, Ends]] = []
    size = 0
    for value in sorted(values, key=lambda value: value.as_tuple().digits):  # neighbours share what they begin with
        plain, mantissa, exponent = spellings(value.copy_abs())
        signs = (False, True) if value.is_zero() else (value < 0,)
        for negative in signs:
            signed.append((negative, plain, (True, frozenset())))
            if mantissa:
                signed.append((negative, mantissa, (False, frozenset((exponent,)))))
        size += len(plain) + len(mantissa)
        if size > most:
            yield _Automaton().whole(signed)
            signed, size = [], 0
    if signed:
        yield _Automaton().whole(signed)


class _Open:
    """A state that the text under way has passed, and that may still get edges."""

    __slots__ = ("edges", "ends", "point", "zeros")

    def __init__(self, ends: Ends, zeros: Ends | None, point: bool) -> None:
        self.edges: list[Edge] = []
        self.ends = ends
        self.zeros = zeros  # behind a point: what zeros lead to
        self.point = point


class _Automaton:
    """Being made: finished states are numbered, and equal ones have one number."""

    def __init__(self) -> None:
        self.ids: dict[tuple[bool, tuple[Edge, ...]], int] = {}
        self.edges: list[tuple[Edge, ...]] = [()]  # 0 is the start, known last
        self.accepting: list[bool] = [False]
        self.loops: dict[Ends, int] = {}
        self.tails: dict[Exponents, tuple[Edge, ...]] = {}

    def whole(self, signed: list[tuple[bool, str, Ends]]) -> Expr:
        sides: list[tuple[Edge, ...]] = []
        for side in (False, True):
            table: dict[str, Ends] = {}
            for negative, text, (stops, exponents) in signed:
                if negative is side:
                    known = table.get(text, _NONE)
                    table[text] = known[0] or stops, known[1] | exponents
            sides.append(self.digits(table) if table else ())
        start = sides[0]
        if sides[1]:
            start += ((_MINUS, _MINUS, self.state(False, sides[1])),)
        self.edges[0] = start
        return Graph(tuple(self.edges), tuple(self.accepting))

    def state(self, accepting: bool, edges: tuple[Edge, ...]) -> int:
        found = self.ids.get((accepting, edges))
        if found is None:
            found = self.ids[accepting, edges] = len(self.edges)
            self.edges.append(edges)
            self.accepting.append(accepting)
        return found

    def digits(self, table: dict[str, Ends]) -> tuple[Edge, ...]:
        """The edges of the first digits. The texts are taken in order, so what the next one leaves behind is whole."""
        path = [_Open(_NONE, None, False)]
        last = ""
        for text in sorted(table):
            same = 0
            while same < len(last) and same < len(text) and last[same] == text[same]:
                same += 1
            self.close(path, last, same)
            for place in range(same, len(text)):
                path.append(self.opened(path[-1], text[place]))
            path[-1].ends = table[text]
            if path[-1].zeros is not None:
                path[-1].zeros = table[text]
            last = text
        self.close(path, last, 0)
        return tuple(path[0].edges)

    @staticmethod
    def opened(before: _Open, character: str) -> _Open:
        if character == ".":
            return _Open(_NONE, before.ends, True)
        if before.zeros is None:
            return _Open(_NONE, None, False)
        ends = before.zeros if character == "0" else _NONE
        return _Open(ends, ends, False)

    def close(self, path: list[_Open], text: str, length: int) -> None:
        """Finishes the states beyond so many characters."""
        while len(path) > length + 1:
            done = path.pop()
            byte = ord(text[len(path) - 1])
            path[-1].edges.append((byte, byte, self.finished(done)))

    def finished(self, done: _Open) -> int:
        edges = tuple(done.edges)
        named = {low for low, _, _ in edges}
        if done.zeros is None:
            if done.ends != _NONE and _POINT not in named:
                edges += ((_POINT, _POINT, self.state(False, ((_ZERO, _ZERO, self.zeros(done.ends)),))),)
        elif done.zeros != _NONE and _ZERO not in named:
            edges += ((_ZERO, _ZERO, self.zeros(done.zeros)),)
        return self.state(done.ends[0], edges + self.exponent(done.ends[1]))

    def zeros(self, ends: Ends) -> int:
        """Zeros behind the last decimal that matters."""
        found = self.loops.get(ends)
        if found is None:
            found = self.loops[ends] = len(self.edges)
            self.edges.append(())
            self.accepting.append(ends[0])
            self.edges[found] = ((_ZERO, _ZERO, found), *self.exponent(ends[1]))
        return found

    def exponent(self, exponents: Exponents) -> tuple[Edge, ...]:
        """The edges to `e`, its sign and one of these numbers, zeros in front."""
        if not exponents:
            return ()
        found = self.tails.get(exponents)
        if found is None:
            up = self.powers(frozenset(e for e in exponents if e >= 0))
            down = self.powers(frozenset(-e for e in exponents if e <= 0))
            edges = up
            if up:
                edges += ((_PLUS, _PLUS, self.state(False, up)),)
            if down:
                edges += ((_MINUS, _MINUS, self.state(False, down)),)
            after = self.state(False, edges)
            found = self.tails[exponents] = tuple((byte, byte, after) for byte in b"Ee")
        return found

    def powers(self, numbers: Exponents) -> tuple[Edge, ...]:
        if not numbers:
            return ()
        path = [_Open(_NONE, None, False)]
        last = ""
        texts = sorted(str(n) for n in numbers if n)
        for text in [*texts, ""]:
            same = 0
            while same < len(last) and same < len(text) and last[same] == text[same]:
                same += 1
            while len(path) > same + 1:
                done = path.pop()
                byte = ord(last[len(path) - 1])
                path[-1].edges.append((byte, byte, self.state(done.ends[0], tuple(done.edges))))
            path += [_Open(_NONE, None, False) for _ in text[same:]]
            if text:
                path[-1].ends = True, frozenset()
            last = text
        loop = len(self.edges)
        self.edges.append(())
        self.accepting.append(0 in numbers)
        self.edges[loop] = (*path[0].edges, (_ZERO, _ZERO, loop))
        return self.edges[loop]
