"""Which symbols derive which pieces of a sequence of terminals: a bottom-up chart (Kay 1980), as bit sets of places."""

from __future__ import annotations

from .terminals import TerminalGrammar

__all__ = ["ACCEPTED", "REFUSED", "Chart", "chart"]

ACCEPTED, REFUSED = -1, 0
"""In place of the places up to which something was read: the whole sequence was read; it cannot be."""


class Chart:
    """What the symbols of a grammar derive of ``sequence[0:k]``.

    A set of places is an int: bit i stands for the place before ``sequence[i]``.

    Attributes:
        spans: (symbol, i) to the places j > i with ``symbol =>* sequence[i:j]``.
        opens: symbol to the places i < k such that ``sequence[i:k]`` is a prefix of something that it derives.
    """

    def __init__(self, grammar: TerminalGrammar, sequence: tuple[int, ...]) -> None:
        self.grammar = grammar
        self.length = len(sequence)
        self.spans: dict[tuple[int, int], int] = {}
        self.opens: dict[int, int] = {}
        self._read: dict[tuple[tuple[int, ...], int], int] = {}
        self._upwards: dict[tuple[int, int], dict[int, int]] = {}
        self._fill(sequence)

    def _fill(self, sequence: tuple[int, ...]) -> None:
        starts, nullable, spans = self.grammar.corners, self.grammar.nullable, self.spans
        waiting: dict[tuple[int, int], list[tuple[int, tuple[int, ...], int]]] = {}
        edges: set[tuple[int, tuple[int, ...], int, int]] = set()
        complete = [(symbol, i, i + 1) for i, symbol in enumerate(sequence)]

        def add(head: int, rest: tuple[int, ...], i: int, j: int) -> None:
            """Something of the body of `head` covers i to j, and `rest` is to come."""
            while True:
                if (head, rest, i, j) in edges:
                    return
                edges.add((head, rest, i, j))
                if not rest:
                    complete.append((head, i, j))
                    return
                waiting.setdefault((rest[0], j), []).append((head, rest[1:], i))
                found = spans.get((rest[0], j), 0)
                while found:
                    low = found & -found
                    add(head, rest[1:], i, low.bit_length() - 1)
                    found ^= low
                if rest[0] not in nullable:
                    return
                rest = rest[1:]

        while complete:
            symbol, i, j = complete.pop()
            known = spans.get((symbol, i), 0)
            if known >> j & 1:
                continue
            spans[symbol, i] = known | 1 << j
            for head, rest in starts.get(symbol, ()):
                add(head, rest, i, j)
            for head, rest, begin in tuple(waiting.get((symbol, i), ())):
                add(head, rest, begin, j)
        if not sequence:
            return
        todo = [(sequence[-1], self.length - 1)]
        while todo:
            symbol, i = todo.pop()
            if self.opens.get(symbol, 0) >> i & 1:
                continue
            self.opens[symbol] = self.opens.get(symbol, 0) | 1 << i
            todo += ((head, i) for head, _ in starts.get(symbol, ()))
            todo += ((head, begin) for head, _, begin in waiting.get((symbol, i), ()))

    def read(self, symbols: tuple[int, ...], places: int) -> int:
        """Where one may be after `symbols` in turn, from any of `places`: places, `REFUSED` or `ACCEPTED`."""
        out = 0
        while places:
            low = places & -places
            places ^= low
            one = self._read_from(symbols, low.bit_length() - 1)
            if one == ACCEPTED:
                return ACCEPTED
            out |= one
        return out

    def upwards(self, symbol: int, places: int) -> dict[int, int]:
        """A symbol was completed at `places`: where those are completed that begin with it.

        Returns:
            Each symbol of which it is a left corner, itself included, to places, `REFUSED` or `ACCEPTED`.
        """
        known = self._upwards.get((symbol, places))
        if known is not None:
            return known
        found = self._upwards[symbol, places] = {symbol: places}
        todo = [symbol]
        while todo:
            below = todo.pop()
            at = found[below]
            for head, rest in self.grammar.corners.get(below, ()):
                after = at if at in (ACCEPTED, REFUSED) else self.read(rest, at)
                before = found.get(head)
                # ACCEPTED is -1: all bits, so what is accepted in one way stays accepted.
                if before is None or before | after != before:
                    found[head] = (before or 0) | after
                    todo.append(head)
        return found

    def _read_from(self, symbols: tuple[int, ...], i: int) -> int:
        if not symbols:
            return 1 << i
        known = self._read.get((symbols, i))
        if known is not None:
            return known
        first, rest = symbols[0], symbols[1:]
        if self.opens.get(first, 0) >> i & 1:
            result = ACCEPTED
        else:
            after = self.spans.get((first, i), 0) | (1 << i if first in self.grammar.nullable else 0)
            result = self.read(rest, after)
        self._read[symbols, i] = result
        return result


_MOST = 50_000
"""Charts of one grammar that are kept."""


def chart(grammar: TerminalGrammar, sequence: tuple[int, ...]) -> Chart:
    """The chart of a sequence; remembered with the grammar."""
    known: Chart | None = grammar.charts.get(sequence)
    if known is None:
        if len(grammar.charts) >= _MOST:
            grammar.charts.clear()
        known = grammar.charts[sequence] = Chart(grammar, sequence)
    return known
