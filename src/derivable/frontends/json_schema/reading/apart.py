"""Schemas that no value satisfies both of, as far as a quick look tells: most branches of a `oneOf` say which they are.

They ask for different types, or for objects with a member that is needed and that they want of different types, out of
different lists of values, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

from .facts import ALL, OBJECT
from .reader import Reader
from .resources import Sub
from .values import Json, canonical

__all__ = ["Exclusion"]

_Member = tuple[int, dict[Any, Json] | None, tuple[Sub, ...]]
_ANY: _Member = ALL, None, ()
_NONE: _Member = 0, None, ()
_MOST = 32
"""Schemas that are read to see what one says, which may refer to others and consist of others."""
_FEW = 4
"""Schemas of which each is held against each."""


class _Marks:
    """What is seen of the objects of a schema, which may say more.

    Attributes:
        needed: keys that must be there.
        members: of some keys, the types and, if these are listed, the values that they may have, and the schemas.
        closed: schemas that allow no keys but those that they list or have a pattern for.
    """

    __slots__ = ("closed", "members", "needed")

    def __init__(self) -> None:
        self.needed: list[str] = []
        self.members: dict[str, _Member] = {}
        self.closed: list[Sub] = []

    def member(self, reader: Reader, key: str) -> _Member:
        """What the value of this key may be."""
        for sub in self.closed:
            patterns = sub.schema.get("patternProperties", ())
            matches = (reader.strings.matches(("pattern", p), key, sub, "patternProperties", p) for p in patterns)
            if key not in sub.schema.get("properties", ()) and not any(matches):
                return _NONE
        return self.members.get(key, _ANY)

    def read(self, reader: Reader, sub: Sub) -> list[Sub]:
        """Adds what a schema says, and returns those that it consists of."""
        schema = sub.schema
        if type(schema) is not dict:
            return []
        keywords, parts = reader.keywords(sub), list[Sub]()
        if "$ref" in keywords:
            parts.append(reader.resources.resolve(sub, schema["$ref"], "$ref"))
        if "allOf" in keywords:
            parts += [reader.sub(sub, branch, "allOf", i) for i, branch in enumerate(schema["allOf"])]
        if "required" in keywords and type(schema["required"]) is list:
            self.needed += [key for key in schema["required"] if type(key) is str]
        for key, value in schema["properties"].items() if "properties" in keywords else ():
            member = reader.sub(sub, value, "properties", key)
            listed = reader.values_listed(member)
            types, values, subs = self.members.get(key, _ANY)
            if listed is not None:
                allowed = {canonical(v): v for v in listed}
                values = allowed if values is None else {c: v for c, v in values.items() if c in allowed}
            self.members[key] = types & reader.shallow_types(member), values, (*subs, member)
        if "additionalProperties" in keywords and schema["additionalProperties"] is False:
            self.closed.append(sub)
        return parts


def _listing(marks: list[_Marks]) -> tuple[dict[str, list[int]], int, list[int]]:
    """Which schemas list a key, by their places; as bits, those that allow no others; and those to be asked instead."""
    listing: dict[str, list[int]] = {}
    closed, others = 0, list[int]()
    for i, mark in enumerate(marks):
        if any(sub.schema.get("patternProperties") for sub in mark.closed) or len(mark.closed) > 1:
            others.append(i)
            continue
        keys = dict.fromkeys(mark.members)
        if mark.closed:
            closed |= 1 << i
            keys.update(dict.fromkeys(mark.closed[0].schema.get("properties", ())))
        for key in keys:
            listing.setdefault(key, []).append(i)
    return listing, closed, others


def _bits(places: int) -> Iterator[int]:
    while places:
        lowest = places & -places
        yield lowest.bit_length() - 1
        places ^= lowest


class Exclusion:
    """Which schemas exclude one another.

    Args:
        holds: whether a value satisfies a schema.
    """

    def __init__(self, reader: Reader, holds: Callable[[Sub, Json], bool]) -> None:
        self.reader, self.holds = reader, holds
        self._marks: dict[int, _Marks] = {}

    def needed(self, sub: Sub) -> list[str]:
        """Keys that objects of a schema are seen to need."""
        return self._marks_of(sub).needed

    def _marks_of(self, sub: Sub) -> _Marks:
        found = self._marks.get(id(sub))
        if found is None:
            found = self._marks[id(sub)] = _Marks()
            parts = [sub]
            for _ in range(_MOST):
                if not parts:
                    break
                parts += found.read(self.reader, parts.pop())
        return found

    def list_different_values(self, subs: Iterable[Sub]) -> bool:
        """Whether each schema lists its values and no value stands in two lists. Cost: the values."""
        seen: set[Any] = set()
        for sub in subs:
            values = self.reader.values_listed(sub)
            own = frozenset(map(canonical, values or ()))
            if values is None or not seen.isdisjoint(own):
                return False
            seen |= own
        return True

    def tagged(self, subs: list[Sub], types: int, needed: Collection[str]) -> bool:
        """Whether it is seen that no value of `types`, with the `needed` members, satisfies two of the schemas: one
        member, which all need, tells which it is. Cost: the values of that member, where `apart` would be asked of all
        pairs."""
        if any(self.reader.shallow_types(sub) & types & ~OBJECT for sub in subs):
            return False
        marks = [self._marks_of(sub) for sub in subs]
        given = set(needed)
        return any(
            all(key in given or key in mark.needed for mark in marks) and self._lists_each_once(marks, key)
            for key in dict.fromkeys((*needed, *marks[0].needed))
        )

    def _lists_each_once(self, marks: list[_Marks], key: str) -> bool:
        seen: set[Any] = set()
        for mark in marks:
            _, values, _ = mark.member(self.reader, key)
            if values is None or not seen.isdisjoint(values):
                return False
            seen.update(values)
        return True

    def overlapping(self, subs: list[Sub], needed: Collection[str]) -> list[int]:
        """Of each schema, as bits, those that objects may satisfy together with it, as far as is seen.

        PERF: what `apart` says of all pairs. Schemas are grouped by what they say of a key that is needed.
        """
        every = (1 << len(subs)) - 1
        allowed = [every] * len(subs)
        if len(subs) <= _FEW:
            for (i, one), (j, other) in combinations(enumerate(subs), 2):
                if self.apart(one, other, OBJECT, needed):
                    allowed[i] &= ~(1 << j)
                    allowed[j] &= ~(1 << i)
            return allowed
        marks = [self._marks_of(sub) for sub in subs]
        needing = dict.fromkeys(needed, every)
        for i, mark in enumerate(marks):
            for key in mark.needed:
                needing[key] = needing.get(key, 0) | 1 << i
        listing, closed, others = _listing(marks)
        for key, needers in needing.items():
            members = {i: marks[i].member(self.reader, key) for i in (*listing.get(key, ()), *others)}
            groups = self._said(members)
            rest = every & ~sum(1 << i for i in members)
            groups += [(_NONE, rest & closed), (_ANY, rest & ~closed)]
            for group, excluded in self._clashes([pair for pair in groups if pair[1]]):
                by_them = excluded & needers  # what one of the two needs is enough
                for i in _bits(group if by_them else group & needers):
                    allowed[i] &= ~(excluded if needers >> i & 1 else by_them)
        return allowed

    def _said(self, members: Mapping[int, _Member]) -> list[tuple[_Member, int]]:
        """What schemas say of one key, each once, and which do."""
        lists = any(values is not None for _, values, _ in members.values())
        found: dict[object, tuple[_Member, int]] = {}
        for i, member in members.items():
            values = None if member[1] is None else frozenset(member[1])
            said = member[0], values, tuple(map(self.reader.meaning, member[2])) if lists and values is None else ()
            found[said] = member, found.get(said, (member, 0))[1] | 1 << i
        return [*found.values()]

    def _clashes(self, groups: list[tuple[_Member, int]]) -> Iterator[tuple[int, int]]:
        """Groups of schemas, and those that say something else of the same key."""
        listed = 0
        by_value: dict[Any, int] = {}
        others: list[tuple[_Member, int]] = []
        for member, group in groups:
            if member[1] is None:
                others.append((member, group))
                continue
            listed |= group
            for value in member[1]:
                by_value[value] = by_value.get(value, 0) | group
        for member, group in groups:
            excluded = 0
            if member[1] is not None:
                excluded = listed
                for value in member[1]:
                    excluded &= ~by_value[value]
            for other, those in others if member[1] is not None else groups:
                if those != group and self._different(member, other):
                    excluded |= those
            if excluded & ~group:
                yield group, excluded & ~group

    def groups(self, subs: list[Sub], unique: list[Sub], together: list[int]) -> list[list[Sub]]:
        """Schemas, some of which may stand there twice, in groups: no object satisfies two of different groups.

        Args:
            together: what `overlapping` says of the unique ones.
        """
        found: list[int] = []
        for objects in together:
            joined = [group for group in found if group & objects]
            found = [group for group in found if not group & objects]
            for group in joined:
                objects |= group
            found.append(objects)
        at = {id(sub): 1 << i for i, sub in enumerate(unique)}
        return [[sub for sub in subs if at[id(sub)] & group] for group in found]

    def all_apart(self, subs: list[Sub]) -> bool:
        """Whether it is seen that no value satisfies two of the schemas."""
        seen = 0
        for sub in subs:
            types = self.reader.shallow_types(sub) & ~OBJECT
            if types & seen:
                return False
            seen |= types
        objects = [sub for sub in subs if self.reader.shallow_types(sub) & OBJECT]
        return all(together == 1 << at for at, together in enumerate(self.overlapping(objects, ())))

    def _different(self, ours: _Member, theirs: _Member) -> bool:
        return not ours[0] & theirs[0] or self._excluded(ours, theirs) or self._excluded(theirs, ours)

    def apart(self, one: Sub, other: Sub, types: int = ALL, needed: Iterable[str] = ()) -> bool:
        """Whether it is seen that no value of `types`, with the `needed` members, satisfies both schemas.

        Cost: the members that are needed, after what each schema lists has been read once.
        """
        reader = self.reader
        types &= reader.shallow_types(one) & reader.shallow_types(other)
        if types & ~OBJECT:
            return False
        if not types:
            return True
        here, there = self._marks_of(one), self._marks_of(other)
        for key in (*needed, *here.needed, *there.needed):
            ours, theirs = here.member(reader, key), there.member(reader, key)
            if self._different(ours, theirs):
                return True
        return False

    def _excluded(self, one: _Member, other: _Member) -> bool:
        """Whether a member lists its values and the other one allows none of them."""
        values, (_, others, subs) = one[1], other
        if values is None:
            return False
        if others is not None:
            return values.keys().isdisjoint(others)
        return len(values) <= _MOST and not any(all(self.holds(sub, v) for sub in subs) for v in values.values())
