"""What the front ends share: constructors that simplify as they build, and two remedies for deep nesting.

The constructors are valid also where a terminal is read leftmost-first as Python's `re` does: items are only merged
where their order cannot be observed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ..errors import GrammarError, LimitError
from ..expr import EMPTY, NOTHING, Alt, Bytes, Chars, Concat, Expr, Look, Repeat
from ..limits import Limits
from ..support import steps
from ..support.steps import run

__all__ = [
    "Step",
    "alternation",
    "characters",
    "checked_source",
    "concatenation",
    "look",
    "recursion_room",
    "repeat",
    "run",
]

Step = steps.Step[Expr]
"""Builds one expression."""


def checked_source(text: object, limits: Limits, what: str) -> str:
    """The text of a grammar.

    Args:
        what: what it is called in messages, such as "Lark grammar".

    Raises:
        GrammarError: it is no `str`.
        LimitError: it is longer than `limits.max_source`.
    """
    if not isinstance(text, str):
        raise GrammarError(f"a {what} must be a str, not {type(text).__name__}", hint="Decode it as UTF-8.")
    if len(text) > limits.max_source:
        raise LimitError("max_source", len(text), limits.max_source, what)
    return text


def concatenation(items: Iterable[Expr]) -> Expr:
    """`Concat` with nested ones spliced in, adjacent `Bytes` joined and a single item unwrapped."""
    out: list[Expr] = []
    run: list[bytes] = []  # adjacent literals, joined once: a long literal must not cost its length squared

    def close() -> None:
        if run:
            out.append(Bytes(b"".join(run)))
            run.clear()

    for item in items:
        for part in item.items if isinstance(item, Concat) else (item,):
            if isinstance(part, Bytes):
                if part.value:
                    run.append(part.value)
            else:
                close()
                out.append(part)
    close()
    return out[0] if len(out) == 1 else Concat(tuple(out)) if out else EMPTY


def alternation(items: Iterable[Expr]) -> Expr:
    """`Alt` with nested ones spliced in, neighbouring single characters joined and a single item unwrapped.

    Neighbours that match one character each end at the same place, so which of them comes first cannot be seen.
    """
    out: list[Expr] = []
    run: list[tuple[int, int]] = []

    def close() -> None:
        if run:
            out.append(characters(Chars.of(*run)))
            run.clear()

    for item in items:
        for part in item.items if isinstance(item, Alt) else (item,):
            ranges = _one_character(part)
            if ranges is None:
                close()
                out.append(part)
            else:
                run.extend(ranges)
    close()
    return out[0] if len(out) == 1 else Alt(tuple(out)) if out else NOTHING


def characters(chars: Chars) -> Expr:
    """The class itself; `Bytes` if it has one member, `NOTHING` if it has none."""
    if not chars.ranges:
        return NOTHING
    if len(chars.ranges) == 1 and chars.ranges[0][0] == chars.ranges[0][1]:
        return Bytes(chr(chars.ranges[0][0]).encode())
    return chars


def repeat(item: Expr, low: int, high: int | None, lazy: bool = False) -> Expr:
    """`Repeat`, where it is not trivial."""
    if item == EMPTY or high == 0:
        return EMPTY
    if item == NOTHING:
        return NOTHING if low else EMPTY
    return item if low == high == 1 else Repeat(item, low, high, lazy)


def look(item: Expr, *, ahead: bool, negative: bool) -> Expr:
    """`Look`, where it is not trivial: the empty string is always there."""
    if item == EMPTY:
        return NOTHING if negative else EMPTY
    return Look(item, ahead, negative)


def _one_character(expr: Expr) -> tuple[tuple[int, int], ...] | None:
    """The ranges of an expression that matches exactly one character, else `None`."""
    match expr:
        case Chars(ranges):
            return ranges
        case Bytes(value) if 0 < len(value) <= 4:
            try:
                char = value.decode()
            except UnicodeDecodeError:
                return None
            return ((ord(char), ord(char)),) if len(char) == 1 else None
        case _:
            return None


@contextmanager
def recursion_room(frames: int) -> Iterator[None]:
    """Lets somebody else's recursive code use so many more Python frames than are in use now."""
    before = sys.getrecursionlimit()
    frame, used = sys._getframe(), 0
    while frame.f_back is not None:
        frame, used = frame.f_back, used + 1
    try:
        sys.setrecursionlimit(max(before, used + frames))
        yield
    finally:
        sys.setrecursionlimit(before)
