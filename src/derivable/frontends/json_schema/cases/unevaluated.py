"""`unevaluatedProperties` and `unevaluatedItems`: rows like any other, once it is decided what the rest evaluates."""

from __future__ import annotations

from ..reading.facts import ARRAY, OBJECT, Facts, Goal, ItemRow, MemberRow, Some
from ..reading.resources import Sub

__all__ = ["settle_unevaluated"]


def settle_unevaluated(facts: Facts) -> None:
    """Turns `unevaluated*` into rows, now that all disjunctions are decided."""
    for collector, of_type, goal, holds in facts.unevaluated:
        found = [what for owner, what in facts.evaluated if owner is collector]
        if of_type == OBJECT:
            row = _evaluated_members(found)
            if row is None:  # everything is evaluated
                if not holds:
                    facts.types &= ~OBJECT
            elif holds:
                facts.member_row(MemberRow(row.properties, row.patterns, goal))
            else:
                facts.somewhere(Some(row, None, None, goal))
        else:
            _settle_items(facts, collector, found, goal, holds)


def _settle_items(facts: Facts, collector: Sub, found: list[object], goal: Goal, holds: bool) -> None:
    prefix = 0
    contained: Goal = ()
    for what in found:
        if what is True:  # all members: says nothing about items
            continue
        if isinstance(what, int):
            if what < 0:
                if not holds:
                    facts.types &= ~ARRAY
                return
            prefix = max(prefix, what)
        elif isinstance(what, tuple):
            contained += what
    if contained:
        # Items that a `contains` matches are evaluated.
        inner = {"anyOf": [s for s, _ in contained] + [s for s, _ in goal]}
        if not holds:
            goal = (*((s, False) for s, _ in contained), *goal)
        else:
            goal = ((Sub(inner, collector.scope, collector, ("unevaluatedItems",)), True),)
    if holds:
        facts.item_row(ItemRow([()] * prefix, goal))
        if len(goal) == 1 and goal[0][0].schema is False:
            facts.items(0, prefix)
    else:
        facts.containing(goal, 1, None, prefix)


def _evaluated_members(found: list[object]) -> MemberRow | None:
    """All that rows and nested keywords evaluate, as one row; `None` if it is everything."""
    properties: dict[str, Goal] = {}
    patterns: list[tuple[str, Sub, Goal]] = []
    for what in found:
        if what is True:
            return None
        if isinstance(what, MemberRow):
            if what.additional:
                return None
            properties.update(dict.fromkeys(what.properties, ()))
            patterns += [(p, s, ()) for p, s, _ in what.patterns]
    return MemberRow(properties, patterns, ())
