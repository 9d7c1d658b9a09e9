"""Rules that refer to themselves at one end only, as `ws ::= [ \\n] ws | ""` does: they are regular."""

from __future__ import annotations

from ..expr import EMPTY, NOTHING, Alt, Concat, Expr, Ref, Repeat, star
from .counted import counted_walk

__all__ = ["without_recursion"]

_Parts = tuple[list[Expr], list[Expr]]
"""Alternatives before (or behind) the rule's own name, and those without it."""


def without_recursion(name: str, expr: Expr) -> Expr:
    """The body of a rule `R = A R | B` as `A* B`, or of `R = R A | B` as `B A*` (Arden 1961); any other as it is.

    Example:
        >>> from derivable.expr import EMPTY, Alt, Bytes, Concat, Ref
        >>> from derivable.lowering.show import show
        >>> show(without_recursion("ws", Alt((Concat((Bytes(b" "), Ref("ws"))), EMPTY))))
        '" "*'
    """
    if not _names(expr, name):
        return expr
    for at_end in (True, False):
        found = _parts(expr, name, at_end)
        if found is None or not found[1]:
            continue
        repeated, rest = star(_any_of(found[0])), _any_of(found[1])
        if rest == EMPTY:
            return repeated
        return Concat((repeated, rest) if at_end else (rest, repeated))
    return expr


def _names(expr: Expr, name: str) -> bool:
    return any(isinstance(node, Ref) and node.name == name for node in counted_walk(expr))


def _any_of(items: list[Expr]) -> Expr:
    return items[0] if len(items) == 1 else Alt(tuple(items)) if items else NOTHING


def _parts(expr: Expr, name: str, at_end: bool) -> _Parts | None:
    """`None`: the name stands elsewhere, too."""
    match expr:
        case Ref(other) if other == name:
            return [EMPTY], []
        case Concat(items) if items and _names(expr, name):
            own, others = (items[-1], items[:-1]) if at_end else (items[0], items[1:])
            inner = _parts(own, name, at_end)
            if inner is None or any(_names(item, name) for item in others):
                return None
            around = [[_joined((*others, part) if at_end else (part, *others)) for part in parts] for parts in inner]
            return around[0], around[1]
        case Alt(items):
            before: list[Expr] = []
            rest: list[Expr] = []
            for item in items:
                inner = _parts(item, name, at_end)
                if inner is None:
                    return None
                before += inner[0]
                rest += inner[1]
            return before, rest
        case Repeat(item, 0, 1, _) if _names(item, name):
            inner = _parts(item, name, at_end)
            return None if inner is None else (inner[0], [*inner[1], EMPTY])
        case _:
            return None if _names(expr, name) else ([], [expr])


def _joined(items: tuple[Expr, ...]) -> Expr:
    kept = tuple([item for item in items if item != EMPTY])
    return kept[0] if len(kept) == 1 else Concat(kept)
