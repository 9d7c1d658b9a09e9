"""Long literals and long lists of words, found in expressions: the kernel makes their states when a text reaches them.

As tables they would take a row of all byte classes for each of their bytes: 500 MB for a megabyte, and seconds to the
first mask. Only under `scannerless`, where a regular expression may be cut into terminals wherever one likes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from .. import _kernel
from ..expr import Alt, And, Bytes, Chars, Concat, Expr, Look, Repeat, children, walk
from .counted import counted_walk

__all__ = ["LONG", "cut_out_words", "words"]

LONG = 4_096
"""Bytes from which on a literal, or a list of words, is long."""


def words(expr: Expr) -> tuple[bytes, ...] | None:
    """The texts of a long literal, or of a long list of words; `None` for anything else."""
    while isinstance(expr, And) and len(expr.items) == 1:
        expr = expr.items[0]
    if isinstance(expr, Bytes):
        return (expr.value,) if len(expr.value) >= LONG else None
    if not isinstance(expr, Alt):
        return None
    _kernel.check(10 * len(expr.items))
    texts: list[bytes] = []
    for item in expr.items:
        if isinstance(item, Bytes):
            texts.append(item.value)
        elif isinstance(item, Chars) and sum(high - low for low, high in item.ranges) < LONG:
            texts += [chr(code).encode() for low, high in item.ranges for code in range(low, high + 1)]
        else:
            return None
    return tuple(texts) if sum(map(len, texts)) >= LONG else None


def cut_out_words(expr: Expr) -> Expr:
    """A regular expression in which `words` stand alone; each part that is left is one leaf (an `And` of one).

    The expression itself if there are none in it, or look-around, which must see the whole. Words behind a repeat, or
    in one, stay where they are: of `.*` and a long text an automaton has one state for all the places where the text
    may have begun, and the parser would follow each of them.

    Cost: the size of the expression.
    """
    sizes: dict[int, int] = {}
    for part in reversed(list(counted_walk(expr))):  # children first
        if isinstance(part, Look):
            return expr
        sizes[id(part)] = len(part.value) if isinstance(part, Bytes) else sum(sizes[id(c)] for c in children(part))
    if sizes[id(expr)] < LONG or words(expr) is not None:
        return expr
    parts = _cut(expr, sizes)
    return parts if any(words(leaf) is not None for leaf in _leaves(parts)) else expr


def _leaves(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, And):
        yield expr
    else:
        for part in children(expr):
            yield from _leaves(part)


def _cut(expr: Expr, sizes: dict[int, int]) -> Expr:
    if sizes[id(expr)] < LONG or words(expr) is not None:
        return And((expr,))
    match expr:
        case And((item,)):
            return _cut(item, sizes)
        case Repeat(item, _, 1):
            return replace(expr, item=_cut(item, sizes))
        case Alt(items):
            listed = tuple([item for item in items if type(item) is Bytes])
            if words(found := Alt((*listed,))) is not None:  # a list, and other things
                rest = tuple([item for item in items if type(item) is not Bytes])
                return Alt((And((found,)), *_grouped(Alt, rest, sizes)))
            return Alt(tuple(_grouped(Alt, items, sizes)))
        case Concat(items):
            repeats = next((at for at, item in enumerate(items) if _repeats(item)), len(items))
            behind = [And((Concat(items[repeats:]),))] if repeats < len(items) else []
            return Concat((*_grouped(Concat, items[:repeats], sizes), *behind))
        case _:
            return And((expr,))


def _repeats(expr: Expr) -> bool:
    return any(isinstance(part, Repeat) and part.max != 1 for part in walk(expr))


def _grouped(kind: type[Alt] | type[Concat], items: tuple[Expr, ...], sizes: dict[int, int]) -> list[Expr]:
    """Neighbours that are not long as one leaf, the others cut further."""
    out: list[Expr] = []
    for is_long, group in groupby(items, lambda item: sizes[id(item)] >= LONG):
        run = tuple(group)
        out += [_cut(item, sizes) for item in run] if is_long else [And((kind(run),))]
    return out
