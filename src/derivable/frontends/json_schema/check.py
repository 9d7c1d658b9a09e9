"""Keyword values that are not what the specification says: a `GrammarError` with the JSON pointer.

`Compiler.keywords` asks `SHAPES` about every keyword of a schema before anything reads one, so all that read them may
rely on it, however quick their look.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from decimal import Decimal
from typing import NoReturn

from ...errors import GrammarError
from .facts import TYPES
from .numbers import exact
from .resources import Json, Sub, _kind

__all__ = ["SHAPES", "count", "number"]

_MOST = 1 << 62
"""No text is as long: counts beyond are this."""


def _malformed(sub: Sub, keyword: str, wanted: str, value: Json) -> NoReturn:
    """Raises the error."""
    try:
        shown = reprlib.repr(value)
    except ValueError:  # an integer of more digits than Python writes
        shown = "very long"
    raise GrammarError(
        f"{keyword} must be {wanted}, not {_kind(value)} (at {sub.pointer(keyword)})", hint=f"It is {shown}."
    )


def count(sub: Sub, keyword: str, value: Json) -> int:
    """A whole number that is not negative; `2.0` is one."""
    if type(value) is int and value >= 0:
        return min(value, _MOST)
    if type(value) in (float, Decimal):
        found = exact(value)
        if found.is_finite() and found >= 0:
            if found > _MOST:  # written out it may have a million digits
                return _MOST
            if found == found.to_integral_value():
                return int(found)
    _malformed(sub, keyword, "a whole number that is not negative", value)


def number(sub: Sub, keyword: str, value: Json) -> Decimal:
    """A finite number."""
    if type(value) in (int, float, Decimal):
        found = exact(value)
        if found.is_finite():
            return found
    _malformed(sub, keyword, "a finite number", value)


def _number_or_bool(sub: Sub, keyword: str, value: Json) -> None:
    if type(value) is not bool:  # up to draft 4
        number(sub, keyword, value)


def _step(sub: Sub, keyword: str, value: Json) -> None:
    if number(sub, keyword, value) <= 0:
        _malformed(sub, keyword, "a number greater than 0", value)


def _types(sub: Sub, keyword: str, value: Json) -> None:
    if type(value) is str and value in TYPES:  # nearly all
        return
    names = value if type(value) is list else [value]
    if not names or (type(value) is not list and type(value) is not str):
        _malformed(sub, keyword, "a type's name or an array of them", value)
    for name in names:
        if type(name) is not str or name not in TYPES:
            raise GrammarError(
                f"{reprlib.repr(name)} is not a type of JSON Schema (at {sub.pointer(keyword)})",
                hint="Types are null, boolean, integer, number, string, array and object.",
            )


def _string(sub: Sub, keyword: str, value: Json) -> None:
    if type(value) is not str:
        _malformed(sub, keyword, "a string", value)


def _boolean(sub: Sub, keyword: str, value: Json) -> None:
    if type(value) is not bool:
        _malformed(sub, keyword, "a boolean", value)


def _strings(sub: Sub, keyword: str, value: Json) -> None:
    if type(value) is not list or any(type(item) is not str for item in value):
        _malformed(sub, keyword, "an array of strings", value)


def _required(sub: Sub, keyword: str, value: Json) -> None:
    if type(value) is not bool:  # draft 3, in a property: says nothing here
        _strings(sub, keyword, value)


def _array(sub: Sub, keyword: str, value: Json) -> None:
    if type(value) is not list:
        _malformed(sub, keyword, "an array", value)


def _enum(sub: Sub, keyword: str, value: Json) -> None:
    _array(sub, keyword, value)
    _values(sub, keyword, value)


def _const(sub: Sub, keyword: str, value: Json) -> None:
    _values(sub, keyword, [value])


def _values(sub: Sub, keyword: str, values: list[Json]) -> None:
    """What `json.loads` may give, with finite numbers."""
    stack = [values]
    while stack:
        some = stack.pop()
        if _SIMPLE.issuperset(map(type, some)):  # PERF: nearly all, and there may be many
            continue
        for value in some:
            if type(value) is list:
                stack.append(value)
            elif type(value) is dict:
                _map(sub, keyword, value)
                stack.append([*value.values()])
            elif type(value) in (float, Decimal):
                number(sub, keyword, value)
            elif type(value) not in _SIMPLE:
                _malformed(sub, keyword, "made of JSON values", value)


_SIMPLE = frozenset({str, int, bool, type(None)})


def _map(sub: Sub, keyword: str, value: Json) -> None:
    if type(value) is not dict:
        _malformed(sub, keyword, "an object", value)
    if not set(map(type, value)) <= {str}:
        _malformed(sub, keyword, "an object whose keys are strings", value)


def _map_of_strings(sub: Sub, keyword: str, value: Json) -> None:
    _map(sub, keyword, value)
    for needed in value.values():
        _strings(sub, keyword, needed)


def _dependencies(sub: Sub, keyword: str, value: Json) -> None:
    _map(sub, keyword, value)
    for needed in value.values():
        if type(needed) is list:
            _strings(sub, keyword, needed)


SHAPES: dict[str, Callable[[Sub, str, Json], object]] = {
    "type": _types,
    "uniqueItems": _boolean,
    "enum": _enum,
    "const": _const,
    "multipleOf": _step,
    "required": _required,
    "dependentRequired": _map_of_strings,
    "dependencies": _dependencies,
    **dict.fromkeys(("$ref", "$dynamicRef", "$recursiveRef", "pattern", "format"), _string),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _array),
    **dict.fromkeys(("properties", "patternProperties", "dependentSchemas"), _map),
    **dict.fromkeys(("minimum", "maximum"), number),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), _number_or_bool),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), count),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), count),
}
"""By keyword, what raises an error if its value is not one that it may have. Schemas within are not looked at."""
