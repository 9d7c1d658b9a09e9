"""Specimens of terminals: texts that they are likely to be in what a model writes."""

from __future__ import annotations

import json
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from ..expr import Alt, And, Bytes, ByteSet, Chars, Concat, Expr, Graph, JsonStrings, JsonText, Numbers, Repeat

__all__ = ["SEPARATORS", "specimen"]

SEPARATORS = (b",", b":")
"""A blank stands behind them, where one may."""

_LONGEST = 1 << 13
"""Bytes; of more, the beginning."""

_DEPTH = 40
"""What is nested deeper is left out."""

_PARTS = 10_000
"""Of a terminal that are looked at for one specimen."""

_WORD = "example"
_WORDS = "example text of some words "
_USUAL = "ae1 -_./:Aé"
"""Characters, the likely ones first."""

_WHITE = frozenset(b" \t\r\n")


def specimen(expr: Expr, number: int, before: bytes) -> bytes:
    """A text that is likely to match: where its shape is not simply told it may be another one.

    Args:
        expr: regular.
        number: of several constants, which one.
        before: what stands before it.
    """
    out = bytearray(before)
    _Writer(number).write(expr, out, 0)
    return bytes(out[len(before) :])


class _Writer:
    def __init__(self, number: int) -> None:
        self._number = number
        self._left = _PARTS

    def write(self, expr: Expr, out: bytearray, depth: int) -> None:
        self._left -= 1
        if depth > _DEPTH or len(out) > _LONGEST or self._left < 0:
            return
        if _may_be_blank(expr, depth):
            out += b" " if out.endswith(SEPARATORS) else b""
            return
        match expr:
            case Bytes(value):
                out += value
            case Chars(ranges):
                out += _likely(ranges).encode("utf-8", "replace")
            case ByteSet(ranges):
                plain = tuple((low, min(high, 0x7F)) for low, high in ranges if low < 0x80)
                out += _likely(plain or ((0x3F, 0x3F),)).encode()
            case Concat(items):
                for item in items:
                    self.write(item, out, depth + 1)
            case Alt(items):
                self._write_one(items, out, depth)
            case And(items):
                self.write(items[0], out, depth + 1)
            case Repeat():
                self._write_again(expr, out, depth)
            case JsonStrings():
                out += _string(expr, self._number).encode("utf-8", "replace")
            case JsonText(item):
                inner = bytearray(b'"')
                self.write(item, inner, depth + 1)
                text = inner[1:].decode("utf-8", "replace")
                out += json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")
            case Numbers():
                out += _number(expr).encode()
            case Graph():
                out += _shortest(expr)
            case _:  # what lies around, or must not match
                pass

    def _write_one(self, items: tuple[Expr, ...], out: bytearray, depth: int) -> None:
        """Of constants one, else the longest, and of equals the last: others are special cases."""
        if items and all(isinstance(item, Bytes) for item in items):
            self.write(items[self._number % len(items)], out, depth + 1)
            return
        longest = b""
        for item in items:
            each = bytearray(out[-1:])
            self.write(item, each, depth + 1)
            longest = max(bytes(each[len(out[-1:]) :]), longest, key=len)
        out += longest

    def _write_again(self, expr: Repeat, out: bytearray, depth: int) -> None:
        item, least, most = expr.item, expr.min, expr.max
        if isinstance(item, Chars):
            some = [c for c in _WORD if any(low <= ord(c) <= high for low, high in item.ranges)]
            word = "".join(some) or _likely(item.ranges)
            likely = max(least, len(_WORD) if most is None else min(most, len(_WORD)))
            out += (word * (min(likely, _LONGEST) // max(1, len(word)) + 1))[:likely].encode("utf-8", "replace")
            return
        for _ in range(least):
            length = len(out)
            self.write(item, out, depth + 1)
            if len(out) == length:
                return


def _may_be_blank(expr: Expr, depth: int) -> bool:
    """White space, or nothing."""
    match expr:
        case Repeat(item, 0, _):
            return _is_white(item, depth + 1)
        case Alt(items):
            return any(_may_be_blank(item, depth + 1) for item in items) and _is_white(expr, depth)
        case _:
            return False


def _is_white(expr: Expr, depth: int) -> bool:
    if depth > _DEPTH:
        return False
    match expr:
        case Bytes(value):
            return _WHITE.issuperset(value)
        case ByteSet(ranges) | Chars(ranges):
            return all(high - low < 4 and _WHITE.issuperset(range(low, high + 1)) for low, high in ranges)
        case Concat(items) | Alt(items):
            return all(_is_white(item, depth + 1) for item in items)
        case Repeat(item):
            return _is_white(item, depth + 1)
        case _:
            return False


def _likely(ranges: tuple[tuple[int, int], ...]) -> str:
    for c in _USUAL:
        if any(low <= ord(c) <= high for low, high in ranges):
            return c
    return chr(ranges[0][0]) if ranges else ""


def _string(expr: JsonStrings, number: int) -> str:
    if not expr.negated:
        return json.dumps(expr.values[number % len(expr.values)], ensure_ascii=False) if expr.values else ""
    most = 12 if expr.max_length is None else min(expr.max_length, 12)
    word = (_WORDS * (min(expr.min_length, _LONGEST) // len(_WORDS) + 1))[: max(expr.min_length, most)]
    return json.dumps(word[::-1] if word in expr.values else word)


def _number(expr: Numbers) -> str:
    low, high = (bound[0] if bound else None for bound in (expr.low, expr.high))
    if low is not None and low > 1:
        value = low.to_integral_value(ROUND_CEILING) + 1
        if high is not None and value > high:
            value = low.to_integral_value(ROUND_CEILING)
    elif high is not None and high < 1:
        value = high.to_integral_value(ROUND_FLOOR)
        if low is not None and value < low:
            value = low
    else:
        value = Decimal(1)
    return f"{value if expr.integral is not False else value + Decimal('0.5'):f}"


def _shortest(graph: Graph) -> bytes:
    """Breadth first."""
    reached: dict[int, tuple[int, int]] = {0: (0, -1)}  # from which state, by which byte
    queue = [0]
    for state in queue:
        if graph.accepting[state]:
            text = bytearray()
            while reached[state][1] >= 0:
                state, byte = reached[state]
                text.append(byte)
            return bytes(reversed(text))
        for low, _, to in graph.edges[state]:
            if to not in reached:
                reached[to] = (state, low)
                queue.append(to)
    return b""
