"""Keyword values that are not what the specification says: a `GrammarError` with the JSON pointer.

`Reader.keywords` asks about every keyword of a schema before anything reads one, so all that read them may rely on it,
however quick their look.
"""

from __future__ import annotations

import reprlib
from decimal import Decimal
from typing import NoReturn

from ....errors import GrammarError
from ..texts.numbers import exact
from .facts import TYPES
from .resources import Sub
from .values import Json, kind

__all__ = [
    *("array", "boolean", "const", "count", "dependencies", "enum", "mapping", "mapping_of_strings", "number"),
    *("number_or_bool", "required", "step", "string", "strings", "types"),
]

_MOST = 1 << 62
"""No text is as long: counts beyond are this."""


def _malformed(sub: Sub, keyword: str, wanted: str, value: Json) -> NoReturn:
    """Raises the error."""
    try:
        shown = reprlib.repr(value)
    except ValueError:  # an integer of more digits than Python writes
        shown = "very long"
    raise GrammarError(
        f"{keyword} must be {wanted}, not {kind(value)} (at {sub.pointer(keyword)})", hint=f"It is {shown}."
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


def number_or_bool(sub: Sub, keyword: str, value: Json) -> None:
    if type(value) is not int and type(value) is not bool:  # a boolean up to draft 4
        number(sub, keyword, value)


def step(sub: Sub, keyword: str, value: Json) -> None:
    if (value if type(value) is int else number(sub, keyword, value)) <= 0:
        _malformed(sub, keyword, "a number greater than 0", value)


def types(sub: Sub, keyword: str, value: Json) -> None:
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


def string(sub: Sub, keyword: str, value: Json) -> None:
    if type(value) is not str:
        _malformed(sub, keyword, "a string", value)


def boolean(sub: Sub, keyword: str, value: Json) -> None:
    if type(value) is not bool:
        _malformed(sub, keyword, "a boolean", value)


def strings(sub: Sub, keyword: str, value: Json) -> None:
    if type(value) is not list or not _TEXTS.issuperset(map(type, value)):
        _malformed(sub, keyword, "an array of strings", value)


def required(sub: Sub, keyword: str, value: Json) -> None:
    if type(value) is not bool:  # draft 3, in a property: says nothing here
        strings(sub, keyword, value)


def array(sub: Sub, keyword: str, value: Json) -> None:
    if type(value) is not list:
        _malformed(sub, keyword, "an array", value)


def enum(sub: Sub, keyword: str, value: Json) -> None:
    array(sub, keyword, value)
    _values(sub, keyword, value)


def const(sub: Sub, keyword: str, value: Json) -> None:
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
                mapping(sub, keyword, value)
                stack.append([*value.values()])
            elif type(value) in (float, Decimal):
                number(sub, keyword, value)
            elif type(value) not in _SIMPLE:
                _malformed(sub, keyword, "made of JSON values", value)


_SIMPLE = frozenset({str, int, bool, type(None)})
_TEXTS = frozenset({str})


def mapping(sub: Sub, keyword: str, value: Json) -> None:
    if type(value) is not dict:
        _malformed(sub, keyword, "an object", value)
    if not set(map(type, value)) <= {str}:
        _malformed(sub, keyword, "an object whose keys are strings", value)


def mapping_of_strings(sub: Sub, keyword: str, value: Json) -> None:
    mapping(sub, keyword, value)
    for needed in value.values():
        strings(sub, keyword, needed)


def dependencies(sub: Sub, keyword: str, value: Json) -> None:
    mapping(sub, keyword, value)
    for needed in value.values():
        if type(needed) is list:
            strings(sub, keyword, needed)
