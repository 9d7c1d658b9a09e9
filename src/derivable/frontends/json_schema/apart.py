"""Schemas that no value satisfies both of, as far as a quick look tells: most branches of a `oneOf` say which they are.

They ask for different types, or for objects with a member that is needed and that they want of different types, out of
different lists of values, or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .facts import ALL, OBJECT
from .resources import Sub
from .values import canonical

if TYPE_CHECKING:
    from .compiler import Compiler

__all__ = ["Marks", "apart", "list_different_values", "marks"]

_Member = tuple[int, frozenset[Any] | None]
_ANY: _Member = ALL, None
_NONE: _Member = 0, None
_MOST = 32
"""Schemas that are read to see what one says, which may refer to others and consist of others."""


class Marks:
    """What is seen of the objects of a schema, which may say more.

    Attributes:
        needed: keys that must be there.
        members: of some keys, the types and, if these are listed, the values that they may have.
        closed: schemas that allow no keys but those that they list or have a pattern for.
    """

    __slots__ = ("closed", "members", "needed")

    def __init__(self) -> None:
        self.needed: list[str] = []
        self.members: dict[str, _Member] = {}
        self.closed: list[Sub] = []

    def member(self, compiler: Compiler, key: str) -> _Member:
        """What the value of this key may be."""
        for sub in self.closed:
            patterns = sub.schema.get("patternProperties", ())
            matches = (compiler.strings.matches(("pattern", p), key, sub, "patternProperties", p) for p in patterns)
            if key not in sub.schema.get("properties", ()) and not any(matches):
                return _NONE
        return self.members.get(key, _ANY)

    def read(self, compiler: Compiler, sub: Sub) -> list[Sub]:
        """Adds what a schema says, and returns those that it consists of."""
        schema = sub.schema
        if type(schema) is not dict:
            return []
        keywords, parts = compiler.keywords(sub), list[Sub]()
        if "$ref" in keywords:
            parts.append(compiler.resources.resolve(sub, schema["$ref"], "$ref"))
        if "allOf" in keywords:
            parts += [compiler.sub(sub, branch, "allOf", i) for i, branch in enumerate(schema["allOf"])]
        if "required" in keywords and type(schema["required"]) is list:
            self.needed += [key for key in schema["required"] if type(key) is str]
        for key, value in schema["properties"].items() if "properties" in keywords else ():
            member = compiler.sub(sub, value, "properties", key)
            listed = compiler.values_listed(member)
            types, values = self.members.get(key, _ANY)
            if listed is not None:
                allowed = frozenset(map(canonical, listed))
                values = allowed if values is None else values & allowed
            self.members[key] = types & compiler.shallow_types(member), values
        if "additionalProperties" in keywords and schema["additionalProperties"] is False:
            self.closed.append(sub)
        return parts


def marks(compiler: Compiler, sub: Sub) -> Marks:
    """What is seen of the objects of a schema."""
    if sub.marks is None:
        sub.marks = Marks()
        parts = [sub]
        for _ in range(_MOST):
            if not parts:
                break
            parts += sub.marks.read(compiler, parts.pop())
    return sub.marks


def list_different_values(compiler: Compiler, subs: Iterable[Sub]) -> bool:
    """Whether each schema lists its values and no value stands in two lists. Cost: the values."""
    seen: set[Any] = set()
    for sub in subs:
        values = compiler.values_listed(sub)
        own = frozenset(map(canonical, values or ()))
        if values is None or not seen.isdisjoint(own):
            return False
        seen |= own
    return True


def apart(compiler: Compiler, one: Sub, other: Sub, types: int = ALL, needed: Iterable[str] = ()) -> bool:
    """Whether it is seen that no value of `types`, with the `needed` members, satisfies both schemas.

    Cost: the members that are needed, after what each schema lists has been read once.
    """
    types &= compiler.shallow_types(one) & compiler.shallow_types(other)
    if types & ~OBJECT:
        return False
    if not types:
        return True
    here, there = marks(compiler, one), marks(compiler, other)
    for key in (*needed, *here.needed, *there.needed):
        (types, values), (other_types, other_values) = here.member(compiler, key), there.member(compiler, key)
        if not types & other_types:
            return True
        if values is not None and other_values is not None and values.isdisjoint(other_values):
            return True
    return False
