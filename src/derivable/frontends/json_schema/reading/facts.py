"""The normal form of a conjunction of keywords, without combinators: what a value of each type has to satisfy.

`Facts` is filled by the keyword functions and read by the emitters. A *goal* is a tuple of `(Sub, bool)`: schemas
that must hold (`True`) or fail (`False`). Goals for items and members are kept unexpanded.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ..texts.strings import Text
from .formulas import Condition
from .resources import Sub
from .rows import Goal, ItemRow, Literal, MemberRow, Some
from .values import Json

__all__ = [
    "ABOUT",
    "ALL",
    "ARRAY",
    "BOOLEAN",
    "NULL",
    "NUMBER",
    "OBJECT",
    "STRING",
    "TYPES",
    "Change",
    "Facts",
    "Goal",
    "ItemRow",
    "Literal",
    "MemberRow",
    "Some",
]

NULL, BOOLEAN, NUMBER, STRING, ARRAY, OBJECT = 1, 2, 4, 8, 16, 32
ALL = 63
TYPES = {
    "null": NULL,
    "boolean": BOOLEAN,
    "number": NUMBER,
    "integer": NUMBER,
    "string": STRING,
    "array": ARRAY,
    "object": OBJECT,
}


class Facts:
    """Constraints of one conjunction; see the module. `types` is a set of the bits above."""

    # PERF: defaults are the class's, so that making `Facts`, once a sub-schema, costs nothing for what it does not say.
    types: int
    values: list[Json] | None = None
    excluded: tuple[Json, ...] = ()
    low: tuple[Decimal, bool] | None = None
    high: tuple[Decimal, bool] | None = None
    integral: bool | None = None
    digits: bool | None = None  # integers of drafts 3 and 4: written without fraction or exponent
    multiples: tuple[tuple[Decimal, bool], ...] = ()
    min_length = 0
    max_length: int | None = None
    texts: tuple[tuple[Text, bool, Sub], ...] = ()
    array_rows: tuple[ItemRow, ...] = ()
    min_items = 0
    max_items: int | None = None
    contains: tuple[tuple[Goal, int, int | None, int], ...] = ()  # goal, at least, at most, from which index
    unique: bool | None = None
    unique_at: Sub | None = None
    rows: tuple[MemberRow, ...] = ()
    required: tuple[str, ...] = ()
    forbidden: frozenset[str] = frozenset()
    min_properties = 0
    max_properties: int | None = None
    names: Goal = ()
    some: tuple[Some, ...] = ()
    clauses: tuple[frozenset[tuple[str, bool]], ...] = ()
    conditions: tuple[Condition, ...] = ()
    evaluated: tuple[tuple[Sub, object], ...] = ()
    unevaluated: tuple[tuple[Sub, int, Goal, bool], ...] = ()  # collector, type, goal, holds
    goals: dict[str, Goal] | None = None  # what members must satisfy, as far as it was asked; shared by copies

    def __init__(self, types: int) -> None:
        self.types = types

    def copy(self) -> Facts:
        """An independent copy (all fields are immutable values, or follow from such)."""
        other = Facts(self.types)
        other.__dict__.update(self.__dict__)
        return other

    @property
    def lists_all(self) -> bool:
        """An object's keys are listed, and nothing is said of others: of their values, names or number."""
        rows = self.rows
        return (
            (any(r.order is not None and r.properties for r in rows) or any(c.listed for c in self.conditions))
            and not any(r.additional or r.patterns for r in rows)
            and not self.names
            and not any(c.opens for c in self.conditions)
        )

    # Changes. Each says whether any value can still satisfy the facts; what fails for one type drops that type.

    def _drop(self, bit: int) -> bool:
        self.types &= ~bit
        return self.types != 0

    def at_least(self, value: Decimal, exclusive: bool) -> bool:
        if self.low is None or value > self.low[0] or (value == self.low[0] and exclusive):
            self.low = (value, exclusive)
        return True

    def at_most(self, value: Decimal, exclusive: bool) -> bool:
        if self.high is None or value < self.high[0] or (value == self.high[0] and exclusive):
            self.high = (value, exclusive)
        return True

    def whole(self, integral: bool) -> bool:
        clash = self.integral is not None and self.integral is not integral
        self.integral = integral
        return self._drop(NUMBER) if clash else True

    def written_whole(self, digits: bool) -> bool:
        clash = self.digits is not None and self.digits is not digits
        self.digits = digits
        return self._drop(NUMBER) if clash else True

    def multiple(self, step: Decimal, must: bool) -> bool:
        self.multiples += ((step, must),)
        return True

    def length(self, low: int, high: int | None) -> bool:
        self.min_length = max(self.min_length, low)
        if high is not None and (self.max_length is None or high < self.max_length):
            self.max_length = high
        return self._drop(STRING) if self.max_length is not None and self.min_length > self.max_length else True

    def text(self, text: Text, must: bool, sub: Sub) -> bool:
        self.texts += ((text, must, sub),)
        return True

    def items(self, low: int, high: int | None) -> bool:
        self.min_items = max(self.min_items, low)
        if high is not None and (self.max_items is None or high < self.max_items):
            self.max_items = high
        return self._drop(ARRAY) if self.max_items is not None and self.min_items > self.max_items else True

    def item_row(self, row: ItemRow) -> bool:
        self.array_rows += (row,)
        return True

    def containing(self, goal: Goal, low: int, high: int | None, start: int) -> bool:
        self.contains += ((goal, low, high, start),)
        return self._drop(ARRAY) if high is not None and low > high else True

    def distinct(self, unique: bool, sub: Sub) -> bool:
        self.unique_at = sub
        clash = self.unique is not None and self.unique is not unique
        self.unique = unique
        return self._drop(ARRAY) if clash else True

    def members(self, low: int, high: int | None) -> bool:
        self.min_properties = max(self.min_properties, low)
        if high is not None and (self.max_properties is None or high < self.max_properties):
            self.max_properties = high
        most = self.max_properties
        clash = most is not None and (self.min_properties > most or len(self.required) > most)
        return self._drop(OBJECT) if clash else True

    def member_row(self, row: MemberRow) -> bool:
        self.rows += (row,)
        self.goals = None
        return True

    def require(self, *keys: str) -> bool:
        self.required = tuple(dict.fromkeys(self.required + keys))
        most = self.max_properties
        clash = not self.forbidden.isdisjoint(keys) or (most is not None and len(self.required) > most)
        return self._drop(OBJECT) if clash else True

    def forbid(self, *keys: str) -> bool:
        self.forbidden = self.forbidden.union(keys)
        return self._drop(OBJECT) if not self.forbidden.isdisjoint(self.required) else True

    def name(self, goal: Goal) -> bool:
        self.names += goal
        return True

    def somewhere(self, some: Some) -> bool:
        self.some += (some,)
        return True

    def clause(self, clause: frozenset[tuple[str, bool]]) -> bool:
        self.clauses += (clause,)
        return True

    def condition(self, condition: Condition) -> bool:
        self.conditions += (condition,)
        return True

    def exclude(self, *values: Json) -> bool:
        self.excluded += values
        return True

    def unevaluated_fails(self, collector: Sub, of_type: int, goal: Goal) -> bool:
        self.unevaluated += ((collector, of_type, goal, False),)
        return True


Change = tuple[Any, ...]
"""(method of `Facts`, arguments...)."""

ABOUT: dict[object, int] = {
    **dict.fromkeys((Facts.at_least, Facts.at_most, Facts.whole, Facts.written_whole, Facts.multiple), NUMBER),
    **dict.fromkeys((Facts.length, Facts.text), STRING),
    **dict.fromkeys((Facts.items, Facts.item_row, Facts.containing, Facts.distinct), ARRAY),
    **dict.fromkeys((Facts.members, Facts.member_row, Facts.require, Facts.forbid, Facts.name), OBJECT),
    **dict.fromkeys((Facts.somewhere, Facts.clause), OBJECT),
}
"""The type that a change is about: of values of other types it holds whatever else is known."""
