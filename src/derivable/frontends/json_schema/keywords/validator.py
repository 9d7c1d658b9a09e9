"""Is this very value valid? A small validator.

Where a schema names its values (`enum`, `const`), the rest of it is decided by looking: each value is checked, and
the grammar lists those that are left. Discriminators of `oneOf` branches are decided in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..reading.facts import TYPES, Goal, Some
from ..reading.reader import Reader
from ..reading.resources import Sub
from ..reading.values import Json, canonical, type_name

__all__ = ["Evaluation", "Holds", "Validator"]


class Evaluation:
    """One schema and one value: what keywords have evaluated so far, for `unevaluatedProperties` and
    `unevaluatedItems`."""

    __slots__ = ("all_items", "items", "keys", "prefix", "reader", "validator")

    def __init__(self, validator: Validator) -> None:
        self.validator, self.reader = validator, validator.reader
        self.keys: set[str] = set()
        self.items: set[int] = set()
        self.prefix = 0
        self.all_items = False

    def holds(self, sub: Sub, value: Json) -> bool:
        """Whether a part of the value is valid."""
        return self.validator.holds(sub, value)

    def inside(self, sub: Sub, schema: Json, value: Json, *tokens: str | int) -> bool:
        """A schema applied in place: what it evaluated counts."""
        return self.follow(self.reader.sub(sub, schema, *tokens), value)

    def follow(self, target: Sub, value: Json) -> bool:
        """The same, of one that a reference leads to."""
        other = self.validator.evaluate(target, value)
        if other is None:
            return False
        self.keys |= other.keys
        self.items |= other.items
        self.prefix = max(self.prefix, other.prefix)
        self.all_items = self.all_items or other.all_items
        return True


Holds = Callable[[Json, Json, Sub, Evaluation], bool]
"""Of a keyword: whether it holds, by its value, the value that is looked at, the schema, and what was evaluated."""


class Validator:
    """Validates values against sub-schemas.

    Args:
        checks: by keyword, how it is checked (`None`: others do), and whether only after the others.
    """

    def __init__(self, reader: Reader, checks: Mapping[str, tuple[Holds | None, bool]]) -> None:
        self.reader, self.checks = reader, checks
        self.held: dict[tuple[Sub, type, Json], bool] = {}  # scalars
        self.listed: dict[Goal, Mapping[Any, Json] | None] = {}
        self.unions: dict[int, Mapping[Any, Json] | None] = {}
        self.plain_lists: dict[int, frozenset[Any] | None] = {}
        self.enums: dict[int, frozenset[Any]] = {}  # by the identity of the array in the schema

    def holds(self, sub: Sub, value: Json) -> bool:
        """Whether `value` is valid."""
        # PERF: goals ask the same again and again about the values of an enumeration.
        kind = type(value)
        if kind is dict or kind is list:
            return self.evaluate(sub, value) is not None
        key = (sub, kind, value)
        known = self.held.get(key)
        if known is None:
            known = self.held[key] = self.evaluate(sub, value) is not None
        return known

    def candidates(self, goal: Goal) -> Mapping[Any, Json] | None:
        """The values of a goal by their canonical form if one of its schemas lists them, else `None`."""
        if goal not in self.listed:  # PERF: goals ask the same again and again, and grow by a schema at a time
            known = self.listed.get(goal[:-1])
            if known is not None:
                self.listed[goal] = self.satisfying(goal[-1:], known)
                return self.listed[goal]
            self.listed[goal] = None
            for sub, sign in goal:
                values = self.reader.values_listed(sub) if sign else None
                if values is not None:
                    self.listed[goal] = self.satisfying(goal, {canonical(v): v for v in values})
                    break
        return self.listed[goal]

    def satisfying(self, goal: Goal, values: Mapping[Any, Json]) -> Mapping[Any, Json]:
        """Those of some values, given by their canonical form, that satisfy a goal."""
        for sub, sign in goal:
            allowed = self.only_listed(sub)
            if allowed is not None:
                values = {c: v for c, v in values.items() if (c in allowed) is sign}
            else:
                holds = self.holds
                values = {c: v for c, v in values.items() if holds(sub, v) is sign}
        return values

    def none_of(self, sub: Sub, goal: Goal) -> bool:
        """Whether a schema lists values, and a goal is seen to be satisfied by none of them."""
        values = self.candidates(((sub, True),))
        return values is not None and not self.satisfying(goal, values)

    def one_of_lists(self, sub: Sub) -> Mapping[Any, Json] | None:
        """The values of a schema's `oneOf`, by their canonical form, if its branches list values, each its own."""
        if id(sub) not in self.unions:
            self.unions[id(sub)] = None
            values: dict[Any, Json] = {}
            for i, schema in enumerate(sub.schema["oneOf"]):
                branch = self.reader.sub(sub, schema, "oneOf", i)
                allowed = self.only_listed(branch)
                if allowed is None or not allowed.isdisjoint(values):
                    return None
                listed = {canonical(v): v for v in self.reader.values_listed(branch) or ()}
                values.update((c, v) for c, v in listed.items() if c in allowed)
            self.unions[id(sub)] = values
        return self.unions[id(sub)]

    def any_of_lists(self, subs: Sequence[Sub]) -> list[Json] | None:
        """The values of some schemas that say no more than that a value is one of theirs, else `None`."""
        values: dict[Any, Json] = {}
        for sub in subs:
            allowed = self.only_listed(sub)
            if allowed is None:
                return None
            values.update((c, v) for v in self.reader.values_listed(sub) or () if (c := canonical(v)) in allowed)
        return [*values.values()]

    def only_listed(self, sub: Sub) -> frozenset[Any] | None:
        """The canonical forms of the values that satisfy a schema which says no more than these, else `None`."""
        key = id(sub)
        if key not in self.plain_lists:
            self.plain_lists[key] = None
            sub = self.reader.target(sub)
            keywords = self.reader.keywords(sub) if type(sub.schema) is dict else ()
            if keywords == ("anyOf",) and self.reader.values_listed(sub) is not None:
                branches = [self.reader.sub(sub, s, "anyOf", i) for i, s in enumerate(sub.schema["anyOf"])]
                listed = self.any_of_lists(branches)
                self.plain_lists[key] = None if listed is None else frozenset(map(canonical, listed))
                return self.plain_lists[key]
            values = self.reader.values_listed(sub) if {"type", "enum", "const"}.issuperset(keywords) else None
            if values is not None and len({"enum", "const"}.intersection(keywords)) == 1:
                named = sub.schema["type"] if "type" in keywords else ()
                if "integer" not in (named if type(named) is list else [named]):
                    types = self.reader.shallow_types(sub)
                    self.plain_lists[key] = frozenset([canonical(v) for v in values if TYPES[type_name(v)] & types])
        return self.plain_lists[key]

    def evaluate(self, sub: Sub, value: Json) -> Evaluation | None:
        """What was evaluated, or `None` if the value is not valid."""
        schema = sub.schema
        if type(schema) is bool:
            return Evaluation(self) if schema else None
        seen = Evaluation(self)
        late: list[str] = []
        for key in self.reader.keywords(sub):
            check, last = self.checks[key]
            if last:
                late.append(key)
            elif check is not None and not check(schema[key], value, sub, seen):
                return None
        for key in late:
            check, _ = self.checks[key]
            if check is not None and not check(schema[key], value, sub, seen):
                return None
        return seen

    def some_applies(self, some: Some, key: str) -> bool:
        """Whether a member with this key can be the one that `some` is about."""
        row, matches = some.row, self.reader.strings.matches
        if row is not None and (
            key in row.properties
            or any(matches(("pattern", p), key, s, "patternProperties", p) for p, s, _ in row.patterns)
        ):
            return False
        if some.pattern is not None:
            source, sub = some.pattern
            if not matches(("pattern", source), key, sub, "patternProperties", source):
                return False
        return some.name is None or all(self.holds(s, key) is sign for s, sign in some.name)
