"""Repeats as rules: of one or two smaller repeats each, which equal ones share."""

from __future__ import annotations

from ..expr import Alt, Concat, Expr, Repeat

__all__ = ["add_repeat"]

_MAX_BODY = 16
"""Items that a body holds: every position in a body is an LR item."""


def add_repeat(rules: dict[str | Expr, Expr], repeat: Repeat) -> None:
    """Adds the rules of a repeat, each by the repeat that it stands for."""
    todo = [repeat]
    while todo:
        one = todo.pop()
        if one in rules:
            continue
        bodies = _bodies(one)
        rules[one] = Alt(tuple([Concat(tuple(body)) for body in bodies]))
        todo += [part for body in bodies for part in body if isinstance(part, Repeat)]


def _bodies(repeat: Repeat) -> list[list[Expr]]:
    item, low, high = repeat.item, repeat.min, repeat.max
    if high is None:  # left-recursive, so the parser's stack does not grow with the number of items
        return [_times(item, low), [repeat, item]]
    if low == high:
        return [[*_block(item, low // 2), *_block(item, low // 2)] if _is_block(low) else _times(item, low)]
    if low:
        return [[*_times(item, low), Repeat(item, 0, high - low)]]
    if high == 1:
        return [[], [item]]
    # Fewer than a block, or a block and what is left: in one way only.
    # PERF: as many parses at once as bits. A rule for each number of items has as many as there are items: `x{0,12}`
    # took twice the time.
    block = 1 << high.bit_length() - 1
    rest: list[Expr] = [Repeat(item, 0, high - block)] if high > block else []
    return [[Repeat(item, 0, block - 1)], [*_block(item, block), *rest]]


def _is_block(count: int) -> bool:
    return count > 1 and count & count - 1 == 0


def _block(item: Expr, count: int) -> list[Expr]:
    """A power of two."""
    return [item] if count == 1 else [Repeat(item, count, count)]


def _times(item: Expr, count: int) -> list[Expr]:
    if count <= _MAX_BODY:
        return [item] * count
    return [part for k in range(count.bit_length()) if count >> k & 1 for part in _block(item, 1 << k)]
