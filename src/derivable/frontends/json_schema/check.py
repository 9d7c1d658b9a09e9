"""Keyword values that are not what the specification says: a `GrammarError` with the JSON pointer."""

from __future__ import annotations

from decimal import Decimal
from typing import NoReturn

from ...errors import GrammarError
from .numbers import exact
from .resources import Json, Sub, _kind

__all__ = ["array", "count", "malformed", "number", "schema_map", "string", "strings"]


def malformed(sub: Sub, keyword: str, wanted: str, value: Json) -> NoReturn:
    """Raises the error."""
    shown = repr(value)
    raise GrammarError(
        f"{keyword} must be {wanted}, not {_kind(value)} (at {sub.pointer(keyword)})",
        hint=f"It is {shown if len(shown) <= 80 else shown[:77] + '...'}.",
    )


def count(sub: Sub, keyword: str, value: Json) -> int:
    """A whole number that is not negative; `2.0` is one."""
    if type(value) is int and value >= 0:
        return value
    if type(value) in (float, Decimal) and value >= 0 and value == int(value):
        return int(value)
    malformed(sub, keyword, "a whole number that is not negative", value)


def number(sub: Sub, keyword: str, value: Json) -> Decimal:
    """A finite number."""
    if type(value) in (int, float, Decimal):
        found = exact(value)
        if found.is_finite():
            return found
    malformed(sub, keyword, "a number", value)


def string(sub: Sub, keyword: str, value: Json) -> str:
    """A string."""
    if type(value) is str:
        return value
    malformed(sub, keyword, "a string", value)


def strings(sub: Sub, keyword: str, value: Json) -> list[str]:
    """An array of strings."""
    if type(value) is list and all(type(item) is str for item in value):
        return value
    malformed(sub, keyword, "an array of strings", value)


def array(sub: Sub, keyword: str, value: Json) -> list[Json]:
    """An array, of schemas or values."""
    if type(value) is list:
        return value
    malformed(sub, keyword, "an array", value)


def schema_map(sub: Sub, keyword: str, value: Json) -> dict[str, Json]:
    """An object of schemas."""
    if type(value) is dict:
        return value
    malformed(sub, keyword, "an object", value)
