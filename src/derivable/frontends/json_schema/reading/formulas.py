"""Formulas about the members of an object: which keys are there, and whether their values satisfy schemas.

In negation normal form, as a graph: parts may be shared, so a formula is small where its cases are many.
"""

from __future__ import annotations

from collections.abc import Iterable

from .resources import Sub
from .rows import Some

__all__ = ["FALSE", "TRUE", "All", "Any", "AtLeast", "Condition", "Fits", "Formula", "Member", "One", "Present"]


class All:
    """Every part holds."""

    __slots__ = ("parts",)

    def __init__(self, parts: Iterable[Formula] = ()) -> None:
        self.parts = tuple(parts)


class Any:
    """Some part holds."""

    __slots__ = ("parts",)

    def __init__(self, parts: Iterable[Formula] = ()) -> None:
        self.parts = tuple(parts)


class One:
    """Exactly one part holds, or (`holds` false) none does or several do."""

    __slots__ = ("holds", "parts")

    def __init__(self, parts: Iterable[Formula], holds: bool) -> None:
        self.parts, self.holds = tuple(parts), holds


class Present:
    """The key is there, or (`there` false) it is not."""

    __slots__ = ("key", "there")

    def __init__(self, key: str, there: bool) -> None:
        self.key, self.there = key, there


class Fits:
    """The key is not there, or its value satisfies (`holds` false: fails) a schema."""

    __slots__ = ("holds", "key", "sub")

    def __init__(self, key: str, sub: Sub, holds: bool) -> None:
        self.key, self.sub, self.holds = key, sub, holds


class Member:
    """Some member is as `some` says, or (`there` false) none is."""

    __slots__ = ("some", "there")

    def __init__(self, some: Some, there: bool) -> None:
        self.some, self.there = some, there


class AtLeast:
    """There are at least so many members, or (`holds` false) there are not."""

    __slots__ = ("holds", "least")

    def __init__(self, least: int, holds: bool) -> None:
        self.least, self.holds = least, holds


Formula = All | Any | One | Present | Fits | Member | AtLeast
TRUE, FALSE = All(), Any()

Place = tuple[int, tuple[int, ...], int]
"""How deep in the schema a key is listed, where, and the how many-th there. Of several places the least is meant."""


class Condition:
    """A formula and the keys that it is about.

    Attributes:
        listed: keys that schemas within list, by their places.
        named: those that are only named, by `required` above all.
        somes: what is asked of members whatever their keys.
        opens: whether a schema within says what other keys than those that it lists must satisfy.
    """

    __slots__ = ("formula", "listed", "named", "opens", "somes")

    def __init__(
        self,
        formula: Formula,
        listed: dict[str, Place],
        named: dict[str, Place],
        somes: tuple[Some, ...] = (),
        opens: bool = False,
    ) -> None:
        self.formula, self.listed, self.named, self.somes, self.opens = formula, listed, named, somes, opens
