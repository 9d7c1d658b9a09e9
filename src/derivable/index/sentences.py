"""Sentences of a grammar as models are likely to write them: all parts that may be left out are there, lists have two
items, a blank stands behind commas and colons. What masks are asked for along them is asked for by most texts, so an
index is filled along these first.

That is one sentence for a grammar, or a few in which other alternatives are taken, not a set that covers it (Purdom
1972): what they leave out is found from where they have been.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from .. import _kernel
from ..expr import (
    Alt,
    And,
    Bytes,
    ByteSet,
    Chars,
    Concat,
    Expr,
    Graph,
    JsonStrings,
    JsonText,
    Members,
    Numbers,
    Ref,
    Repeat,
    Sequences,
    Special,
    Spelled,
)
from ..rules import Rules

__all__ = ["Sentence", "sentence"]

Sentence = list[bytes | Special]
"""Its parts: text, and tokens that the grammar names."""

_LONGEST = 1 << 13
"""Bytes. A longer one ends there: its beginning is followed all the same."""

_STEPS = 20_000
"""Parts of rules that are looked at for one sentence."""

_AGAIN = 2
"""How often a rule may be within itself."""

_DEPTH = 40
"""Of a terminal: what is deeper is left out."""

_WORDS = "example text of some words "
_USUAL = "ae1 -_./:Aé"
"""Characters, the likely ones first."""

Todo = tuple[object, "Todo"] | None
"""What is left to be written: names, expressions and members of objects, the next one first."""


class _Leave:
    """The end of a rule."""


_LEAVE = _Leave()


class _Rest:
    """Members of an object, from one on."""

    __slots__ = ("members", "next", "some")

    def __init__(self, members: Members, next_: int, some: bool) -> None:
        self.members = members
        self.next = next_
        self.some = some  # there is one before


Open = tuple[str, "Open"] | None
"""Rules that are not at their end, the innermost first."""


def sentence(grammar: Rules, number: int) -> Sentence:
    """One that is likely to be of the grammar. Where the shape of a terminal is not simply told it may be another
    text, and a long one is cut off.

    Args:
        grammar: any.
        number: which one. Odd ones leave out what may be left out of objects; and each takes other alternatives.
    """
    return _Search(grammar, number).run()


class _Search:
    """Depth first; where a rule would be within itself too often, the last choice is made otherwise."""

    def __init__(self, grammar: Rules, number: int) -> None:
        self._grammar = grammar
        self._number = number
        self._out: Sentence = []
        self._choices: list[tuple[Todo, Open, int]] = []

    def run(self) -> Sentence:
        todo: Todo = (self._grammar.start, None)
        opened: Open = None
        length, steps = 0, 0
        while todo is not None and length < _LONGEST and steps < _STEPS:
            _kernel.check(100)
            steps += 1
            item, todo = todo
            if item is _LEAVE:
                assert opened is not None
                opened = opened[1]
                continue
            options: list[Todo] | None
            if isinstance(item, str) and item in self._grammar.terminals:
                written = self._terminal(item)
                if written is not None:
                    self._out.append(written)
                    length += len(written) if isinstance(written, bytes) else 1
                    continue
                options = []
            elif isinstance(item, str):
                again = _count(opened, item)
                opened = (item, opened)
                todo = (_LEAVE, todo)
                options = [] if again >= _AGAIN else self._options(self._grammar.rules[item], todo, again)
            else:
                options = self._options(item, todo, 0)
            if not options:
                if not self._choices:
                    break
                todo, opened, parts = self._choices.pop()
                del self._out[parts:]
                continue
            todo = options[0]
            self._choices += [(other, opened, len(self._out)) for other in reversed(options[1:])]
        return _joined(self._out)

    def _terminal(self, name: str) -> bytes | Special | None:
        expr = self._grammar.terminals[name].expr
        if isinstance(expr, (Special, Spelled)):
            return expr if isinstance(expr, Special) and not expr.negated else None
        last = self._out[-1] if self._out else b""
        return specimen(expr, self._number, last if isinstance(last, bytes) else b"")

    def _options(self, item: object, todo: Todo, again: int) -> list[Todo]:
        """What may be written in its place, the likely first."""
        match item:
            case Ref(name):
                return [(name, todo)]
            case Concat(items):
                return [_before(items, todo)]
            case Alt(items):
                shift = (self._number + again) % max(1, len(items))
                return [(each, todo) for each in items[shift:] + items[:shift]]
            case Repeat(each, least, most):
                likely = max(least, 1 if most is None else min(most, 1))
                counts = dict.fromkeys((likely, least))
                return [_before([each] * count, todo) for count in counts if count <= _STEPS]
            case Sequences():
                return [_before(names, todo) for names in sorted(_parts(item), key=len, reverse=not again)]
            case Members():
                return [(item.marks[0], (_Rest(item, 0, False), todo))]
            case _Rest():
                return self._members(item, todo)
            case Special():
                return []
            case _:
                written = specimen(item, self._number, b"")  # type: ignore[arg-type]
                self._out.append(written)
                return [todo]

    def _members(self, at: _Rest, todo: Todo) -> list[Todo]:
        of = at.members
        _, close, close_empty, comma, colon = of.marks
        if at.next >= len(of.listed):
            end: Todo = (close if at.some else close_empty, todo)
            if at.some or not of.others:
                return [end]
            other, its_value = of.others[:2]
            return [(other, (colon, (its_value, (close, todo)))), end]
        key, value, required = of.listed[at.next], of.listed[at.next + 1], of.listed[at.next + 2]
        member = (key, (colon, (value, (_Rest(of, at.next + 3, True), todo))))
        written: Todo = (comma, member) if at.some else member
        if required:
            return [written]
        skipped: Todo = (_Rest(of, at.next + 3, at.some), todo)
        return [skipped, written] if self._number % 2 else [written, skipped]


def _count(opened: Open, name: str) -> int:
    count = 0
    while opened is not None:
        count += opened[0] == name
        opened = opened[1]
    return count


def _before(items: Iterable[object], todo: Todo) -> Todo:
    for item in reversed(tuple(items)):
        todo = (item, todo)
    return todo


def _parts(sequences: Sequences) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for name in sequences.names:
        if name is None:
            parts.append([])
        else:
            parts[-1].append(name)
    return parts


def _joined(parts: Sentence) -> Sentence:
    out: Sentence = []
    for part in parts:
        if isinstance(part, bytes) and out and isinstance(out[-1], bytes):
            out[-1] += part
        else:
            out.append(part)
    return out


def specimen(expr: Expr, number: int, before: bytes) -> bytes:
    """A text that is likely to match, behind some other text."""
    out = bytearray(before)
    _write(expr, number, out, 0)
    return bytes(out[len(before) :])


def _write(expr: Expr, number: int, out: bytearray, depth: int) -> None:
    if depth > _DEPTH or len(out) > _LONGEST:
        return
    match expr:
        case Bytes(value):
            out += value
        case Chars(ranges):
            out += _likely(ranges).encode("utf-8", "replace")
        case ByteSet(ranges):
            out.append(ord(_likely(tuple((low, min(high, 0x7F)) for low, high in ranges if low < 0x80) or ((63, 63),))))
        case Concat(items):
            for item in items:
                _write(item, number, out, depth + 1)
        case Alt(items):
            if items:
                _write(items[number % len(items)], number, out, depth + 1)
        case And(items):
            _write(items[0], number, out, depth + 1)
        case Repeat():
            _write_again(expr, number, out, depth)
        case JsonStrings():
            out += _string(expr, number).encode("utf-8", "replace")
        case JsonText(item):
            inner = bytearray(b'"')
            _write(item, number, inner, depth + 1)
            out += json.dumps(inner[1:].decode("utf-8", "replace"), ensure_ascii=False).encode("utf-8", "replace")
        case Numbers():
            out += _number(expr).encode()
        case Graph():
            out += _shortest(expr)
        case _:  # what lies around, or must not match
            pass


def _write_again(expr: Repeat, number: int, out: bytearray, depth: int) -> None:
    item, least, most = expr.item, expr.min, expr.max
    if isinstance(item, ByteSet) and any(low <= 0x20 <= high for low, high in item.ranges):
        for _ in range(max(least, out.endswith((b",", b":")))):
            out.append(0x20)
    elif isinstance(item, Chars):
        word = [c for c in _WORDS if any(low <= ord(c) <= high for low, high in item.ranges)] or [_likely(item.ranges)]
        likely = max(least, 8 if most is None else min(most, 8))
        text = (word * (min(likely, _LONGEST) // len(word) + 1))[:likely]
        out += "".join(text).encode("utf-8", "replace")
    else:
        for _ in range(min(least, _LONGEST)):
            _write(item, number, out, depth + 1)


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
