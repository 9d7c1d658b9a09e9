"""Rules that never end are dropped before the kernel sees them: a member that must recurse for ever has no instance."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from .... import _kernel
from ....expr import NOTHING, Alt, Concat, Expr, Members, Ref, Repeat, Sequences, refs

__all__ = ["drop_unproductive"]


def drop_unproductive(rules: dict[str, Expr]) -> None:
    """Removes alternatives that lead nowhere (a member that must recurse for ever), and rules that have none left."""
    gone = set(_kernel.dead_ends(rules))
    for name in gone:
        del rules[name]
    if gone:
        rules.update({name: _without(rule, gone) for name, rule in rules.items() if not gone.isdisjoint(_names(rule))})
    rules.setdefault("root", NOTHING)


def _names(rule: Expr) -> Iterable[str | None]:
    return rule.names if isinstance(rule, Sequences | Members) else (ref.name for ref in refs(rule))


def _required(body: Expr) -> list[str]:
    """The names a body cannot do without."""
    if isinstance(body, Ref):
        return [body.name]
    if isinstance(body, Concat):
        return [name for item in body.items for name in _required(item)]
    if isinstance(body, Repeat):
        return _required(body.item) if body.min else []
    return []


def _without(expr: Expr, gone: set[str]) -> Expr:
    if isinstance(expr, Sequences):
        return _without(expr.expanded, gone)
    if isinstance(expr, Members):
        listed, others = expr.listed, expr.others
        kept = [listed[i : i + 3] for i in range(0, len(listed), 3) if listed[i + 1] not in gone]
        pairs = [others[i : i + 2] for i in range(0, len(others), 2) if others[i + 1] not in gone]
        return Members(expr.marks, tuple(chain.from_iterable(kept)), tuple(chain.from_iterable(pairs)), expr.ordered)
    if isinstance(expr, Repeat):
        # One that may be empty can still name what is gone.
        return Concat(()) if not gone.isdisjoint(_required(expr.item)) else expr
    if isinstance(expr, Concat):
        return Concat(tuple([_without(item, gone) for item in expr.items]))
    if isinstance(expr, Alt):
        items = tuple([_without(b, gone) for b in expr.items if gone.isdisjoint(_required(b))])
        return items[0] if len(items) == 1 else Alt(items)
    return expr
