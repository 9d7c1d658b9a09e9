"""Is this very value valid? Equality of JSON values, and a small validator.

Where a schema names its values (`enum`, `const`), the rest of it is decided by looking: each value is checked, and
the grammar lists those that are left. Discriminators of `oneOf` branches are decided in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .facts import TYPES, Goal
from .numbers import exact, is_multiple, reduced
from .resources import Json, Sub

if TYPE_CHECKING:
    from .compiler import Compiler

__all__ = ["Validator", "canonical", "type_name"]

_TYPES = {bool: "boolean", str: "string", dict: "object", list: "array", type(None): "null"}


def type_name(value: Json) -> str:
    """The type of a value in JSON Schema's words; every number is a "number"."""
    return _TYPES.get(type(value), "number")


def canonical(value: Json) -> Any:
    """A hashable form that is equal for equal JSON values (1 and 1.0 are equal, 1 and true are not)."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return kind.__name__, value
    if kind is dict:
        return "object", frozenset((key, canonical(item)) for key, item in value.items())
    if kind is list or kind is tuple:
        return "array", tuple(map(canonical, value))
    return "number", reduced(exact(value))


def is_integer(value: Json) -> bool:
    """A number without a fraction, however it is written."""
    if type(value) is int:
        return True
    number = exact(value)
    return number == number.to_integral_value()


class _Evaluated:
    """What the keywords of a schema have evaluated, for `unevaluatedProperties` and `unevaluatedItems`."""

    __slots__ = ("all_items", "items", "keys", "prefix")

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.items: set[int] = set()
        self.prefix = 0
        self.all_items = False

    def add(self, other: _Evaluated) -> None:
        self.keys |= other.keys
        self.items |= other.items
        self.prefix = max(self.prefix, other.prefix)
        self.all_items = self.all_items or other.all_items


class Validator:
    """Validates values against sub-schemas, with the same reading of every keyword as the compiler's."""

    def __init__(self, compiler: Compiler) -> None:
        self.compiler = compiler
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
            return self._evaluate(sub, value) is not None
        key = (sub, kind, value)
        known = self.held.get(key)
        if known is None:
            known = self.held[key] = self._evaluate(sub, value) is not None
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
                values = self.compiler.values_listed(sub) if sign else None
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

    def one_of_lists(self, sub: Sub) -> Mapping[Any, Json] | None:
        """The values of a schema's `oneOf`, by their canonical form, if its branches list values, each its own."""
        if id(sub) not in self.unions:
            self.unions[id(sub)] = None
            values: dict[Any, Json] = {}
            for i, schema in enumerate(sub.schema["oneOf"]):
                branch = self.compiler.sub(sub, schema, "oneOf", i)
                allowed = self.only_listed(branch)
                if allowed is None or not allowed.isdisjoint(values):
                    return None
                listed = {canonical(v): v for v in self.compiler.values_listed(branch) or ()}
                values.update((c, v) for c, v in listed.items() if c in allowed)
            self.unions[id(sub)] = values
        return self.unions[id(sub)]

    def only_listed(self, sub: Sub) -> frozenset[Any] | None:
        """The canonical forms of the values that satisfy a schema which says no more than these, else `None`."""
        key = id(sub)
        if key not in self.plain_lists:
            self.plain_lists[key] = None
            sub = self.compiler.target(sub)
            keywords = self.compiler.keywords(sub) if type(sub.schema) is dict else ()
            values = self.compiler.values_listed(sub) if {"type", "enum", "const"}.issuperset(keywords) else None
            if values is not None and len({"enum", "const"}.intersection(keywords)) == 1:
                named = sub.schema["type"] if "type" in keywords else ()
                if "integer" not in (named if type(named) is list else [named]):
                    types = self.compiler.shallow_types(sub)
                    self.plain_lists[key] = frozenset([canonical(v) for v in values if TYPES[type_name(v)] & types])
        return self.plain_lists[key]

    def _evaluate(self, sub: Sub, value: Json) -> _Evaluated | None:
        """What was evaluated, or `None` if the value is not valid."""
        schema = sub.schema
        if type(schema) is bool:
            return _Evaluated() if schema else None
        seen = _Evaluated()
        keywords = self.compiler.keywords(sub)
        for key in keywords:
            if key in _LATE:
                continue
            check = getattr(self, "_" + key.lstrip("$"), None)
            if check is not None and not check(schema[key], value, sub, seen):
                return None
        for key in _LATE:
            if key in keywords and not getattr(self, "_" + key)(schema[key], value, sub, seen):
                return None
        return seen

    def _inside(self, sub: Sub, schema: Json, value: Json, seen: _Evaluated, *tokens: str | int) -> bool:
        """A schema applied in place: what it evaluated counts."""
        result = self._evaluate(self.compiler.sub(sub, schema, *tokens), value)
        if result is None:
            return False
        seen.add(result)
        return True

    def _ref(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return self._follow(self.compiler.resources.resolve(sub, v, "$ref"), value, seen)

    def _dynamicRef(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return self._follow(self.compiler.resources.resolve_dynamic(sub, v), value, seen)

    def _recursiveRef(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return self._follow(self.compiler.resources.resolve_recursive(sub, v), value, seen)

    def _follow(self, target: Sub, value: Json, seen: _Evaluated) -> bool:
        result = self._evaluate(target, value)
        if result is None:
            return False
        seen.add(result)
        return True

    def _type(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        name = type_name(value)
        wanted = v if type(v) is list else [v]
        if name in wanted:
            return True
        if name != "number" or "integer" not in wanted:
            return False
        return type(value) is int if sub.scope.resource.draft in (3, 4) else is_integer(value)

    def _enum(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        known = self.enums.get(id(v))
        if known is None:
            known = self.enums[id(v)] = frozenset(map(canonical, v))
        return canonical(value) in known

    def _const(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return bool(canonical(v) == canonical(value))

    # -- combinators --------------------------------------------------------------------------------------------

    def _allOf(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return all(self._inside(sub, s, value, seen, "allOf", i) for i, s in enumerate(v))

    def _anyOf(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        held = [self._inside(sub, s, value, seen, "anyOf", i) for i, s in enumerate(v)]  # all: each evaluates
        return any(held)

    def _oneOf(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        listed = self.one_of_lists(sub)
        if listed is not None:
            return canonical(value) in listed
        return sum(self._inside(sub, s, value, seen, "oneOf", i) for i, s in enumerate(v)) == 1

    def _not(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return not self.holds(self.compiler.sub(sub, v, "not"), value)

    def _if(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        branch = "then" if self._inside(sub, v, value, seen, "if") else "else"
        return branch not in sub.schema or self._inside(sub, sub.schema[branch], value, seen, branch)

    # -- numbers and strings ------------------------------------------------------------------------------------

    def _minimum(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        if type_name(value) != "number":
            return True
        strict = sub.schema.get("exclusiveMinimum") is True
        return exact(value) > exact(v) if strict else exact(value) >= exact(v)

    def _maximum(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        if type_name(value) != "number":
            return True
        strict = sub.schema.get("exclusiveMaximum") is True
        return exact(value) < exact(v) if strict else exact(value) <= exact(v)

    def _exclusiveMinimum(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return type(v) is bool or type_name(value) != "number" or exact(value) > exact(v)

    def _exclusiveMaximum(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return type(v) is bool or type_name(value) != "number" or exact(value) < exact(v)

    def _multipleOf(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return type_name(value) != "number" or is_multiple(exact(value), exact(v))

    def _minLength(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return type(value) is not str or len(value) >= v

    def _maxLength(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return type(value) is not str or len(value) <= v

    def _pattern(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return type(value) is not str or self.compiler.strings.matches(("pattern", v), value, sub, "pattern")

    def _format(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        if type(value) is not str or not self.compiler.enforces_format(v, sub):
            return True
        return self.compiler.strings.matches(self.compiler.format(v), value, sub, "format")

    # -- arrays -------------------------------------------------------------------------------------------------

    def _prefixItems(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        if type(value) is not list:
            return True
        seen.prefix = max(seen.prefix, min(len(v), len(value)))
        return all(self.holds(self.compiler.sub(sub, s, "prefixItems", i), x) for i, (s, x) in enumerate(zip(v, value)))

    def _items(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        if type(value) is not list:
            return True
        if type(v) is list:
            seen.prefix = max(seen.prefix, min(len(v), len(value)))
            return all(self.holds(self.compiler.sub(sub, s, "items", i), x) for i, (s, x) in enumerate(zip(v, value)))
        seen.all_items = True
        start = len(sub.schema["prefixItems"]) if "prefixItems" in self.compiler.keywords(sub) else 0
        inner = self.compiler.sub(sub, v, "items")
        return all(self.holds(inner, x) for x in value[start:])

    def _additionalItems(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        items = sub.schema.get("items")
        if type(value) is not list or type(items) is not list:
            return True
        seen.all_items = True
        inner = self.compiler.sub(sub, v, "additionalItems")
        return all(self.holds(inner, x) for x in value[len(items) :])

    def _minItems(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return type(value) is not list or len(value) >= v

    def _maxItems(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return type(value) is not list or len(value) <= v

    def _uniqueItems(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return v is not True or type(value) is not list or len(set(map(canonical, value))) == len(value)

    def _contains(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        if type(value) is not list:
            return True
        inner = self.compiler.sub(sub, v, "contains")
        found = [i for i, x in enumerate(value) if self.holds(inner, x)]
        if sub.scope.resource.draft in (0, 2020):
            seen.items |= set(found)
        keywords = self.compiler.keywords(sub)
        low = sub.schema["minContains"] if "minContains" in keywords else 1
        high = sub.schema["maxContains"] if "maxContains" in keywords else len(value)
        return bool(low <= len(found) <= high)

    def _unevaluatedItems(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        if type(value) is not list or seen.all_items:
            return True
        inner = self.compiler.sub(sub, v, "unevaluatedItems")
        rest = [x for i, x in enumerate(value) if i >= seen.prefix and i not in seen.items]
        seen.all_items = True
        return all(self.holds(inner, x) for x in rest)

    # -- objects ------------------------------------------------------------------------------------------------

    def _properties(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        if type(value) is not dict:
            return True
        keys = [k for k in v if k in value]
        seen.keys.update(keys)
        return all(self.holds(self.compiler.sub(sub, v[k], "properties", k), value[k]) for k in keys)

    def _patternProperties(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        if type(value) is not dict:
            return True
        for pattern, schema in v.items():
            inner = self.compiler.sub(sub, schema, "patternProperties", pattern)
            for key, item in value.items():
                if self.compiler.strings.matches(("pattern", pattern), key, sub, "patternProperties", pattern):
                    seen.keys.add(key)
                    if not self.holds(inner, item):
                        return False
        return True

    def _additionalProperties(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        if type(value) is not dict:
            return True
        inner = self.compiler.sub(sub, v, "additionalProperties")
        keywords = self.compiler.keywords(sub)
        named = sub.schema["properties"] if "properties" in keywords else {}
        patterns = sub.schema["patternProperties"] if "patternProperties" in keywords else {}
        for key, item in value.items():
            if key in named or any(
                self.compiler.strings.matches(("pattern", p), key, sub, "patternProperties", p) for p in patterns
            ):
                continue
            if not self.holds(inner, item):
                return False
        seen.keys.update(value)
        return True

    def _unevaluatedProperties(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        if type(value) is not dict:
            return True
        inner = self.compiler.sub(sub, v, "unevaluatedProperties")
        rest = [k for k in value if k not in seen.keys]
        seen.keys.update(value)
        return all(self.holds(inner, value[k]) for k in rest)

    def _propertyNames(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        if type(value) is not dict:
            return True
        inner = self.compiler.sub(sub, v, "propertyNames")
        return all(self.holds(inner, key) for key in value)

    def _required(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return type(value) is not dict or type(v) is bool or all(k in value for k in v)

    def _minProperties(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return type(value) is not dict or len(value) >= v

    def _maxProperties(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return type(value) is not dict or len(value) <= v

    def _dependentRequired(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return type(value) is not dict or all(k not in value or all(n in value for n in v[k]) for k in v)

    def _dependentSchemas(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        return type(value) is not dict or all(
            self._inside(sub, s, value, seen, "dependentSchemas", k) for k, s in v.items() if k in value
        )

    def _dependencies(self, v: Json, value: Json, sub: Sub, seen: _Evaluated) -> bool:
        if type(value) is not dict:
            return True
        for key, needed in v.items():
            if key not in value:
                continue
            if type(needed) is str:
                needed = [needed]
            if type(needed) is list:
                if not all(n in value for n in needed):
                    return False
            elif not self._inside(sub, needed, value, seen, "dependencies", key):
                return False
        return True


_LATE = ("unevaluatedProperties", "unevaluatedItems")
