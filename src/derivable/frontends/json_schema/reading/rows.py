"""What schemas say of the parts of a value: goals for items and members, kept unexpanded."""

from __future__ import annotations

from typing import Any

from .resources import Sub

__all__ = ["Goal", "ItemRow", "Literal", "MemberRow", "Some"]

Literal = tuple[Sub, bool]
Goal = tuple[Literal, ...]


class ItemRow:
    """`prefixItems` and `items` of one schema: goals by position, then for the rest (empty: anything)."""

    __slots__ = ("prefix", "rest")

    def __init__(self, prefix: list[Goal], rest: Goal) -> None:
        self.prefix, self.rest = prefix, rest

    def at(self, index: int) -> Goal:
        return self.prefix[index] if index < len(self.prefix) else self.rest


class MemberRow:
    """`properties`, `patternProperties` and `additionalProperties` of one schema; `order` is where it stands in the
    text, `None` for what the failure of a schema asks, which lists no keys."""

    __slots__ = ("additional", "order", "patterns", "properties")

    def __init__(
        self,
        properties: dict[str, Goal],
        patterns: list[tuple[str, Sub, Goal]],
        additional: Goal,
        order: tuple[Any, ...] | None = None,
    ) -> None:
        self.properties, self.patterns, self.additional, self.order = properties, patterns, additional, order


class Some:
    """Some member fails: one whose key is outside `row` (and in `pattern`, if given), or has the `name` goal, and whose
    value satisfies `goal`."""

    __slots__ = ("goal", "name", "pattern", "row")

    def __init__(self, row: MemberRow | None, pattern: tuple[str, Sub] | None, name: Goal | None, goal: Goal) -> None:
        self.row, self.pattern, self.name, self.goal = row, pattern, name, goal
