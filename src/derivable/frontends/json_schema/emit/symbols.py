"""Goals to symbols: a shared terminal for scalars, a rule for arrays and objects, one of alternatives for several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....expr import NOTHING, Alt, Expr, Ref
from ..cases.goals import expand
from ..keywords.work import Context
from ..reading.facts import ALL, ARRAY, OBJECT, Facts, Goal
from ..reading.reader import ONLY_REF
from ..reading.resources import Sub
from .arrays import emit_array
from .objects import emit_object
from .scalars import LENGTHS, PLAIN, emit_scalars, emit_values, plain, plain_string
from .writer import Writer

__all__ = ["Symbols"]

_COMBINING = frozenset({"oneOf", "anyOf", "allOf", "not", "if", "dependencies", "dependentSchemas"})
_UNIONS = (("anyOf",), ("oneOf",), ("allOf",))
_MOST_OPEN = 32
"""Unions within unions that are taken apart by recursion."""


class Symbols(Writer):
    """The symbols of goals, each made once."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._memo: dict[Goal, Expr] = {}
        self._unions: dict[tuple[Expr, ...], Ref] = {}
        self._open: list[Sub] = []  # unions whose branches are being translated
        self._any_value: Expr | None = None

    @property
    def known(self) -> Mapping[Goal, Expr]:
        """Symbols of goals that were asked for before."""
        return self._memo

    def _either(self, stem: str, parts: tuple[Expr, ...]) -> Expr:
        """A rule of alternatives, one for all uses: what differs in words only becomes the same values."""
        found = self._unions.get(parts)
        if found is None:
            found = self._unions[parts] = Ref(self.fresh(stem))
            self.rules[found.name] = Alt(parts)
        return found

    def _anything(self) -> Expr:
        """Any JSON value."""
        if self._any_value is None:
            self._any_value = Ref("value")
            self.rules["value"] = Alt(tuple(self.emit(Facts(ALL), "value")))
        return self._any_value

    def symbol(self, goal: Goal) -> Expr:
        """The symbol of a goal; `NOTHING` if it is seen to have no instance."""
        found = self._memo.get(goal)
        if found is not None:
            return found
        if len(goal) == 1 and goal[0][1]:  # PERF: most sub-schemas say no more than a type, or where to look
            found = self._plain(goal[0][0])
            if found is not None:
                self._memo[goal] = found
                return found
        kept: list[Any] = []
        for literal in goal:
            schema, holds = literal[0].schema, literal[1]
            trivial = schema if type(schema) is bool else None if schema else True
            if trivial is None:
                kept.append(literal)
            elif trivial is not holds:
                self._memo[goal] = NOTHING
                return NOTHING
        if not kept:
            found = self._anything()
        else:
            name = kept[0][0].name
            alike = tuple(kept)
            if len(kept) > 1 or not kept[0][1] or not _COMBINING.isdisjoint(kept[0][0].schema):
                # Such goals take long, and stand for many occurrences of the same schemas.
                alike = tuple(dict.fromkeys([(self.reader.alike(sub), holds) for sub, holds in kept]))
                found = self._memo.get(alike)
                if found is not None:
                    self._memo[goal] = found
                    return found
            parts = [part for facts in expand(self.context, alike) for part in self.emit(facts, name)]
            if len(parts) > 1:
                parts = [*dict.fromkeys(parts)]
            if not parts:
                found = NOTHING
            elif len(parts) == 1:
                (found,) = parts
            else:
                found = self._either(name, tuple(parts))
            self._memo[alike] = found
        self._memo[goal] = found
        return found

    def _plain(self, sub: Sub) -> Expr | None:
        """The symbol of a schema that is only a type, a reference or a union."""
        seen: set[Sub] = set()
        while type(sub.schema) is dict:
            keywords = sub.keywords or self.reader.keywords(sub)
            if keywords == ("type",):
                name = sub.schema["type"]
                if type(name) is not str or name not in PLAIN:
                    return None
                if name == "integer" and sub.scope.resource.draft in (3, 4) and not self.options.practical:
                    return None
                return plain(self, name)
            if keywords in LENGTHS and sub.schema["type"] == "string":
                return plain_string(self, sub)
            if keywords != ONLY_REF:
                return self.symbol(((sub, True),)) if seen else self._union(sub) if keywords in _UNIONS else None
            if sub in seen:
                return None
            seen.add(sub)
            sub = self.reader.resources.resolve(sub, sub.schema["$ref"], "$ref")
            found = self._memo.get(((sub, True),))
            if found is not None:
                return found
        return None

    def _union(self, sub: Sub) -> Expr | None:
        """The symbol of a schema that says no more than that a value is of one of some kinds: these share rules.

        `None` where that is not plain: branches of `oneOf` may overlap, or a branch leads back here.
        """
        (keyword,) = self.reader.keywords(sub)
        branches = sub.schema[keyword]
        if not branches or sub in self._open or len(self._open) == _MOST_OPEN:
            return None
        exclusion = self.context.exclusion
        kinds = [self.reader.sub(sub, schema, keyword, i) for i, schema in enumerate(branches)]
        plain = len(kinds) == 1 or keyword == "anyOf" or (keyword == "oneOf" and exclusion.list_different_values(kinds))
        plain = plain or (keyword == "oneOf" and exclusion.tagged(kinds, ALL, ()))
        if not plain and (keyword == "allOf" or not exclusion.all_apart(kinds)):
            return None
        self._open.append(sub)
        parts = dict.fromkeys([self.symbol(((kind, True),)) for kind in kinds])
        self._open.pop()
        parts.pop(NOTHING, None)
        if len(parts) < 2:
            return next(iter(parts), NOTHING)
        return self._either(sub.name, tuple(parts))

    def emit(self, facts: Facts, name: str) -> list[Ref]:
        """The symbols of the values that satisfy `facts`, one for each type."""
        if facts.values is not None:
            return emit_values(self, facts.values)
        out = emit_scalars(self, facts) if facts.types & ~(ARRAY | OBJECT) else []
        if facts.types & ARRAY:
            out.append(emit_array(self, facts, name))
        if facts.types & OBJECT:
            out.append(emit_object(self, facts, name))
        return out
