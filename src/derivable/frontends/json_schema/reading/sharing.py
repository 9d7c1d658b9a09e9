"""Sub-schemas that say the same are one goal: those of few words, as most are, and equal ones of objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._kernel import spelled
from .facts import Goal
from .resources import Sub
from .values import Json

__all__ = ["Sharing"]

_MOST_SPELLED, _LONGEST = 1 << 26, 1 << 18
"""Bytes of text that are spelled to find schemas that say the same, and of one. References, and parts that are shared,
make schemas small whose texts have any length."""
_WORDS = frozenset({"type", "$ref", "format", "pattern", "minLength", "maxLength", "minimum", "maximum"})
_EXACT = frozenset({str, int, float})
"""Keywords, and types of their values, that say the same wherever in a scope they stand."""


class Sharing:
    """The goals of one translation; `sub` makes the sub-schemas, `saying` may change what one says of a value."""

    def __init__(self, sub: Callable[..., Sub], saying: frozenset[str]) -> None:
        self.sub, self._says = sub, saying.__contains__
        self.goals: dict[tuple[Any, ...], Goal] = {}
        self.named: dict[tuple[Any, ...], tuple[Json, Goal] | None] = {}  # the first object with members of these names
        self.spelled = 0

    def goal(self, parent: Sub, schema: Json, *tokens: str | int) -> Goal:
        """That a sub-schema holds. Cost: what it says itself, and once more the text of an object like another."""
        key: tuple[Any, ...] | None = None
        names: tuple[Any, ...] = ()
        if type(schema) is dict:
            said = [*filter(self._says, schema)]
            if len(said) == 1:  # PERF: nearly all members of large objects
                (word,) = said
                value = schema[word]
                if type(value) is str and word in ("type", "$ref"):
                    key = word, value, id(parent.scope)
                elif type(value) is list and word == "type" and all(type(name) is str for name in value):
                    key = "types", *value, id(parent.scope)
            elif _WORDS.issuperset(said):
                values = [schema[k] for k in said]
                kinds = [*map(type, values)]
                if _EXACT.issuperset(kinds):
                    key = *said, *values, *kinds, id(parent.scope)
            elif type(members := schema.get("properties")) is dict and len(members) > 1:
                names = *members, id(parent.scope)
                key = self._spelled_like_another(schema, names)
        found = self.goals.get(key) if key else None
        if found is None:
            found = ((self.sub(parent, schema, *tokens), True),)
            if key:
                self.goals[key] = found
            elif names:
                self.named[names] = schema, found
        return found

    def _spelled_like_another(self, schema: Json, names: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The text of an object's schema, as a key, if there is another one with members of these names."""
        # PERF: schemas whose references are written out repeat large parts. Those that have no like are not spelled.
        if names not in self.named:
            return None
        first, self.named[names] = self.named[names], None
        if first is not None:
            self.goals[self.spell(first[0], first[0]), names[-1]] = first[1]
        return self.spell(schema, schema), names[-1]

    def spell(self, schema: Json, owner: object) -> object:
        """What is equal for schemas with the same text: it, or where that is too long the identity of its owner."""
        text = spelled(schema, _LONGEST) if self.spelled <= _MOST_SPELLED else None
        self.spelled += _LONGEST if text is None else len(text)
        return id(owner) if text is None else text
